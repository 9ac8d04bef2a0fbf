/* SPDX-License-Identifier: Apache-2.0 */
/* Types, each declared once, and functions that all their objects share. */
#pragma once

#include "compat.c"

/* Declare a type; the arguments after the flags are its slots. `object`_spec is the argument for PyType_FromSpec(). */
#define DECLARE_TYPE(object, type_name, structure, more_flags, ...) \
    static PyType_Slot object##_slots[] = {__VA_ARGS__, {0, NULL}}; \
    static PyType_Spec object##_spec = {.name = (type_name), \
                                        .basicsize = sizeof(structure), \
                                        .flags = Py_TPFLAGS_DEFAULT | (more_flags), \
                                        .slots = object##_slots};

/* The slots of a type that the garbage collector tracks; the names of their functions begin with `object`. */
#define COLLECTED_SLOTS(object) \
    {Py_tp_dealloc, object##_dealloc}, {Py_tp_traverse, object##_traverse}, \
    { \
        Py_tp_clear, object##_clear \
    }

/* Define `object`_dealloc() for such a type: call `object`_clear(), run `more`, then free the memory. */
#define COLLECTED_DEALLOC(object, more) \
    static void object##_dealloc(PyObject *self) \
    { \
        PyObject_GC_UnTrack(self); \
        object##_clear(self); \
        more; \
        object_free(self); \
    }

/* Visit the type of an object, which the object owns since 3.9. */
#define VISIT_TYPE(self) Py_VISIT(Py_TYPE(self))

/* Return a new object in zeroed memory, or NULL with an exception set. */
static inline void *object_new(void *type)
{
    return ((PyTypeObject *)type)->tp_alloc(type, 0);
}

/* A type of a module that a process loads only once; `place`, where the type is also stored, may be NULL. */
typedef struct {
    const char *name;
    PyType_Spec *spec;
    PyTypeObject **place;
} TypeToAdd;

/* Create types and store each in a module and in its `place`; return 0, or -1 with an exception set. */
static inline int add_types(PyObject *module, const TypeToAdd *types, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        PyObject *type = PyType_FromSpec(types[i].spec);
        if (type == NULL || PyObject_SetAttrString(module, types[i].name, type) < 0) {
            Py_XDECREF(type);
            return -1;
        }
        if (types[i].place != NULL)
            *types[i].place = (PyTypeObject *)type;
        else
            Py_DECREF(type);
    }
    return 0;
}

static void object_free(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    type->tp_free(self);
    Py_DECREF(type);
}

/* Raise TypeError: __reduce__() or __reduce_ex__() of objects that cannot be copied or pickled. */
static PyObject *object_refuse_pickling(PyObject *self, PyObject *Py_UNUSED(protocol))
{
    PyObject *name = PyObject_GetAttrString((PyObject *)Py_TYPE(self), "__name__");
    if (name != NULL)
        PyErr_Format(PyExc_TypeError, "cannot pickle '%S' object", name);
    Py_XDECREF(name);
    return NULL;
}
