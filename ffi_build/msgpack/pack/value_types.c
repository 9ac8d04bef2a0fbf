/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pack objects of the standard library's value types. For `dumps` and typed.encode, they become extension types, which
 * cpkg/objects/types_written.py defines. For the options of packb, they become text, which
 * purepy/msgpack/conversions.py defines.
 *
 * Only ordinary objects of exactly these classes are packed here. For all other objects the functions return false,
 * without an exception, and one of those modules packs or refuses the object.
 */
#ifndef CPKG_MSGPACK_PACK_OBJECTS
#include "objects.c" /* includes this file, because functions of both files call each other */
#elif !defined(CPKG_MSGPACK_PACK_VALUE_TYPES)
#define CPKG_MSGPACK_PACK_VALUE_TYPES

#include "../common/interpreter.c"
#include "../common/numbers.c"
#include "../common/value_classes.c"
#include "arrays.c"
#include "containers.c"
#include "encoder.c"

/* ---- text ---- */

static ALWAYS_INLINE char *put_digits(char *to, unsigned value, int count)
{
    for (int i = count; i-- > 0; value /= 10)
        to[i] = (char)('0' + value % 10);
    return to + count;
}

static ALWAYS_INLINE char *put_date(char *to, PyObject *o)
{
    to = put_digits(to, (unsigned)PyDateTime_GET_YEAR(o), 4);
    *to++ = '-';
    to = put_digits(to, (unsigned)PyDateTime_GET_MONTH(o), 2);
    *to++ = '-';
    return put_digits(to, (unsigned)PyDateTime_GET_DAY(o), 2);
}

static ALWAYS_INLINE char *put_clock(char *to, unsigned hour, unsigned minute, unsigned second, unsigned microsecond)
{
    to = put_digits(to, hour, 2);
    *to++ = ':';
    to = put_digits(to, minute, 2);
    *to++ = ':';
    to = put_digits(to, second, 2);
    if (microsecond) {
        *to++ = '.';
        to = put_digits(to, microsecond, 6);
    }
    return to;
}

static ALWAYS_INLINE char *put_hex(char *to, const unsigned char *from, int count)
{
    for (int i = 0; i < count; i++) {
        *to++ = "0123456789abcdef"[from[i] >> 4];
        *to++ = "0123456789abcdef"[from[i] & 15];
    }
    return to;
}

/* Write the text of a value as an extension type or as a str. */
static unsigned char *encode_value_text(Encoder *c, unsigned char *p, int extension, const char *text, Py_ssize_t n)
{
    return c->extensions ? encode_ext(c, p, extension, text, n) : encode_str_bytes(c, p, text, n);
}

/* ---- one function per type ---- */

static unsigned char *encode_date(Encoder *c, unsigned char *p, PyObject *o)
{
    char text[10];
    return encode_value_text(c, p, EXTENSION_DATE, text, put_date(text, o) - text);
}

static unsigned char *encode_local_datetime(Encoder *c, unsigned char *p, PyObject *o)
{
    char text[26], *end = put_date(text, o);
    *end++ = 'T';
    end = put_clock(end, (unsigned)PyDateTime_DATE_GET_HOUR(o), (unsigned)PyDateTime_DATE_GET_MINUTE(o),
                    (unsigned)PyDateTime_DATE_GET_SECOND(o), (unsigned)PyDateTime_DATE_GET_MICROSECOND(o));
    return encode_ext(c, p, EXTENSION_DATETIME, text, end - text);
}

static unsigned char *encode_datetime(Encoder *c, unsigned char *p, PyObject *o)
{
    if (((PyDateTime_DateTime *)o)->tzinfo == PyDateTime_TimeZone_UTC) {
        const int64_t days = days_of_date(PyDateTime_GET_YEAR(o), PyDateTime_GET_MONTH(o), PyDateTime_GET_DAY(o));
        const int hours = PyDateTime_DATE_GET_HOUR(o), minutes = PyDateTime_DATE_GET_MINUTE(o);
        return encode_timestamp(c, p, days * 86400 + hours * 3600 + minutes * 60 + PyDateTime_DATE_GET_SECOND(o),
                                (uint32_t)PyDateTime_DATE_GET_MICROSECOND(o) * 1000);
    }
    PyObject *delta = PyNumber_Subtract(o, S.epoch);
    if (!delta)
        return NULL;
    if (!PyDelta_CheckExact(delta)) {
        Py_DECREF(delta);
        PyErr_SetString(PyExc_ValueError, "failed to calculate delta");
        return NULL;
    }
    int64_t seconds = (int64_t)PyDateTime_DELTA_GET_DAYS(delta) * 86400 + PyDateTime_DELTA_GET_SECONDS(delta);
    uint32_t nanoseconds = (uint32_t)PyDateTime_DELTA_GET_MICROSECONDS(delta) * 1000;
    Py_DECREF(delta);
    if (seconds < FIRST_SECOND || seconds > LAST_SECOND) {
        PyErr_Format(PyExc_OverflowError, "cannot pack %R: in UTC its year is outside 1..9999", o);
        return NULL;
    }
    return encode_timestamp(c, p, seconds, nanoseconds);
}

static bool datetime_is_aware(PyObject *o)
{
    return ((PyDateTime_DateTime *)o)->hastzinfo && ((PyDateTime_DateTime *)o)->tzinfo != Py_None;
}

/* Write the text of a value, a str that is stolen; return false if it is not an ordinary str of ASCII. */
static bool encode_ascii(Encoder *c, unsigned char **p, int extension, PyObject *text)
{
    if (text && (!PyUnicode_CheckExact(text) || !PyUnicode_IS_COMPACT_ASCII(text))) {
        Py_DECREF(text);
        return false;
    }
    *p = text ? encode_value_text(c, *p, extension, PyUnicode_DATA(text), PyUnicode_GET_LENGTH(text)) : NULL;
    Py_XDECREF(text);
    return true;
}

static bool encode_time(Encoder *c, unsigned char **p, PyObject *o)
{
    if (((PyDateTime_Time *)o)->hastzinfo)
        return encode_ascii(c, p, EXTENSION_TIME, stack_left(1) ? PyObject_CallMethodNoArgs(o, S.str_isoformat) : NULL);
    char text[15];
    char *end = put_clock(text, (unsigned)PyDateTime_TIME_GET_HOUR(o), (unsigned)PyDateTime_TIME_GET_MINUTE(o),
                          (unsigned)PyDateTime_TIME_GET_SECOND(o), (unsigned)PyDateTime_TIME_GET_MICROSECOND(o));
    *p = encode_ext(c, *p, EXTENSION_TIME, text, end - text);
    return true;
}

static unsigned char *encode_duration(Encoder *c, unsigned char *p, PyObject *o)
{
    unsigned char fields[DURATION_SIZE];
    _msgpack_store32(fields, (uint32_t)PyDateTime_DELTA_GET_DAYS(o));
    _msgpack_store32(fields + 4, (uint32_t)PyDateTime_DELTA_GET_SECONDS(o));
    _msgpack_store32(fields + 8, (uint32_t)PyDateTime_DELTA_GET_MICROSECONDS(o));
    return encode_ext(c, p, EXTENSION_DURATION, (const char *)fields, DURATION_SIZE);
}

static bool encode_uuid(Encoder *c, unsigned char **p, PyObject *o)
{
    unsigned char bytes[UUID_SIZE];
    bool ordinary;
    WITH_LOCKED(o)
    PyObject *number = slot_get(o, S.uuid_int);
    ordinary = number && PyLong_CheckExact(number) && int_to_bytes16(number, bytes);
    END_LOCKED()
    if (!ordinary)
        return false;
    if (c->extensions) {
        *p = encode_ext(c, *p, EXTENSION_UUID, (const char *)bytes, UUID_SIZE);
        return true;
    }
    char text[36], *end = put_hex(text, bytes, 4);
    for (int i = 4; i < 10; i += 2) {
        *end++ = '-';
        end = put_hex(end, bytes + i, 2);
    }
    *end++ = '-';
    end = put_hex(end, bytes + 10, 6);
    *p = encode_str_bytes(c, *p, text, end - text);
    return true;
}

/* A Decimal whose text has at most this length is ordinary: its exponent, which has a sign, has 17 digits at most.
   Longer text is ordinary if it has no exponent. */
#define DECIMAL_SHORT 20

static bool encode_decimal(Encoder *c, unsigned char **p, PyObject *o)
{
    PyObject *text = PyObject_Str(o);
    const Py_ssize_t n = text ? PyUnicode_GET_LENGTH(text) : 0;
    if (n > DECIMAL_SHORT && c->extensions &&
        (n > DECIMAL_LONG || PyUnicode_FindChar(text, 'E', 0, n, 1) >= 0 ||
         PyUnicode_FindChar(text, 'e', 0, n, 1) >= 0)) {
        Py_DECREF(text);
        return false;
    }
    return encode_ascii(c, p, EXTENSION_DECIMAL, text);
}

static int compare_texts(const void *one, const void *two)
{
    return PyUnicode_Compare(*(PyObject *const *)one, *(PyObject *const *)two);
}

static int compare_ints(const void *one, const void *two)
{
    uint64_t a = 0, b = 0;
    bool a_negative = false, b_negative = false;
    int_parts(*(PyObject *const *)one, &a, &a_negative);
    int_parts(*(PyObject *const *)two, &b, &b_negative);
    if (a_negative != b_negative)
        return a_negative ? -1 : 1;
    return a == b ? 0 : (a < b) == a_negative ? 1 : -1;
}

/* Return whether compare_texts() or compare_ints() can compare a member of a set with others of the same type. */
static ALWAYS_INLINE bool is_ordered(PyObject *o, PyTypeObject *type)
{
    uint64_t magnitude;
    bool negative;
    return Py_TYPE(o) == type &&
           (type == &PyUnicode_Type ? PyUnicode_IS_COMPACT(o)
                                    : type == &PyLong_Type && int_parts(o, &magnitude, &negative));
}

typedef int Comparison(const void *one, const void *two);

/* The number of members that are sorted between two checks for signals. */
#define SORTED_AT_ONCE 32768

/* Merge two sorted ranges, which end at `middle` and `end`; return false if a signal handler raised. */
static bool merge_runs(PyObject **to, PyObject *const *from, PyObject *const *middle, PyObject *const *end,
                       Comparison *compare)
{
    PyObject *const *next = middle;
    for (size_t i = 1; from < middle && next < end; i++) {
        *to++ = compare(from, next) <= 0 ? *from++ : *next++;
        if (UNLIKELY(i % SORTED_AT_ONCE == 0) && PyErr_CheckSignals() < 0)
            return false;
    }
    memcpy(to, from, (size_t)(middle - from) * sizeof *to);
    memcpy(to + (middle - from), next, (size_t)(end - next) * sizeof *to);
    return true;
}

/* Sort the items of a tuple that nothing else refers to; return false with an exception set on failure. */
static bool sort_items(PyObject **items, size_t count, Comparison *compare)
{
    for (size_t i = 0; i < count; i += SORTED_AT_ONCE) {
        qsort(items + i, count - i < SORTED_AT_ONCE ? count - i : SORTED_AT_ONCE, sizeof *items, compare);
        if (count > SORTED_AT_ONCE && PyErr_CheckSignals() < 0)
            return false;
    }
    if (count <= SORTED_AT_ONCE)
        return true;
    PyObject **const memory = PyMem_New(PyObject *, 2 * count);
    if (!memory) {
        PyErr_NoMemory();
        return false;
    }
    PyObject **from = memory, **to = memory + count;
    memcpy(from, items, count * sizeof *items);
    bool sorted = true;
    for (size_t run = SORTED_AT_ONCE; sorted && run < count; run *= 2) {
        for (size_t i = 0; sorted && i < count; i += 2 * run) {
            const size_t middle = count - i < run ? count : i + run, end = count - middle < run ? count : middle + run;
            sorted = merge_runs(to + i, from + i, from + middle, from + end, compare);
        }
        PyObject **const merged = to;
        to = from;
        from = merged;
    }
    if (sorted)
        memcpy(items, from, count * sizeof *items);
    PyMem_Free(memory);
    return sorted;
}

/* Pack the members of a set, sorted, if all of them are str or all are int; otherwise return false. */
static bool encode_set(Encoder *c, unsigned char **p, PyObject *o, Py_ssize_t depth)
{
    PyObject *members = NULL;
    PyTypeObject *type = NULL;
    Py_ssize_t count = 0;
    bool ordered;
    WITH_LOCKED(o)
    const PySetObject *set = (PySetObject *)o;
    members = PyTuple_New(set->used); /* may run the garbage collector, and finalizers that change the set */
    ordered = members && PyTuple_GET_SIZE(members) == set->used;
    for (Py_ssize_t i = 0; ordered && i <= set->mask; i++) {
        PyObject *member = set->table[i].key;
        if (!member || set->table[i].hash == -1) /* an unused slot, or the slot of a deleted member */
            continue;
        type = count ? type : Py_TYPE(member);
        ordered = is_ordered(member, type);
        PyTuple_SET_ITEM(members, count++, new_ref(member));
    }
    END_LOCKED()
    if (!members) {
        *p = NULL;
        return true;
    }
    if (ordered && (!may_nest(c, *p, depth) || !sort_items(((PyTupleObject *)members)->ob_item, (size_t)count,
                                                           type == &PyLong_Type ? compare_ints : compare_texts)))
        *p = NULL;
    else if (ordered)
        *p = encode_items(c, *p, members, depth - 1, false);
    Py_DECREF(members);
    return ordered;
}

/* Pack an object if its class is exactly one of the known classes; return false if it is left to Python. */
static bool encode_value_type(Encoder *c, unsigned char **p, PyObject *o, Py_ssize_t depth, int stage)
{
    PyTypeObject *type = Py_TYPE(o);
    const int as_text = stage & MAY_CONVERT ? c->conversions : 0;
    const bool extensions = c->extensions && stage & MAY_DEFAULT; /* pack_default() writes extension types */
    const bool has_datetime = KEPT(epoch);
    if (has_datetime) {
        if (type == PyDateTimeAPI->DateTimeType) {
            if (c->options->datetime && datetime_is_aware(o))
                *p = encode_datetime(c, *p, o);
            else if (extensions && !datetime_is_aware(o))
                *p = encode_local_datetime(c, *p, o);
            else
                return false;
            return true;
        }
        if (type == PyDateTimeAPI->DateType && (extensions || as_text & CONVERT_DATE)) {
            *p = encode_date(c, *p, o);
            return true;
        }
    }
    if (IS_VALUE(type, UUID))
        return (extensions || as_text & CONVERT_UUID) && encode_uuid(c, p, o);
    if (IS_VALUE(type, Decimal))
        return (extensions || as_text & CONVERT_DECIMAL) && encode_decimal(c, p, o);
    if (extensions) {
        if (type == &PySet_Type || type == &PyFrozenSet_Type)
            return encode_set(c, p, o, depth);
        if (has_datetime && type == PyDateTimeAPI->DeltaType) {
            *p = encode_duration(c, *p, o);
            return true;
        }
        if (has_datetime && type == PyDateTimeAPI->TimeType)
            return encode_time(c, p, o);
    }
    if (IS_VALUE(type, ndarray))
        return encode_array(c, p, o, depth, stage, false);
    return IS_VALUE(type, array) && encode_array(c, p, o, depth, stage, true);
}

/* ---- dispatch by class ---- */

/* Pack the value of an Enum member, if it has a builtin type; otherwise return false. */
static bool encode_member(Encoder *c, unsigned char **p, PyObject *o, Py_ssize_t depth, int stage)
{
    PyObject *getter = type_lookup(Py_TYPE(o), S.str_value);
    /* Enum.value is not overridden, so it returns the attribute _value_ */
    const bool ordinary = getter == S.enum_value && Py_TYPE(o)->tp_getattro == PyObject_GenericGetAttr;
    Py_XDECREF(getter);
    if (!ordinary)
        return false;
    PyObject *value = PyObject_GetAttr(o, S.str_value_kept);
    if (!value) {
        *p = NULL;
        return true;
    }
    PyTypeObject *type = Py_TYPE(value);
    const bool builtin = type == &PyUnicode_Type || type == &PyLong_Type || type == &PyFloat_Type ||
                         type == &PyBool_Type || type == &PyTuple_Type || type == &PyBytes_Type || value == Py_None;
    if (builtin)
        *p = encode_value(c, *p, value, depth, stage & ~MAY_CONVERT);
    Py_DECREF(value);
    return builtin;
}

#define FIELDS_MAX 32

/* Add the name of a field, as a new reference; return false if the class is left to Python. */
static bool add_name(PyObject **names, int *count, PyObject *name)
{
    if (!name || !PyUnicode_CheckExact(name) || *count == FIELDS_MAX)
        return false;
    names[(*count)++] = new_ref(name);
    return true;
}

/* Add the names of a dataclass's fields, from __dataclass_fields__; return false if the class is left to Python. */
static bool dataclass_names(PyObject *fields, PyObject **names, int *count)
{
    PyObject *key, *field;
    Py_ssize_t position = 0;
    bool ordinary = PyDict_CheckExact(fields);
    if (!ordinary)
        return false;
    WITH_LOCKED(fields)
    while (ordinary && PyDict_Next(fields, &position, &key, &field)) {
        ordinary = IS_VALUE(Py_TYPE(field), Field);
        if (!ordinary)
            break;
        Py_INCREF(field);
        WITH_LOCKED(field)
        if (slot_get(field, S.field_type) == S.FIELD)
            ordinary = add_name(names, count, slot_get(field, S.field_name));
        END_LOCKED()
        Py_DECREF(field);
    }
    END_LOCKED()
    return ordinary;
}

/* Add the names of an attrs class's fields, from __attrs_attrs__; return false if the class is left to Python. */
static bool attrs_names(PyObject *fields, PyObject **names, int *count)
{
    bool ordinary = PyTuple_Check(fields) && Py_TYPE(fields)->tp_iter == PyTuple_Type.tp_iter;
    for (Py_ssize_t i = 0; ordinary && i < PyTuple_GET_SIZE(fields); i++) {
        PyObject *field = PyTuple_GET_ITEM(fields, i);
        ordinary = IS_VALUE(Py_TYPE(field), Attribute);
        if (!ordinary)
            break;
        WITH_LOCKED(field)
        ordinary = add_name(names, count, slot_get(field, S.attribute_name));
        END_LOCKED()
    }
    return ordinary;
}

/* Pack an instance of a dataclass or attrs class as a map; return false if the class is left to Python. All values are
   read before the first is packed. */
static NEVER_INLINE bool encode_fields(Encoder *c, unsigned char **p, PyObject *o, PyObject *fields, bool is_attrs,
                                       Py_ssize_t depth)
{
    PyObject *names[FIELDS_MAX], *values[FIELDS_MAX];
    int count = 0, read = 0;
    if (c->options->sort_keys)
        return false;
    if (!(is_attrs ? attrs_names : dataclass_names)(fields, names, &count)) {
        while (count)
            Py_DECREF(names[--count]);
        return false;
    }
    const bool has_stack = stack_left(1); /* reading an attribute may run code that packs another object */
    while (has_stack && read < count && (values[read] = PyObject_GetAttr(o, names[read])))
        read++;
    unsigned char *end = has_stack && read == count && depth_left(c, *p, depth) ? *p : NULL;
    if (end && (size_t)(c->w.end - end) < HEADER_MAX)
        end = writer_grow(&c->w, end, HEADER_MAX);
    if (end)
        end = write_map(end, (size_t)count);
    if (end && encode_count(c, end, 2 * (uint64_t)count) < 0)
        end = NULL;
    for (int i = 0; i < count; i++) {
        if (end)
            end = encode_exact_str(c, end, names[i]);
        if (end)
            end = encode_element(c, end, values[i], depth - 1);
        Py_DECREF(names[i]);
        if (i < read)
            Py_DECREF(values[i]);
    }
    *p = end;
    return true;
}

static unsigned char *encode_number(Encoder *c, unsigned char *p, const NumberArray *a)
{
    const unsigned char *from = a->buffer.buf;
    double value;
    float narrow;
    RESERVE(HEADER_MAX);
    if (a->kind != 'f')
        return write_piece(p, a, from, 1, 0);
    if (a->buffer.itemsize == 4) {
        memcpy(&narrow, from, sizeof narrow);
        value = narrow;
    }
    else
        memcpy(&value, from, sizeof value);
    return c->plain_float ? write_double(p, value) : encode_float32(c, p, value);
}

/* Pack a numpy scalar (bool, int or float) through its buffer; return false for any other object. */
static NEVER_INLINE bool encode_scalar(Encoder *c, unsigned char **p, PyObject *o)
{
    NumberArray a;
    if (!KEPT(numpy_generic) || !PyType_IsSubtype(Py_TYPE(o), (PyTypeObject *)S.numpy_generic))
        return false;
    const int opened = array_open(&a, o);
    if (opened <= 0) {
        *p = opened < 0 ? NULL : *p;
        return opened < 0;
    }
    const bool ordinary = a.buffer.ndim == 0 && has_list_form(&a) && a.big == PY_BIG_ENDIAN;
    if (ordinary)
        *p = encode_number(c, *p, &a);
    PyBuffer_Release(&a.buffer);
    return ordinary;
}

/* Return whether Enum is the first base of a class, as it is of most enums. */
static ALWAYS_INLINE bool is_enum(PyTypeObject *type)
{
    return IS_VALUE(type->tp_base, Enum);
}

/* Return whether a class derives from no builtin type. encode_by_class() is tried for its objects before the builtin
   types. */
static ALWAYS_INLINE bool is_value_class(PyTypeObject *type)
{
    return type->tp_base == &PyBaseObject_Type || is_enum(type);
}

/* Pack an object that a base or an attribute of its class identifies, testing in the order of convert(); else return
   false. */
static bool encode_by_class(Encoder *c, unsigned char **p, PyObject *o, Py_ssize_t depth, int stage)
{
    const int conversions = stage & MAY_CONVERT ? c->conversions : 0;
    PyTypeObject *type = Py_TYPE(o);
    if (conversions & CONVERT_ENUM && KEPT(Enum) && (is_enum(type) || PyType_IsSubtype(type, (PyTypeObject *)S.Enum)))
        return encode_member(c, p, o, depth, stage);
    if (conversions & CONVERT_DATACLASS) {
        PyObject *fields = type_lookup(type, S.str_dataclass_fields);
        const bool is_attrs = !fields;
        if (is_attrs)
            fields = type_lookup(type, S.str_attrs_attrs);
        if (fields) {
            const bool done = encode_fields(c, p, o, fields, is_attrs, depth);
            Py_DECREF(fields);
            return done;
        }
    }
    if (LIKELY(!type->tp_as_buffer || !type->tp_as_buffer->bf_getbuffer))
        return false;
    return encode_array_subclass(c, p, o, depth, stage) || (conversions & CONVERT_NUMPY && encode_scalar(c, p, o));
}

#endif
