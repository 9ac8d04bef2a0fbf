/* SPDX-License-Identifier: Apache-2.0 */
/* What import sets up once, the types shared with the pure backend, interned names, small tables; and what a first use
   does, since importing it takes longer than a short message. */
#pragma once

#include "../../common/objects.c"

#include <datetime.h>

#define SMALL_INT_MIN (-32)
#define SMALL_INT_MAX 255

static struct {
    bool ready;

    /* purepy.base.errors */
    PyObject *LimitError, *BufferFull, *OutOfData, *FormatError, *StackError, *TruncatedError, *ExtraData;
    /* purepy.msgpack.ext; the offsets are those of their slots */
    PyObject *ExtType, *Timestamp, *Raw;
    Py_ssize_t timestamp_seconds, timestamp_nanoseconds, raw_data;
    PyObject *one_second_in_ns;
    PyObject *convert, *NOT_CONVERTED; /* purepy.msgpack.conversions; NULL before conversions_ready() */
    PyObject *typed_functions;         /* purepy.msgpack.interface; NULL before typed_function() */
    PyObject *epoch;                   /* a datetime; NULL before datetime_ready() */
    /* value_classes.c; each is NULL before it is found */
    PyObject *UUID, *Decimal, *Enum, *Field, *Attribute; /* dataclasses.Field, attr.Attribute */
    PyObject *ndarray, *numpy_generic, *numpy_dtype, *array;
    PyObject *ndarray_tolist;        /* the method */
    PyObject *numpy_dtypes[5][5][2]; /* by kind, size and order; NULL before numpy_dtype() */
    Py_ssize_t uuid_int, uuid_is_safe, field_name, field_type, attribute_name;
    busy_flag finding;       /* by one thread at a time */
    Py_ssize_t modules_seen; /* how many modules there were when they were looked for */
    PyObject *uuid_unknown;  /* uuid.SafeUUID.unknown, which is_safe of a UUID from bytes is */
    PyObject *enum_value;    /* the descriptor of the attribute `value` in Enum */
    PyObject *FIELD;         /* what field_type is of a field that is not a ClassVar or InitVar */
    PyObject *frozendict;    /* the builtin type, or NULL before 3.15 */
    PyObject *Packer, *Unpacker;
    PyTypeObject *TypedClass; /* typed/encode.c */

    PyObject *str_read, *str_write, *str_offset, *str_toreadonly, *str_makes_no_cycles, *str_typed_class, *str_value,
        *str_value_kept, *str_dataclass_fields, *str_attrs_attrs, *str_isoformat, *str_tolist, *str_find_form,
        *str_tzinfo, *str_class;
    PyObject *empty_tuple;
    PyObject *small_ints[SMALL_INT_MAX - SMALL_INT_MIN + 1];
    PyObject *ascii_chars[128];
} S;

/* What S has by a name that a first use sets, or NULL before. Without the GIL another thread may set it meanwhile, and
   the thread that sees it sees also what was set before it. */
#ifdef Py_GIL_DISABLED
#define KEPT(name) __atomic_load_n(&S.name, __ATOMIC_ACQUIRE)
#else
#define KEPT(name) S.name
#endif

/* Keep an object, which is stolen, unless another thread has kept its own meanwhile: what is kept never changes. */
static void keep(PyObject **to, PyObject *stolen)
{
    PyObject *kept = NULL;
    if (!__atomic_compare_exchange_n(to, &kept, stolen, 0, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
        Py_DECREF(stolen);
}

static ALWAYS_INLINE PyObject *small_int(long value)
{
    return new_ref(S.small_ints[value - SMALL_INT_MIN]);
}

/* The value of a slot (a member of type T_OBJECT_EX) of an object of the exact type; borrowed, NULL if deleted. */
static inline PyObject *slot_get(PyObject *o, Py_ssize_t offset)
{
    return *(PyObject **)((char *)o + offset);
}

static inline void slot_init(PyObject *o, Py_ssize_t offset, PyObject *stolen)
{
    *(PyObject **)((char *)o + offset) = stolen;
}

/* The offset of a slot, from its member descriptor. */
static int take_slot(PyObject *type, const char *name, Py_ssize_t *offset)
{
    PyObject *member = PyObject_GetAttrString(type, name);
    if (!member)
        return -1;
    int found = Py_TYPE(member) == &PyMemberDescr_Type;
    if (found)
        *offset = ((PyMemberDescrObject *)member)->d_member->offset;
    else
        PyErr_Format(PyExc_TypeError, "%s is not a slot", name);
    Py_DECREF(member);
    return found ? 0 : -1;
}

/* A Raw over `data`, which is stolen. */
static PyObject *raw_new(PyObject *data)
{
    PyObject *raw = data ? object_new(S.Raw) : NULL;
    if (raw)
        slot_init(raw, S.raw_data, data);
    else
        Py_XDECREF(data);
    return raw;
}

/* A name of a module, imported now: 0, or -1 with an exception. */
static NEVER_INLINE int import_name(const char *module_name, const char *name, PyObject **to)
{
    PyObject *module = PyImport_ImportModule(module_name);
    PyObject *found = module ? PyObject_GetAttrString(module, name) : NULL;
    Py_XDECREF(module);
    if (found)
        keep(to, found);
    return found ? 0 : -1;
}

/* These may run Python code when they are first called, and return 0, or -1 with an exception. */
static int conversions_ready(void)
{
    if (LIKELY(KEPT(convert) != NULL))
        return 0;
    return import_name("purepy.msgpack.conversions", "NOT_CONVERTED", &S.NOT_CONVERTED) < 0
               ? -1
               : import_name("purepy.msgpack.conversions", "convert", &S.convert);
}

/* A function of `cpkg.typed` that serves the option `type`; a new reference. */
static NEVER_INLINE PyObject *typed_function(const char *name)
{
    if (!KEPT(typed_functions) && import_name("purepy.msgpack.interface", "typed_functions", &S.typed_functions) < 0)
        return NULL;
    PyObject *typed = PyObject_CallObject(S.typed_functions, NULL);
    PyObject *function = typed ? PyObject_GetAttrString(typed, name) : NULL;
    Py_XDECREF(typed);
    return function;
}

static int datetime_ready(void)
{
    if (LIKELY(KEPT(epoch) != NULL))
        return 0;
    PyDateTime_CAPI *api = PyCapsule_Import(PyDateTime_CAPSULE_NAME, 0), *kept = NULL;
    PyObject *epoch = api ? api->DateTime_FromDateAndTime(1970, 1, 1, 0, 0, 0, 0, api->TimeZone_UTC, api->DateTimeType)
                          : NULL;
    if (!epoch)
        return -1;
    /* which the macros of datetime.h read; KEPT(epoch) tells whether they may be used */
    __atomic_compare_exchange_n(&PyDateTimeAPI, &kept, api, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    keep(&S.epoch, epoch);
    return 0;
}

/* Write `offset` on the exception that is set: the byte at which the input is wrong. */
static void error_set_offset(uint64_t offset)
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyErr_NormalizeException(&type, &value, &traceback);
    PyObject *number = PyLong_FromUnsignedLongLong(offset);
    if (!value || !number || PyObject_SetAttr(value, S.str_offset, number) < 0)
        PyErr_Clear();
    Py_XDECREF(number);
    PyErr_Restore(type, value, traceback);
}
