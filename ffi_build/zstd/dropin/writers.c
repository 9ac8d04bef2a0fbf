/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ZstdCompressionWriter and ZstdDecompressionWriter: files that write what is written to them, compressed or
 * decompressed, to another. cpkg/zstandard/writers.py is the same in Python.
 */
#pragma once

#include "../streams/decoder.c"
#include "../streams/feed.c"
#include "file_object.c"

static PyTypeObject *compression_writer_type, *decompression_writer_type;

typedef struct {
    FileObject base;
    Py_ssize_t write_size;
    int returns_read; /* write() returns how much it took */
    Feed feed;
    unsigned long long written;
    Decoder decoder;
    unsigned long long taken;
    PyObject *failure; /* a str, of one that decompresses */
} Writer;

static int writer_traverse(PyObject *self, visitproc visit, void *arg)
{
    Writer *writer = (Writer *)self;
    VISIT_TYPE(self);
    Py_VISIT(writer->base.file);
    int result = feed_traverse(&writer->feed, visit, arg);
    return result != 0 ? result : decoder_traverse(&writer->decoder, visit, arg);
}

static int writer_clear(PyObject *self)
{
    Writer *writer = (Writer *)self;
    SET_SHOWN(writer->base.is_closed, 1);
    feed_clear(&writer->feed);
    decoder_clear(&writer->decoder);
    Py_CLEAR(writer->base.file);
    return 0;
}

static void writer_dealloc(PyObject *self)
{
    PyObject_GC_UnTrack(self);
    writer_clear(self);
    Py_CLEAR(((Writer *)self)->failure);
    file_free((FileObject *)self);
}

/* Return one that writes to a file, by (write_size, write_return_read, closefd); NULL with an exception set. */
static Writer *writer_new(PyTypeObject *type, PyObject *file, PyObject *const *settings, int (*end)(FileObject *))
{
    Py_ssize_t write_size = 0;
    int truths[2];
    Writer *writer = take_numbers(settings, &write_size, 1, truths, 2) < 0 ? NULL : object_new(type);
    if (writer != NULL) {
        writer->write_size = write_size;
        writer->returns_read = truths[0];
        file_open(&writer->base, file, truths[1], end);
    }
    return writer;
}

static PyObject *writer_begin(PyObject *self, PyObject *Py_UNUSED(unused))
{
    FileObject *base = (FileObject *)self;
    if (file_check_open(base) < 0)
        return NULL;
    if (base->is_entered)
        return raise_zstd_error("cannot __enter__ multiple times");
    base->is_entered = 1;
    return new_ref(self);
}

static PyObject *writer_fileno(PyObject *self, PyObject *Py_UNUSED(unused))
{
    PyObject *file = ((Writer *)self)->base.file;
    if (file == NULL || !PyObject_HasAttrString(file, "fileno")) {
        PyErr_SetString(PyExc_OSError, "fileno not available on underlying writer");
        return NULL;
    }
    return PyObject_CallMethod(file, "fileno", NULL);
}

static PyObject *writer_memory_size(PyObject *self, PyObject *Py_UNUSED(unused))
{
    Writer *writer = (Writer *)self;
    if (turn_enter(self, &writer->base.turn) < 0)
        return NULL;
    const ZSTD_CCtx *cctx = writer->feed.cctx;
    PyObject *size = writer->decoder.preset != NULL ? decoder_memory_size(&writer->decoder)
                     : cctx == NULL                 ? new_ref(Py_None)
                                                    : PyLong_FromSize_t(ZSTD_sizeof_CCtx(cctx));
    turn_leave(self, &writer->base.turn);
    return size;
}

#define WRITER_METHODS(type) \
    {"__enter__", writer_begin, METH_NOARGS, NULL}, \
        {"fileno", writer_fileno, METH_NOARGS, "fileno($self, /)\n--\n\n" DROPIN_ZstdCompressionWriter_fileno}, \
        {"close", file_close, METH_NOARGS, "close($self, /)\n--\n\n" DROPIN_##type##_close}, \
        {"memory_size", writer_memory_size, METH_NOARGS, "memory_size($self, /)\n--\n\n" DROPIN_##type##_memory_size}, \
        {"readable", file_false, METH_NOARGS, "readable($self, /)\n--\n\nReturn False."}, \
        {"writable", file_true, METH_NOARGS, "writable($self, /)\n--\n\nReturn True."}, \
        FILE_UNSUPPORTED("seek", ", offset, whence=0"), FILE_UNSUPPORTED("truncate", ", size=None"), \
        FILE_UNSUPPORTED("read", ", size=-1"), FILE_UNSUPPORTED("readall", ""), FILE_UNSUPPORTED("readinto", ", b"), \
        FILE_METHODS

/* ---- the one that compresses ---- */

/* Modes of ZstdCompressionWriter.flush(). */
enum { WRITER_BLOCK = 0, WRITER_FRAME = 1 };

/* Compress an input, write what comes of it, and return how many bytes that were; -1 with an exception set. */
static Py_ssize_t writer_push(Writer *writer, const Input *data, int mode)
{
    PyObject *output = feed_push(&writer->feed, data, mode);
    if (output == NULL)
        return -1;
    Py_ssize_t size = PyBytes_GET_SIZE(output);
    int result = write_pieces(writer->base.file, output, writer->write_size);
    Py_DECREF(output);
    if (result < 0) {
        feed_fail(&writer->feed,
                  failure_text("compressed data was lost, as it could not be written: %U", PyObject_Repr));
        return -1;
    }
    writer->written += (unsigned long long)size;
    return size;
}

static PyObject *compression_writer_write(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    Writer *writer = (Writer *)self;
    PyObject *data;
    Input in, piece;
    if (take_only_argument("write", "data", 1, args, nargs, kwnames, &data) < 0 || file_enter(&writer->base) < 0)
        return NULL;
    Py_ssize_t written = 0, more = input_open(&in, data);
    if (more == 0) {
        size_t done = 0;
        while (more >= 0 && input_piece(&piece, &in, &done)) {
            more = writer_push(writer, &piece, ZSTD_e_continue);
            written += more;
        }
        input_close(&in);
    }
    turn_leave(self, &writer->base.turn);
    return more < 0 ? NULL : PyLong_FromSsize_t(writer->returns_read ? (Py_ssize_t)in.size : written);
}

static Py_ssize_t writer_flush(Writer *writer, int mode)
{
    const Input nothing = {"", 0, {0}};
    return writer_push(writer, &nothing, mode);
}

static PyObject *compression_writer_flush(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    Writer *writer = (Writer *)self;
    PyObject *given;
    Py_ssize_t mode = WRITER_BLOCK;
    if (take_only_argument("flush", "flush_mode", 0, args, nargs, kwnames, &given) < 0 || take_ssize(given, &mode) < 0)
        return NULL;
    if (mode != WRITER_BLOCK && mode != WRITER_FRAME)
        return PyErr_Format(PyExc_ValueError, "unknown flush_mode: %R", given);
    if (file_enter(&writer->base) < 0)
        return NULL;
    Py_ssize_t written = writer_flush(writer, mode == WRITER_BLOCK ? ZSTD_e_flush : ZSTD_e_end);
    if (written >= 0 && call_if_there(writer->base.file, name_flush) < 0)
        written = -1;
    turn_leave(self, &writer->base.turn);
    return written < 0 ? NULL : PyLong_FromSsize_t(written);
}

static int compression_writer_end(FileObject *object)
{
    Writer *writer = (Writer *)object;
    int result = writer->feed.failure == NULL && writer_flush(writer, ZSTD_e_end) < 0 ? -1 : 0;
    SET_SHOWN(object->is_closed, 1);
    feed_release(&writer->feed);
    return file_close_other(object) < 0 ? -1 : result;
}

static PyObject *compression_writer_tell(PyObject *self, PyObject *Py_UNUSED(unused))
{
    return PyLong_FromUnsignedLongLong(((Writer *)self)->written);
}

static PyObject *compression_writer_writelines(PyObject *Py_UNUSED(self), PyObject *Py_UNUSED(unused))
{
    PyErr_SetString(PyExc_NotImplementedError, "writelines() is not yet implemented");
    return NULL;
}

static PyMethodDef compression_writer_methods[] = {
    WRITER_METHODS(ZstdCompressionWriter),
    {"write", AS_METHOD(compression_writer_write), FASTCALL,
     "write($self, /, data)\n--\n\n" DROPIN_ZstdCompressionWriter_write},
    {"flush", AS_METHOD(compression_writer_flush), FASTCALL,
     "flush($self, /, flush_mode=0)\n--\n\n" DROPIN_ZstdCompressionWriter_flush},
    {"tell", compression_writer_tell, METH_NOARGS, "tell($self, /)\n--\n\n" DROPIN_ZstdCompressionWriter_tell},
    {"writelines", compression_writer_writelines, METH_O,
     "writelines($self, lines, /)\n--\n\nRaise NotImplementedError, as python-zstandard does."},
    {"__exit__", file_exit, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

DECLARE_FILE_TYPE(compression_writer, writer, "ZstdCompressionWriter", Writer, DROPIN_ZstdCompressionWriter)

/* _stream_writer(writer, size, write_size, write_return_read, closefd) */
static PyObject *make_compression_writer(PyObject *preset, PyObject *const *args, Py_ssize_t nargs)
{
    Writer *writer = check_count("_stream_writer", nargs, 5) < 0
                         ? NULL
                         : writer_new(compression_writer_type, args[0], args + 2, compression_writer_end);
    if (writer != NULL && feed_open(&writer->feed, (CompressionPreset *)preset, args[1]) < 0)
        Py_CLEAR(writer);
    return (PyObject *)writer;
}

/* ---- the one that decompresses ---- */

/* Decompress an input and write what comes of it; return how many bytes that were, or -1 with an exception set. */
static Py_ssize_t writer_unpack(Writer *writer, const Input *data)
{
    ZSTD_inBuffer in = {data->start, data->size, 0};
    Py_ssize_t written = 0;
    unsigned long long before = writer->taken;
    writer->taken += data->size;
    while (data->size > 0) {
        PyObject *content = decoder_step(&writer->decoder, &in, writer->write_size, before);
        int result = content == NULL ? -1 : write_pieces(writer->base.file, content, writer->write_size);
        written += content == NULL ? 0 : PyBytes_GET_SIZE(content);
        if (result < 0) {
            writer->failure = content == NULL && is_zstd_error() ? failure_text("%U", PyObject_Str)
                                                                 : failure_text("output was lost: %U", PyObject_Repr);
            Py_XDECREF(content);
            return -1;
        }
        Py_DECREF(content);
        if (writer->decoder.is_drained)
            break;
    }
    return written;
}

static PyObject *decompression_writer_write(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    Writer *writer = (Writer *)self;
    PyObject *data;
    Input in;
    if (take_only_argument("write", "data", 1, args, nargs, kwnames, &data) < 0 || file_enter(&writer->base) < 0)
        return NULL;
    Py_ssize_t written = -1;
    if (writer->failure != NULL) {
        raise_from("purepy.base.errors", "ZstdError", new_ref(writer->failure));
    }
    else if (input_open(&in, data) == 0) {
        written = writer_unpack(writer, &in);
        input_close(&in);
    }
    turn_leave(self, &writer->base.turn);
    return written < 0 ? NULL : PyLong_FromSsize_t(writer->returns_read ? (Py_ssize_t)in.size : written);
}

static PyObject *decompression_writer_flush(PyObject *self, PyObject *Py_UNUSED(unused))
{
    Writer *writer = (Writer *)self;
    if (file_enter(&writer->base) < 0)
        return NULL;
    int result = call_if_there(writer->base.file, name_flush);
    turn_leave(self, &writer->base.turn);
    return result < 0 ? NULL : new_ref(Py_None);
}

static int decompression_writer_end(FileObject *object)
{
    Writer *writer = (Writer *)object;
    SET_SHOWN(object->is_closed, 1);
    decoder_release(&writer->decoder);
    int result = file_close_other(object);
    if (result == 0 && writer->failure == NULL && !writer->decoder.at_start) {
        raise_truncated(writer->taken);
        result = -1;
    }
    return result;
}

/* Leave a `with` block: because of an exception the end of the data is none of interest. */
static PyObject *decompression_writer_exit(PyObject *self, PyObject *args)
{
    Writer *writer = (Writer *)self;
    PyObject *type = PyTuple_GET_SIZE(args) > 0 ? PyTuple_GET_ITEM(args, 0) : Py_None;
    if (type != Py_None && writer->failure == NULL) {
        PyObject *value = PyTuple_GET_SIZE(args) > 1 ? PyTuple_GET_ITEM(args, 1) : type;
        writer->failure = PyUnicode_FromFormat("given up because of %R", value);
        if (writer->failure == NULL) {
            PyErr_Clear();
            writer->failure = PyUnicode_FromString("given up because of an exception");
        }
    }
    return file_exit(self, args);
}

static PyMethodDef decompression_writer_methods[] = {
    WRITER_METHODS(ZstdDecompressionWriter),
    {"write", AS_METHOD(decompression_writer_write), FASTCALL,
     "write($self, /, data)\n--\n\n" DROPIN_ZstdDecompressionWriter_write},
    {"flush", decompression_writer_flush, METH_NOARGS, "flush($self, /)\n--\n\n" DROPIN_ZstdDecompressionWriter_flush},
    FILE_UNSUPPORTED("tell", ""),
    FILE_UNSUPPORTED("writelines", ", lines"),
    {"__exit__", decompression_writer_exit, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

DECLARE_FILE_TYPE(decompression_writer, writer, "ZstdDecompressionWriter", Writer, DROPIN_ZstdDecompressionWriter)

/* _stream_writer(writer, write_size, write_return_read, closefd) */
static PyObject *make_decompression_writer(PyObject *preset, PyObject *const *args, Py_ssize_t nargs)
{
    Writer *writer = check_count("_stream_writer", nargs, 4) < 0
                         ? NULL
                         : writer_new(decompression_writer_type, args[0], args + 1, decompression_writer_end);
    if (writer != NULL && decoder_open(&writer->decoder, (DecompressionPreset *)preset) < 0)
        Py_CLEAR(writer);
    return (PyObject *)writer;
}
