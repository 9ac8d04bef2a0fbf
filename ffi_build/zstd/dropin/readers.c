/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ZstdCompressionReader and ZstdDecompressionReader: files that read from a file or a buffer.
 * cpkg/zstandard/readers.py is the same in Python.
 */
#pragma once

#include <stdio.h>

#include "file_object.c"
#include "flow.c"

static PyTypeObject *compression_reader_type, *decompression_reader_type;

enum { SKIPPED_AT_ONCE = BLOCK_MAX };

typedef struct {
    FileObject base;
    Flow flow;
    unsigned long long position;
    PyObject *failure;      /* an exception */
    int read_across_frames; /* one read goes from frame to frame */
} Reader;

static int reader_traverse(PyObject *self, visitproc visit, void *arg)
{
    Reader *reader = (Reader *)self;
    VISIT_TYPE(self);
    Py_VISIT(reader->base.file);
    Py_VISIT(reader->failure);
    return flow_traverse(&reader->flow, visit, arg);
}

static int reader_clear(PyObject *self)
{
    Reader *reader = (Reader *)self;
    SET_SHOWN(reader->base.is_closed, 1);
    flow_clear(&reader->flow);
    Py_CLEAR(reader->failure);
    Py_CLEAR(reader->base.file);
    return 0;
}

static void reader_dealloc(PyObject *self)
{
    PyObject_GC_UnTrack(self);
    reader_clear(self);
    file_free((FileObject *)self);
}

/* Do flow_next(); what it raised once it raises from then on. */
static PyObject *reader_more(Reader *reader, Py_ssize_t limit)
{
    if (reader->failure != NULL) {
        PyException_SetTraceback(reader->failure, Py_None);
        return raise_made(new_ref(reader->failure));
    }
    PyObject *piece = flow_next(&reader->flow, limit);
    if (piece == NULL && is_zstd_error())
        reader->failure = current_exception();
    return piece;
}

/* Say whether a read may go on behind what came last. */
static int reader_goes_on(const Reader *reader)
{
    return reader->flow.is_packing || reader->read_across_frames || !reader->flow.decoder.at_start;
}

/* Join pieces, which are taken over, and count them as read. */
static PyObject *reader_given(Reader *reader, PyObject *first, PyObject *rest)
{
    PyObject *result = first;
    if (rest != NULL) {
        PyObject *empty = PyBytes_FromStringAndSize(NULL, 0);
        result = empty == NULL || PyList_Insert(rest, 0, first) < 0 ? NULL
                                                                    : PyObject_CallMethod(empty, "join", "O", rest);
        Py_XDECREF(empty);
        Py_DECREF(first);
        Py_DECREF(rest);
    }
    if (result != NULL)
        reader->position += (unsigned long long)PyBytes_GET_SIZE(result);
    return result;
}

/* Return up to `size` bytes (-1: all that is left, whatever the frames); NULL with an exception set. */
static PyObject *reader_gather(Reader *reader, Py_ssize_t size)
{
    PyObject *first = reader_more(reader, size);
    PyObject *rest = NULL;
    if (first == NULL)
        return NULL;
    Py_ssize_t total = PyBytes_GET_SIZE(first), last = total;
    while (last > 0 && (size < 0 ? PyErr_CheckSignals() == 0 : total < size && reader_goes_on(reader))) {
        PyObject *piece = reader_more(reader, size < 0 ? -1 : size - total);
        if (piece == NULL && size >= 0 && reader->failure != NULL && is_zstd_error()) {
            PyErr_Clear(); /* the next read raises it; what lies in front of the error is given before */
            break;
        }
        last = piece == NULL ? -1 : PyBytes_GET_SIZE(piece);
        total += last;
        if (last > 0 && ((rest == NULL && (rest = PyList_New(0)) == NULL) || PyList_Append(rest, piece) < 0))
            last = -1;
        Py_XDECREF(piece);
    }
    if (last < 0 || (size < 0 && PyErr_Occurred())) {
        Py_DECREF(first);
        Py_XDECREF(rest);
        return NULL;
    }
    return reader_given(reader, first, rest);
}

/* Read as `read` (is_once: as `read1`) does. */
static PyObject *reader_read_size(Reader *reader, Py_ssize_t size, int is_once)
{
    PyObject *result = NULL;
    if (file_enter(&reader->base) < 0)
        return NULL;
    if (size < -1) {
        PyErr_SetString(PyExc_ValueError, "cannot read negative amounts less than -1");
    }
    else if (size == 0) {
        result = PyBytes_FromStringAndSize(NULL, 0);
    }
    else if (is_once) {
        PyObject *piece = reader_more(reader, size == -1 ? PIECE_SIZE : size);
        result = piece == NULL ? NULL : reader_given(reader, piece, NULL);
    }
    else {
        result = reader_gather(reader, size);
    }
    turn_leave((PyObject *)reader, &reader->base.turn);
    return result;
}

/* Read and drop so many bytes, as far as there are; return 0, or -1 with an exception set. */
static int reader_skip(Reader *reader, unsigned long long left)
{
    while (left > 0) {
        PyObject *piece = reader_more(reader, left < SKIPPED_AT_ONCE ? (Py_ssize_t)left : SKIPPED_AT_ONCE);
        if (piece == NULL || PyErr_CheckSignals() < 0) {
            Py_XDECREF(piece);
            return -1;
        }
        Py_ssize_t size = PyBytes_GET_SIZE(piece);
        Py_DECREF(piece);
        if (size == 0)
            return 0;
        left -= (unsigned long long)size;
        reader->position += (unsigned long long)size;
    }
    return 0;
}

static PyObject *reader_read_named(PyObject *self, const char *name, int is_once, PyObject *const *args,
                                   Py_ssize_t nargs, PyObject *kwnames)
{
    Py_ssize_t size = -1;
    PyObject *given;
    if (take_only_argument(name, "size", 0, args, nargs, kwnames, &given) < 0 || take_ssize(given, &size) < 0)
        return NULL;
    return reader_read_size((Reader *)self, size, is_once);
}

static PyObject *reader_read(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    return reader_read_named(self, "read", 0, args, nargs, kwnames);
}

static PyObject *reader_read1(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    return reader_read_named(self, "read1", 1, args, nargs, kwnames);
}

static PyObject *reader_readall(PyObject *self, PyObject *Py_UNUSED(unused))
{
    return reader_read_size((Reader *)self, -1, 0);
}

static PyObject *reader_fill(PyObject *self, PyObject *target, int is_once)
{
    Py_buffer view;
    if (PyObject_GetBuffer(target, &view, PyBUF_FULL_RO) < 0)
        return NULL;
    PyObject *data = NULL;
    if (view.readonly || !PyBuffer_IsContiguous(&view, 'C'))
        PyErr_Format(PyExc_TypeError, "a writable, contiguous bytes-like object is required, not '%s'",
                     Py_TYPE(target)->tp_name);
    else
        data = reader_read_size((Reader *)self, view.len, is_once);
    Py_ssize_t size = 0;
    if (data != NULL) {
        size = PyBytes_GET_SIZE(data);
        memcpy(view.buf, PyBytes_AS_STRING(data), (size_t)size);
        Py_DECREF(data);
    }
    PyBuffer_Release(&view);
    return data == NULL ? NULL : PyLong_FromSsize_t(size);
}

static PyObject *reader_readinto(PyObject *self, PyObject *target)
{
    return reader_fill(self, target, 0);
}

static PyObject *reader_readinto1(PyObject *self, PyObject *target)
{
    return reader_fill(self, target, 1);
}

static PyObject *reader_tell(PyObject *self, PyObject *Py_UNUSED(unused))
{
    return PyLong_FromUnsignedLongLong(((Reader *)self)->position);
}

static int reader_end(FileObject *object)
{
    SET_SHOWN(object->is_closed, 1);
    flow_release(&((Reader *)object)->flow);
    return file_close_other(object);
}

static PyObject *reader_flush(PyObject *Py_UNUSED(self), PyObject *Py_UNUSED(unused))
{
    Py_RETURN_NONE;
}

static PyObject *reader_begin(PyObject *self, PyObject *Py_UNUSED(unused))
{
    FileObject *base = (FileObject *)self;
    if (base->is_entered) {
        PyErr_SetString(PyExc_ValueError, "cannot __enter__ multiple times");
        return NULL;
    }
    if (file_check_open(base) < 0)
        return NULL;
    base->is_entered = 1;
    return new_ref(self);
}

/* Find how far on a position lies; return 0, or -1 with an exception set. */
static int reader_distance(const Reader *reader, long long position, long whence, unsigned long long *distance)
{
    if (whence == SEEK_END) {
        PyErr_SetString(PyExc_OSError, "zstd decompression streams cannot be seeked with SEEK_END");
    }
    else if (whence != SEEK_SET && whence != SEEK_CUR) {
        PyErr_Format(PyExc_ValueError, "whence must be os.SEEK_SET or os.SEEK_CUR, not %ld", whence);
    }
    else if (whence == SEEK_SET && position < 0) {
        PyErr_SetString(PyExc_OSError, "cannot seek to negative position with SEEK_SET");
    }
    else if (position < 0 || (whence == SEEK_SET && (unsigned long long)position < reader->position)) {
        PyErr_SetString(PyExc_OSError, "cannot seek zstd decompression stream backwards");
    }
    else {
        *distance = (unsigned long long)position - (whence == SEEK_SET ? reader->position : 0);
        return 0;
    }
    return -1;
}

static PyObject *reader_seek(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    static const char *const names[] = {"pos", "whence"};
    Reader *reader = (Reader *)self;
    PyObject *given[2];
    if (take_arguments("seek", names, 2, 1, args, nargs, kwnames, given) < 0)
        return NULL;
    long long position = PyLong_AsLongLong(given[0]);
    long whence = given[1] == NULL ? SEEK_SET : PyLong_AsLong(given[1]);
    if (PyErr_Occurred() || file_enter(&reader->base) < 0)
        return NULL;
    unsigned long long distance = 0;
    int result = reader_distance(reader, position, whence, &distance);
    if (result == 0)
        result = reader_skip(reader, distance);
    unsigned long long reached = reader->position;
    turn_leave(self, &reader->base.turn);
    return result < 0 ? NULL : PyLong_FromUnsignedLongLong(reached);
}

#define READER_METHODS \
    {"read", AS_METHOD(reader_read), FASTCALL, "read($self, /, size=-1)\n--\n\n" DROPIN_ZstdDecompressionReader_read}, \
        {"read1", AS_METHOD(reader_read1), FASTCALL, \
         "read1($self, /, size=-1)\n--\n\n" DROPIN_ZstdDecompressionReader_read1}, \
        {"readall", reader_readall, METH_NOARGS, "readall($self, /)\n--\n\n" DROPIN_ZstdDecompressionReader_readall}, \
        {"readinto", reader_readinto, METH_O, \
         "readinto($self, b, /)\n--\n\n" DROPIN_ZstdDecompressionReader_readinto}, \
        {"readinto1", reader_readinto1, METH_O, \
         "readinto1($self, b, /)\n--\n\n" DROPIN_ZstdDecompressionReader_readinto1}, \
        {"tell", reader_tell, METH_NOARGS, "tell($self, /)\n--\n\n" DROPIN_ZstdDecompressionReader_tell}, \
        {"close", file_close, METH_NOARGS, "close($self, /)\n--\n\n" DROPIN_ZstdDecompressionReader_close}, \
        {"flush", reader_flush, METH_NOARGS, "flush($self, /)\n--\n\nDo nothing."}, \
        {"__enter__", reader_begin, METH_NOARGS, NULL}, {"__exit__", file_exit, METH_VARARGS, NULL}, \
        {"readable", file_true, METH_NOARGS, "readable($self, /)\n--\n\nReturn True."}, \
        {"writable", file_false, METH_NOARGS, "writable($self, /)\n--\n\nReturn False."}, \
        FILE_UNSUPPORTED("write", ", data"), FILE_UNSUPPORTED("writelines", ", lines"), FILE_METHODS

static PyMethodDef compression_reader_methods[] = {READER_METHODS, {NULL, NULL, 0, NULL}};

static PyMethodDef decompression_reader_methods[] = {
    READER_METHODS,
    {"seek", AS_METHOD(reader_seek), FASTCALL,
     "seek($self, /, pos, whence=0)\n--\n\n" DROPIN_ZstdDecompressionReader_seek},
    {NULL, NULL, 0, NULL},
};

DECLARE_FILE_TYPE(compression_reader, reader, "ZstdCompressionReader", Reader, DROPIN_ZstdCompressionReader)

DECLARE_FILE_TYPE(decompression_reader, reader, "ZstdDecompressionReader", Reader, DROPIN_ZstdDecompressionReader)

/* Return a reader of a type; `truths` say whether it reads across frames, and closes its source. */
static PyObject *new_reader(PyTypeObject *type, PyObject *preset, PyObject *source, PyObject *size,
                            Py_ssize_t read_size, const int *truths)
{
    Reader *reader = object_new(type);
    if (reader != NULL && flow_open(&reader->flow, preset, source, size, read_size, 0) < 0)
        Py_CLEAR(reader);
    if (reader != NULL) {
        reader->read_across_frames = truths[0];
        file_open(&reader->base, source, truths[1], reader_end);
    }
    return (PyObject *)reader;
}

/* _stream_reader(source, size, read_size, closefd) of one that compresses */
static PyObject *make_compression_reader(PyObject *preset, PyObject *const *args, Py_ssize_t nargs)
{
    Py_ssize_t read_size = 0;
    int truths[2] = {0};
    if (check_count("_stream_reader", nargs, 4) < 0 || take_numbers(args + 2, &read_size, 1, &truths[1], 1) < 0)
        return NULL;
    return new_reader(compression_reader_type, preset, args[0], args[1], read_size, truths);
}

/* _stream_reader(source, read_size, read_across_frames, closefd) of one that decompresses */
static PyObject *make_decompression_reader(PyObject *preset, PyObject *const *args, Py_ssize_t nargs)
{
    Py_ssize_t read_size = 0;
    int truths[2];
    if (check_count("_stream_reader", nargs, 4) < 0 || take_numbers(args + 1, &read_size, 1, truths, 2) < 0)
        return NULL;
    return new_reader(decompression_reader_type, preset, args[0], NULL, read_size, truths);
}
