/* SPDX-License-Identifier: Apache-2.0 */
/* A LineBuffer: decompressed bytes, which lines.c divides into lines, or which Python takes as they are. */
#pragma once

#include "../common/objects.c"
#include "buffers.c"

enum { LINE_STRETCH = 2048 /* bytes that are looked through at a time; a multiple of 64 */ };

typedef struct {
    PyObject_HEAD
    Py_buffer memory; /* exported by a bytearray, which cannot be resized meanwhile */
    Py_ssize_t position;
    Py_ssize_t end;
    char is_utf8;     /* what the text is in; else ASCII */
    char has_returns; /* whether "\r" ends a line as well */
    char translates;  /* whether "\r\n" becomes "\n" */
    char has_given;   /* whether bytes may have been taken that were not given as a line */
    char has_made;    /* whether a line was given last, and not at the end yet: what to io.TextIOWrapper is text held */
    char has_lines;   /* whether lines that end with "\n" were given */
    char has_pairs;   /* whether lines that end with "\r\n" were */
    char is_iterating; /* whether the last of them were given by next() */
    /*
     * Ends of lines that were found together, in a stretch of the memory that is plain: ASCII without carriage returns.
     */
    Py_ssize_t stretch;  /* where it begins */
    Py_ssize_t indexed;  /* where the line begins whose end is the next of them; none but there makes use of them */
    Py_ssize_t searched; /* nothing in front of this place is looked through again */
    int ends_used, ends_found;
    uint16_t ends[LINE_STRETCH + 4]; /* from the stretch's beginning on */
} LineBuffer;

/* Forget the ends that were found: the bytes held have moved, or are gone. */
static void line_buffer_forget(LineBuffer *buffer)
{
    buffer->ends_used = buffer->ends_found = 0;
    buffer->searched = 0;
}

/* LineBuffer(memory): take the bytearray that is decompressed into. */
static int line_buffer_init(PyObject *self, PyObject *args, PyObject *Py_UNUSED(kwargs))
{
    return take_memory(&((LineBuffer *)self)->memory, args, "O!:LineBuffer");
}

static void line_buffer_dealloc(PyObject *self)
{
    PyBuffer_Release(&((LineBuffer *)self)->memory);
    object_free(self);
}

/* Give `size` of the bytes held. */
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

/* Return how many of the bytes held a caller asks for at most, or -1 with an exception set. */
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
        PyErr_SetString(PyExc_ValueError, "size lies outside of the memory");
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
    PyBuffer_Release(&buffer->memory); /* leaves a size of what it was */
    buffer->memory.len = 0;
    return none;
}

static PyMethodDef line_buffer_methods[] = {
    {"_take", line_buffer_take, METH_O, "_take(size, /)\n--\n\nReturn up to that many of the bytes held, and move on."},
    {"_take_line", line_buffer_take_line, METH_O,
     "_take_line(size, /)\n--\n\nDo the same as far as the end of the line, if that is among them."},
    {"_look", line_buffer_look, METH_NOARGS, "_look()\n--\n\nReturn the bytes held."},
    {"_make_room", line_buffer_make_room, METH_NOARGS,
     "_make_room()\n--\n\nMove the bytes held to the memory's start and return how many they are."},
    {"_add", line_buffer_add, METH_O, "_add(size, /)\n--\n\nHold that many more, which lie behind the others."},
    {"_move", line_buffer_move, METH_O,
     "_move(distance, /)\n--\n\nMove to other bytes in the memory, and return whether they lie there."},
    {"_drop", line_buffer_drop, METH_NOARGS, "_drop()\n--\n\nHold nothing."},
    {"_release", line_buffer_release, METH_NOARGS, "_release()\n--\n\nHold nothing, and let go of the memory."},
    {NULL, NULL, 0, NULL},
};

static PyMemberDef line_buffer_members[] = {
    {"position", T_PYSSIZET, offsetof(LineBuffer, position), READONLY, "Where the bytes held begin in the memory."},
    {"end", T_PYSSIZET, offsetof(LineBuffer, end), READONLY, "Where they end."},
    {"is_utf8", T_BOOL, offsetof(LineBuffer, is_utf8), 0, "Whether text is in UTF-8; else it is in ASCII."},
    {"has_returns", T_BOOL, offsetof(LineBuffer, has_returns), 0, "Whether a carriage return ends a line as well."},
    {"translates", T_BOOL, offsetof(LineBuffer, translates), 0, "Whether both together become a newline."},
    {"has_given", T_BOOL, offsetof(LineBuffer, has_given), 0, "Whether bytes were taken that are not in a line."},
    {"has_made", T_BOOL, offsetof(LineBuffer, has_made), 0, "Whether a line was given last, and not at the end yet."},
    {"has_lines", T_BOOL, offsetof(LineBuffer, has_lines), 0, "Whether lines without a carriage return were given."},
    {"has_pairs", T_BOOL, offsetof(LineBuffer, has_pairs), 0, "Whether lines with one at their end were."},
    {"is_iterating", T_BOOL, offsetof(LineBuffer, is_iterating), 0, "Whether the last of them was given by next()."},
    {NULL, 0, 0, 0, NULL},
};

DECLARE_TYPE(line_buffer, "cpkg._native.zstd.compiled._LineBuffer", LineBuffer, Py_TPFLAGS_BASETYPE,
             {Py_tp_doc, "A buffer of decompressed bytes; for the class in zstd/text_reader.py."},
             {Py_tp_init, line_buffer_init}, {Py_tp_dealloc, line_buffer_dealloc}, {Py_tp_methods, line_buffer_methods},
             {Py_tp_members, line_buffer_members})
