/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Create numpy arrays from the extension type that cpkg/objects/arrays.py defines. As in value_types.c, rare cases are
 * left to that module: wrong data, arrays of times, array.array, and all arrays before numpy is imported.
 */
#pragma once

#include "../common/interpreter.c"
#include "../common/numbers.c"
#include "../common/value_classes.c"

#define ARRAY_DIMENSIONS_READ 8
#define ARRAY_VIEW_MIN 4096 /* arrays of fewer bytes are copied, because a view keeps the whole message alive */

typedef struct {
    bool of_python;     /* array.array; otherwise a numpy array */
    char kind;          /* b, i, u, f or c, as in numpy's dtypes */
    bool big;           /* big-endian */
    unsigned size_log2; /* binary logarithm of the size of an item in bytes */
    int dimensions;
    uint64_t shape[ARRAY_DIMENSIONS_READ];
    size_t start, bytes; /* the position of the first item in the data, and the size of all items */
} ArrayHead;

/* Read a dtype such as "<f8"; return false for a dtype that is not supported. */
static bool read_dtype(ArrayHead *h, const unsigned char *s, size_t n)
{
    if (n < 3 || n > 4 || (s[0] != '<' && s[0] != '>' && s[0] != '|') || !s[1] || !strchr(NUMBER_KINDS, s[1]))
        return false;
    const unsigned size = n == 3 ? s[2] - (unsigned)'0' : s[2] == '1' && s[3] == '6' ? 16 : 0;
    h->big = s[0] == '>';
    h->kind = (char)s[1];
    for (h->size_log2 = 0; h->size_log2 < 4 && 1u << h->size_log2 != size; h->size_log2++) {
    }
    if (1u << h->size_log2 != size || (size == 1) != (s[0] == '|'))
        return false;
    switch (h->kind) {
    case 'b':
        return size == 1;
    case 'f':
        return size >= 2 && size <= 8;
    case 'c':
        return size >= 8;
    default:
        return size <= 8;
    }
}

/* Read the head of an array, the data before its items; return false for a rare case, which is left to Python. */
static bool read_array_head(ArrayHead *h, const unsigned char *s, size_t n)
{
    unsigned char first[8]; /* read once: another thread or process may change them */
    if (n < sizeof first)
        return false;
    memcpy(first, s, sizeof first);
    if (first[0] > 1 || (first[1] != 0xa3 && first[1] != 0xa4) || !read_dtype(h, first + 2, first[1] & 0x1f))
        return false;
    const unsigned char *p = s + 2 + (first[1] & 0x1f), *const end = s + n;
    h->of_python = first[0];
    h->dimensions = *p++ - 0x90;
    if (h->dimensions < 0 || h->dimensions > ARRAY_DIMENSIONS_READ)
        return false;
    uint64_t bytes = (uint64_t)1 << h->size_log2;
    for (int i = 0; i < h->dimensions; i++) {
        uint64_t length;
        if (p == end)
            return false;
        if ((length = *p++) > 0x7f) {
            const size_t size = (size_t)1 << (length & 3);
            if (length < 0xcc || length > 0xce || (size_t)(end - p) < size) /* lengths of 64 bits are rare */
                return false;
            length = big_endian(p, size);
            p += size;
        }
        h->shape[i] = length;
        bytes *= length; /* cannot overflow, because both factors are below 2**32 */
        if (length == 0 || bytes > UINT32_MAX)
            return false;
    }
    while ((p - s) % ARRAY_ITEMS_ALIGNED != ARRAY_ITEMS_AFTER)
        if (p == end || *p++)
            return false;
    h->start = (size_t)(p - s);
    h->bytes = (size_t)bytes;
    return n - h->start == h->bytes;
}

/* Return the dtype of an array, borrowed; NULL with an exception set on failure. */
static PyObject *numpy_dtype(const ArrayHead *h)
{
    const int kind = (int)(strchr(NUMBER_KINDS, h->kind) - NUMBER_KINDS);
    PyObject *dtype = KEPT(numpy_dtypes[kind][h->size_log2][h->big]);
    if (LIKELY(dtype != NULL))
        return dtype;
    const char text[4] = {h->big ? '>' : '<', h->kind, 0};
    PyObject *made = PyObject_CallFunction(S.numpy_dtype, "N", PyUnicode_FromFormat("%s%d", text, 1 << h->size_log2));
    if (!made)
        return NULL;
    keep(&S.numpy_dtypes[kind][h->size_log2][h->big], made);
    return KEPT(numpy_dtypes[kind][h->size_log2][h->big]);
}

/* Return a numpy array whose head was read; `s` is the data of the extension value. The array is a view of `source`,
   the bytes object that contains the data, or has a copy. Return NULL with an exception set on failure. */
static PyObject *numpy_array(const ArrayHead *h, const unsigned char *s, PyObject *source)
{
    const unsigned char *items = s + h->start;
    const size_t number = (size_t)1 << (h->size_log2 - (h->kind == 'c'));
    const bool is_view = source && PyBytes_CheckExact(source) && h->bytes >= ARRAY_VIEW_MIN &&
                         (uintptr_t)items % number == 0;
    PyObject *dtype = numpy_dtype(h), *shape = dtype ? PyTuple_New(h->dimensions) : NULL;
    for (int i = 0; shape && i < h->dimensions; i++) {
        PyObject *length = PyLong_FromUnsignedLongLong(h->shape[i]);
        if (!length)
            Py_CLEAR(shape);
        else
            PyTuple_SET_ITEM(shape, i, length);
    }
    PyObject *buffer = !shape    ? NULL
                       : is_view ? new_ref(source)
                                 : PyBytes_FromStringAndSize((const char *)items, (Py_ssize_t)h->bytes);
    PyObject *offset = buffer ? PyLong_FromSsize_t(is_view ? (const char *)items - PyBytes_AS_STRING(source) : 0)
                              : NULL;
    PyObject *made = offset ? PyObject_CallFunctionObjArgs(S.ndarray, shape, dtype, buffer, offset, NULL) : NULL;
    Py_XDECREF(shape);
    Py_XDECREF(buffer);
    Py_XDECREF(offset);
    return made;
}

/* Read a numpy array into `to`, which is NULL after an exception; return false if the value is left to Python. */
static NEVER_INLINE bool read_numpy_array(const unsigned char *s, size_t n, PyObject *source, PyObject **to)
{
    ArrayHead h;
    if (!KEPT(ndarray) || !read_array_head(&h, s, n) || h.of_python)
        return false;
    *to = numpy_array(&h, s, source);
    return true;
}
