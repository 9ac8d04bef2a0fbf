/* SPDX-License-Identifier: Apache-2.0 */
/* The state of the module. The import sets the types shared with the pure backend, interned names and small tables.
   Other objects are set on first use, because importing them takes longer than packing a short message. */
#pragma once

#include "../../common/objects.c"

#include <datetime.h>

#define SMALL_INT_MIN (-32)
#define SMALL_INT_MAX 255

static struct {
    bool ready;
    bool has_own_values; /* own_values.c can read and set attributes */
#ifdef Py_GIL_DISABLED
    PyMutex keeping; /* held while keep() tests and sets a field; nothing is called meanwhile */
#endif

    /* of purepy.base.errors */
    PyObject *LimitError, *BufferFull, *OutOfData, *FormatError, *StackError, *TruncatedError, *ExtraData;
    /* of purepy.msgpack.ext, with the offsets of their slots */
    PyObject *ExtType, *Timestamp, *Raw;
    Py_ssize_t timestamp_seconds, timestamp_nanoseconds, raw_data;
    PyObject *one_second_in_ns;
    PyObject *convert, *NOT_CONVERTED; /* purepy.msgpack.conversions; NULL before conversions_ready() */
    PyObject *typed_functions;         /* purepy.msgpack.interface; NULL before typed_function() */
    PyObject *epoch;                   /* a datetime; NULL before datetime_ready() */
    /* of value_classes.c; each is NULL before it is found */
    PyObject *UUID, *Decimal, *Enum, *Field, *Attribute; /* dataclasses.Field, attr.Attribute */
    PyObject *ndarray, *numpy_generic, *numpy_dtype, *array;
    PyObject *ndarray_tolist;        /* ndarray.tolist, to find subclasses that override it */
    PyObject *numpy_dtypes[5][5][2]; /* by kind, size and byte order; NULL before numpy_dtype() */
    Py_ssize_t uuid_int, uuid_is_safe, field_name, field_type, attribute_name;
    busy_flag finding;       /* taken by the thread that searches for the classes */
    Py_ssize_t modules_seen; /* the number of imported modules at the last search */
    PyObject *decimal_of;    /* create_decimal() of a decimal.Context that rounds nothing: a Decimal from its text */
    PyObject *uuid_unknown;  /* uuid.SafeUUID.unknown, the is_safe of a UUID from bytes */
    PyObject *enum_value;    /* the descriptor of the attribute `value` in Enum */
    PyObject *FIELD;         /* the field_type of a field that is not a ClassVar or InitVar */
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

#ifdef Py_GIL_DISABLED
#define BEGIN_KEEPING() PyMutex_Lock(&S.keeping)
#define END_KEEPING() PyMutex_Unlock(&S.keeping)
#else
#define BEGIN_KEEPING() (void)0
#define END_KEEPING() (void)0
#endif

/* Read the field of S with this name, which is NULL until its first use sets it. */
#define KEPT(name) KEPT_AT(S.name)

/* Set a field of S to an object (stolen), unless another thread has set the field meanwhile: it never changes again. */
static void keep(PyObject **to, PyObject *stolen)
{
    BEGIN_KEEPING();
    const bool is_first = !*to;
    if (is_first)
        __atomic_store_n(to, stolen, __ATOMIC_RELEASE);
    END_KEEPING();
    if (!is_first)
        Py_DECREF(stolen);
}

static ALWAYS_INLINE PyObject *small_int(long value)
{
    return new_ref(S.small_ints[value - SMALL_INT_MIN]);
}

/* Return the value of a slot (a member of type T_OBJECT_EX), borrowed; NULL if it was deleted. The object must be of
   exactly the type from which the offset comes. */
static inline PyObject *slot_get(PyObject *o, Py_ssize_t offset)
{
    return *(PyObject **)((char *)o + offset);
}

static inline void slot_init(PyObject *o, Py_ssize_t offset, PyObject *stolen)
{
    *(PyObject **)((char *)o + offset) = stolen;
}

/* Get the offset of a slot from its member descriptor; return 0, or -1 with an exception set. */
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

/* Return a Raw that contains `data`, which is stolen. */
static PyObject *raw_new(PyObject *data)
{
    PyObject *raw = data ? object_new(S.Raw) : NULL;
    if (raw)
        slot_init(raw, S.raw_data, data);
    else
        Py_XDECREF(data);
    return raw;
}

/* Import a module and get one of its names; return 0, or -1 with an exception set. */
static NEVER_INLINE int import_name(const char *module_name, const char *name, PyObject **to)
{
    PyObject *module = PyImport_ImportModule(module_name);
    PyObject *found = module ? PyObject_GetAttrString(module, name) : NULL;
    Py_XDECREF(module);
    if (found)
        keep(to, found);
    return found ? 0 : -1;
}

/* Functions called *_ready() import objects at their first call, which runs Python code. They return 0, or -1 with an
   exception set. */
static int conversions_ready(void)
{
    if (LIKELY(KEPT(convert) != NULL))
        return 0;
    return import_name("purepy.msgpack.conversions", "NOT_CONVERTED", &S.NOT_CONVERTED) < 0
               ? -1
               : import_name("purepy.msgpack.conversions", "convert", &S.convert);
}

/* Return the function of `cpkg.typed` that implements the option `type`, a new reference. */
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
    PyDateTime_CAPI *api = PyCapsule_Import(PyDateTime_CAPSULE_NAME, 0);
    PyObject *epoch = api ? api->DateTime_FromDateAndTime(1970, 1, 1, 0, 0, 0, 0, api->TimeZone_UTC, api->DateTimeType)
                          : NULL;
    if (!epoch)
        return -1;
    /* The macros of datetime.h read PyDateTimeAPI. They may be used once KEPT(epoch) is set. */
    BEGIN_KEEPING();
    if (!PyDateTimeAPI)
        PyDateTimeAPI = api;
    END_KEEPING();
    keep(&S.epoch, epoch);
    return 0;
}

/* Set the attribute `offset` of the current exception to the position of the wrong byte in the input. */
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
