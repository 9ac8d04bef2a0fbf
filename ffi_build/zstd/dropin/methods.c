/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The types of presets, and their methods that make stream objects. cpkg/zstandard/compressor.py and
 * cpkg/zstandard/decompressor.py call these with checked arguments, all by position, in place of their own methods that
 * make objects of Python.
 */
#pragma once

#include "batches.c"
#include "chunker.c"
#include "iterators.c"
#include "objects.c"
#include "readers.c"
#include "writers.c"

static PyMethodDef compression_preset_methods[] = {
    {"compress", AS_METHOD(preset_compress), FASTCALL,
     "compress($self, /, data)\n--\n\n" DROPIN_ZstdCompressor_compress},
    {"_set_up", compression_set_up, METH_VARARGS, NULL},
    {"_take", compression_take, METH_NOARGS, NULL},
    {"_give", compression_give, METH_O, NULL},
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

static PyMethodDef decompression_preset_methods[] = {
    {"decompress", AS_METHOD(preset_decompress), FASTCALL,
     "decompress($self, /, data, max_output_size=0, read_across_frames=False, allow_extra_data=True)\n--\n\n" DROPIN_ZstdDecompressor_decompress},
    {"_set_up", decompression_set_up, METH_VARARGS, NULL},
    {"_take", decompression_take, METH_NOARGS, NULL},
    {"_give", decompression_give, METH_O, NULL},
    {"_decompressobj", make_decompression_obj, METH_O, NULL},
    {"_stream_reader", AS_METHOD(make_decompression_reader), METH_FASTCALL, NULL},
    {"_stream_writer", AS_METHOD(make_decompression_writer), METH_FASTCALL, NULL},
    {"_read_to_iter", AS_METHOD(make_decompression_iterator), METH_FASTCALL, NULL},
    {"_copy_stream", AS_METHOD(copy_decompressing), METH_FASTCALL, NULL},
    {"_decompress_many", AS_METHOD(decompress_many), METH_FASTCALL, NULL},
    {NULL, NULL, 0, NULL},
};

DECLARE_TYPE(compression_preset, "cpkg._native.zstd.compiled._CompressionPreset", CompressionPreset,
             Py_TPFLAGS_BASETYPE, {Py_tp_doc, "Settings for any number of frames; for the class in zstd/presets.py."},
             {Py_tp_dealloc, compression_preset_dealloc}, {Py_tp_methods, compression_preset_methods})

DECLARE_TYPE(decompression_preset, "cpkg._native.zstd.compiled._DecompressionPreset", DecompressionPreset,
             Py_TPFLAGS_BASETYPE,
             {Py_tp_doc, "Limits and a dictionary for any number of frames; for the class in zstd/presets.py."},
             {Py_tp_dealloc, decompression_preset_dealloc}, {Py_tp_methods, decompression_preset_methods})

/* Make the types of stream objects, in a dict `_stream_types` of the module; return 0, or -1 with an exception set. */
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
    int result = names == NULL ? -1 : add_types(names, PyDict_SetItemString, types, COUNT_OF(types));
    if (result == 0)
        result = PyObject_SetAttrString(module, "_stream_types", names);
    Py_XDECREF(names);
    return result;
}
