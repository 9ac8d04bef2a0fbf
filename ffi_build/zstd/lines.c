/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading lines of text directly from decompressed bytes; install.c adds make_text_reader() to the module.
 *
 * An io.TextIOWrapper decodes a chunk, then finds and copies the lines in it, and checks for each line whether its file
 * is closed. This takes most of the time of reading lines. Here next() and readline() find the end of a line in the
 * decompressed memory (LineBuffer), and copy the line into a str. Nothing is decoded ahead, so there is only one
 * position. Unusual cases (other newlines, bytes that fail to decode, a line longer than the memory, a last line
 * without an end) are left to the methods of io.TextIOWrapper, which continue at the same position. After that,
 * io.TextIOWrapper may hold bytes that it read ahead, so it returns all further lines until a seek(). Everything else,
 * including the lock, is in Python (cpkg/_native/zstd/text_reader.py).
 */
#pragma once

#include "../common/compat.c"
#include "line_buffer.c"
#include "line_ends.c"

/* Do the same as line_made() for a line that is not ASCII; return NULL without an exception if the line is not
   UTF-8. */
static PyObject *line_decoded(LineBuffer *buffer, const char *start, Py_ssize_t size, int is_pair)
{
    PyObject *memory = buffer->memory.obj; /* creating an exception may run a finalizer, which may close the file */
    Py_ssize_t end_position = buffer->position + size;
    char *end = (char *)buffer->memory.buf + end_position;
    Py_INCREF(memory);
    if (is_pair)
        end[-2] = '\n'; /* until the line is decoded */
    PyObject *line = PyUnicode_DecodeUTF8(start, size - is_pair, NULL);
    if (is_pair && buffer->memory.len >= end_position && (char *)buffer->memory.buf + end_position == end)
        end[-2] = '\r';
    Py_DECREF(memory);
    if (line == NULL && PyErr_ExceptionMatches(PyExc_UnicodeDecodeError))
        PyErr_Clear();
    return line;
}

/* Copy a line. For most sizes there are no branches, because the processor could not predict the next line's size. */
static inline void line_copy(char *to, const char *from, Py_ssize_t size)
{
#ifdef HAVE_LINE_SIMD
    if (size >= 16 && size <= 64) {
        Py_ssize_t last = size - 16;
        Py_ssize_t second = last < 16 ? last : 16;
        Py_ssize_t third = last > 16 ? last - 16 : 0;
        __m128i a = _mm_loadu_si128((const __m128i *)(const void *)from);
        __m128i b = _mm_loadu_si128((const __m128i *)(const void *)(from + second));
        __m128i c = _mm_loadu_si128((const __m128i *)(const void *)(from + third));
        __m128i d = _mm_loadu_si128((const __m128i *)(const void *)(from + last));
        _mm_storeu_si128((__m128i *)(void *)to, a);
        _mm_storeu_si128((__m128i *)(void *)(to + second), b);
        _mm_storeu_si128((__m128i *)(void *)(to + third), c);
        _mm_storeu_si128((__m128i *)(void *)(to + last), d);
        return;
    }
#endif
    memcpy(to, from, (size_t)size);
}

/*
 * Return the str of a line of `size` bytes. With `is_pair`, the line ends with "\r\n", which becomes "\n". Return NULL
 * with an exception set, or without one if the bytes cannot be decoded.
 */
static PyObject *line_made(LineBuffer *buffer, const char *start, Py_ssize_t size, int is_ascii, int is_pair)
{
    if (!is_ascii)
        return buffer->is_utf8 ? line_decoded(buffer, start, size, is_pair) : NULL;
    if (size - is_pair == 1)
        return PyUnicode_FromStringAndSize("\n", 1); /* a shared object */
    PyObject *line = PyUnicode_New(size - is_pair, 127);
    if (line != NULL) {
        char *text = (char *)((PyASCIIObject *)line + 1); /* the result of PyUnicode_DATA(), without its checks */
        line_copy(text, start, size - is_pair);
        text[size - is_pair - 1] = '\n';
    }
    return line;
}

#ifdef HAVE_LINE_SIMD
/* Find the line ends in the next stretch, if it is ASCII without carriage returns. */
static void line_buffer_search(LineBuffer *buffer)
{
    const __m128i newline = _mm_set1_epi8('\n');
    const __m128i returned = _mm_set1_epi8('\r');
    const char *start = (const char *)buffer->memory.buf + buffer->position;
    Py_ssize_t size = buffer->end - buffer->position;
    size = size < LINE_STRETCH ? size & ~(Py_ssize_t)63 : LINE_STRETCH;
    __m128i other = _mm_setzero_si128();
    uint16_t *to = buffer->ends;
    for (Py_ssize_t i = 0; i < size; i += 64) {
        Line64 text = line_load(start + i);
        uint64_t found = line_signs(line_equal(text, newline));
        /* the high bit is set in non-ASCII bytes, and here also in carriage returns */
        Line64 odd = line_or(text, line_equal(text, returned));
        other = _mm_or_si128(other, _mm_or_si128(_mm_or_si128(odd.a, odd.b), _mm_or_si128(odd.c, odd.d)));
        to = line_note_ends(to, found, (size_t)i);
    }
    buffer->searched = buffer->position + size;
    buffer->stretch = buffer->indexed = buffer->position;
    buffer->ends_used = 0;
    buffer->ends_found = _mm_movemask_epi8(other) == 0 ? (int)(to - buffer->ends) : 0;
}

/* Return whether the end of the line at the position is known; search the next stretch first if necessary. */
static inline int line_buffer_knows(LineBuffer *buffer)
{
    if (buffer->ends_used < buffer->ends_found && buffer->indexed == buffer->position)
        return 1;
    if (buffer->position < buffer->searched || buffer->end - buffer->position < 64)
        return 0;
    line_buffer_search(buffer);
    return buffer->ends_found > 0;
}
#endif

/*
 * Return the next line, or NULL with an exception set. Return NULL without an exception at the end, with `is_end` set,
 * or if io.TextIOWrapper must return the line.
 */
static PyObject *line_buffer_next(LineBuffer *buffer, int *is_end)
{
    *is_end = 0;
    while (!buffer->has_given && buffer->memory.len > 0) {
        const char *memory = buffer->memory.buf;
        const char *start = memory + buffer->position;
#ifdef HAVE_LINE_SIMD
        if (line_buffer_knows(buffer)) {
            Py_ssize_t size = buffer->stretch + buffer->ends[buffer->ends_used] + 1 - buffer->position;
            PyObject *line = line_made(buffer, start, size, 1, 0);
            if (line != NULL) {
                buffer->ends_used++;
                buffer->position += size;
                buffer->indexed = buffer->position;
                buffer->has_made = 1;
                buffer->has_lines = 1;
            }
            return line;
        }
#endif
        const char *end = memory + buffer->end;
        int what;
        const char *newline = line_end(start, end, &what);
        int is_pair = (what & LINE_HAS_RETURN) != 0 && buffer->has_returns;
        if (is_pair) {
            /* a return at the very end of the buffer may be the first half of a pair */
            const char *last = (newline != NULL ? newline : end) - 1;
            if (memchr(start, '\r', (size_t)(end - start)) != last)
                return NULL;
        }
        if (newline != NULL) {
            Py_ssize_t size = newline + 1 - start;
            PyObject *line = line_made(buffer, start, size, (what & LINE_IS_ASCII) != 0, is_pair && buffer->translates);
            if (line != NULL) {
                buffer->position += size;
                buffer->has_made = 1;
                if (is_pair)
                    buffer->has_pairs = 1;
                else
                    buffer->has_lines = 1;
            }
            return line;
        }
        if (buffer->end - buffer->position == buffer->memory.len)
            return NULL;
        PyObject *is_more = PyObject_CallMethod((PyObject *)buffer, "_fill", NULL);
        if (is_more == NULL)
            return NULL;
        Py_DECREF(is_more);
        if (is_more != Py_True) {
            *is_end = !buffer->has_given && buffer->memory.len > 0 && buffer->position == buffer->end;
            buffer->has_made = 0;
            return NULL;
        }
    }
    return NULL;
}

/* Attributes of the classes that make_text_reader() got. */
static struct {
    PyObject *buffer_type;
    Py_ssize_t buffer_offset; /* the offset of the slot `_lines` */
    iternextfunc next;
    PyObject *readline;
    PyObject *closed;
} text_base;

/* Return the buffer from which a text file takes its lines, or NULL if io.TextIOWrapper returns them. */
static LineBuffer *text_lines(PyObject *self)
{
    PyObject *lines = *(PyObject **)((char *)self + text_base.buffer_offset);
    if (lines == NULL || (PyObject *)Py_TYPE(lines) != text_base.buffer_type)
        return NULL;
    Py_INCREF(lines);
    return (LineBuffer *)lines;
}

static PyObject *text_next(PyObject *self)
{
    LineBuffer *lines = text_lines(self);
    if (lines == NULL)
        return text_base.next(self);
    int is_end;
    PyObject *line = line_buffer_next(lines, &is_end);
    if (line != NULL) {
        lines->is_iterating = 1;
    }
    else if (!PyErr_Occurred()) {
        line = is_end ? NULL : text_base.next(self);
        if (line == NULL && !PyErr_Occurred())
            lines->is_iterating = 0;
    }
    Py_DECREF(lines);
    return line;
}

static PyObject *text_readline(PyObject *self, PyObject *const *args, Py_ssize_t nargs)
{
    if (nargs == 0) {
        LineBuffer *lines = text_lines(self);
        int is_end = 0;
        PyObject *line = lines != NULL ? line_buffer_next(lines, &is_end) : NULL;
        Py_XDECREF(lines);
        if (is_end)
            return PyUnicode_New(0, 0);
        return line != NULL || PyErr_Occurred() ? line : PyObject_CallOneArg(text_base.readline, self);
    }
    if (nargs > 1) {
        PyErr_Format(PyExc_TypeError, "readline expected at most 1 argument, got %zd", nargs);
        return NULL;
    }
    return PyObject_CallFunctionObjArgs(text_base.readline, self, args[0], NULL);
}

/*
 * The attribute `closed`. If io.TextIOWrapper is subclassed, each of its methods reads this attribute. Its own `closed`
 * would read the file's `closed`; this one does so only if the buffer is not in use.
 */
static PyObject *text_closed(PyObject *self, void *Py_UNUSED(unused))
{
    LineBuffer *lines = text_lines(self);
    int is_open = lines != NULL && lines->memory.len > 0;
    Py_XDECREF(lines);
    if (is_open)
        Py_RETURN_FALSE;
    return PyObject_CallMethod(text_base.closed, "__get__", "O", self);
}

static PyGetSetDef text_getset[] = {
    {"closed", text_closed, NULL, "Whether the file is closed.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMethodDef text_methods[] = {
    {"readline", AS_METHOD(text_readline), METH_FASTCALL,
     "readline(size=-1, /)\n--\n\nRead one line, at most `size` characters of it; an empty string at the end."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot text_slots[] = {
    {Py_tp_iternext, text_next},
    {Py_tp_methods, text_methods},
    {Py_tp_getset, text_getset},
    {0, NULL},
};

/*
 * make_text_reader(text_class, buffer_class): return a subclass of text_class whose objects take lines from the object
 * in their slot `_lines`, if that is of exactly the class buffer_class. text_class is a subclass of io.TextIOWrapper
 * with that slot; buffer_class is a subclass of _LineBuffer.
 *
 * Python creates and frees the slot: a type in C cannot know at compile time where io.TextIOWrapper's structure ends.
 */
static PyObject *make_text_reader(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyTypeObject *text_class;
    PyTypeObject *buffer_class;
    if (!PyArg_ParseTuple(args, "O!O!:make_text_reader", &PyType_Type, &text_class, &PyType_Type, &buffer_class))
        return NULL;
    PyType_Spec spec = {
        .name = "cpkg._native.zstd.compiled.TextReader",
        .basicsize = (int)text_class->tp_basicsize,
        .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
        .slots = text_slots,
    };
    PyObject *type = NULL;
    PyObject *slot = PyObject_GetAttrString((PyObject *)text_class, "_lines");
    PyObject *readline = slot != NULL ? PyObject_GetAttrString((PyObject *)text_class, "readline") : NULL;
    PyObject *closed = readline != NULL ? PyObject_GetAttrString((PyObject *)text_class, "closed") : NULL;
    PyObject *bases = closed != NULL ? PyTuple_Pack(1, text_class) : NULL;
    if (bases != NULL && Py_TYPE(slot) != &PyMemberDescr_Type)
        PyErr_SetString(PyExc_TypeError, "text_class: _lines is not a slot");
    else if (bases != NULL)
        type = PyType_FromSpecWithBases(&spec, bases);
    if (type != NULL) {
        Py_INCREF(buffer_class);
        Py_INCREF(readline);
        Py_INCREF(closed);
        text_base.buffer_type = (PyObject *)buffer_class;
        text_base.buffer_offset = ((PyMemberDescrObject *)slot)->d_member->offset;
        text_base.next = text_class->tp_iternext;
        text_base.readline = readline;
        text_base.closed = closed;
    }
    Py_XDECREF(bases);
    Py_XDECREF(closed);
    Py_XDECREF(readline);
    Py_XDECREF(slot);
    return type;
}
