/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Choose the object of a union for a map: by the value of one key, the tag, or by which keys are present.
 *
 * To do so, the values of the map are skipped, up to the tag if the union has one. The ends of the containers in these
 * values are remembered, so that a nested union does not skip them again: each byte is skipped only once, at any depth
 * of unions.
 */
#pragma once

#include "../common/formats.c"
#include "../unpack/starts.c"
#include "../unpack/text.c"
#include "values.c"

#define TYPED_NO_ENTRY SIZE_MAX

/* Add an entry for a container with `left` values; return false with MemoryError set on failure. */
static NEVER_INLINE bool typed_ends_add(TypedEnds *ends, Py_ssize_t start, uint64_t left, size_t outer)
{
    if (ends->count == ends->capacity) {
        const size_t capacity = ends->capacity ? 2 * ends->capacity : 64;
        TypedEnd *grown = PyMem_Realloc(ends->entries, capacity * sizeof *grown);
        if (!grown) {
            PyErr_NoMemory();
            return false;
        }
        ends->entries = grown;
        ends->capacity = capacity;
    }
    ends->entries[ends->count++] = (TypedEnd){.start = start, .at.left = left, .entry.outer = outer};
    return true;
}

/* Move d->p past a value, including all containers in it, and, with `keep`, remember the ends of these containers.
   Return false with an exception set if the value is cut or wrong. */
static ALWAYS_INLINE bool typed_pass(TypedDecoder *d, const bool keep)
{
    TypedEnds *const ends = &d->ends;
    const unsigned char *p = d->p, *const end = d->end;
    size_t open = TYPED_NO_ENTRY;
    uint64_t left = 1;
    FormatHeader h;
    for (;;) {
        const unsigned char *next = value_pass_plain(p, end);
        if (UNLIKELY(!typed_tick(d)))
            return false;
        if (LIKELY(next != NULL))
            p = next;
        else {
            const Py_ssize_t start = p - d->data;
            if (p >= end || !read_header(p, (size_t)(end - p), &h) || h.kind == FORMAT_WRONG)
                return typed_mismatch(d) != NULL;
            p += h.size;
            const uint64_t length = (uint64_t)h.length + (h.kind == FORMAT_EXT);
            /* each value takes at least one byte, so the number of values cannot overflow */
            if (length > (uint64_t)(end - p))
                return typed_mismatch(d) != NULL;
            if (!is_container(h.kind))
                p += length;
            else if (length) {
                const uint64_t values = length << (h.kind == FORMAT_MAP);
                if (!keep)
                    left += values;
                else {
                    if (!typed_ends_add(ends, start, values, open))
                        return false;
                    open = ends->count - 1;
                    continue;
                }
            }
        }
        if (!keep) {
            if (--left)
                continue;
            break;
        }
        while (open != TYPED_NO_ENTRY && --ends->entries[open].at.left == 0) {
            TypedEnd *const entry = &ends->entries[open];
            open = entry->entry.outer;
            entry->at.end = p - d->data;
            entry->entry.next = ends->count;
        }
        if (open == TYPED_NO_ENTRY)
            break;
    }
    d->p = p;
    return true;
}

/* Return a Raw with the bytes of a value, and move past the value. Text must be UTF-8, unless it is in a container. */
static NEVER_INLINE PyObject *typed_raw(TypedDecoder *d)
{
    const unsigned char *const start = d->p;
    if ((*start & 0xe0) == 0xa0 || (*start >= 0xd9 && *start <= 0xdb)) {
        PyObject *text = typed_str(d);
        if (!text)
            return NULL;
        Py_DECREF(text);
    }
    else if (!typed_pass(d, false))
        return NULL;
    return raw_new(PyBytes_FromStringAndSize((const char *)start, d->p - start));
}

/* The state of skipping the keys and values of a map. */
typedef struct {
    bool known; /* an outer union has remembered the ends of containers; `next` is the entry of the next container */
    size_t next;
} TypedScan;

static TypedScan typed_scan_start(TypedDecoder *d)
{
    TypedEnds *const ends = &d->ends;
    const Py_ssize_t start = typed_offset(d);
    if (start >= ends->covered) {
        ends->count = ends->next = 0;
        return (TypedScan){false, 0};
    }
    while (ends->next < ends->count && ends->entries[ends->next].start <= start)
        ends->next++;
    return (TypedScan){true, ends->next};
}

/* Move d->p past a key or value; return false with an exception set if it is cut or wrong. */
static bool typed_scan_pass(TypedDecoder *d, TypedScan *scan)
{
    TypedEnds *const ends = &d->ends;
    if (!scan->known) {
        const bool passed = typed_pass(d, true);
        ends->covered = passed ? typed_offset(d) : 0;
        return passed;
    }
    const TypedEnd *const entry = scan->next < ends->count ? &ends->entries[scan->next] : NULL;
    if (entry && entry->start == typed_offset(d)) {
        d->p = d->data + entry->at.end;
        scan->next = entry->entry.next;
        return true;
    }
    return typed_pass(d, false); /* no entry, so the value is not a container, or is an empty one */
}

/* Return the part of a union that the tag's value, at d->p, chooses; NULL, perhaps with an exception set, if none
   fits. */
static const TypedNode *typed_by_tag(TypedDecoder *d, const TypedNode *node)
{
    for (Py_ssize_t i = 0; i < node->texts_count; i++)
        if (typed_text_is(d, &node->texts[i].text))
            return node->parts[node->texts[i].part];
    const Py_ssize_t offset = typed_offset(d);
    const unsigned byte = d->p < d->end ? *d->p : 0xc1;
    const bool text = (byte & 0xe0) == 0xa0 || (byte >= 0xd9 && byte <= 0xdb);
    PyObject *number = NULL;
    if (text || byte < 0x80 || byte >= 0xe0 || (byte >= 0xcc && byte <= 0xd3)) {
        PyObject *value = text ? typed_key_str(d) : typed_int(d);
        number = value ? PyDict_GetItemWithError(node->tag_values, value) : NULL;
        Py_XINCREF(number);
        Py_XDECREF(value);
    }
    else if (node->choose) {
        typed_python(d);
        number = PyObject_CallFunction(node->choose, "On", d->source, offset);
    }
    const Py_ssize_t index = number ? PyLong_AsSsize_t(number) : -1;
    Py_XDECREF(number);
    return index >= 0 && index < node->parts_count ? node->parts[index] : NULL;
}

/* Move d->p past a str key, and get the start and size of its text; return false for any other key. */
static bool typed_scan_key(TypedDecoder *d, const unsigned char **text, uint64_t *n)
{
    if (!STR_LENGTH(d, n) || (uint64_t)(d->end - d->p) < *n)
        return false;
    *text = d->p;
    d->p += *n;
    return true;
}

static const TypedNode *typed_scan_for_tag(TypedDecoder *d, const TypedNode *node, uint64_t left)
{
    const char *tag = node->tag + node->tag_size - node->tag_text_size;
    TypedScan scan = typed_scan_start(d);
    for (; left; left--) {
        const unsigned char *text, *begin = d->p;
        uint64_t n;
        if (typed_scan_key(d, &text, &n)) {
            if (n == (uint64_t)node->tag_text_size && memcmp(text, tag, (size_t)n) == 0)
                return typed_by_tag(d, node);
        }
        else {
            d->p = begin;
            if (!typed_scan_pass(d, &scan))
                return NULL;
        }
        if (!typed_scan_pass(d, &scan))
            return NULL;
    }
    return NULL;
}

/* Return the first object of a union whose distinguishing keys (the keys that later objects lack) are all present;
   NULL, perhaps with an exception set, if none fits. */
static const TypedNode *typed_scan_for_keys(TypedDecoder *d, const TypedNode *node, uint64_t left)
{
    const Py_ssize_t count = node->choices_count, keys = count ? node->choices[count - 1].keys_end : 0;
    const TypedNode *found = NULL;
    bool inline_seen[64] = {false}, *seen = inline_seen;
    if (keys > 64 && !(seen = PyMem_Calloc((size_t)keys, sizeof *seen))) {
        PyErr_NoMemory();
        return NULL;
    }
    TypedScan scan = typed_scan_start(d);
    for (; left; left--) {
        const unsigned char *text, *begin = d->p;
        uint64_t n;
        bool sound = true;
        if (typed_scan_key(d, &text, &n)) {
            PyObject *key = n < 32 ? key_new(text, (size_t)n, false) : text_new(text, (size_t)n, false);
            PyObject *number = key ? PyDict_GetItemWithError(node->unique, key) : NULL;
            const Py_ssize_t index = number ? PyLong_AsSsize_t(number) : -1;
            Py_XDECREF(key);
            if (index >= 0 && index < keys)
                seen[index] = true;
            sound = !PyErr_Occurred();
        }
        else {
            d->p = begin;
            sound = typed_scan_pass(d, &scan);
        }
        if (!sound || !typed_scan_pass(d, &scan))
            goto done;
    }
    for (Py_ssize_t i = 0, key = 0; i < count && !found; i++) {
        while (key < node->choices[i].keys_end && seen[key])
            key++;
        if (key == node->choices[i].keys_end)
            found = node->parts[node->choices[i].part];
        key = node->choices[i].keys_end;
    }
done:
    if (seen != inline_seen)
        PyMem_Free(seen);
    return found;
}

/* Return the object of a union that fits the map at d->p; NULL with an exception set if none fits. */
static const TypedNode *typed_object_of(TypedDecoder *d, const TypedNode *node)
{
    const unsigned char *const start = d->p;
    const Py_ssize_t size = node->tag_size;
    const TypedNode *found = NULL;
    uint64_t left;
    if (node->tag && d->end - start > size + 1 && *start > 0x80 && *start < 0x90 &&
        memcmp(start + 1, node->tag, (size_t)size) == 0) {
        d->p = start + 1 + size;
        found = typed_by_tag(d, node);
    }
    else if (MAP_LENGTH(d, &left))
        found = node->tag ? typed_scan_for_tag(d, node, left) : typed_scan_for_keys(d, node, left);
    d->p = start;
    if (!found && !PyErr_Occurred())
        typed_mismatch(d);
    return found;
}
