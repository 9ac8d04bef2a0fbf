/* SPDX-License-Identifier: Apache-2.0 */
/* What the two writers, files that write to a file, have in common. cpkg/zstandard/writers.py is the same in Python. */
#pragma once

#include "../streams/decoder.c"
#include "../streams/feed.c"
#include "file_object.c"

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

/* Return one that writes to a file, by (write_size, write_return_read, closefd); NULL with an exception set. */
static Writer *writer_new(PyTypeObject *type, PyObject *file, PyObject *const *settings)
{
    Py_ssize_t write_size = 0;
    int truths[2];
    Writer *writer = take_numbers(settings, &write_size, 1, truths, 2) < 0 ? NULL : object_new(type);
    if (writer != NULL) {
        writer->write_size = write_size;
        writer->returns_read = truths[0];
        file_open(&writer->base, file, truths[1]);
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

#define WRITER_METHODS \
    {"__enter__", writer_begin, METH_NOARGS, NULL}, \
        {"fileno", writer_fileno, METH_NOARGS, "fileno($self, /)\n--\n\n" DROPIN_ZstdCompressionWriter_fileno}, \
        {"readable", file_false, METH_NOARGS, "readable($self, /)\n--\n\nReturn False."}, \
        {"writable", file_true, METH_NOARGS, "writable($self, /)\n--\n\nReturn True."}, \
        FILE_UNSUPPORTED("seek", ", offset, whence=0"), FILE_UNSUPPORTED("truncate", ", size=None"), \
        FILE_UNSUPPORTED("read", ", size=-1"), FILE_UNSUPPORTED("readall", ""), FILE_UNSUPPORTED("readinto", ", b"), \
        FILE_METHODS
