/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What presets make stream objects with: methods that cpkg/zstandard/compressor.py and cpkg/zstandard/decompressor.py
 * call with checked arguments, all by position, and that take the place of those there that make objects of Python.
 */
#ifndef CPKG_ZSTD_DROPIN_METHODS
#define CPKG_ZSTD_DROPIN_METHODS

#include <Python.h>

#include "batches.c"
#include "../streams/calls.c"
#include "chunker.c"
#include "compressobj.c"
#include "compression_writer.c"
#include "decompressobj.c"
#include "decompression_writer.c"
#include "iterators.c"
#include "readers.c"

/* Read sizes, that begin at `args`, and truths, that follow them; return 0, or -1 with an exception set. */
static int take_numbers(PyObject *const *args, Py_ssize_t *sizes, int n_sizes, int *truths, int n_truths)
{
    for (int i = 0; i < n_sizes; i++)
        if (take_ssize(args[i], &sizes[i]) < 0)
            return -1;
    for (int i = 0; i < n_truths; i++) {
        truths[i] = PyObject_IsTrue(args[n_sizes + i]);
        if (truths[i] < 0)
            return -1;
    }
    return 0;
}

/* _compressobj(size) */
static PyObject *make_compressobj(PyObject *self, PyObject *size)
{
    return new_compression_obj(self, size);
}

/* _chunker(size, chunk_size) */
static PyObject *make_chunker(PyObject *self, PyObject *const *args, Py_ssize_t nargs)
{
    Py_ssize_t chunk_size = 0;
    if (check_count("_chunker", nargs, 2) < 0 || take_ssize(args[1], &chunk_size) < 0)
        return NULL;
    return new_chunker(self, args[0], chunk_size);
}

/* _stream_reader(source, size, read_size, closefd) */
static PyObject *make_compression_reader(PyObject *self, PyObject *const *args, Py_ssize_t nargs)
{
    Py_ssize_t read_size = 0;
    int closefd;
    if (check_count("_stream_reader", nargs, 4) < 0 || take_numbers(args + 2, &read_size, 1, &closefd, 1) < 0)
        return NULL;
    return new_compression_reader(self, args[0], args[1], read_size, closefd);
}

/* _stream_writer(writer, size, write_size, write_return_read, closefd) */
static PyObject *make_compression_writer(PyObject *self, PyObject *const *args, Py_ssize_t nargs)
{
    Py_ssize_t write_size = 0;
    int truths[2];
    if (check_count("_stream_writer", nargs, 5) < 0 || take_numbers(args + 2, &write_size, 1, truths, 2) < 0)
        return NULL;
    return new_compression_writer(self, args[0], args[1], write_size, truths[0], truths[1]);
}

/* _read_to_iter(reader, size, read_size, write_size) */
static PyObject *make_packing_iterator(PyObject *self, PyObject *const *args, Py_ssize_t nargs)
{
    Py_ssize_t sizes[2] = {0, 0};
    if (check_count("_read_to_iter", nargs, 4) < 0 || take_numbers(args + 2, sizes, 2, NULL, 0) < 0)
        return NULL;
    return new_packing_iterator(self, args[0], args[1], sizes[0], sizes[1]);
}

/* _copy_stream(ifh, ofh, size, read_size, write_size) */
static PyObject *do_copy_packing(PyObject *self, PyObject *const *args, Py_ssize_t nargs)
{
    Py_ssize_t sizes[2] = {0, 0};
    if (check_count("_copy_stream", nargs, 5) < 0 || take_numbers(args + 3, sizes, 2, NULL, 0) < 0)
        return NULL;
    return copy_packing(self, args[0], args[1], args[2], sizes[0], sizes[1]);
}

/* _decompressobj(read_across_frames) */
static PyObject *make_decompressobj(PyObject *self, PyObject *is_across)
{
    int truth = PyObject_IsTrue(is_across);
    return truth < 0 ? NULL : new_decompression_obj(self, truth);
}

/* _stream_reader(source, read_size, read_across_frames, closefd) */
static PyObject *make_decompression_reader(PyObject *self, PyObject *const *args, Py_ssize_t nargs)
{
    Py_ssize_t read_size = 0;
    int truths[2];
    if (check_count("_stream_reader", nargs, 4) < 0 || take_numbers(args + 1, &read_size, 1, truths, 2) < 0)
        return NULL;
    return new_decompression_reader(self, args[0], read_size, truths[0], truths[1]);
}

/* _stream_writer(writer, write_size, write_return_read, closefd) */
static PyObject *make_decompression_writer(PyObject *self, PyObject *const *args, Py_ssize_t nargs)
{
    Py_ssize_t write_size = 0;
    int truths[2];
    if (check_count("_stream_writer", nargs, 4) < 0 || take_numbers(args + 1, &write_size, 1, truths, 2) < 0)
        return NULL;
    return new_decompression_writer(self, args[0], write_size, truths[0], truths[1]);
}

/* _read_to_iter(reader, read_size, write_size, skip_bytes) */
static PyObject *make_unpacking_iterator(PyObject *self, PyObject *const *args, Py_ssize_t nargs)
{
    Py_ssize_t sizes[3] = {0, 0, 0};
    if (check_count("_read_to_iter", nargs, 4) < 0 || take_numbers(args + 1, sizes, 3, NULL, 0) < 0)
        return NULL;
    return new_unpacking_iterator(self, args[0], sizes[0], sizes[1], sizes[2]);
}

/* _copy_stream(ifh, ofh, read_size, write_size) */
static PyObject *do_copy_unpacking(PyObject *self, PyObject *const *args, Py_ssize_t nargs)
{
    Py_ssize_t sizes[2] = {0, 0};
    if (check_count("_copy_stream", nargs, 4) < 0 || take_numbers(args + 2, sizes, 2, NULL, 0) < 0)
        return NULL;
    return copy_unpacking(self, args[0], args[1], sizes[0], sizes[1]);
}

PyDoc_STRVAR(frame_progression_doc,
             "frame_progression($self, /)\n--\n\n"
             "Return how many bytes the stream made last has taken, has compressed, and has given.\n\n"
             "`compress` is no stream: it does not count.");

static PyMethodDef compression_methods[] = {
    {"_compressobj", make_compressobj, METH_O, NULL},
    {"_chunker", AS_METHOD(make_chunker), METH_FASTCALL, NULL},
    {"_stream_reader", AS_METHOD(make_compression_reader), METH_FASTCALL, NULL},
    {"_stream_writer", AS_METHOD(make_compression_writer), METH_FASTCALL, NULL},
    {"_read_to_iter", AS_METHOD(make_packing_iterator), METH_FASTCALL, NULL},
    {"_copy_stream", AS_METHOD(do_copy_packing), METH_FASTCALL, NULL},
    {"_compress_many", AS_METHOD(compress_many), METH_FASTCALL, NULL},
    {"frame_progression", frame_progression, METH_NOARGS, frame_progression_doc},
    {NULL, NULL, 0, NULL},
};

static PyMethodDef decompression_methods[] = {
    {"_decompressobj", make_decompressobj, METH_O, NULL},
    {"_stream_reader", AS_METHOD(make_decompression_reader), METH_FASTCALL, NULL},
    {"_stream_writer", AS_METHOD(make_decompression_writer), METH_FASTCALL, NULL},
    {"_read_to_iter", AS_METHOD(make_unpacking_iterator), METH_FASTCALL, NULL},
    {"_copy_stream", AS_METHOD(do_copy_unpacking), METH_FASTCALL, NULL},
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
    static const struct {
        const char *name;
        PyType_Spec *spec;
        PyTypeObject **place;
    } types[] = {
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
    int result = names == NULL ? -1 : 0;
    for (size_t i = 0; result == 0 && i < COUNT_OF(types); i++) {
        PyObject *type = PyType_FromSpec(types[i].spec);
        *types[i].place = (PyTypeObject *)type; /* for good, as the process has one module of this kind */
        result = type == NULL ? -1 : types[i].name == NULL ? 0 : PyDict_SetItemString(names, types[i].name, type);
    }
    if (result == 0)
        result = PyObject_SetAttrString(module, "_stream_types", names);
    Py_XDECREF(names);
    return result < 0 || add_methods(module, "_CompressionPreset", compression_methods) < 0
               ? -1
               : add_methods(module, "_DecompressionPreset", decompression_methods);
}

#endif
