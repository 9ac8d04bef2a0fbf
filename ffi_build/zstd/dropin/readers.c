/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ZstdCompressionReader and ZstdDecompressionReader: files that read from a file or a buffer.
 * cpkg/zstandard/readers.py is the same in Python.
 */
#pragma once

#include <stdio.h>

#include "reader_base.c"

static PyTypeObject *compression_reader_type, *decompression_reader_type;

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

static PyObject *reader_end(PyObject *self)
{
    Reader *reader = (Reader *)self;
    int result = 0;
    if (!reader->base.is_closed) {
        reader->base.is_closed = 1;
        flow_release(&reader->flow);
        result = file_close_other(&reader->base);
    }
    return result < 0 ? NULL : new_ref(Py_None);
}

static PyObject *reader_close(PyObject *self, PyObject *Py_UNUSED(unused))
{
    return file_in_turn(self, reader_end);
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
        {"close", reader_close, METH_NOARGS, "close($self, /)\n--\n\n" DROPIN_ZstdDecompressionReader_close}, \
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

static PyType_Slot compression_reader_slots[] = {
    {Py_tp_doc, DROPIN_ZstdCompressionReader},
    FILE_SLOTS(reader, compression_reader_methods),
};

static PyType_Spec compression_reader_spec = OBJECT_SPEC("ZstdCompressionReader", Reader, compression_reader_slots);

static PyType_Slot decompression_reader_slots[] = {
    {Py_tp_doc, DROPIN_ZstdDecompressionReader},
    FILE_SLOTS(reader, decompression_reader_methods),
};

static PyType_Spec decompression_reader_spec =
    OBJECT_SPEC("ZstdDecompressionReader", Reader, decompression_reader_slots);

/* _stream_reader(source, size, read_size, closefd) of one that compresses */
static PyObject *make_compression_reader(PyObject *preset, PyObject *const *args, Py_ssize_t nargs)
{
    Py_ssize_t read_size = 0;
    int closefd;
    if (check_count("_stream_reader", nargs, 4) < 0 || take_numbers(args + 2, &read_size, 1, &closefd, 1) < 0)
        return NULL;
    Reader *reader = object_new(compression_reader_type);
    if (reader != NULL && flow_open_packing(&reader->flow, preset, args[0], args[1], read_size) < 0)
        Py_CLEAR(reader);
    if (reader != NULL)
        file_open(&reader->base, args[0], closefd);
    return (PyObject *)reader;
}

/* _stream_reader(source, read_size, read_across_frames, closefd) of one that decompresses */
static PyObject *make_decompression_reader(PyObject *preset, PyObject *const *args, Py_ssize_t nargs)
{
    Py_ssize_t read_size = 0;
    int truths[2];
    if (check_count("_stream_reader", nargs, 4) < 0 || take_numbers(args + 1, &read_size, 1, truths, 2) < 0)
        return NULL;
    Reader *reader = object_new(decompression_reader_type);
    if (reader != NULL && flow_open_unpacking(&reader->flow, preset, args[0], read_size, 0) < 0)
        Py_CLEAR(reader);
    if (reader != NULL) {
        reader->read_across_frames = truths[0];
        file_open(&reader->base, args[0], truths[1]);
    }
    return (PyObject *)reader;
}
