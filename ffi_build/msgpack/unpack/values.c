/* SPDX-License-Identifier: Apache-2.0 */
/* The values that need more than a line of the parser's loop, and the checks of keys. */
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
        /* an error handler is Python code, unless it is the interpreter's own */
        parser_gc_resume(ps);
        parser_hide(ps);
        return PyUnicode_DecodeUTF8((const char *)s, (Py_ssize_t)n, PyUnicode_AsUTF8(ps->options->unicode_errors));
    }
    return text_new(s, n);
}

/* A stream has no one object that holds it. Its small bins are views of a common copy of what is around them, since a
   view with a copy of its own takes two more objects; larger ones, and one that nothing follows, get their own. */
#define VIEW_ALONE (2 * 1024)
#define VIEW_COPIED (16 * 1024)

/* Have ps->view show n bytes from s on. `available` are there. */
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

/* The same for a message that one object holds. */
static NEVER_INLINE bool parser_view_source(Parser *ps)
{
    parser_gc_resume(ps); /* the source may be of a class in Python */
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

/* A read-only memoryview of the n bytes at s, which is at `offset` and `available` bytes before the end of what is there:
   of the input if one object holds it, else of a copy. */
static PyObject *value_bin_view(Parser *ps, const unsigned char *s, Py_ssize_t n, Py_ssize_t available, uint64_t offset)
{
    if ((!ps->view || offset < ps->view_start || offset + (uint64_t)n > ps->view_end) &&
        !(ps->source ? parser_view_source(ps) : parser_view_stream(ps, s, n, available, offset)))
        return NULL;
    const Py_ssize_t position = (Py_ssize_t)(offset - ps->view_start);
    return PySequence_GetSlice(ps->view, position, position + n);
}

static PyObject *timestamp_value(Parser *ps, const unsigned char *s, size_t n)
{
    int64_t seconds;
    uint32_t nanoseconds = 0;
    if (n == 4)
        seconds = read32(s);
    else if (n == 8) {
        const uint64_t value = read64(s);
        nanoseconds = (uint32_t)(value >> 34);
        seconds = (int64_t)(value & 0x3ffffffff);
    }
    else if (n == 12) {
        nanoseconds = read32(s);
        seconds = (int64_t)read64(s + 4);
    }
    else {
        PyErr_Format(PyExc_ValueError, "invalid timestamp data (length %zu)", n);
        return NULL;
    }
    if (nanoseconds > 999999999) {
        PyErr_SetString(PyExc_ValueError, "nanoseconds must be a non-negative integer not greater than 999999999.");
        return NULL;
    }

    switch (ps->options->timestamp) {
    case 0: {
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
    default: {
        int64_t days = seconds / 86400 - (seconds % 86400 < 0);
        if (days < INT32_MIN || days > INT32_MAX) {
            PyErr_Format(PyExc_OverflowError, "days=%lld; too large to convert to C int", (long long)days);
            return NULL;
        }
        if (UNLIKELY(!KEPT(epoch))) {
            parser_gc_resume(ps);
            parser_hide(ps);
            if (datetime_ready() < 0)
                return NULL;
        }
        const int clock = (int)(seconds - days * 86400);
        if (LIKELY(seconds >= FIRST_SECOND && seconds <= LAST_SECOND)) {
            int year, month, day;
            date_of_days((int)days, &year, &month, &day);
            return PyDateTimeAPI->DateTime_FromDateAndTime(year, month, day, clock / 3600, clock / 60 % 60, clock % 60,
                                                           (int)(nanoseconds / 1000), PyDateTime_TimeZone_UTC,
                                                           PyDateTimeAPI->DateTimeType);
        }
        PyObject *delta = PyDelta_FromDSU((int)days, clock, (int)(nanoseconds / 1000));
        PyObject *o = delta ? PyNumber_Add(S.epoch, delta) : NULL;
        Py_XDECREF(delta);
        return o;
    }
    }
}

/* Whether an ext hook promises to make no cycles and to call nobody's code, as the hook of `loads` does: the collector
   may stay off while it runs, which is what most of the time of a message of dates would go into otherwise. Other
   threads may see it off meanwhile. */
static NEVER_INLINE bool hook_is_acyclic(PyObject *hook)
{
    PyObject *promise = PyFunction_Check(hook) ? PyObject_GetAttr(hook, S.str_makes_no_cycles) : NULL;
    bool acyclic = promise == Py_True;
    Py_XDECREF(promise);
    PyErr_Clear();
    return acyclic;
}

/* Call an ext hook, or create an ExtType, as its __new__ does after its checks, which hold here. `data` is stolen. */
static ALWAYS_INLINE PyObject *ext_value(PyObject *hook, int code, PyObject *data)
{
    PyObject *number = data ? PyLong_FromLong(code) : NULL, *result = NULL;
    if (number && hook == S.ExtType) {
        result = ((PyTypeObject *)hook)->tp_alloc((PyTypeObject *)hook, 2);
        if (result) {
#if PY_VERSION_HEX >= 0x030e00a1
            ((PyTupleObject *)result)->ob_hash = -1; /* not calculated yet, as for every new tuple */
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

/* The data of an array: a view of the message, if that is bytes, so that the array can show it. */
static PyObject *array_data(Parser *ps, const unsigned char *s, Py_ssize_t n)
{
    if (!ps->source || !PyBytes_CheckExact(ps->source))
        return PyBytes_FromStringAndSize((const char *)s, n);
    if (!ps->view && !(ps->view = PyMemoryView_FromObject(ps->source)))
        return NULL;
    const Py_ssize_t position = s - (const unsigned char *)PyBytes_AS_STRING(ps->source);
    return PySequence_GetSlice(ps->view, position, position + n);
}

/* The value of an extension; *by_hook says whether an error is the hook's, to be raised unchanged. */
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
        find_value_classes(); /* which the hook may have imported */
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

/* Whether an object can be a key, found before its value is read. 0 with an exception set if the input is to blame,
   -1 if somebody's own code failed. */
static NEVER_INLINE int key_check(Parser *ps, const Frame *f, PyObject *key)
{
    if (ps->options->strict_map_key) {
        if (PyUnicode_CheckExact(key) || PyBytes_CheckExact(key))
            return 1;
        PyErr_Format(PyExc_ValueError, "%.100s is not allowed for map key when strict_map_key=True",
                     Py_TYPE(key)->tp_name);
        return 0;
    }
    if (f->kind == FRAME_PAIRS_KEY || PyUnicode_CheckExact(key) || PyBytes_CheckExact(key))
        return 1;
    const size_t present = (size_t)PyDict_GET_SIZE(f->obj);
    if (key_meter_passes(&ps->meters, ps->top, key, present, present + f->left))
        return 1;
    if (!key_is_number(key)) {
        /* its hash, and comparisons with other keys, may be Python code */
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

/* For a container that begins in f: how many containers of a map key are open with it, 0 outside of keys. */
static ALWAYS_INLINE int key_depth(const Frame *f)
{
    if (LIKELY(!f))
        return 0;
    return f->in_key ? f->in_key + 1 : f->kind == FRAME_MAP_KEY || f->kind == FRAME_PAIRS_KEY;
}

static NEVER_INLINE int raise_key_too_deep(void)
{
    PyErr_Format(S.StackError, "a map key nested deeper than %d containers", KEY_DEPTH_MAX);
    return -1;
}
