/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pack objects of all types.
 *
 * Exact types are compared by pointer, the frequent ones first, and inline in the loops over lists and dicts
 * (containers.c). Everything that may run Python code (subclasses, conversions, `default`) is in rare_types.c.
 */
#ifndef CPKG_MSGPACK_PACK_OBJECTS
#define CPKG_MSGPACK_PACK_OBJECTS

#include "../common/interpreter.c"
#include "../typed/encode.c"
#include "arrays.c"
#include "containers.c"
#include "encoder.c"
#include "rare_types.c"
#include "value_types.c"
#include "writer.c"

/* Pack any object, which may contain `depth` levels of containers. */
static unsigned char *encode_value(Encoder *c, unsigned char *p, PyObject *o, Py_ssize_t depth, int stage)
{
    PyTypeObject *type = Py_TYPE(o);
    unsigned char *result;

    if (type == &PyDict_Type) {
        if (!may_nest(c, p, depth))
            return NULL;
        Py_INCREF(o);
        if (UNLIKELY(c->options->sort_keys))
            result = encode_mapping(c, p, o, depth - 1);
        else {
            WITH_LOCKED(o)
            result = encode_pairs_of_dict(c, p, o, depth - 1);
            END_LOCKED()
        }
        Py_DECREF(o);
        return result;
    }
    if (type == &PyList_Type) {
        if (!may_nest(c, p, depth))
            return NULL;
        Py_INCREF(o);
        WITH_LOCKED(o)
        result = encode_items(c, p, o, depth - 1, true);
        END_LOCKED()
        Py_DECREF(o);
        return result;
    }
    if (type == &PyUnicode_Type)
        return encode_exact_str(c, p, o);
    if (type == &PyLong_Type) {
        uint64_t magnitude;
        bool negative;
        if (UNLIKELY(!int_parts(o, &magnitude, &negative) || (negative && magnitude > (uint64_t)1 << 63)))
            return encode_big_int(c, p, o, depth, stage);
        RESERVE(HEADER_MAX);
        return write_integer(p, magnitude, negative);
    }
    if (o == Py_None || type == &PyBool_Type) {
        RESERVE(HEADER_MAX);
        return o == Py_None ? write_nil(p) : o == Py_True ? write_true(p) : write_false(p);
    }
    if (type == &PyFloat_Type) {
        if (UNLIKELY(!c->plain_float))
            return encode_float32(c, p, PyFloat_AS_DOUBLE(o));
        RESERVE(HEADER_MAX);
        return write_double(p, PyFloat_AS_DOUBLE(o));
    }
    if (type == &PyBytes_Type)
        return encode_bin(c, p, PyBytes_AS_STRING(o), PyBytes_GET_SIZE(o), "bytes object");
    if (type == &PyTuple_Type && !c->options->strict_types) {
        if (!may_nest(c, p, depth))
            return NULL;
        Py_INCREF(o);
        result = encode_items(c, p, o, depth - 1, false);
        Py_DECREF(o);
        return result;
    }
    if (type == &PyByteArray_Type)
        return within_limit(c, p) ? encode_bytearray(c, p, o) : NULL;
    Py_INCREF(o);
    TypedClass *typed = UNLIKELY(c->typed) && !is_enum(type) ? typed_class_of(type) : NULL;
    if (typed) {
        result = encode_typed(c, p, o, typed, depth);
        Py_DECREF(typed);
    }
    else
        result = encode_other(c, p, o, depth, stage);
    Py_DECREF(o);
    return result;
}

#endif
