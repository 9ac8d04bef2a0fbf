/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ZstdCompressionReader and ZstdDecompressionReader: files that read from a file or a buffer.
 * cpkg/zstandard/readers.py is the same in Python.
 */
#ifndef CPKG_ZSTD_DROPIN_READERS
#define CPKG_ZSTD_DROPIN_READERS

#include <Python.h>
#include <stdio.h>
#include <string.h>

#include "reader_base.c"

static PyTypeObject *compression_reader_type, *decompression_reader_type;

PyDoc_STRVAR(reader_read_doc,
             "read($self, /, size=-1)\n--\n\n"
             "Return `size` bytes, fewer at the end, or with -1 all that is left.\n\n"
             "Raises ZstdError if there is an error in what comes next; what lies in front of it can be read before.");

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

PyDoc_STRVAR(reader_read1_doc,
             "read1($self, /, size=-1)\n--\n\n"
             "Return at most `size` bytes (-1: some), reading from the source only until there are any.");

static PyObject *reader_read1(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    return reader_read_named(self, "read1", 1, args, nargs, kwnames);
}

PyDoc_STRVAR(reader_readall_doc, "readall($self, /)\n--\n\nReturn all that is left.");

static PyObject *reader_readall(PyObject *self, PyObject *unused)
{
    (void)unused;
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

PyDoc_STRVAR(reader_readinto_doc,
             "readinto($self, b, /)\n--\n\n"
             "Fill `b`, a writable buffer, as far as there is output; return how many bytes it holds then.");

static PyObject *reader_readinto(PyObject *self, PyObject *target)
{
    return reader_fill(self, target, 0);
}

PyDoc_STRVAR(reader_readinto1_doc, "readinto1($self, b, /)\n--\n\nDo for `b`, a writable buffer, what `read1` does.");

static PyObject *reader_readinto1(PyObject *self, PyObject *target)
{
    return reader_fill(self, target, 1);
}

PyDoc_STRVAR(reader_tell_doc, "tell($self, /)\n--\n\nReturn how many bytes were read.");

static PyObject *reader_tell(PyObject *self, PyObject *unused)
{
    (void)unused;
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

PyDoc_STRVAR(reader_close_doc,
             "close($self, /)\n--\n\nClose the reader, and its source unless `closefd` is false; again: nothing.");

static PyObject *reader_close(PyObject *self, PyObject *unused)
{
    (void)unused;
    return file_in_turn(self, reader_end);
}

static PyObject *reader_flush(PyObject *self, PyObject *unused)
{
    (void)self;
    (void)unused;
    Py_RETURN_NONE;
}

static PyObject *reader_begin(PyObject *self, PyObject *unused)
{
    FileObject *base = (FileObject *)self;
    (void)unused;
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

PyDoc_STRVAR(
    reader_seek_doc,
    "seek($self, /, pos, whence=0)\n--\n\n"
    "Go on to the position `pos` by reading up to it, and return the position, which is less if there is not so much.\n\n"
    "`whence` is os.SEEK_SET or os.SEEK_CUR. Raises OSError for a position that lies behind, and for\n"
    "os.SEEK_END.");

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
    {"read", AS_METHOD(reader_read), FASTCALL, reader_read_doc}, \
        {"read1", AS_METHOD(reader_read1), FASTCALL, reader_read1_doc}, \
        {"readall", reader_readall, METH_NOARGS, reader_readall_doc}, \
        {"readinto", reader_readinto, METH_O, reader_readinto_doc}, \
        {"readinto1", reader_readinto1, METH_O, reader_readinto1_doc}, \
        {"tell", reader_tell, METH_NOARGS, reader_tell_doc}, {"close", reader_close, METH_NOARGS, reader_close_doc}, \
        {"flush", reader_flush, METH_NOARGS, "flush($self, /)\n--\n\nDo nothing."}, \
        {"__enter__", reader_begin, METH_NOARGS, NULL}, {"__exit__", file_exit, METH_VARARGS, NULL}, \
        {"readable", file_true, METH_NOARGS, "readable($self, /)\n--\n\nReturn True."}, \
        {"writable", file_false, METH_NOARGS, "writable($self, /)\n--\n\nReturn False."}, \
        FILE_UNSUPPORTED("write", ", data"), FILE_UNSUPPORTED("writelines", ", lines"), FILE_METHODS

static PyMethodDef compression_reader_methods[] = {READER_METHODS, {NULL, NULL, 0, NULL}};

static PyMethodDef decompression_reader_methods[] = {
    READER_METHODS,
    {"seek", AS_METHOD(reader_seek), FASTCALL, reader_seek_doc},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot compression_reader_slots[] = {
    {Py_tp_doc, "A file whose content is a source, compressed (replaces `zstandard.ZstdCompressionReader`).\n\n"
                "Made by `ZstdCompressor.stream_reader`."},
    FILE_SLOTS(reader, compression_reader_methods),
};

static PyType_Spec compression_reader_spec = OBJECT_SPEC("ZstdCompressionReader", Reader, compression_reader_slots);

static PyType_Slot decompression_reader_slots[] = {
    {Py_tp_doc,
     "A file whose content is what a source decompresses to (replaces `zstandard.ZstdDecompressionReader`).\n\n"
     "Made by `ZstdDecompressor.stream_reader`. Reads frame after frame; one read stops at the end of a\n"
     "frame unless `read_across_frames` is true. A source that ends inside a frame is a ZstdError."},
    FILE_SLOTS(reader, decompression_reader_methods),
};

static PyType_Spec decompression_reader_spec =
    OBJECT_SPEC("ZstdDecompressionReader", Reader, decompression_reader_slots);

/* stream_reader's object that compresses, for a preset. */
static PyObject *new_compression_reader(PyObject *preset, PyObject *source, PyObject *size, Py_ssize_t read_size,
                                        int closefd)
{
    Reader *reader = object_new(compression_reader_type);
    if (reader == NULL || flow_open_packing(&reader->flow, preset, source, size, read_size) < 0) {
        Py_XDECREF(reader);
        return NULL;
    }
    file_open(&reader->base, source, closefd);
    return (PyObject *)reader;
}

/* stream_reader's object that decompresses, for a preset. */
static PyObject *new_decompression_reader(PyObject *preset, PyObject *source, Py_ssize_t read_size, int is_across,
                                          int closefd)
{
    Reader *reader = object_new(decompression_reader_type);
    if (reader == NULL || flow_open_unpacking(&reader->flow, preset, source, read_size, 0) < 0) {
        Py_XDECREF(reader);
        return NULL;
    }
    reader->is_across = is_across;
    file_open(&reader->base, source, closefd);
    return (PyObject *)reader;
}

#endif
