/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decode arrays of numbers. From lists, C writes the numbers directly into the memory of an array, which Python creates
 * when the shape is known. From the extension type, C creates numpy arrays whose dtype and dimensions the type accepts;
 * Python reads or refuses all others. cpkg/typed/arrays.py gives the same results in Python.
 */
#pragma once

#include "../unpack/arrays.c"
#include "values.c"

#define NUMBERS_DIMENSIONS 64
#define NUMBERS_BLOCK 0x4000 /* numbers between two checks for signals */

typedef struct {
    int dimensions;
    uint64_t lengths[NUMBERS_DIMENSIONS];
    uint64_t count;
} NumbersShape;

/* Properties of the numbers that lists contain, as bits. */
enum { SEEN_BOOL = 1, SEEN_INT = 2, SEEN_FLOAT = 4, SEEN_NEGATIVE = 8, SEEN_BIG = 16 /* beyond int64 */ };

/* Read the int at p and set *next to its end; return false for any other value. *big becomes whether only a uint64 can
   hold the int. */
static ALWAYS_INLINE bool numbers_int(const unsigned char *p, const unsigned char *end, int64_t *value, bool *big,
                                      const unsigned char **next)
{
    const unsigned byte = *p;
    *big = false;
    if (byte < 0x80 || byte >= 0xe0) {
        *value = (int8_t)byte;
        *next = p + 1;
        return true;
    }
    if (byte < 0xcc || byte > 0xd3 || end - p <= 1 << (byte & 3))
        return false;
    *value = read_int(p, (size_t)(end - p));
    *big = byte == 0xcf && *value < 0;
    *next = p + 1 + (1 << (byte & 3));
    return true;
}

/* Read the number at p as a double and set *next to its end; return false for any other value. */
static ALWAYS_INLINE bool numbers_double(const unsigned char *p, const unsigned char *end, double *value,
                                         const unsigned char **next)
{
    int64_t whole;
    bool big;
    if (*p == 0xcb || *p == 0xca) {
        const int size = *p == 0xcb ? 8 : 4;
        if (end - p <= size)
            return false;
        *value = size == 8 ? read_double(p + 1) : read_float(p + 1);
        *next = p + 1 + size;
        return true;
    }
    if (!numbers_int(p, end, &whole, &big, next))
        return false;
    *value = big ? (double)(uint64_t)whole : (double)whole;
    return true;
}

/* Read n ints into an array whose items have `size` bytes; return false at another value, or at an int that does not
   fit. */
static ALWAYS_INLINE bool numbers_ints(TypedDecoder *d, uint64_t n, unsigned char **to, const size_t size,
                                       const bool is_signed)
{
    const unsigned char *p = d->p, *const end = d->end;
    unsigned char *out = *to;
    const int spare = 64 - 8 * (int)size;
    for (; n; n--, out += size) {
        int64_t value;
        bool big;
        if (UNLIKELY(p == end) || !numbers_int(p, end, &value, &big, &p))
            return false;
        const uint64_t bits = (uint64_t)value;
        if (is_signed ? big || (int64_t)(bits << spare) >> spare != value
                      : (value < 0 && !big) || (bits << spare) >> spare != bits)
            return false;
        const uint8_t one = (uint8_t)bits;
        const uint16_t two = (uint16_t)bits;
        const uint32_t four = (uint32_t)bits;
        memcpy(out,
               size == 1   ? (const void *)&one
               : size == 2 ? (const void *)&two
               : size == 4 ? (const void *)&four
                           : &bits,
               size);
    }
    d->p = p;
    *to = out;
    return true;
}

static bool numbers_doubles(TypedDecoder *d, uint64_t n, unsigned char **to)
{
    const unsigned char *p = d->p, *const end = d->end;
    unsigned char *out = *to;
    for (; n; n--, out += 8) {
        if (LIKELY(end - p > 8 && *p == 0xcb)) {
            const uint64_t bits = read64(p + 1);
            memcpy(out, &bits, 8);
            p += 9;
            continue;
        }
        double value;
        if (p == end || !numbers_double(p, end, &value, &p))
            return false;
        memcpy(out, &value, 8);
    }
    d->p = p;
    *to = out;
    return true;
}

static bool numbers_floats(TypedDecoder *d, uint64_t n, unsigned char **to)
{
    const unsigned char *p = d->p, *const end = d->end;
    unsigned char *out = *to;
    for (; n; n--, out += 4) {
        if (LIKELY(end - p > 4 && *p == 0xca)) {
            const uint32_t bits = read32(p + 1);
            memcpy(out, &bits, 4);
            p += 5;
            continue;
        }
        double value;
        if (p == end || !numbers_double(p, end, &value, &p))
            return false;
        const float narrow = (float)value;
        if (isinf(narrow) && !isinf(value))
            return false;
        memcpy(out, &narrow, 4);
    }
    d->p = p;
    *to = out;
    return true;
}

static bool numbers_bools(TypedDecoder *d, uint64_t n, unsigned char **to)
{
    if ((uint64_t)(d->end - d->p) < n)
        return false;
    for (; n; n--) {
        if ((*d->p & 0xfe) != 0xc2)
            return false;
        *(*to)++ = *d->p++ & 1;
    }
    return true;
}

/* Skip n numbers and add their properties to *seen; return false at another value. */
static bool numbers_look(TypedDecoder *d, uint64_t n, unsigned *seen)
{
    const unsigned char *p = d->p, *const end = d->end;
    for (; n; n--) {
        int64_t value;
        double real;
        bool big;
        if (p == end)
            return false;
        if ((*p & 0xfe) == 0xc2) {
            *seen |= SEEN_BOOL;
            p++;
        }
        else if (*p == 0xcb || *p == 0xca) {
            *seen |= SEEN_FLOAT;
            if (!numbers_double(p, end, &real, &p))
                return false;
        }
        else {
            if (!numbers_int(p, end, &value, &big, &p))
                return false;
            *seen |= SEEN_INT | (big ? SEEN_BIG : value < 0 ? SEEN_NEGATIVE : 0U);
        }
    }
    d->p = p;
    return true;
}

/* Read the numbers of an innermost list into memory; with a format of 0, only add their properties to *seen. Return
   false with an exception set on failure. */
static bool numbers_row(TypedDecoder *d, int format, uint64_t n, unsigned char **to, unsigned *seen)
{
    for (bool sound = true; n;) {
        const uint64_t block = n < NUMBERS_BLOCK ? n : NUMBERS_BLOCK;
        switch (format) {
        case 0:
            sound = numbers_look(d, block, seen);
            break;
        case '?':
            sound = numbers_bools(d, block, to);
            break;
        case 'b':
            sound = numbers_ints(d, block, to, 1, true);
            break;
        case 'B':
            sound = numbers_ints(d, block, to, 1, false);
            break;
        case 'h':
            sound = numbers_ints(d, block, to, 2, true);
            break;
        case 'H':
            sound = numbers_ints(d, block, to, 2, false);
            break;
        case 'i':
            sound = numbers_ints(d, block, to, 4, true);
            break;
        case 'I':
            sound = numbers_ints(d, block, to, 4, false);
            break;
        case 'q':
            sound = numbers_ints(d, block, to, 8, true);
            break;
        case 'Q':
            sound = numbers_ints(d, block, to, 8, false);
            break;
        case 'f':
            sound = numbers_floats(d, block, to);
            break;
        case 'd':
            sound = numbers_doubles(d, block, to);
            break;
        default:
            sound = false;
        }
        if (!sound)
            return typed_mismatch(d) != NULL;
        n -= block;
        if (block == NUMBERS_BLOCK) {
            d->ticks |= TYPED_TICKS;
            if (!typed_tick(d))
                return false;
        }
    }
    return true;
}

/* Read the numbers of a list at a level, including its inner lists. Return false with an exception set on failure, such
   as a length that does not match the shape. */
static bool numbers_rows(TypedDecoder *d, int format, const NumbersShape *shape, int level, unsigned char **to,
                         unsigned *seen)
{
    uint64_t n;
    if (!ARRAY_LENGTH(d, &n) || n != shape->lengths[level])
        return typed_mismatch(d) != NULL;
    if (level + 1 == shape->dimensions)
        return numbers_row(d, format, n, to, seen);
    for (; n; n--)
        if (!typed_tick(d) || !numbers_rows(d, format, shape, level + 1, to, seen))
            return false;
    return true;
}

/* Find the shape of nested lists from the first list of each level, without moving d->p. The shape must have
   `dimensions` dimensions, unless that is -1. Return false with an exception set on failure. */
static bool numbers_shape(TypedDecoder *d, Py_ssize_t dimensions, Py_ssize_t depth, NumbersShape *shape)
{
    const unsigned char *const start = d->p;
    uint64_t n;
    bool nests;
    shape->dimensions = 0;
    shape->count = 1;
    do {
        if (shape->dimensions >= depth || shape->dimensions == NUMBERS_DIMENSIONS || !ARRAY_LENGTH(d, &n))
            return typed_mismatch(d) != NULL;
        shape->lengths[shape->dimensions++] = n;
        /* each number takes at least one byte of the message */
        if (n > (uint64_t)(d->end - d->p) || (n && shape->count > (uint64_t)(d->end - d->data) / n))
            return typed_mismatch(d) != NULL;
        shape->count *= n;
        nests = n && dimensions != 1 && d->p < d->end && ((*d->p & 0xf0) == 0x90 || *d->p == 0xdc || *d->p == 0xdd);
    } while (nests);
    d->p = start;
    if (dimensions >= 0 && (shape->dimensions > dimensions || (shape->dimensions < dimensions && n)))
        return typed_mismatch(d) != NULL;
    return true;
}

/* Return the array format for numbers with these properties, if the type declares none; -1 if no format holds them
   all. */
static int numbers_format(unsigned seen)
{
    if (seen & SEEN_BOOL)
        return seen == SEEN_BOOL ? '?' : -1;
    if (seen & SEEN_FLOAT || !seen)
        return 'd';
    return !(seen & SEEN_BIG) ? 'q' : seen & SEEN_NEGATIVE ? -1 : 'Q';
}

/* Return the argument for the creation of an array: its length, or a tuple with the lengths of its dimensions. */
static PyObject *numbers_lengths(const TypedNode *node, const NumbersShape *shape)
{
    const int dimensions = node->required > shape->dimensions ? (int)node->required : shape->dimensions;
    if (dimensions == 1)
        return PyLong_FromUnsignedLongLong(shape->lengths[0]);
    PyObject *lengths = PyTuple_New(dimensions);
    for (int i = 0; lengths && i < dimensions; i++) {
        PyObject *length = PyLong_FromUnsignedLongLong(i < shape->dimensions ? shape->lengths[i] : 0);
        if (!length)
            Py_CLEAR(lengths);
        else
            PyTuple_SET_ITEM(lengths, i, length);
    }
    return lengths;
}

/* Create an array for numbers of a format, and get its memory; return NULL with an exception set on failure. */
static PyObject *numbers_make(const TypedNode *node, int format, const NumbersShape *shape, Py_buffer *memory)
{
    PyObject *maker = node->code ? new_ref(node->made) : PyObject_CallFunction(node->made, "C", format);
    PyObject *lengths = maker ? numbers_lengths(node, shape) : NULL;
    PyObject *made = lengths ? PyObject_CallOneArg(maker, lengths) : NULL;
    Py_XDECREF(maker);
    Py_XDECREF(lengths);
    if (made && PyObject_GetBuffer(made, memory, PyBUF_CONTIG) < 0)
        Py_CLEAR(made);
    return made;
}

/* Return the size in bytes of a number of a format. */
static size_t numbers_size(int format)
{
    return strchr("?bB", format) ? 1 : strchr("hH", format) ? 2 : strchr("iIf", format) ? 4 : 8;
}

static PyObject *numbers_of_lists(TypedDecoder *d, const TypedNode *node, Py_ssize_t depth)
{
    const unsigned char *const start = d->p;
    NumbersShape shape;
    unsigned seen = 0;
    int format = node->code;
    unsigned char *to = NULL;
    if (!numbers_shape(d, node->required, depth, &shape))
        return NULL;
    if (!format) {
        if (!numbers_rows(d, 0, &shape, 0, &to, &seen))
            return NULL;
        d->p = start;
        format = numbers_format(seen);
        if (format < 0)
            return typed_mismatch(d);
    }
    typed_python(d);
    Py_buffer memory;
    PyObject *made = numbers_make(node, format, &shape, &memory);
    if (!made)
        return NULL;
    to = memory.buf;
    bool sound = (uint64_t)memory.len == shape.count * numbers_size(format);
    if (!sound)
        PyErr_SetString(PyExc_BufferError, "the new array does not have the expected number of bytes");
    sound = sound && numbers_rows(d, format, &shape, 0, &to, &seen);
    PyBuffer_Release(&memory);
    if (!sound)
        Py_CLEAR(made);
    return made;
}

/* Return whether a node's type certainly accepts a numpy array with this head. */
static bool numbers_fit(const TypedNode *node, const ArrayHead *h)
{
    const unsigned bit = 5 * (unsigned)(strchr(NUMBER_KINDS, h->kind) - NUMBER_KINDS) + h->size_log2;
    return !h->of_python && node->numpy_items >> bit & 1 && (node->required < 0 || node->required == h->dimensions);
}

/* Read the array in the extension value at d->p, here or in Python; return NULL with an exception set for any other
   value. */
static NEVER_INLINE PyObject *typed_array_extension(TypedDecoder *d, const TypedNode *node)
{
    int code;
    size_t size;
    const unsigned char *content = typed_ext(d, &code, &size);
    if (!content || code != EXTENSION_ARRAY || !node->hook)
        return typed_mismatch(d);
    typed_python(d);
    ArrayHead head;
    d->p = content + size;
    if (node->kind == TYPED_NUMBERS && KEPT(ndarray) && read_array_head(&head, content, size) &&
        numbers_fit(node, &head))
        return numpy_array(&head, content, d->source);
    const Py_ssize_t begin = content - d->data;
    PyObject *made = PyObject_CallFunction(node->hook, "Onn", d->source, begin, begin + (Py_ssize_t)size);
    d->stopped = !made;
    return made;
}

static NEVER_INLINE PyObject *typed_numbers(TypedDecoder *d, const TypedNode *node, Py_ssize_t depth)
{
    if ((*d->p & 0xf0) == 0x90 || *d->p == 0xdc || *d->p == 0xdd)
        return node->made ? numbers_of_lists(d, node, depth) : typed_slow(d, node, depth);
    return typed_array_extension(d, node);
}
