/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decode objects with fields. An object is created when all its fields are decoded; until then their values are on a
 * separate stack (`values` in TypedDecoder).
 */
#ifndef CPKG_MSGPACK_TYPED_DECODE
#include "decode.c" /* includes this file, because functions of both files call each other */
#elif !defined(CPKG_MSGPACK_TYPED_OBJECTS)
#define CPKG_MSGPACK_TYPED_OBJECTS

#include "../common/words.c"
#include "containers.c"
#include "unions.c"

/* Whether an object must be hidden while its attributes are set, because other code may find it; see guard_of(). */
#if defined(Py_GIL_DISABLED) || PY_VERSION_HEX < 0x030C0000
#define TYPED_HIDE true
#else
#define TYPED_HIDE false
#endif

static NEVER_INLINE bool typed_skip(TypedDecoder *d)
{
    return typed_pass(d, false);
}

/* Push n values, all NULL, and set *base to the position of the first; return false with MemoryError set on failure. */
static ALWAYS_INLINE bool typed_push(TypedDecoder *d, Py_ssize_t n, size_t *base)
{
    const size_t top = d->top + (size_t)n;
    if (UNLIKELY(top > d->capacity)) {
        const bool inside = d->values == d->inline_values;
        PyObject **grown = PyMem_Realloc(inside ? NULL : d->values, 2 * top * sizeof *grown);
        if (!grown) {
            PyErr_NoMemory();
            return false;
        }
        if (inside)
            memcpy(grown, d->inline_values, d->top * sizeof *grown);
        d->values = grown;
        d->capacity = 2 * top;
    }
    *base = d->top;
    for (size_t i = d->top; i < top; i++)
        d->values[i] = NULL;
    d->top = top;
    return true;
}

static void typed_pop(TypedDecoder *d, size_t base)
{
    while (d->top > base) {
        PyObject *value = d->values[--d->top];
        Py_XDECREF(value);
    }
}

/* Read a key and return the index of its field; -1 for an unknown key, -2 if the key is not a str or not UTF-8. Moves
   d->p past the key, and sets *begin to the start of its text. */
static NEVER_INLINE Py_ssize_t typed_find(TypedDecoder *d, const TypedNode *node, const unsigned char **begin)
{
    uint64_t n;
    if (!typed_scan_key(d, begin, &n))
        return -2;
    const unsigned char *text = *begin;
    for (Py_ssize_t i = 0; i < node->fields_count; i++) {
        const TypedField *field = &node->fields[i];
        if ((uint64_t)field->text_size == n &&
            memcmp(field->key.bytes + field->key.size - field->text_size, text, (size_t)n) == 0)
            return i;
    }
    if (is_utf8(text, (size_t)n))
        return -1;
    return -2;
}

/* Return the default of a field, a new reference; NULL with an exception set, or without one if the field has no
   default. */
static PyObject *typed_default(TypedDecoder *d, const TypedField *field, Py_ssize_t offset)
{
    if (field->extra && !typed_weigh(d, field->extra, offset))
        return NULL;
    switch (field->how) {
    case DEFAULT_VALUE:
        return new_ref(field->fallback);
    case DEFAULT_LIST:
        return PyList_New(0);
    case DEFAULT_DICT:
        return PyDict_New();
    case DEFAULT_FACTORY:
        typed_python(d);
        PyObject *value = PyObject_CallObject(field->fallback, NULL);
        return value ? value : typed_refused(d, offset, "build", NULL);
    default:
        return NULL;
    }
}

/* Check that all required fields are present, then set the defaults of missing fields; return false with an exception
   set on failure. The object begins at `offset` in the message. */
static NEVER_INLINE bool typed_defaults(TypedDecoder *d, const TypedNode *node, size_t base, Py_ssize_t offset)
{
    for (Py_ssize_t i = 0; i < node->fields_count; i++)
        if (!d->values[base + (size_t)i] && node->fields[i].how == DEFAULT_NONE)
            return typed_mismatch(d) != NULL;
    for (Py_ssize_t i = 0; i < node->fields_count; i++) {
        if (d->values[base + (size_t)i])
            continue;
        PyObject *value = typed_default(d, &node->fields[i], offset);
        if (!value && PyErr_Occurred())
            return false;
        d->values[base + (size_t)i] = value;
    }
    return true;
}

/* Move the values of all fields into a new instance at once; if that is not possible, move nothing and return false. */
static ALWAYS_INLINE bool typed_move_all(PyObject *o, const TypedNode *node, PyObject **values)
{
#if HAS_OWN_VALUES
    const Py_ssize_t n = node->fields_count;
    for (Py_ssize_t i = 0; i < n; i++)
        if (UNLIKELY(!values[i]))
            return false;
    PyObject **own = typed_are_first(node->fields, n, Py_TYPE(o)) ? own_values_start(o, n) : NULL;
    if (own)
        memcpy(own, values, (size_t)n * sizeof *own);
    return own != NULL;
#else
    (void)o;
    (void)node;
    (void)values;
    return false;
#endif
}

/* Create the object from the values at `base`. The stack keeps owning all values that are not moved. Return NULL with
   an exception set on failure, such as the exception of a constructor. */
static PyObject *typed_build(TypedDecoder *d, const TypedNode *node, size_t base)
{
    const Py_ssize_t n = node->fields_count;
    PyObject **values = d->values + base;
    if (LIKELY(node->build == BUILD_SET)) {
        PyTypeObject *type = (PyTypeObject *)node->cls;
        const bool slots = n && node->fields[0].offset >= 0;
        /* before 3.13 only object.__new__() sets up the array that keeps attributes without a dict */
        PyObject *o = slots || PY_VERSION_HEX >= 0x030D0000 ? type->tp_alloc(type, 0)
                                                            : PyBaseObject_Type.tp_new(type, S.empty_tuple, NULL);
        if (!o)
            return NULL;
        if (!slots && LIKELY(typed_move_all(o, node, values)))
            d->top = base;
        else {
            const bool hide = TYPED_HIDE && !slots && PyObject_IS_GC(o);
            if (hide)
                PyObject_GC_UnTrack(o);
            for (Py_ssize_t i = 0; i < n; i++) {
                const TypedField *field = &node->fields[i];
                if (LIKELY(field->offset >= 0)) {
                    slot_init(o, field->offset, values[i]);
                    values[i] = NULL;
                }
                else if (values[i] && UNLIKELY(PyObject_GenericSetAttr(o, field->name, values[i]) < 0)) {
                    Py_DECREF(o);
                    return NULL;
                }
            }
            if (hide)
                PyObject_GC_Track(o);
        }
        if (node->post_init) {
            typed_python(d);
            PyObject *done = PyObject_CallMethodObjArgs(o, node->post_init, NULL);
            Py_XDECREF(done);
            if (!done)
                Py_CLEAR(o);
        }
        return o;
    }
    if (node->build == BUILD_DICT) {
        PyObject *dict = dict_new(n);
        for (Py_ssize_t i = 0; dict && i < n; i++)
            if (values[i] && PyDict_SetItem(dict, node->fields[i].name, values[i]) < 0)
                Py_CLEAR(dict);
        return dict;
    }
    typed_python(d);
    if (node->build == BUILD_POSITION)
        return PyObject_Vectorcall(node->cls, values, (size_t)n, NULL);
    for (Py_ssize_t i = 0; i < n; i++)
        if (!values[i]) { /* a field is absent, because the constructor sets its default */
            PyObject *keywords = PyDict_New(), *o = NULL;
            for (i = 0; keywords && i < n; i++)
                if (values[i] && PyDict_SetItem(keywords, PyTuple_GET_ITEM(node->keywords, i), values[i]) < 0)
                    Py_CLEAR(keywords);
            if (keywords)
                o = PyObject_Call(node->cls, S.empty_tuple, keywords);
            Py_XDECREF(keywords);
            return o;
        }
    return PyObject_Vectorcall(node->cls, values, 0, node->keywords);
}

/* Create the object like typed_build(), after setting the defaults of missing fields. */
static ALWAYS_INLINE PyObject *typed_complete(TypedDecoder *d, const TypedNode *node, size_t base, Py_ssize_t offset)
{
    for (Py_ssize_t i = 0; i < node->fields_count; i++)
        if (UNLIKELY(!d->values[base + (size_t)i])) {
            if (!typed_defaults(d, node, base, offset))
                return NULL;
            break;
        }
    PyObject *o = typed_build(d, node, base);
    return LIKELY(o != NULL) ? o : typed_refused(d, offset, "build", NULL);
}

/* Return whether the class encodes the key from `begin` to `end`, but does not decode it. */
static NEVER_INLINE bool typed_is_passed(const TypedNode *node, const unsigned char *begin, const unsigned char *end)
{
    PyObject *key = node->passed ? text_new(begin, (size_t)(end - begin), false) : NULL;
    const int known = key ? PySet_Contains(node->passed, key) : 0;
    Py_XDECREF(key);
    return known > 0;
}

static NEVER_INLINE PyObject *typed_object(TypedDecoder *d, const TypedNode *node, Py_ssize_t depth)
{
    const Py_ssize_t offset = typed_offset(d);
    uint64_t left;
    size_t base;
    if (UNLIKELY(!typed_open(d, node, depth, true, &left)))
        return NULL;
    const Py_ssize_t count = node->fields_count;
    const TypedField *const fields = node->fields;
    if (UNLIKELY(!typed_push(d, count, &base)))
        return NULL;
    PyObject *o = NULL;
    Py_ssize_t next = 0;
    for (; left; left--) {
        Py_ssize_t i = next;
        if (LIKELY(i < count) && LIKELY(typed_text_is(d, &fields[i].key)))
            d->p += fields[i].key.size;
        else {
            const unsigned char *text;
            if (UNLIKELY(!typed_tick(d))) /* there may be many repeated or unknown keys */
                goto done;
            i = typed_find(d, node, &text);
            if (UNLIKELY(i < 0)) {
                if (i == -2 || (node->forbid && !typed_is_passed(node, text, d->p))) {
                    if (!PyErr_Occurred())
                        typed_mismatch(d);
                    goto done;
                }
                if (!typed_skip(d))
                    goto done;
                continue;
            }
        }
        PyObject *value = typed_quick(d, fields[i].node, depth - 1);
        if (UNLIKELY(!value))
            goto done;
        PyObject *before = d->values[base + (size_t)i];
        d->values[base + (size_t)i] = value;
        Py_XDECREF(before);
        next = i + 1;
    }
    o = typed_complete(d, node, base, offset);
done:
    typed_pop(d, base);
    return o;
}

static NEVER_INLINE PyObject *typed_row(TypedDecoder *d, const TypedNode *node, Py_ssize_t depth)
{
    const Py_ssize_t offset = typed_offset(d);
    uint64_t n;
    size_t base;
    const uint64_t most = (uint64_t)node->fields_count;
    const uint64_t passed = node->passed ? (uint64_t)PySet_GET_SIZE(node->passed) : 0;
    if (!typed_open(d, node, depth, false, &n))
        return NULL;
    if (n < (uint64_t)node->required || (node->forbid && n > most + passed))
        return typed_mismatch(d);
    if (!typed_push(d, node->fields_count, &base))
        return NULL;
    PyObject *o = NULL;
    for (uint64_t i = 0; i < n; i++) {
        if (i >= most) {
            if (!typed_skip(d))
                goto done;
            continue;
        }
        PyObject *value = typed_quick(d, node->fields[i].node, depth - 1);
        if (!value)
            goto done;
        d->values[base + i] = value;
    }
    o = typed_complete(d, node, base, offset);
done:
    typed_pop(d, base);
    return o;
}

#endif
