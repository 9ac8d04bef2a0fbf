/* SPDX-License-Identifier: Apache-2.0 */
/* The type LineBuffer: decompressed bytes, from which lines.c takes lines, and Python takes bytes. */
#pragma once

#include "../common/objects.c"
#include "buffers.c"

enum { LINE_STRETCH = 2048 /* bytes searched at a time; a multiple of 64 */ };

typedef struct {
    PyObject_HEAD
    Py_buffer memory; /* the memory of a bytearray, which cannot be resized while it is held here */
    Py_ssize_t position;
    Py_ssize_t end;
    char is_utf8;      /* whether the text is UTF-8; otherwise it is ASCII */
    char has_returns;  /* whether "\r" also ends a line */
    char translates;   /* whether "\r\n" becomes "\n" */
    char has_given;    /* whether bytes may have been taken that were not returned as a line */
    char has_made;     /* whether a line was returned last, before the end: io.TextIOWrapper would then hold text */
    char has_lines;    /* whether lines ending with "\n" were returned */
    char has_pairs;    /* whether lines ending with "\r\n" were returned */
    char is_iterating; /* whether next() returned the most recent line */
    /*
     * Line ends that were found together, in a part of the memory (a stretch) that is ASCII without carriage returns.
     */
    Py_ssize_t stretch;  /* where the stretch begins */
    Py_ssize_t indexed;  /* where the line with the next end begins; at any other position, the ends are not used */
    Py_ssize_t searched; /* the position before which nothing is searched again */
    int ends_used, ends_found;
    uint16_t ends[LINE_STRETCH + 4]; /* relative to the start of the stretch */
} LineBuffer;

/* Forget the line ends that were found, because the held bytes have moved or are gone. */
static void line_buffer_forget(LineBuffer *buffer)
{
    buffer->ends_used = buffer->ends_found = 0;
    buffer->searched = 0;
}

/* LineBuffer(memory): hold a bytearray, into which Python decompresses. */
static int line_buffer_init(PyObject *self, PyObject *args, PyObject *Py_UNUSED(kwargs))
{
    return take_memory(&((LineBuffer *)self)->memory, args, "O!:LineBuffer");
}

static void line_buffer_dealloc(PyObject *self)
{
    PyBuffer_Release(&((LineBuffer *)self)->memory);
    object_free(self);
}

/* Remove and return the first `size` of the held bytes. */
static PyObject *line_buffer_give(LineBuffer *buffer, Py_ssize_t size)
{
    const char *start = (const char *)buffer->memory.buf + buffer->position;
    PyObject *bytes = PyBytes_FromStringAndSize(size > 0 ? start : NULL, size);
    if (bytes != NULL) {
        buffer->position += size;
        buffer->has_given = 1;
        buffer->has_made = 0;
    }
    return bytes;
}

/* Return a number of bytes from a caller, but at least 0 and at most as many as are held; -1 with an exception set. */
static Py_ssize_t line_buffer_limit(LineBuffer *buffer, PyObject *number)
{
    Py_ssize_t limit = PyNumber_AsSsize_t(number, NULL);
    if (limit == -1 && PyErr_Occurred())
        return -1;
    Py_ssize_t held = buffer->end - buffer->position;
    return limit < 0 ? 0 : limit < held ? limit : held;
}

static PyObject *line_buffer_take(PyObject *self, PyObject *number)
{
    Py_ssize_t size = line_buffer_limit((LineBuffer *)self, number);
    return size < 0 ? NULL : line_buffer_give((LineBuffer *)self, size);
}

static PyObject *line_buffer_take_line(PyObject *self, PyObject *number)
{
    LineBuffer *buffer = (LineBuffer *)self;
    Py_ssize_t size = line_buffer_limit(buffer, number);
    if (size > 0) {
        const char *start = (const char *)buffer->memory.buf + buffer->position;
        const char *newline = memchr(start, '\n', (size_t)size);
        size = newline != NULL ? newline + 1 - start : size;
    }
    return size < 0 ? NULL : line_buffer_give(buffer, size);
}

static PyObject *line_buffer_look(PyObject *self, PyObject *Py_UNUSED(unused))
{
    LineBuffer *buffer = (LineBuffer *)self;
    Py_ssize_t held = buffer->end - buffer->position;
    return PyBytes_FromStringAndSize(held > 0 ? (const char *)buffer->memory.buf + buffer->position : NULL, held);
}

static PyObject *line_buffer_make_room(PyObject *self, PyObject *Py_UNUSED(unused))
{
    LineBuffer *buffer = (LineBuffer *)self;
    Py_ssize_t held = buffer->end - buffer->position;
    if (buffer->position > 0) {
        memmove(buffer->memory.buf, (const char *)buffer->memory.buf + buffer->position, (size_t)held);
        buffer->position = 0;
        buffer->end = held;
        line_buffer_forget(buffer);
    }
    return PyLong_FromSsize_t(held);
}

static PyObject *line_buffer_add(PyObject *self, PyObject *number)
{
    LineBuffer *buffer = (LineBuffer *)self;
    Py_ssize_t size = PyLong_AsSsize_t(number);
    if (size == -1 && PyErr_Occurred())
        return NULL;
    if (size < 0 || size > buffer->memory.len - buffer->end) {
        PyErr_SetString(PyExc_ValueError, "size is negative or larger than the free memory");
        return NULL;
    }
    buffer->end += size;
    Py_RETURN_NONE;
}

static PyObject *line_buffer_move(PyObject *self, PyObject *number)
{
    LineBuffer *buffer = (LineBuffer *)self;
    Py_ssize_t distance = PyNumber_AsSsize_t(number, NULL);
    if (distance == -1 && PyErr_Occurred())
        return NULL;
    int is_there = distance >= -buffer->position && distance <= buffer->end - buffer->position;
    if (is_there)
        buffer->position += distance;
    return PyBool_FromLong(is_there);
}

static PyObject *line_buffer_drop(PyObject *self, PyObject *Py_UNUSED(unused))
{
    LineBuffer *buffer = (LineBuffer *)self;
    buffer->position = buffer->end = 0;
    line_buffer_forget(buffer);
    Py_RETURN_NONE;
}

static PyObject *line_buffer_release(PyObject *self, PyObject *unused)
{
    LineBuffer *buffer = (LineBuffer *)self;
    PyObject *none = line_buffer_drop(self, unused);
    PyBuffer_Release(&buffer->memory); /* does not change memory.len */
    buffer->memory.len = 0;
    return none;
}

static PyMethodDef line_buffer_methods[] = {
    {"_take", line_buffer_take, METH_O, "_take(size, /)\n--\n\nRemove and return up to `size` of the held bytes."},
    {"_take_line", line_buffer_take_line, METH_O,
     "_take_line(size, /)\n--\n\nRemove and return up to `size` of the held bytes, at most to the end of the line."},
    {"_look", line_buffer_look, METH_NOARGS, "_look()\n--\n\nReturn the held bytes without removing them."},
    {"_make_room", line_buffer_make_room, METH_NOARGS,
     "_make_room()\n--\n\nMove the held bytes to the start of the memory and return their number."},
    {"_add", line_buffer_add, METH_O, "_add(size, /)\n--\n\nHold `size` more bytes, which follow the held bytes."},
    {"_move", line_buffer_move, METH_O,
     "_move(distance, /)\n--\n\nMove `position` by a distance if it stays in 0..`end`; return whether it does."},
    {"_drop", line_buffer_drop, METH_NOARGS, "_drop()\n--\n\nHold no bytes."},
    {"_release", line_buffer_release, METH_NOARGS, "_release()\n--\n\nHold no bytes, and release the memory."},
    {NULL, NULL, 0, NULL},
};

static PyMemberDef line_buffer_members[] = {
    {"position", T_PYSSIZET, offsetof(LineBuffer, position), READONLY, "The start of the held bytes in the memory."},
    {"end", T_PYSSIZET, offsetof(LineBuffer, end), READONLY, "The end of the held bytes in the memory."},
    {"is_utf8", T_BOOL, offsetof(LineBuffer, is_utf8), 0, "Whether the text is UTF-8; otherwise it is ASCII."},
    {"has_returns", T_BOOL, offsetof(LineBuffer, has_returns), 0, "Whether a carriage return also ends a line."},
    {"translates", T_BOOL, offsetof(LineBuffer, translates), 0,
     "Whether a carriage return and newline become a newline."},
    {"has_given", T_BOOL, offsetof(LineBuffer, has_given), 0, "Whether bytes were taken that are not in a line."},
    {"has_made", T_BOOL, offsetof(LineBuffer, has_made), 0, "Whether a line was returned last, before the end."},
    {"has_lines", T_BOOL, offsetof(LineBuffer, has_lines), 0, "Whether lines without a carriage return were returned."},
    {"has_pairs", T_BOOL, offsetof(LineBuffer, has_pairs), 0,
     "Whether lines ending in a carriage return were returned."},
    {"is_iterating", T_BOOL, offsetof(LineBuffer, is_iterating), 0, "Whether next() returned the most recent line."},
    {NULL, 0, 0, 0, NULL},
};

DECLARE_TYPE(line_buffer, "cpkg._native.zstd.compiled._LineBuffer", LineBuffer, Py_TPFLAGS_BASETYPE,
             {Py_tp_doc, "A buffer of decompressed bytes; a base class of zstd/text_reader.py."},
             {Py_tp_init, line_buffer_init}, {Py_tp_dealloc, line_buffer_dealloc}, {Py_tp_methods, line_buffer_methods},
             {Py_tp_members, line_buffer_members})
