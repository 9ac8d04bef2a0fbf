/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pack arrays of numbers (numpy arrays and array.array) through the buffer protocol. For `dumps` and typed.encode, they
 * become the extension type of cpkg/objects/arrays.py. For the option `numpy` of packb, they become lists of numbers,
 * as in purepy/msgpack/conversions.py.
 *
 * As in value_types.c, rare cases are left to those modules: arrays whose buffers numpy does not export (times), items
 * that this code does not write (text, float16 in lists), and subclasses with their own tolist().
 */
#ifndef CPKG_MSGPACK_PACK_OBJECTS
#include "objects.c" /* includes this file, because functions of both files call each other */
#elif !defined(CPKG_MSGPACK_PACK_ARRAYS)
#define CPKG_MSGPACK_PACK_ARRAYS

#include "../common/interpreter.c"
#include "../common/numbers.c"
#include "../common/value_classes.c"
#include "containers.c"
#include "encoder.c"

#define ARRAY_DIMENSIONS_MAX 64
#define ARRAY_PIECE 16384 /* at most so many items between two checks for signals: 0.1 ms */

typedef struct {
    Py_buffer buffer;
    char kind;            /* b, i, u, f or c, as in numpy's dtypes */
    bool big;             /* big-endian */
    Py_ssize_t since;     /* items since the last check for signals */
    unsigned char *ahead; /* where array_copy() writes the next items */
} NumberArray;

/* ---- buffers ---- */

/* Return the kind of number in a buffer, from the buffer's format; 0 for any other format. */
static char array_kind(const char *format, Py_ssize_t size, bool *big)
{
    *big = PY_BIG_ENDIAN;
    if (*format == '<' || *format == '>')
        *big = *format++ == '>';
    else if (*format == '=' || *format == '@')
        format++;
    const bool complex = *format == 'Z';
    format += complex;
    if (!*format || format[1])
        return 0;
    if (complex)
        return strchr("fd", *format) && (size == 8 || size == 16) ? 'c' : 0;
    if (*format == '?')
        return size == 1 ? 'b' : 0;
    if (strchr("efd", *format))
        return size == 2 || size == 4 || size == 8 ? 'f' : 0;
    if (size != 1 && size != 2 && size != 4 && size != 8)
        return 0;
    return strchr("bhilq", *format) ? 'i' : strchr("BHILQ", *format) ? 'u' : 0;
}

/* Get the buffer of an array; return 1, 0 for a rare case, or -1 with an exception set. After 1, release the buffer. */
static int array_open(NumberArray *a, PyObject *o)
{
    if (PyObject_GetBuffer(o, &a->buffer, PyBUF_RECORDS_RO) < 0) {
        if (PyErr_ExceptionMatches(PyExc_MemoryError) || !PyErr_ExceptionMatches(PyExc_Exception))
            return -1;
        PyErr_Clear(); /* for example, numpy exports no buffers of times */
        return 0;
    }
    a->kind = array_kind(a->buffer.format ? a->buffer.format : "B", a->buffer.itemsize, &a->big);
    a->since = 0;
    if (a->kind && a->buffer.ndim <= ARRAY_DIMENSIONS_MAX)
        return 1;
    PyBuffer_Release(&a->buffer);
    return 0;
}

/* Return whether this code can write the numbers in lists: not half floats or complex numbers. */
static ALWAYS_INLINE bool has_list_form(const NumberArray *a)
{
    return a->kind != 'c' && (a->kind != 'f' || a->buffer.itemsize > 2);
}

/* Count n items that were written, and run signal handlers now and then; return false if a handler raised. */
static ALWAYS_INLINE bool array_continues(NumberArray *a, Py_ssize_t n)
{
    a->since += n;
    if (LIKELY(a->since < ARRAY_PIECE))
        return true;
    a->since = 0;
    return PyErr_CheckSignals() == 0;
}

/* ---- the extension type ---- */

static ALWAYS_INLINE void copy_apart(unsigned char *to, const char *from, Py_ssize_t n, Py_ssize_t stride, size_t size)
{
    for (; n > 0; n--, from += stride, to += size)
        memcpy(to, from, size);
}

/* Copy the items of a dimension, including its inner dimensions, in C order; return false if a signal handler
   raised. */
static bool array_copy(NumberArray *a, int dimension, const char *from)
{
    const Py_ssize_t n = a->buffer.shape[dimension], stride = a->buffer.strides[dimension], size = a->buffer.itemsize;
    if (dimension + 1 < a->buffer.ndim) {
        for (Py_ssize_t i = 0; i < n; i++)
            if (!array_copy(a, dimension + 1, from + i * stride))
                return false;
        return true;
    }
    for (Py_ssize_t i = 0; i < n; i += ARRAY_PIECE) {
        const Py_ssize_t piece = n - i < ARRAY_PIECE ? n - i : ARRAY_PIECE;
        const char *first = from + i * stride;
        if (stride == size)
            memcpy(a->ahead, first, (size_t)(piece * size));
        else if (size == 8)
            copy_apart(a->ahead, first, piece, stride, 8);
        else if (size == 4)
            copy_apart(a->ahead, first, piece, stride, 4);
        else
            copy_apart(a->ahead, first, piece, stride, (size_t)size);
        a->ahead += piece * size;
        if (!array_continues(a, piece))
            return false;
    }
    return true;
}

/* Write the head of an extension value, the data before the items, like array_head(). */
static unsigned char *put_array_head(unsigned char *to, const NumberArray *a, bool of_python)
{
    const Py_buffer *b = &a->buffer;
    unsigned char *const start = to;
    const bool long_size = b->itemsize == 16;
    *to++ = of_python;
    *to++ = (unsigned char)(0xa3 + long_size);
    *to++ = b->itemsize == 1 ? '|' : a->big ? '>' : '<';
    *to++ = (unsigned char)a->kind;
    if (long_size)
        *to++ = '1';
    *to++ = (unsigned char)('0' + b->itemsize % 10);
    to = write_array(to, (size_t)b->ndim);
    for (int i = 0; i < b->ndim; i++)
        to = write_uint64(to, (uint64_t)b->shape[i]);
    while ((to - start) % ARRAY_ITEMS_ALIGNED != ARRAY_ITEMS_AFTER)
        *to++ = 0;
    return to;
}

static unsigned char *encode_array_extension(Encoder *c, unsigned char *p, NumberArray *a, bool of_python)
{
    unsigned char head[16 + HEADER_MAX * (ARRAY_DIMENSIONS_MAX + 1) + ARRAY_ITEMS_ALIGNED];
    const size_t start = (size_t)(put_array_head(head, a, of_python) - head), size = (size_t)a->buffer.len;
    if (size > PACK_LENGTH_MAX - start)
        return too_large("EXT data");
    RESERVE(start + size + HEADER_MAX);
    p = write_ext(p, start + size, EXTENSION_ARRAY);
    memcpy(p, head, start);
    p += start;
    if (!PyBuffer_IsContiguous(&a->buffer, 'C')) {
        a->ahead = p;
        return array_copy(a, 0, a->buffer.buf) ? p + size : NULL;
    }
    for (size_t i = 0; i < size; i += ARRAY_PIECE * 64) {
        const size_t left = size - i, piece = left < ARRAY_PIECE * 64 ? left : ARRAY_PIECE * 64;
        memcpy(p + i, (const char *)a->buffer.buf + i, piece);
        if (i && PyErr_CheckSignals() < 0)
            return NULL;
    }
    return p + size;
}

/* ---- lists ---- */

static ALWAYS_INLINE uint64_t load_bits(const unsigned char *s, int size, bool big)
{
    uint64_t bits = 0;
    if (big)
        return size == 1 ? *s : size == 2 ? read16(s) : size == 4 ? read32(s) : read64(s);
    for (int i = 0; i < size; i++)
        bits |= (uint64_t)s[i] << 8 * i;
    return bits;
}

/* Append n numbers, for which room is reserved. `kind` and `size` are compile-time constants in every call. */
static ALWAYS_INLINE unsigned char *write_numbers(unsigned char *p, const unsigned char *from, Py_ssize_t n,
                                                  Py_ssize_t stride, char kind, int size, bool big)
{
    for (; n > 0; n--, from += stride) {
        const uint64_t bits = load_bits(from, size, big);
        if (kind == 'b')
            *p++ = (unsigned char)(0xc2 | (bits + 0xff) >> 8); /* for bits != 0, the compiler would generate a branch */
        else if (kind == 'u')
            p = write_uint64(p, bits);
        else if (kind == 'i')
            p = write_int64(p, (int64_t)(bits << (64 - 8 * size)) >> (64 - 8 * size));
        else if (size == 4) {
            *p = 0xca;
            _msgpack_store32(p + 1, (uint32_t)bits);
            p += 5;
        }
        else {
            *p = 0xcb;
            _msgpack_store64(p + 1, bits);
            p += 9;
        }
    }
    return p;
}

static NEVER_INLINE unsigned char *write_piece(unsigned char *p, const NumberArray *a, const unsigned char *from,
                                               Py_ssize_t n, Py_ssize_t stride)
{
#define NUMBERS(k, s) \
    case (k) << 4 | (s): \
        return a->big ? write_numbers(p, from, n, stride, k, s, true) : write_numbers(p, from, n, stride, k, s, false)
    switch (a->kind << 4 | (int)a->buffer.itemsize) {
        NUMBERS('b', 1);
        NUMBERS('i', 1);
        NUMBERS('i', 2);
        NUMBERS('i', 4);
        NUMBERS('i', 8);
        NUMBERS('u', 1);
        NUMBERS('u', 2);
        NUMBERS('u', 4);
        NUMBERS('u', 8);
        NUMBERS('f', 4);
    default:
        return a->big ? write_numbers(p, from, n, stride, 'f', 8, true)
                      : write_numbers(p, from, n, stride, 'f', 8, false);
    }
#undef NUMBERS
}

/* Append n doubles as floats of 4 bytes. */
static NEVER_INLINE unsigned char *write_narrowed(Encoder *c, unsigned char *p, const NumberArray *a,
                                                  const unsigned char *from, Py_ssize_t n, Py_ssize_t stride)
{
    for (; n > 0 && p; n--, from += stride) {
        const uint64_t bits = load_bits(from, 8, a->big);
        double value;
        memcpy(&value, &bits, sizeof value);
        p = encode_float32(c, p, value);
    }
    return p;
}

/* Pack a dimension as a list of the lists of the inner dimensions; `depth` levels may still be opened. */
static unsigned char *encode_dimension(Encoder *c, unsigned char *p, NumberArray *a, int dimension,
                                       const unsigned char *from, Py_ssize_t depth)
{
    const Py_ssize_t n = a->buffer.shape[dimension], stride = a->buffer.strides[dimension];
    if (!may_nest(c, p, depth))
        return NULL;
    if ((size_t)n > PACK_LENGTH_MAX)
        return too_large("list");
    RESERVE(HEADER_MAX);
    p = write_array(p, (size_t)n);
    /* the list itself counts as an item, because it may be empty */
    if (encode_count(c, p, (uint64_t)n) < 0 || !array_continues(a, 1))
        return NULL;
    if (dimension + 1 < a->buffer.ndim) {
        for (Py_ssize_t i = 0; i < n && p; i++)
            p = encode_dimension(c, p, a, dimension + 1, from + i * stride, depth - 1);
        return p;
    }
    const Py_ssize_t room = a->buffer.itemsize + (a->kind != 'b');
    if (a->kind == 'f') /* the items need exactly this room: reserve it at once */
        RESERVE(n * room);
    for (Py_ssize_t i = 0, piece; i < n; i += piece) {
        RESERVE(room);
        piece = (c->w.end - p) / room; /* most ints need less room, so this fills the memory before it grows */
        piece = piece < ARRAY_PIECE ? piece : ARRAY_PIECE;
        piece = piece < n - i ? piece : n - i;
        if (room == 9 && a->kind == 'f' && !c->plain_float)
            p = write_narrowed(c, p, a, from + i * stride, piece, stride);
        else
            p = write_piece(p, a, from + i * stride, piece, stride);
        if (!p || !array_continues(a, piece))
            return NULL;
    }
    return p;
}

/* ---- dispatch ---- */

/* Return whether arrays are passed to `default` and not to convert(). */
static bool leaves_arrays(Encoder *c)
{
    if (c->conversions & CONVERT_UNKNOWN) {
        PyObject *default_ = c->options->default_;
        PyObject *finder = PyFunction_Check(default_) ? PyObject_GetAttr(default_, S.str_find_form) : NULL;
        c->conversions ^= finder ? CONVERT_UNKNOWN | CONVERT_LEAVE_ARRAYS : CONVERT_UNKNOWN;
        Py_XDECREF(finder);
        PyErr_Clear();
    }
    return c->conversions & CONVERT_LEAVE_ARRAYS;
}

/* Pack a numpy array or an array.array; return false if it is left to Python. */
static NEVER_INLINE bool encode_array(Encoder *c, unsigned char **p, PyObject *o, Py_ssize_t depth, int stage,
                                      bool of_python)
{
    const bool extension = c->extensions && stage & MAY_DEFAULT; /* pack_default() writes extension types */
    NumberArray a;
    if (!extension && !(stage & MAY_CONVERT && c->conversions & CONVERT_NUMPY && !leaves_arrays(c)))
        return false;
    const int opened = array_open(&a, o);
    if (opened <= 0) {
        *p = opened < 0 ? NULL : *p;
        return opened < 0;
    }
    const bool ordinary = extension || (a.buffer.ndim && has_list_form(&a));
    if (extension)
        *p = encode_array_extension(c, *p, &a, of_python);
    else if (ordinary)
        *p = encode_dimension(c, *p, &a, 0, a.buffer.buf, depth);
    PyBuffer_Release(&a.buffer);
    return ordinary;
}

/* Pack an instance of a subclass of an array class; return false for any other object, or if it is left to Python. */
static NEVER_INLINE bool encode_array_subclass(Encoder *c, unsigned char **p, PyObject *o, Py_ssize_t depth, int stage)
{
    PyTypeObject *type = Py_TYPE(o);
    if (KEPT(ndarray) && PyType_IsSubtype(type, (PyTypeObject *)S.ndarray)) {
        PyObject *tolist = type_lookup(type, S.str_tolist);
        const bool ordinary = tolist == S.ndarray_tolist;
        Py_XDECREF(tolist);
        return ordinary && encode_array(c, p, o, depth, stage, false);
    }
    return KEPT(array) && PyType_IsSubtype(type, (PyTypeObject *)S.array) && encode_array(c, p, o, depth, stage, true);
}

#endif
