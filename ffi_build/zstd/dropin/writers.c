/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ZstdCompressionWriter and ZstdDecompressionWriter: files that write to a file.
 * cpkg/zstandard/writers.py is the same in Python.
 */
#ifndef CPKG_ZSTD_DROPIN_WRITERS
#define CPKG_ZSTD_DROPIN_WRITERS

#include <Python.h>

#include "decoder.c"
#include "feed.c"
#include "file_object.c"
#include "target.c"

/* Modes of ZstdCompressionWriter.flush(). */
enum { WRITER_BLOCK = 0, WRITER_FRAME = 1 };

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

static PyTypeObject *compression_writer_type, *decompression_writer_type;

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
    writer->base.is_closed = 1;
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

static PyObject *writer_begin(PyObject *self, PyObject *unused)
{
    FileObject *base = (FileObject *)self;
    (void)unused;
    if (file_check_open(base) < 0) {
        return NULL;
    }
    if (base->is_entered) {
        return raise_zstd_error("cannot __enter__ multiple times");
    }
    base->is_entered = 1;
    return new_ref(self);
}

PyDoc_STRVAR(writer_fileno_doc, "fileno($self, /)\n--\n\n"
                                "Return the file descriptor of the file that is written to; OSError if it has none.");

static PyObject *writer_fileno(PyObject *self, PyObject *unused)
{
    PyObject *file = ((Writer *)self)->base.file;
    (void)unused;
    if (file == NULL || !PyObject_HasAttrString(file, "fileno")) {
        PyErr_SetString(PyExc_OSError, "fileno not available on underlying writer");
        return NULL;
    }
    return PyObject_CallMethod(file, "fileno", NULL);
}

/* Compress an input, write what comes of it, and return how many bytes that were; -1 with an exception set. */
static Py_ssize_t writer_push(Writer *writer, const Input *data, int mode)
{
    PyObject *output = feed_push(&writer->feed, data, mode);
    if (output == NULL) {
        return -1;
    }
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

PyDoc_STRVAR(
    compression_writer_write_doc,
    "write($self, /, data)\n--\n\n"
    "Take the bytes of a buffer; return how many, or, with `write_return_read=False`, how many were written.\n\n"
    "Raises ZstdError if compressing fails, and what the other file's write() raises.");

static PyObject *compression_writer_write(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    static const char *const names[] = {"data"};
    Writer *writer = (Writer *)self;
    PyObject *data;
    Input in, piece;
    if (take_arguments("write", names, 1, 1, args, nargs, kwnames, &data) < 0 || file_enter(&writer->base) < 0) {
        return NULL;
    }
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

PyDoc_STRVAR(
    compression_writer_flush_doc,
    "flush($self, /, flush_mode=0)\n--\n\n"
    "Write the output that was held back, flush the other file, and return how many bytes were written.\n\n"
    "With FLUSH_BLOCK a reader can have all data given so far; FLUSH_FRAME ends the frame, and what is written\n"
    "next begins another. Raises ValueError for another mode.");

static PyObject *compression_writer_flush(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    static const char *const names[] = {"flush_mode"};
    Writer *writer = (Writer *)self;
    PyObject *given;
    Py_ssize_t mode = WRITER_BLOCK;
    if (take_arguments("flush", names, 1, 0, args, nargs, kwnames, &given) < 0 || take_ssize(given, &mode) < 0) {
        return NULL;
    }
    if (mode != WRITER_BLOCK && mode != WRITER_FRAME) {
        return PyErr_Format(PyExc_ValueError, "unknown flush_mode: %R", given);
    }
    if (file_enter(&writer->base) < 0) {
        return NULL;
    }
    Py_ssize_t written = writer_flush(writer, mode == WRITER_BLOCK ? ZSTD_e_flush : ZSTD_e_end);
    if (written >= 0 && call_if_there(writer->base.file, name_flush) < 0) {
        written = -1;
    }
    turn_leave(self, &writer->base.turn);
    return written < 0 ? NULL : PyLong_FromSsize_t(written);
}

PyDoc_STRVAR(compression_writer_close_doc,
             "close($self, /)\n--\n\n"
             "End the frame and close the writer, and the other file unless `closefd` is false; again: nothing.");

static PyObject *compression_writer_close(PyObject *self, PyObject *unused)
{
    Writer *writer = (Writer *)self;
    Py_ssize_t result = 0;
    (void)unused;
    if (turn_enter(self, &writer->base.turn) < 0) {
        return NULL;
    }
    if (!writer->base.is_closed) {
        if (writer->feed.failure == NULL) {
            result = writer_flush(writer, ZSTD_e_end);
        }
        writer->base.is_closed = 1;
        feed_release(&writer->feed);
        if (file_close_other(&writer->base) < 0) {
            result = -1;
        }
    }
    turn_leave(self, &writer->base.turn);
    return result < 0 ? NULL : new_ref(Py_None);
}

PyDoc_STRVAR(compression_writer_tell_doc,
             "tell($self, /)\n--\n\nReturn how many bytes were written to the other file.");

static PyObject *compression_writer_tell(PyObject *self, PyObject *unused)
{
    (void)unused;
    return PyLong_FromUnsignedLongLong(((Writer *)self)->written);
}

static PyObject *compression_writer_memory_size(PyObject *self, PyObject *unused)
{
    Writer *writer = (Writer *)self;
    (void)unused;
    if (turn_enter(self, &writer->base.turn) < 0) {
        return NULL;
    }
    PyObject *size = writer->feed.cctx == NULL ? new_ref(Py_None)
                                               : PyLong_FromSize_t(ZSTD_sizeof_CCtx(writer->feed.cctx));
    turn_leave(self, &writer->base.turn);
    return size;
}

static PyObject *compression_writer_writelines(PyObject *self, PyObject *unused)
{
    (void)self;
    (void)unused;
    PyErr_SetString(PyExc_NotImplementedError, "writelines() is not yet implemented");
    return NULL;
}

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
        if (writer->decoder.is_drained) {
            break;
        }
    }
    return written;
}

PyDoc_STRVAR(
    decompression_writer_write_doc,
    "write($self, /, data)\n--\n\n"
    "Take the bytes of a buffer; return how many, or, with `write_return_read=False`, how many were written.\n\n"
    "Raises ZstdError for data that is no frame, from then on, and what the other file's write() raises.");

static PyObject *decompression_writer_write(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    static const char *const names[] = {"data"};
    Writer *writer = (Writer *)self;
    PyObject *data;
    Input in;
    if (take_arguments("write", names, 1, 1, args, nargs, kwnames, &data) < 0 || file_enter(&writer->base) < 0) {
        return NULL;
    }
    Py_ssize_t written = -1;
    if (writer->failure != NULL) {
        raise_from("purepy.errors", "ZstdError", new_ref(writer->failure));
    }
    else if (input_open(&in, data) == 0) {
        written = writer_unpack(writer, &in);
        input_close(&in);
    }
    turn_leave(self, &writer->base.turn);
    return written < 0 ? NULL : PyLong_FromSsize_t(writer->returns_read ? (Py_ssize_t)in.size : written);
}

PyDoc_STRVAR(decompression_writer_flush_doc, "flush($self, /)\n--\n\nFlush the other file; nothing is held back here.");

static PyObject *decompression_writer_flush(PyObject *self, PyObject *unused)
{
    Writer *writer = (Writer *)self;
    (void)unused;
    if (file_enter(&writer->base) < 0) {
        return NULL;
    }
    int result = call_if_there(writer->base.file, name_flush);
    turn_leave(self, &writer->base.turn);
    return result < 0 ? NULL : new_ref(Py_None);
}

PyDoc_STRVAR(decompression_writer_close_doc,
             "close($self, /)\n--\n\n"
             "Close the writer, and the other file unless `closefd` is false; again: nothing.\n\n"
             "Raises ZstdError if the data ended inside a frame.");

static PyObject *decompression_writer_close(PyObject *self, PyObject *unused)
{
    Writer *writer = (Writer *)self;
    int result = 0;
    (void)unused;
    if (turn_enter(self, &writer->base.turn) < 0) {
        return NULL;
    }
    if (!writer->base.is_closed) {
        writer->base.is_closed = 1;
        decoder_release(&writer->decoder);
        result = file_close_other(&writer->base);
        if (result == 0 && writer->failure == NULL && !writer->decoder.at_start) {
            decoder_raise_truncated(&writer->decoder, writer->taken);
            result = -1;
        }
    }
    turn_leave(self, &writer->base.turn);
    return result < 0 ? NULL : new_ref(Py_None);
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

static PyObject *decompression_writer_memory_size(PyObject *self, PyObject *unused)
{
    Writer *writer = (Writer *)self;
    (void)unused;
    if (turn_enter(self, &writer->base.turn) < 0) {
        return NULL;
    }
    PyObject *size = decoder_memory_size(&writer->decoder);
    turn_leave(self, &writer->base.turn);
    return size;
}

#define MEMORY_SIZE_DOC "memory_size($self, /)\n--\n\nReturn the size in bytes of the context that is at work."

#define WRITER_METHODS \
    {"__enter__", writer_begin, METH_NOARGS, NULL}, {"fileno", writer_fileno, METH_NOARGS, writer_fileno_doc}, \
        {"readable", file_false, METH_NOARGS, "readable($self, /)\n--\n\nReturn False."}, \
        {"writable", file_true, METH_NOARGS, "writable($self, /)\n--\n\nReturn True."}, \
        FILE_UNSUPPORTED("seek", ", offset, whence=0"), FILE_UNSUPPORTED("truncate", ", size=None"), \
        FILE_UNSUPPORTED("read", ", size=-1"), FILE_UNSUPPORTED("readall", ""), FILE_UNSUPPORTED("readinto", ", b"), \
        FILE_METHODS

static PyMethodDef compression_writer_methods[] = {
    WRITER_METHODS,
    {"write", AS_METHOD(compression_writer_write), FASTCALL, compression_writer_write_doc},
    {"flush", AS_METHOD(compression_writer_flush), FASTCALL, compression_writer_flush_doc},
    {"close", compression_writer_close, METH_NOARGS, compression_writer_close_doc},
    {"tell", compression_writer_tell, METH_NOARGS, compression_writer_tell_doc},
    {"memory_size", compression_writer_memory_size, METH_NOARGS, MEMORY_SIZE_DOC},
    {"writelines", compression_writer_writelines, METH_O, NULL},
    {"__exit__", file_exit, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyMethodDef decompression_writer_methods[] = {
    WRITER_METHODS,
    {"write", AS_METHOD(decompression_writer_write), FASTCALL, decompression_writer_write_doc},
    {"flush", decompression_writer_flush, METH_NOARGS, decompression_writer_flush_doc},
    {"close", decompression_writer_close, METH_NOARGS, decompression_writer_close_doc},
    {"memory_size", decompression_writer_memory_size, METH_NOARGS, MEMORY_SIZE_DOC},
    FILE_UNSUPPORTED("tell", ""),
    FILE_UNSUPPORTED("writelines", ", lines"),
    {"__exit__", decompression_writer_exit, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

#define WRITER_SLOTS(methods) \
    {Py_tp_new, object_refuse_new}, {Py_tp_dealloc, writer_dealloc}, {Py_tp_traverse, writer_traverse}, \
        {Py_tp_clear, writer_clear}, {Py_tp_iter, file_not_iterable}, {Py_tp_iternext, file_not_iterable}, \
        {Py_tp_getset, file_getset}, {Py_tp_members, file_members}, {Py_tp_methods, methods}, \
    { \
        0, NULL \
    }

static PyType_Slot compression_writer_slots[] = {
    {Py_tp_doc,
     "A file that writes what it is given to another, compressed (replaces `zstandard.ZstdCompressionWriter`).\n\n"
     "Made by `ZstdCompressor.stream_writer`. Closing it ends the frame. After an error the frame has lost data, so\n"
     "that every call but close() raises it again, and close() does not end the frame: what was written is not\n"
     "whole, and a reader finds that out."},
    WRITER_SLOTS(compression_writer_methods),
};

static PyType_Spec compression_writer_spec = {
    .name = "cpkg.zstandard.ZstdCompressionWriter",
    .basicsize = sizeof(Writer),
    .flags = OBJECT_FLAGS,
    .slots = compression_writer_slots,
};

static PyType_Slot decompression_writer_slots[] = {
    {Py_tp_doc,
     "A file that writes what it is given to another, decompressed (replaces `zstandard.ZstdDecompressionWriter`).\n\n"
     "Made by `ZstdDecompressor.stream_writer`. Takes frame after frame. Closing it inside a frame is a ZstdError,\n"
     "unless it is closed because of another."},
    WRITER_SLOTS(decompression_writer_methods),
};

static PyType_Spec decompression_writer_spec = {
    .name = "cpkg.zstandard.ZstdDecompressionWriter",
    .basicsize = sizeof(Writer),
    .flags = OBJECT_FLAGS,
    .slots = decompression_writer_slots,
};

/* stream_writer's object that compresses, for a preset. */
static PyObject *new_compression_writer(PyObject *preset, PyObject *file, PyObject *size, Py_ssize_t write_size,
                                        int returns_read, int closefd)
{
    Writer *writer = object_new(compression_writer_type);
    if (writer == NULL || feed_open(&writer->feed, (CompressionPreset *)preset, size) < 0) {
        Py_XDECREF(writer);
        return NULL;
    }
    writer->write_size = write_size;
    writer->returns_read = returns_read;
    file_open(&writer->base, file, closefd);
    return (PyObject *)writer;
}

/* stream_writer's object that decompresses, for a preset. */
static PyObject *new_decompression_writer(PyObject *preset, PyObject *file, Py_ssize_t write_size, int returns_read,
                                          int closefd)
{
    Writer *writer = object_new(decompression_writer_type);
    if (writer == NULL || decoder_open(&writer->decoder, (DecompressionPreset *)preset) < 0) {
        Py_XDECREF(writer);
        return NULL;
    }
    writer->write_size = write_size;
    writer->returns_read = returns_read;
    file_open(&writer->base, file, closefd);
    return (PyObject *)writer;
}

#endif
