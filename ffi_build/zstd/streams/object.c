/* SPDX-License-Identifier: Apache-2.0 */
/* The common base of stream objects. Only methods of presets create them. */
#pragma once

#include "../../common/compat.c"

/* The specification of a type of `cpkg.zstandard`. */
#define OBJECT_SPEC(type_name, structure, type_slots) \
    TYPE_SPEC("cpkg.zstandard." type_name, structure, Py_TPFLAGS_HAVE_GC, type_slots)

static PyObject *object_refuse_new(PyTypeObject *type, PyObject *Py_UNUSED(args), PyObject *Py_UNUSED(kwargs))
{
    return PyErr_Format(PyExc_TypeError, "cannot create '%s' instances", type->tp_name);
}

/* Return a new object in zeroed memory, or NULL with an exception set. */
static void *object_new(PyTypeObject *type)
{
    return type->tp_alloc(type, 0);
}

static void object_free(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    type->tp_free(self);
    Py_DECREF(type);
}

/* __reduce_ex__() of an object that cannot be pickled. */
static PyObject *object_refuse_pickling(PyObject *self, PyObject *Py_UNUSED(protocol))
{
    return PyErr_Format(PyExc_TypeError, "cannot pickle '%s' object", Py_TYPE(self)->tp_name);
}

/* Visit the type, which owns its objects since 3.9. */
#define VISIT_TYPE(self) Py_VISIT(Py_TYPE(self))

/* Define `object`_traverse() and `object`_dealloc() for a structure with a Turn and one member that holds objects. */
#define OBJECT_WITH_TURN(object, Structure, member) \
    static int object##_traverse(PyObject *self, visitproc visit, void *arg) \
    { \
        VISIT_TYPE(self); \
        return member##_traverse(&((Structure *)self)->member, visit, arg); \
    } \
    static void object##_dealloc(PyObject *self) \
    { \
        PyObject_GC_UnTrack(self); \
        object##_clear(self); \
        turn_free(&((Structure *)self)->turn); \
        object_free(self); \
    }

/* The slots of a type whose functions begin with `object`. */
#define OBJECT_SLOTS(object) \
    {Py_tp_new, object_refuse_new}, {Py_tp_dealloc, object##_dealloc}, {Py_tp_traverse, object##_traverse}, \
    { \
        Py_tp_clear, object##_clear \
    }
