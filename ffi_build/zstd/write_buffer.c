/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The type WriteBuffer, whose write() collects lines for the compressor; install.c adds it to the module.
 *
 * Lines are far too short to compress each of them in a separate call, so they are collected. An io.BufferedWriter also
 * collects lines, but for each line it takes a lock and parses arguments, which takes longer than copying the line.
 * Here write() is one copy. Everything else, including a lock, is in the Python subclass
 * (cpkg/_native/zstd/buffered_writer.py). While the subclass works on the memory, write() accepts no data.
 */
#pragma once

#include "../common/objects.c"
#include "buffers.c"

typedef struct {
    PyObject_HEAD
    Py_buffer memory; /* the memory of a bytearray, which cannot be resized while it is held here */
    Py_ssize_t held;
    int is_taking;
} WriteBuffer;

/* WriteBuffer(memory): hold a bytearray, in which data is collected. */
static int write_buffer_init(PyObject *self, PyObject *args, PyObject *Py_UNUSED(kwargs))
{
    WriteBuffer *buffer = (WriteBuffer *)self;
    if (take_memory(&buffer->memory, args, "O!:WriteBuffer") < 0)
        return -1;
    buffer->is_taking = 1;
    return 0;
}

static void write_buffer_dealloc(PyObject *self)
{
    PyBuffer_Release(&((WriteBuffer *)self)->memory);
    object_free(self);
}

static PyObject *write_buffer_write(PyObject *self, PyObject *data)
{
    WriteBuffer *buffer = (WriteBuffer *)self;
    Input in;
    /* a class in Python that exports a buffer may call this object, so the free space is read after this call */
    if (input_open(&in, data) < 0)
        return NULL;
    int is_taken = 0;
    WITH_LOCKED(self)
    if (buffer->is_taking && in.size <= (size_t)(buffer->memory.len - buffer->held)) {
        if (in.size > 0) {
            memmove((char *)buffer->memory.buf + buffer->held, in.start, in.size); /* the input may be in this memory */
            buffer->held += (Py_ssize_t)in.size;
        }
        is_taken = 1;
    }
    END_LOCKED()
    input_close(&in);
    return is_taken ? PyLong_FromSize_t(in.size) : PyObject_CallMethod(self, "_write_through", "(O)", data);
}

static PyObject *write_buffer_hold(PyObject *self, PyObject *Py_UNUSED(unused))
{
    WriteBuffer *buffer = (WriteBuffer *)self;
    Py_ssize_t held;
    WITH_LOCKED(self)
    buffer->is_taking = 0;
    held = buffer->held;
    END_LOCKED()
    return PyLong_FromSsize_t(held);
}

static PyObject *write_buffer_resume(PyObject *self, PyObject *number)
{
    WriteBuffer *buffer = (WriteBuffer *)self;
    Py_ssize_t held = PyLong_AsSsize_t(number);
    if (held == -1 && PyErr_Occurred())
        return NULL;
    if (held < 0 || held > buffer->memory.len) {
        PyErr_SetString(PyExc_ValueError, "held is negative or larger than the memory");
        return NULL;
    }
    WITH_LOCKED(self)
    buffer->held = held;
    buffer->is_taking = 1;
    END_LOCKED()
    Py_RETURN_NONE;
}

static PyMethodDef write_buffer_methods[] = {
    {"write", write_buffer_write, METH_O, "write(data, /)\n--\n\nTake the bytes of a buffer and return their number."},
    {"_hold", write_buffer_hold, METH_NOARGS,
     "_hold()\n--\n\nLet write() accept no data from here on, and return the number of bytes held."},
    {"_resume", write_buffer_resume, METH_O,
     "_resume(held, /)\n--\n\nLet write() continue after the first `held` bytes of the memory."},
    {NULL, NULL, 0, NULL},
};

static PyMemberDef write_buffer_members[] = {
    {"held", T_PYSSIZET, offsetof(WriteBuffer, held), READONLY, "How many bytes of the memory are held."},
    {NULL, 0, 0, 0, NULL},
};

DECLARE_TYPE(write_buffer, "cpkg._native.zstd.compiled._WriteBuffer", WriteBuffer, Py_TPFLAGS_BASETYPE,
             {Py_tp_doc, "A buffer with a write() that costs one copy; a base class of zstd/buffered_writer.py."},
             {Py_tp_init, write_buffer_init}, {Py_tp_dealloc, write_buffer_dealloc},
             {Py_tp_methods, write_buffer_methods}, {Py_tp_members, write_buffer_members})
