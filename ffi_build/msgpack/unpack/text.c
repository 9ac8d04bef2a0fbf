/* SPDX-License-Identifier: Apache-2.0 */
/* Decode UTF-8 directly into a new str, and cache map keys. */
#pragma once

#include "../common/state.c"
#include "../common/utf8.c"
#include "../common/words.c"

#define IS_TAIL(byte) (((byte) & 0xc0) == 0x80)

/* Define a function that decodes UTF-8 into an array of characters of one width, and validates it (RFC 3629: shortest
   forms, no surrogates, up to U+10FFFF). It returns the end of the output, or NULL for invalid UTF-8. It never writes
   more than count_characters() characters. */
#define UTF8_DECODE(name, type) \
    static type *name(const unsigned char *s, const unsigned char *end, type *to) \
    { \
        while (s < end) { \
            Py_UCS4 lead = *s, c; \
            if (lead < 0x80) { \
                if (end - s >= 8 && !(load8(s) & ASCII_MASK)) { \
                    for (int i = 0; i < 8; i++) \
                        to[i] = s[i]; \
                    s += 8; \
                    to += 8; \
                    continue; \
                } \
                *to++ = (type)lead; \
                s++; \
                continue; \
            } \
            if (lead < 0xe0) { \
                if (UNLIKELY(lead < 0xc2 || end - s < 2 || !IS_TAIL(s[1]))) \
                    return NULL; \
                *to++ = (type)((lead & 0x1f) << 6 | (s[1] & 0x3fu)); \
                s += 2; \
                continue; \
            } \
            if (lead < 0xf0) { \
                if (UNLIKELY(end - s < 3 || !IS_TAIL(s[1]) || !IS_TAIL(s[2]))) \
                    return NULL; \
                c = (lead & 0x0f) << 12 | (s[1] & 0x3fu) << 6 | (s[2] & 0x3fu); \
                if (UNLIKELY(c < 0x800 || (c >> 11) == 0x1b)) \
                    return NULL; \
                *to++ = (type)c; \
                s += 3; \
                continue; \
            } \
            if (UNLIKELY(end - s < 4 || !IS_TAIL(s[1]) || !IS_TAIL(s[2]) || !IS_TAIL(s[3]))) \
                return NULL; \
            c = (lead & 0x07) << 18 | (s[1] & 0x3fu) << 12 | (s[2] & 0x3fu) << 6 | (s[3] & 0x3fu); \
            if (UNLIKELY(lead > 0xf4 || c < 0x10000 || c > 0x10ffff)) \
                return NULL; \
            *to++ = (type)c; \
            s += 4; \
        } \
        return to; \
    }
UTF8_DECODE(utf8_decode1, Py_UCS1)
UTF8_DECODE(utf8_decode2, Py_UCS2)
UTF8_DECODE(utf8_decode4, Py_UCS4)
#undef UTF8_DECODE

static NEVER_INLINE PyObject *text_new_wide(const unsigned char *s, size_t n)
{
    unsigned char top;
    size_t count = count_characters(s, n, &top);
    /* The largest lead byte determines the width: 0xc4 starts U+0100, 0xf0 starts U+10000. */
    PyObject *o = PyUnicode_New((Py_ssize_t)count, top >= 0xf0 ? 0x10ffff : top >= 0xc4 ? 0xffff : 0xff);
    if (!o)
        return NULL;
    bool good;
    if (top >= 0xf0)
        good = utf8_decode4(s, s + n, PyUnicode_4BYTE_DATA(o)) == PyUnicode_4BYTE_DATA(o) + count;
    else if (top >= 0xc4)
        good = utf8_decode2(s, s + n, PyUnicode_2BYTE_DATA(o)) == PyUnicode_2BYTE_DATA(o) + count;
    else
        good = utf8_decode1(s, s + n, PyUnicode_1BYTE_DATA(o)) == PyUnicode_1BYTE_DATA(o) + count;
    if (UNLIKELY(!good)) {
        Py_DECREF(o);
        return PyUnicode_DecodeUTF8((const char *)s, (Py_ssize_t)n, NULL); /* raises the usual error */
    }
    if (UNLIKELY(count == 1 && top < 0xc4)) {
        /* the interpreter expects that only one str object exists for each Latin-1 character */
        PyObject *shared = PyUnicode_FromOrdinal((int)PyUnicode_READ_CHAR(o, 0));
        Py_DECREF(o);
        return shared;
    }
    return o;
}

static ALWAYS_INLINE PyObject *text_new_ascii(const unsigned char *s, size_t n)
{
    if (UNLIKELY(n <= 1))
        return n ? new_ref(S.ascii_chars[s[0] & 0x7f]) : PyUnicode_New(0, 0);
    PyObject *o = PyUnicode_New((Py_ssize_t)n, 127);
    if (LIKELY(o != NULL))
        copy_short((unsigned char *)((PyASCIIObject *)o + 1), s, n);
    return o;
}

/* Return a str for UTF-8 in memory that another thread or process may change between counting and decoding. */
static NEVER_INLINE PyObject *text_new_shared(const unsigned char *s, size_t n)
{
    PyObject *copy = PyBytes_FromStringAndSize((const char *)s, (Py_ssize_t)n);
    s = copy ? (const unsigned char *)PyBytes_AS_STRING(copy) : NULL;
    PyObject *o = !s ? NULL : is_ascii(s, n) ? text_new_ascii(s, n) : text_new_wide(s, n);
    Py_XDECREF(copy);
    return o;
}

/* Return a str for the n bytes of UTF-8 at s, or NULL with an exception set, usually UnicodeDecodeError. `shared`: whether
   others may change the bytes meanwhile. */
static ALWAYS_INLINE PyObject *text_new(const unsigned char *s, size_t n, bool shared)
{
    return LIKELY(is_ascii(s, n)) ? text_new_ascii(s, n)
           : UNLIKELY(shared)     ? text_new_shared(s, n)
                                  : text_new_wide(s, n);
}

/* ---- map keys ---- */

/* A cache of map keys, because messages repeat their keys. A hash of a key's bytes chooses an entry of the table. If
   the entry is the same key, its str is used again, with the str's hash already computed; otherwise a new str replaces
   the entry. The table does not grow, unlike the interpreter's table of interned strings. Free-threaded builds have no
   cache, because sharing it would need a lock per key. */
#ifndef Py_GIL_DISABLED
#define KEY_CACHE_SIZE 2048
static PyObject *key_cache[KEY_CACHE_SIZE];

static ALWAYS_INLINE uint64_t load_up_to_8(const unsigned char *s, size_t n)
{
    if (n >= 4) {
        uint32_t head, tail;
        memcpy(&head, s, 4);
        memcpy(&tail, s + n - 4, 4);
        return head | (uint64_t)tail << 32;
    }
    return n ? s[0] | (uint64_t)s[n >> 1] << 8 | (uint64_t)s[n - 1] << 16 : 0;
}

static ALWAYS_INLINE bool same_bytes(const unsigned char *a, const unsigned char *b, size_t n)
{
    if (n >= 8) {
        for (size_t i = 0; i + 8 < n; i += 8)
            if (load8(a + i) != load8(b + i))
                return false;
        return load8(a + n - 8) == load8(b + n - 8);
    }
    return load_up_to_8(a, n) == load_up_to_8(b, n);
}

/* Return a str for a map key of at most 31 bytes (a fixstr), or NULL with an exception set. */
static ALWAYS_INLINE PyObject *key_new(const unsigned char *s, size_t n, bool shared)
{
    const uint64_t factor = 0x9e3779b97f4a7c15u;
    uint64_t hash = n * factor, bits = 0, word;
    if (n >= 8) {
        for (size_t i = 0; i + 8 < n; i += 8) {
            word = load8(s + i);
            bits |= word;
            hash = (hash ^ word) * factor;
            hash ^= hash >> 32;
        }
        word = load8(s + n - 8);
    }
    else
        word = load_up_to_8(s, n);
    bits |= word;
    hash = (hash ^ word) * factor;
    if (UNLIKELY(bits & ASCII_MASK))
        return text_new(s, n, shared);
    if (UNLIKELY(n <= 1))
        return text_new_ascii(s, n);
    PyObject **entry = &key_cache[hash >> 53];
    PyObject *key = *entry;
    if (LIKELY(key != NULL) && LIKELY((size_t)((PyASCIIObject *)key)->length == n) &&
        LIKELY(same_bytes((const unsigned char *)((PyASCIIObject *)key + 1), s, n)))
        return new_ref(key);
    PyObject *fresh = text_new_ascii(s, n);
    if (fresh) {
        *entry = new_ref(fresh);
        Py_XDECREF(key);
    }
    return fresh;
}
#else
static ALWAYS_INLINE PyObject *key_new(const unsigned char *s, size_t n, bool shared)
{
    return text_new(s, n, shared);
}
#endif
