/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Access to the attributes of an ordinary instance. CPython 3.11 to 3.15 keep them in an array of values, and all
 * instances of a class share a table of the names. Once code has read an instance's `__dict__`, the instance has a
 * dict.
 *
 * The functions find only attributes that are exactly where they expect them. Otherwise they return NULL or false, and
 * their callers get or set the attribute by its name.
 */
#pragma once

#include "state.c"

#if PY_VERSION_HEX >= 0x030B0000 && PY_VERSION_HEX < 0x03100000 && !defined(Py_GIL_DISABLED)

/* The same layout as struct _dictkeysobject in the interpreter's pycore_dict.h. */
typedef struct {
    Py_ssize_t references;
    uint8_t log2_size, log2_index_bytes, kind;
    uint32_t version;
    Py_ssize_t usable, count;
    char indices[]; /* the entries follow */
} NameTable;

/* From 3.13 on a word precedes the values. Its bytes: capacity, size, whether the values are embedded, and valid. */
#define VALUES_START (PY_VERSION_HEX >= 0x030D0000 ? sizeof(PyObject *) : 0)

#define NAMES_GENERAL 0 /* the kind of a table whose entries also have hashes */

/* Return the entries of a table: names and values in turn. The values are NULL in a table that instances share. */
static ALWAYS_INLINE PyObject *const *name_entries(const NameTable *names)
{
    return (PyObject *const *)(const void *)(names->indices + ((size_t)1 << names->log2_index_bytes));
}

static ALWAYS_INLINE bool is_name_at(const NameTable *names, Py_ssize_t i, PyObject *name)
{
    return LIKELY(i < names->count) && LIKELY(name_entries(names)[2 * i] == name);
}

/* Return the names that the instances of a class share, or NULL. */
static ALWAYS_INLINE const NameTable *shared_names(const PyTypeObject *type)
{
    return (const NameTable *)(const void *)((const PyHeapTypeObject *)type)->ht_cached_keys;
}

/* Return the array of an instance's values, or NULL if it has none. */
static ALWAYS_INLINE PyObject **own_values(PyObject *o, const PyTypeObject *type)
{
#if PY_VERSION_HEX < 0x030C0000
    return type->tp_flags & Py_TPFLAGS_MANAGED_DICT ? ((PyObject ***)o)[-4] : NULL;
#elif PY_VERSION_HEX < 0x030D0000
    const uintptr_t values = type->tp_flags & Py_TPFLAGS_MANAGED_DICT ? ((uintptr_t *)o)[-3] : 0;
    return values & 1 ? (PyObject **)(values + 1) : NULL;
#else
    uint8_t *start = (uint8_t *)o + type->tp_basicsize;
    return type->tp_flags & Py_TPFLAGS_INLINE_VALUES && start[3] ? (PyObject **)(void *)(start + VALUES_START) : NULL;
#endif
}

/* Return an attribute, borrowed, if `name` is number i among the names of the class; NULL otherwise or if it is
   unset. */
static ALWAYS_INLINE PyObject *own_value(PyObject *o, Py_ssize_t i, PyObject *name)
{
    const PyTypeObject *type = Py_TYPE(o);
    PyObject **values = own_values(o, type);
    if (LIKELY(values != NULL))
        return is_name_at(shared_names(type), i, name) ? values[i] : NULL;
    const PyDictObject *dict = type->tp_flags & Py_TPFLAGS_MANAGED_DICT ? ((PyDictObject **)o)[-3] : NULL;
    const NameTable *names = dict ? (const NameTable *)(const void *)dict->ma_keys : NULL;
    if (!names || names->kind == NAMES_GENERAL || !is_name_at(names, i, name))
        return NULL;
    return dict->ma_values ? ((PyObject **)(void *)((char *)dict->ma_values + VALUES_START))[i]
                           : name_entries(names)[2 * i + 1];
}

/* Prepare a new instance for attributes with the first n names of its class. Return the array that the caller must fill
   with n values, or NULL if the instance keeps its attributes elsewhere. */
static ALWAYS_INLINE PyObject **own_values_start(PyObject *o, Py_ssize_t n)
{
    PyObject **values = own_values(o, Py_TYPE(o));
    if (UNLIKELY(!values))
        return NULL;
    /* the number of attributes, and the numbers of their names in the order in which they were set */
#if PY_VERSION_HEX < 0x030D0000
    uint8_t *size = (uint8_t *)values - 2, *order = size;
    for (Py_ssize_t i = 0; i < n; i++)
        *--order = (uint8_t)i;
#else
    uint8_t *size = (uint8_t *)values - VALUES_START + 1, *order = (uint8_t *)(values + size[-1]);
    for (Py_ssize_t i = 0; i < n; i++)
        order[i] = (uint8_t)i;
#endif
    *size = (uint8_t)n;
    return values;
}

/* Return whether the interpreter reads the same attributes from two instances, in the same order. */
static bool same_attributes(PyObject *one, PyObject *two)
{
    PyObject *dict = PyObject_GenericGetDict(one, NULL), *other = dict ? PyObject_GenericGetDict(two, NULL) : NULL;
    PyObject *items = other ? PyDict_Items(dict) : NULL, *others = items ? PyDict_Items(other) : NULL;
    const bool same = others && PyObject_RichCompareBool(items, others, Py_EQ) == 1;
    Py_XDECREF(dict);
    Py_XDECREF(other);
    Py_XDECREF(items);
    Py_XDECREF(others);
    return same;
}

/* Return whether own_value() finds the two attributes that own_values_work() sets. */
static bool has_test_values(PyObject *o)
{
    return own_value(o, 0, S.str_read) == S.str_write && own_value(o, 1, S.str_write) == S.str_read;
}

/* Test with two instances of a new class whether this interpreter keeps attributes as described above. Otherwise return
   false, perhaps with an exception set. */
static bool own_values_work(void)
{
    PyObject *cls = PyObject_CallFunction((PyObject *)&PyType_Type, "s(){}", "Instance");
    PyObject *o = cls ? PyObject_CallNoArgs(cls) : NULL, *filled = o ? PyObject_CallNoArgs(cls) : NULL;
    bool work = filled && PyObject_SetAttr(o, S.str_read, S.str_write) == 0 &&
                PyObject_SetAttr(o, S.str_write, S.str_read) == 0 && has_test_values(o);
    PyObject **values = work ? own_values_start(filled, 2) : NULL;
    if (values) {
        values[0] = new_ref(S.str_write);
        values[1] = new_ref(S.str_read);
    }
    work = values && same_attributes(o, filled) && has_test_values(o); /* same_attributes() gave each of them a dict */
    Py_XDECREF(filled);
    Py_XDECREF(o);
    Py_XDECREF(cls);
    return work;
}

#define HAS_OWN_VALUES 1
#else
#define HAS_OWN_VALUES 0
#endif
