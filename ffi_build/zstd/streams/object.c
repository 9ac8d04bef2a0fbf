/* SPDX-License-Identifier: Apache-2.0 */
/* The common base of stream objects. Only methods of presets create them. */
#pragma once

#include "../../common/objects.c"
#include "turn.c"

/* Define `object`_traverse() and `object`_dealloc() for a structure with a Turn and one member that holds objects. */
#define OBJECT_WITH_TURN(object, Structure, member) \
    static int object##_traverse(PyObject *self, visitproc visit, void *arg) \
    { \
        VISIT_TYPE(self); \
        return member##_traverse(&((Structure *)self)->member, visit, arg); \
    } \
    COLLECTED_DEALLOC(object, turn_free(&((Structure *)self)->turn))

/* Declare a type of `cpkg.zstandard`, whose functions begin with `object`; more slots follow the structure. */
#define DECLARE_STREAM_TYPE(object, type_name, structure, ...) \
    DECLARE_TYPE(object, "cpkg.zstandard." type_name, structure, Py_TPFLAGS_HAVE_GC, {Py_tp_new, object_refuse_new}, \
                 COLLECTED_SLOTS(object), __VA_ARGS__)
