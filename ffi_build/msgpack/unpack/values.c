/* SPDX-License-Identifier: Apache-2.0 */
/* Create values that need more than a line in the parser's loop, and check keys. */
#pragma once

#include "../common/interpreter.c"
#include "../common/numbers.c"
#include "../common/options.c"
#include "../common/state.c"
#include "../common/utf8.c"
#include "arrays.c"
#include "parser_state.c"
#include "text.c"
#include "value_types.c"

static NEVER_INLINE PyObject *value_str(Parser *ps, const unsigned char *s, size_t n)
{
    ps->bytes += n;
    if (ps->options->raw)
        return PyBytes_FromStringAndSize((const char *)s, (Py_ssize_t)n);
    if (ps->options->unicode_errors && !is_ascii(s, n)) {
        /* an error handler may be a Python function */
        parser_gc_resume(ps);
        parser_hide(ps);
        return PyUnicode_DecodeUTF8((const char *)s, (Py_ssize_t)n, PyUnicode_AsUTF8(ps->options->unicode_errors));
    }
    return text_new(s, n, ps->shared);
}

/* The data of a stream is not in one object to which views could refer. So the parser copies VIEW_COPIED bytes, and
   returns small bins as views of that shared copy, which saves two objects per bin. A bin of VIEW_ALONE bytes or more,
   or at the end of the data, gets its own copy. */
#define VIEW_ALONE (2 * 1024)
#define VIEW_COPIED (16 * 1024)

/* Set ps->view to a view of a copy of at least n bytes at s, where `available` bytes exist; return false with an
   exception set on failure. */
static NEVER_INLINE bool parser_view_stream(Parser *ps, const unsigned char *s, Py_ssize_t n, Py_ssize_t available,
                                            uint64_t offset)
{
    if (n < VIEW_ALONE && n < available)
        n = available < VIEW_COPIED ? available : VIEW_COPIED;
    PyObject *copy = PyBytes_FromStringAndSize((const char *)s, n);
    PyObject *view = copy ? PyMemoryView_FromObject(copy) : NULL;
    Py_XDECREF(copy);
    if (!view)
        return false;
    Py_XSETREF(ps->view, view);
    ps->view_start = offset;
    ps->view_end = offset + (uint64_t)n;
    return true;
}

/* Set ps->view to a view of the object that contains the message; return false with an exception set on failure. */
static NEVER_INLINE bool parser_view_source(Parser *ps)
{
    parser_gc_resume(ps); /* the class of the source may be written in Python */
    parser_hide(ps);
    PyObject *view = PyMemoryView_FromObject(ps->source);
    if (view && !PyMemoryView_GET_BUFFER(view)->readonly) {
        PyObject *readonly = PyObject_CallMethodObjArgs(view, S.str_toreadonly, NULL);
        Py_DECREF(view);
        view = readonly;
    }
    if (view && (PyMemoryView_GET_BUFFER(view)->ndim != 1 || strcmp(PyMemoryView_GET_BUFFER(view)->format, "B"))) {
        PyObject *flat = PyObject_CallMethod(view, "cast", "s", "B");
        Py_DECREF(view);
        view = flat;
    }
    if (!view)
        return false;
    ps->view = view;
    ps->view_start = 0;
    ps->view_end = UINT64_MAX;
    return true;
}

/* Return a read-only memoryview of the n bytes at s: of the input itself if one object contains it, else of a copy.
   `offset` is the position of s, and `available` bytes of data begin there. */
static PyObject *value_bin_view(Parser *ps, const unsigned char *s, Py_ssize_t n, Py_ssize_t available, uint64_t offset)
{
    if ((!ps->view || offset < ps->view_start || offset + (uint64_t)n > ps->view_end) &&
        !(ps->source ? parser_view_source(ps) : parser_view_stream(ps, s, n, available, offset)))
        return NULL;
    const Py_ssize_t position = (Py_ssize_t)(offset - ps->view_start);
    return PySequence_GetSlice(ps->view, position, position + n);
}

/* Read the seconds and nanoseconds of a timestamp of n bytes; return false with ValueError set if it is wrong. */
static ALWAYS_INLINE bool read_timestamp(const unsigned char *s, size_t n, int64_t *seconds, uint32_t *nanoseconds)
{
    *nanoseconds = 0;
    if (n == 4)
        *seconds = read32(s);
    else if (n == 8) {
        const uint64_t value = read64(s);
        *nanoseconds = (uint32_t)(value >> 34);
        *seconds = (int64_t)(value & 0x3ffffffff);
    }
    else if (n == 12) {
        *nanoseconds = read32(s);
        *seconds = (int64_t)read64(s + 4);
    }
    else {
        PyErr_Format(PyExc_ValueError, "invalid timestamp data (length %zu)", n);
        return false;
    }
    if (LIKELY(*nanoseconds <= 999999999))
        return true;
    PyErr_SetString(PyExc_ValueError, "nanoseconds must be a non-negative integer not greater than 999999999.");
    return false;
}

static PyObject *timestamp_object(int64_t seconds, uint32_t nanoseconds)
{
    PyObject *s_object = PyLong_FromLongLong(seconds), *ns_object = PyLong_FromUnsignedLong(nanoseconds);
    PyObject *o = s_object && ns_object ? object_new(S.Timestamp) : NULL;
    if (!o) {
        Py_XDECREF(s_object);
        Py_XDECREF(ns_object);
        return NULL;
    }
    slot_init(o, S.timestamp_seconds, s_object);
    slot_init(o, S.timestamp_nanoseconds, ns_object);
    return o;
}

/* Return a datetime in UTC, or NULL with an exception set. datetime_ready() must have returned 0. */
static PyObject *timestamp_datetime(int64_t seconds, uint32_t nanoseconds)
{
    const int microseconds = (int)(nanoseconds / 1000);
    if (LIKELY(seconds >= FIRST_SECOND && seconds <= LAST_SECOND)) {
        const uint64_t since = (uint64_t)(seconds - FIRST_SECOND);
        const unsigned clock = (unsigned)(since % 86400);
        int year, month, day;
        date_of_days((int)(since / 86400) + (int)(FIRST_SECOND / 86400), &year, &month, &day);
        return PyDateTimeAPI->DateTime_FromDateAndTime(year, month, day, (int)(clock / 3600), (int)(clock / 60 % 60),
                                                       (int)(clock % 60), microseconds, PyDateTime_TimeZone_UTC,
                                                       PyDateTimeAPI->DateTimeType);
    }
    const int64_t days = seconds / 86400 - (seconds % 86400 < 0);
    if (days < INT32_MIN || days > INT32_MAX) {
        PyErr_Format(PyExc_OverflowError, "days=%lld; too large to convert to C int", (long long)days);
        return NULL;
    }
    PyObject *delta = PyDelta_FromDSU((int)days, (int)(seconds - days * 86400), microseconds);
    PyObject *o = delta ? PyNumber_Add(S.epoch, delta) : NULL;
    Py_XDECREF(delta);
    return o;
}

static PyObject *timestamp_value(Parser *ps, const unsigned char *s, size_t n)
{
    int64_t seconds;
    uint32_t nanoseconds;
    if (!read_timestamp(s, n, &seconds, &nanoseconds))
        return NULL;
    switch (ps->options->timestamp) {
    case 0:
        return timestamp_object(seconds, nanoseconds);
    case 1:
        return PyFloat_FromDouble((double)nanoseconds / 1e9 + (double)seconds);
    case 2: {
        PyObject *whole = PyLong_FromLongLong(seconds);
        PyObject *scaled = whole ? PyNumber_Multiply(whole, S.one_second_in_ns) : NULL;
        PyObject *rest = PyLong_FromUnsignedLong(nanoseconds);
        PyObject *sum = scaled && rest ? PyNumber_Add(scaled, rest) : NULL;
        Py_XDECREF(whole);
        Py_XDECREF(scaled);
        Py_XDECREF(rest);
        return sum;
    }
    default:
        if (UNLIKELY(!KEPT(epoch))) {
            parser_gc_resume(ps);
            parser_hide(ps);
            if (datetime_ready() < 0)
                return NULL;
        }
        return timestamp_datetime(seconds, nanoseconds);
    }
}

/* Return whether an ext hook promises to create no reference cycles and to call no code of others, as the hook of
   `loads` does. Then the garbage collector stays off while the hook runs; otherwise it would take most of the time of a
   message of dates. Other threads may observe meanwhile that it is off. */
static NEVER_INLINE bool hook_is_acyclic(PyObject *hook)
{
    PyObject *promise = PyFunction_Check(hook) ? PyObject_GetAttr(hook, S.str_makes_no_cycles) : NULL;
    bool acyclic = promise == Py_True;
    Py_XDECREF(promise);
    PyErr_Clear();
    return acyclic;
}

/* Return the result of an ext hook. If the hook is ExtType, create the object directly, because code and data need no
   checks. `data` is stolen. */
static ALWAYS_INLINE PyObject *ext_value(PyObject *hook, int code, PyObject *data)
{
    PyObject *number = data ? PyLong_FromLong(code) : NULL, *result = NULL;
    if (number && hook == S.ExtType) {
        result = ((PyTypeObject *)hook)->tp_alloc((PyTypeObject *)hook, 2);
        if (result) {
#if PY_VERSION_HEX >= 0x030e00a1
            ((PyTupleObject *)result)->ob_hash = -1; /* not calculated yet, as in every new tuple */
#endif
            PyTuple_SET_ITEM(result, 0, number);
            PyTuple_SET_ITEM(result, 1, data);
            return result;
        }
    }
    else if (number)
        result = PyObject_CallFunctionObjArgs(hook, number, data, NULL);
    Py_XDECREF(number);
    Py_XDECREF(data);
    return result;
}

/* Return the data of an array: a view of the message if the message is a bytes object, so that the array needs no copy;
   otherwise new bytes. */
static PyObject *array_data(Parser *ps, const unsigned char *s, Py_ssize_t n)
{
    if (!ps->source || !PyBytes_CheckExact(ps->source))
        return PyBytes_FromStringAndSize((const char *)s, n);
    if (!ps->view && !(ps->view = PyMemoryView_FromObject(ps->source)))
        return NULL;
    const Py_ssize_t position = s - (const unsigned char *)PyBytes_AS_STRING(ps->source);
    return PySequence_GetSlice(ps->view, position, position + n);
}

/* Return the value of an extension, or NULL with an exception set. *by_hook becomes true if the hook is called: its
   errors must be raised unchanged. */
static NEVER_INLINE PyObject *value_ext(Parser *ps, int code, const unsigned char *s, size_t n, bool *by_hook)
{
    ps->bytes += n;
    if (code == -1)
        return timestamp_value(ps, s, n);
    PyObject *hook = ps->options->ext_hook, *value;
    if (ps->options->value_types &&
        (code == EXTENSION_ARRAY ? read_numpy_array(s, n, ps->source, &value) : read_extension(code, s, n, &value)))
        return value;
    if (!hook) {
        PyErr_Format(PyExc_ValueError, "no ext_hook for ext type %d", code);
        return NULL;
    }
    if (hook == S.ExtType && code < 0) {
        PyErr_SetString(PyExc_ValueError, "code must be 0~127");
        return NULL;
    }
    if (hook != S.ExtType) {
        if (ps->gc_held && !hook_is_acyclic(hook))
            parser_gc_resume(ps);
        parser_hide(ps);
        *by_hook = true;
    }
    PyObject *data = UNLIKELY(code == EXTENSION_ARRAY) && ps->options->value_types
                         ? array_data(ps, s, (Py_ssize_t)n)
                         : PyBytes_FromStringAndSize((const char *)s, (Py_ssize_t)n);
    PyObject *result = ext_value(hook, code, data);
    if (result && ps->options->value_types)
        find_value_classes(); /* the hook may have imported their modules */
    return result;
}

static ALWAYS_INLINE PyObject *value_uint(uint64_t value)
{
    return value <= SMALL_INT_MAX ? small_int((long)value) : PyLong_FromUnsignedLongLong(value);
}

static ALWAYS_INLINE PyObject *value_int(int64_t value)
{
    return value >= SMALL_INT_MIN && value <= SMALL_INT_MAX ? small_int((long)value) : PyLong_FromLongLong(value);
}

/* Return 1 if an object can be a key, before its value is read. Return 0 with an exception set if the input is wrong,
   or -1 with an exception of the caller's code. */
static NEVER_INLINE int key_check(Parser *ps, const Frame *f, PyObject *key)
{
    if (ps->options->strict_map_key) {
        if (PyUnicode_CheckExact(key) || PyBytes_CheckExact(key))
            return 1;
        PyErr_Format(PyExc_ValueError, "%.100s is not allowed for map key when strict_map_key=True",
                     short_type_name(key));
        return 0;
    }
    if (f->kind == FRAME_PAIRS_KEY || PyUnicode_CheckExact(key) || PyBytes_CheckExact(key))
        return 1;
    const size_t present = (size_t)PyDict_GET_SIZE(f->obj);
    if (key_meter_passes(&ps->meters, ps->top, key, present, present + f->left))
        return 1;
    if (!key_is_number(key)) {
        /* hashing the key, and comparing it with other keys, may run Python code */
        parser_gc_resume(ps);
        parser_hide(ps);
    }
    Py_hash_t hash = PyObject_Hash(key);
    if (hash == -1)
        return PyErr_ExceptionMatches(PyExc_TypeError) ? 0 : -1;
    if (present + f->left < METERED_PAIRS)
        return 1;
    return key_meter_add(&ps->meters, ps->top, f->reserved / 2, f->obj, key, hash);
}

/* Return the in_key of a new container inside f: the number of open containers in the same map key, or 0 outside
   keys. */
static ALWAYS_INLINE int key_depth(const Frame *f)
{
    if (LIKELY(!f))
        return 0;
    return f->in_key ? f->in_key + 1 : f->kind == FRAME_MAP_KEY || f->kind == FRAME_PAIRS_KEY;
}

static NEVER_INLINE int raise_key_too_deep(void)
{
    PyErr_Format(S.StackError, "map key nested deeper than %d containers", KEY_DEPTH_MAX);
    return -1;
}
