/* SPDX-License-Identifier: Apache-2.0 */
/* Pack objects of rare types: subclasses, extensions, datetimes, and objects to convert or replace. */
#ifndef CPKG_MSGPACK_PACK_OBJECTS
#include "objects.c" /* includes this file, because functions of both files call each other */
#elif !defined(CPKG_MSGPACK_PACK_RARE_TYPES)
#define CPKG_MSGPACK_PACK_RARE_TYPES

#include "../../common/contiguous.c"
#include "../common/interpreter.c"
#include "../common/options.c"
#include "../common/state.c"
#include "../common/value_classes.c"
#include "arrays.c"
#include "containers.c"
#include "encoder.c"
#include "value_types.c"
#include "writer.c"

static unsigned char *encode_ext_type(Encoder *c, unsigned char *p, PyObject *o)
{
    const bool plain = Py_TYPE(o) == (PyTypeObject *)S.ExtType && PyTuple_GET_SIZE(o) == 2;
    /* a subclass may override the attribute */
    PyObject *code = plain ? new_ref(PyTuple_GET_ITEM(o, 0)) : PyObject_GetAttrString(o, "code");
    PyObject *number = code ? PyNumber_Index(code) : NULL;
    PyObject *data = !number ? NULL : plain ? new_ref(PyTuple_GET_ITEM(o, 1)) : PyObject_GetAttrString(o, "data");
    int overflow = 0;
    long value = data ? PyLong_AsLongAndOverflow(number, &overflow) : 0;
    unsigned char *result = NULL;
    if (data && !PyBytes_Check(data))
        PyErr_Format(PyExc_TypeError, "ExtType data must be bytes, not %.100s", short_type_name(data));
    else if (data && (overflow || value < -128 || value > 127))
        PyErr_SetString(PyExc_OverflowError, "ext type code must be in -128..127");
    else if (data)
        result = encode_ext(c, p, (int)value, PyBytes_AS_STRING(data), PyBytes_GET_SIZE(data));
    Py_XDECREF(code);
    Py_XDECREF(number);
    Py_XDECREF(data);
    return result;
}

static unsigned char *encode_timestamp_object(Encoder *c, unsigned char *p, PyObject *o)
{
    PyObject *seconds = slot_get(o, S.timestamp_seconds), *nanoseconds = slot_get(o, S.timestamp_nanoseconds);
    if (!seconds || !nanoseconds || !PyLong_Check(seconds) || !PyLong_Check(nanoseconds)) {
        PyErr_SetString(PyExc_TypeError, "seconds and nanoseconds must be integers");
        return NULL;
    }
    int overflow;
    int64_t s = PyLong_AsLongLongAndOverflow(seconds, &overflow);
    if (overflow) {
        PyErr_SetString(PyExc_OverflowError, "Timestamp seconds do not fit in 64 bits");
        return NULL;
    }
    unsigned long ns = PyLong_AsUnsignedLong(nanoseconds);
    if (ns == (unsigned long)-1 && PyErr_Occurred())
        return NULL;
    if (ns > 999999999) {
        PyErr_SetString(PyExc_ValueError, "nanoseconds must be a non-negative integer not greater than 999999999.");
        return NULL;
    }
    return encode_timestamp(c, p, s, (uint32_t)ns);
}

static unsigned char *encode_raw_object(Encoder *c, unsigned char *p, PyObject *o)
{
    PyObject *data = slot_get(o, S.raw_data);
    if (!data || !PyBytes_Check(data)) {
        PyErr_Format(PyExc_TypeError, "Raw data must be bytes, not %.100s", data ? short_type_name(data) : "unset");
        return NULL;
    }
    return encode_payload(c, p, PyBytes_AS_STRING(data), (size_t)PyBytes_GET_SIZE(data));
}

static bool is_for_hook(PyTypeObject *type);
static unsigned char *encode_hooked(Encoder *c, unsigned char *p, PyObject *o, Py_ssize_t depth);

/* Pack an object of an unsupported type: try enc_hook, convert() and `default`, as far as `stage` allows, then
   raise. */
static unsigned char *encode_foreign(Encoder *c, unsigned char *p, PyObject *o, Py_ssize_t depth, int stage)
{
    if (!stack_left(1)) /* code called below may pack another object, whose first levels do not check the stack */
        return NULL;
    if (c->hook && stage & MAY_DEFAULT && is_for_hook(Py_TYPE(o)))
        return encode_hooked(c, p, o, depth);
    if (c->conversions && stage & MAY_CONVERT) {
        if (c->conversions & CONVERT_UNKNOWN)
            leaves_arrays(c);
        PyObject *flags = conversions_ready() < 0 ? NULL : PyLong_FromLong(c->conversions);
        PyObject *converted = flags ? PyObject_CallFunctionObjArgs(S.convert, flags, o, NULL) : NULL;
        Py_XDECREF(flags);
        if (!converted)
            return NULL;
        if (converted != S.NOT_CONVERTED) {
            p = encode_value(c, p, converted, depth, stage & ~MAY_CONVERT);
            Py_DECREF(converted);
            return p;
        }
        Py_DECREF(converted);
    }
    if (c->options->default_ && stage & MAY_DEFAULT) {
        PyObject *replaced = PyObject_CallFunctionObjArgs(c->options->default_, o, NULL);
        if (!replaced)
            return NULL;
        p = encode_value(c, p, replaced, depth, MAY_CONVERT);
        Py_DECREF(replaced);
        return p;
    }
    if (c->options->datetime && datetime_ready() == 0 && PyDateTime_CheckExact(o))
        PyErr_Format(PyExc_ValueError, "can not serialize '%.200s' object where tzinfo=None", Py_TYPE(o)->tp_name);
    else
        PyErr_Format(PyExc_TypeError, "can not serialize '%.200s' object", Py_TYPE(o)->tp_name);
    return NULL;
}

static unsigned char *encode_big_int(Encoder *c, unsigned char *p, PyObject *o, Py_ssize_t depth, int stage)
{
    if (!within_limit(c, p))
        return NULL;
    if (c->options->default_ && stage & MAY_DEFAULT) {
        Py_INCREF(o); /* `default` may remove the int from its container */
        p = encode_foreign(c, p, o, depth, MAY_DEFAULT);
        Py_DECREF(o);
        return p;
    }
    PyErr_SetString(PyExc_OverflowError, "Integer value out of range");
    return NULL;
}

static NEVER_INLINE unsigned char *encode_bytearray(Encoder *c, unsigned char *p, PyObject *o)
{
    Py_INCREF(o);
    WITH_LOCKED(o)
    p = encode_bin(c, p, PyByteArray_AS_STRING(o), PyByteArray_GET_SIZE(o), Py_TYPE(o)->tp_name);
    END_LOCKED()
    Py_DECREF(o);
    return p;
}

/* The flags of subclasses of builtin types; no value type has any of them. */
#define BUILTIN_SUBCLASS \
    (Py_TPFLAGS_LONG_SUBCLASS | Py_TPFLAGS_LIST_SUBCLASS | Py_TPFLAGS_TUPLE_SUBCLASS | Py_TPFLAGS_BYTES_SUBCLASS | \
     Py_TPFLAGS_UNICODE_SUBCLASS | Py_TPFLAGS_DICT_SUBCLASS)

/* Pack an object of any other type than None, bool, int, float, str, bytes, bytearray, list, dict and, without
   strict_types, tuple. HOT, because otherwise gcc optimizes this code for size. */
static HOT NEVER_INLINE unsigned char *encode_other(Encoder *c, unsigned char *p, PyObject *o, Py_ssize_t depth,
                                                    int stage)
{
    const bool strict = c->options->strict_types;
    const bool had_datetime = KEPT(epoch); /* read once, because another thread may find the class at any time */
    PyTypeObject *type = Py_TYPE(o);

    if (!within_limit(c, p))
        return NULL;
    if (!strict && PyLong_Check(o)) {
        uint64_t magnitude;
        bool negative;
        if (!int_parts(o, &magnitude, &negative) || (negative && magnitude > (uint64_t)1 << 63))
            return encode_big_int(c, p, o, depth, stage);
        RESERVE(HEADER_MAX);
        return write_integer(p, magnitude, negative);
    }
    const bool by_class = c->value_types && is_value_class(type);
    if (c->value_types && !(type->tp_flags & BUILTIN_SUBCLASS) &&
        ((!is_enum(type) && encode_value_type(c, &p, o, depth, stage)) ||
         (by_class && encode_by_class(c, &p, o, depth, stage))))
        return p;
    if (type == (PyTypeObject *)S.ExtType)
        return encode_ext_type(c, p, o);
    if (type == (PyTypeObject *)S.Timestamp || type == (PyTypeObject *)S.Raw) {
        unsigned char *result;
        WITH_LOCKED(o)
        result = type == (PyTypeObject *)S.Raw ? encode_raw_object(c, p, o) : encode_timestamp_object(c, p, o);
        END_LOCKED()
        return result;
    }
    if (!strict) {
        if (PyByteArray_Check(o))
            return encode_bytearray(c, p, o);
        if (PyFloat_Check(o)) {
            if (!c->plain_float)
                return encode_float32(c, p, PyFloat_AS_DOUBLE(o));
            RESERVE(HEADER_MAX);
            return write_double(p, PyFloat_AS_DOUBLE(o));
        }
        if (PyBytes_Check(o))
            return encode_bin(c, p, PyBytes_AS_STRING(o), PyBytes_GET_SIZE(o), type->tp_name);
        if (PyUnicode_Check(o))
            return encode_str(c, p, o);
    }
    if ((!strict && PyDict_Check(o)) ||
        (S.frozendict &&
         (type == (PyTypeObject *)S.frozendict || (!strict && PyType_IsSubtype(type, (PyTypeObject *)S.frozendict))))) {
        return may_nest(c, p, depth) ? encode_mapping(c, p, o, depth - 1) : NULL;
    }
    if (!strict && PyType_IsSubtype(type, (PyTypeObject *)S.ExtType))
        return encode_ext_type(c, p, o);
    if (!strict && PyTuple_Check(o)) {
        if (!may_nest(c, p, depth))
            return NULL;
        return type->tp_iter == PyTuple_Type.tp_iter ? encode_items(c, p, o, depth - 1, false)
                                                     : encode_iterated(c, p, o, depth - 1);
    }
    if (!strict && PyList_Check(o)) {
        if (!may_nest(c, p, depth))
            return NULL;
        unsigned char *result;
        WITH_LOCKED(o)
        result = type->tp_iter == PyList_Type.tp_iter ? encode_items(c, p, o, depth - 1, true)
                                                      : encode_iterated(c, p, o, depth - 1);
        END_LOCKED()
        return result;
    }
    if (PyMemoryView_Check(o)) {
        Py_buffer view;
        if (contiguous_open(o, &view) < 0)
            return NULL;
        p = encode_bin(c, p, view.buf, view.len, "memoryview");
        PyBuffer_Release(&view);
        return p;
    }
    if (c->value_types) {
        if (!by_class && encode_by_class(c, &p, o, depth, stage))
            return p;
        const bool is_new = !had_datetime && c->options->datetime;
        if (is_new && datetime_ready() < 0)
            return NULL;
        if (find_value_classes() || is_new)
            return encode_other(c, p, o, depth, stage);
    }
    return encode_foreign(c, p, o, depth, stage);
}

#endif
