/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The methods by which presets make stream objects. cpkg/zstandard/compressor.py and cpkg/zstandard/decompressor.py
 * call them with checked arguments, all by position, in place of their own methods that make objects of Python.
 */
#pragma once

#include "batches.c"
#include "chunker.c"
#include "iterators.c"
#include "objects.c"
#include "readers.c"
#include "writers.c"

static PyMethodDef compression_methods[] = {
    {"_compressobj", make_compression_obj, METH_O, NULL},
    {"_chunker", AS_METHOD(make_chunker), METH_FASTCALL, NULL},
    {"_stream_reader", AS_METHOD(make_compression_reader), METH_FASTCALL, NULL},
    {"_stream_writer", AS_METHOD(make_compression_writer), METH_FASTCALL, NULL},
    {"_read_to_iter", AS_METHOD(make_compression_iterator), METH_FASTCALL, NULL},
    {"_copy_stream", AS_METHOD(copy_compressing), METH_FASTCALL, NULL},
    {"_compress_many", AS_METHOD(compress_many), METH_FASTCALL, NULL},
    {"frame_progression", frame_progression, METH_NOARGS,
     "frame_progression($self, /)\n--\n\n" DROPIN_ZstdCompressor_frame_progression},
    {NULL, NULL, 0, NULL},
};

static PyMethodDef decompression_methods[] = {
    {"_decompressobj", make_decompression_obj, METH_O, NULL},
    {"_stream_reader", AS_METHOD(make_decompression_reader), METH_FASTCALL, NULL},
    {"_stream_writer", AS_METHOD(make_decompression_writer), METH_FASTCALL, NULL},
    {"_read_to_iter", AS_METHOD(make_decompression_iterator), METH_FASTCALL, NULL},
    {"_copy_stream", AS_METHOD(copy_decompressing), METH_FASTCALL, NULL},
    {"_decompress_many", AS_METHOD(decompress_many), METH_FASTCALL, NULL},
    {NULL, NULL, 0, NULL},
};

static int add_methods(PyObject *module, const char *type_name, PyMethodDef *methods)
{
    PyObject *type = PyObject_GetAttrString(module, type_name);
    int result = type == NULL ? -1 : 0;
    for (PyMethodDef *method = methods; result == 0 && method->ml_name != NULL; method++) {
        PyObject *descriptor = PyDescr_NewMethod((PyTypeObject *)type, method);
        result = descriptor == NULL ? -1 : PyObject_SetAttrString(type, method->ml_name, descriptor);
        Py_XDECREF(descriptor);
    }
    Py_XDECREF(type);
    return result;
}

/* Make the types of stream objects, in a dict `_stream_types` of the module, and give presets the methods above. */
static int add_stream_types(PyObject *module)
{
    static const TypeToAdd types[] = {
        {"ZstdCompressionObj", &compression_obj_spec, &compression_obj_type},
        {"ZstdCompressionChunker", &chunker_spec, &chunker_type},
        {"ZstdCompressionReader", &compression_reader_spec, &compression_reader_type},
        {"ZstdCompressionWriter", &compression_writer_spec, &compression_writer_type},
        {"ZstdDecompressionObj", &decompression_obj_spec, &decompression_obj_type},
        {"ZstdDecompressionReader", &decompression_reader_spec, &decompression_reader_type},
        {"ZstdDecompressionWriter", &decompression_writer_spec, &decompression_writer_type},
        {NULL, &chunks_spec, &chunks_type},
        {NULL, &pieces_spec, &pieces_type},
    };
    PyObject *names = names_set_up() < 0 ? NULL : PyDict_New();
    int result = names == NULL ? -1 : add_types(names, types, COUNT_OF(types));
    if (result == 0)
        result = PyObject_SetAttrString(module, "_stream_types", names);
    Py_XDECREF(names);
    return result < 0 || add_methods(module, "_CompressionPreset", compression_methods) < 0
               ? -1
               : add_methods(module, "_DecompressionPreset", decompression_methods);
}
