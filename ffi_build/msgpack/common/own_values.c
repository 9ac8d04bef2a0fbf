/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The attributes of an ordinary instance, as CPython 3.11 to 3.14 keep them: an array of values, whose names all instances
 * of the class share. An instance whose `__dict__` was asked for has a dict.
 *
 * The functions take only what is exactly where they expect it. For anything else they return NULL or false, and their
 * callers get or set the attribute by its name.
 */
#pragma once

#include "state.c"

#if PY_VERSION_HEX >= 0x030B0000 && PY_VERSION_HEX < 0x030F0000 && !defined(Py_GIL_DISABLED)

/* The same layout as struct _dictkeysobject in the interpreter's pycore_dict.h. */
typedef struct {
    Py_ssize_t references;
    uint8_t log2_size, log2_index_bytes, kind;
    uint32_t version;
    Py_ssize_t usable, count;
    char indices[]; /* and then the entries */
} NameTable;

/* From 3.13 on a word precedes the values: bytes with the capacity, the size, whether they are embedded, and valid. */
#define VALUES_START (PY_VERSION_HEX >= 0x030D0000 ? sizeof(PyObject *) : 0)

#define NAMES_GENERAL 0 /* the kind of a table whose entries also have hashes */

/* The entries of a table: names and values in turn. The values are NULL in a table that instances share. */
static ALWAYS_INLINE PyObject *const *name_entries(const NameTable *names)
{
    return (PyObject *const *)(const void *)(names->indices + ((size_t)1 << names->log2_index_bytes));
}

static ALWAYS_INLINE bool is_name_at(const NameTable *names, Py_ssize_t i, PyObject *name)
{
    return LIKELY(i < names->count) && LIKELY(name_entries(names)[2 * i] == name);
}

/* The names that the instances of a class share, or NULL. */
static ALWAYS_INLINE const NameTable *shared_names(const PyTypeObject *type)
{
    return (const NameTable *)(const void *)((const PyHeapTypeObject *)type)->ht_cached_keys;
}

/* The array of an instance's values, or NULL if it has none. */
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

/* The attribute of an instance whose name probably is number i in its class: borrowed, or NULL. */
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

/* Where a new instance keeps its first n attributes, which have the first n names of its class and are all set by the caller;
   NULL if it keeps them elsewhere. */
static ALWAYS_INLINE PyObject **own_values_start(PyObject *o, Py_ssize_t n)
{
    PyObject **values = own_values(o, Py_TYPE(o));
    if (UNLIKELY(!values))
        return NULL;
    /* how many attributes are set, and the numbers of their names in the order in which that happened */
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

/* Whether two instances have the same attributes, as the interpreter reads them, in the same order. */
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

/* Whether an instance has the two attributes of the test below. */
static bool has_test_values(PyObject *o)
{
    return own_value(o, 0, S.str_read) == S.str_write && own_value(o, 1, S.str_write) == S.str_read;
}

/* Whether this interpreter keeps attributes as described above: a test with two instances of a new class. False, perhaps with
   an exception, if not. */
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
    work = values && same_attributes(o, filled) && has_test_values(o); /* now each has a dict */
    Py_XDECREF(filled);
    Py_XDECREF(o);
    Py_XDECREF(cls);
    return work;
}

#define HAS_OWN_VALUES 1
#else
#define HAS_OWN_VALUES 0
#endif
