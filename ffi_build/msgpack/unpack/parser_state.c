/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parser's state, and the values that need more than a line.
 *
 * One parser serves unpackb and Unpacker. It is iterative: open containers are frames on a stack of its own, so that
 * depth costs no C stack and a message may end anywhere and be continued. A value is consumed when it is complete;
 * input that ends inside one leaves the position at its header.
 *
 * No Python code can find a list or tuple that is being filled: neither hooks nor finalizers, nor other threads of a
 * free-threaded build. What is not there yet would be NULL, and a list that is resized moves the slots that are written
 * to. So the collector does not track it, where such code may run before it is complete. A dict is whole at any time.
 */
#ifndef CPKG_MSGPACK_UNPACK_PARSER_STATE
#define CPKG_MSGPACK_UNPACK_PARSER_STATE

#include <Python.h>
#include <datetime.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "../common/interpreter.c"
#include "../common/options.c"
#include "../common/state.c"
#include "../common/utf8.c"
#include "text.c"

#define INLINE_FRAMES 24

/* Containers in a map key may nest so deep: hashing and comparing them recurses, on stacks as small as 64 KiB. */
#define KEY_DEPTH_MAX 32

enum frame_kind {
    FRAME_LIST,
    FRAME_TUPLE,
    FRAME_MAP_KEY,
    FRAME_MAP_VALUE,
    FRAME_PAIRS_KEY, /* for object_pairs_hook: a list of (key, value) */
    FRAME_PAIRS_VALUE,
    FRAME_SKIP, /* counts values, builds nothing */
};

typedef struct {
    PyObject *obj;       /* the container, owned */
    PyObject *key;       /* the key whose value comes next, owned */
    PyObject **slot;     /* the next allocated slot of a list or tuple */
    Py_ssize_t slots;    /* how many there are */
    uint64_t left;       /* items or pairs still to come */
    uint64_t start;      /* offset of the header */
    Py_ssize_t reserved; /* what this frame took of the budget for allocation in advance */
    unsigned char kind;
    unsigned char in_key; /* how many containers of a map key are open here, this one included; 0 outside of keys */
    bool to_tuple;        /* a list that becomes a tuple when it is complete */
    bool hidden;          /* the collector does not track it yet */
} frame;

typedef struct {
    const unpack_options *options;
    Py_ssize_t size; /* what the default limits of containers follow: the input's, or max_buffer_size */
    bool gc_held;
    enum guard guard;
    Py_ssize_t raw_top; /* values at this depth become Raw, or are skipped; -1 for none */
    bool discard;       /* skip() */
    bool counts;        /* items; skip() and unpack_raw() do not */

    frame *frames;
    Py_ssize_t top, capacity;
    uint64_t items, bytes; /* of the message so far */
    uint64_t base;         /* offset of data[0] in the message or stream */
    uint64_t message_start;
    Py_ssize_t reserved;
    bool started;

    bool skipping;
    Py_ssize_t skip_top; /* the frames below belong to the objects that are built */
    uint64_t skip_start;

    PyObject *source;              /* what bin_view gives views of, borrowed; NULL: of copies */
    PyObject *view;                /* memoryview of it or of the latest copy, owned */
    uint64_t view_start, view_end; /* offsets of what it shows */
    frame inline_frames[INLINE_FRAMES];
} parser;

/* Few stores: this is a good part of unpacking a short message. */
static ALWAYS_INLINE void parser_init(parser *ps, const unpack_options *options, Py_ssize_t size)
{
    ps->options = options;
    ps->size = size;
    ps->gc_held = false;
    ps->guard = GUARD_HIDE;
    ps->raw_top = options->raw_depth;
    ps->discard = false;
    ps->counts = true;
    ps->frames = ps->inline_frames;
    ps->capacity = INLINE_FRAMES;
    ps->top = 0;
    ps->items = ps->bytes = 0;
    ps->base = 0;
    ps->message_start = 0;
    ps->reserved = 0;
    ps->started = false;
    ps->skipping = false;
    ps->source = ps->view = NULL;
}

/* Give up the message at hand. Each frame is gone before what it owned is dropped, which may run Python code. */
static void parser_clear(parser *ps)
{
    ps->reserved = 0;
    ps->started = ps->skipping = false;
    while (ps->top > 0) {
        const frame f = ps->frames[--ps->top];
        Py_XDECREF(f.key);
        Py_XDECREF(f.obj);
    }
}

/* For tp_traverse. The items of what is being filled are visited in its place: visitors may hand out what they see. */
static int parser_traverse(parser *ps, visitproc visit, void *arg)
{
    for (Py_ssize_t i = 0; i < ps->top; i++) {
        const frame *f = &ps->frames[i];
        if (f->kind == FRAME_MAP_KEY || f->kind == FRAME_MAP_VALUE)
            Py_VISIT(f->obj);
        else if (f->kind != FRAME_SKIP) {
            const Py_ssize_t filled = Py_SIZE(f->obj) - f->slots;
            for (Py_ssize_t j = 0; j < filled; j++)
                Py_VISIT(f->kind == FRAME_TUPLE ? PyTuple_GET_ITEM(f->obj, j) : PyList_GET_ITEM(f->obj, j));
        }
        Py_VISIT(f->key);
    }
    return 0;
}

static ALWAYS_INLINE void parser_free(parser *ps)
{
    if (UNLIKELY(ps->top > 0))
        parser_clear(ps);
    if (UNLIKELY(ps->frames != ps->inline_frames)) {
        PyMem_Free(ps->frames);
        ps->frames = ps->inline_frames;
        ps->capacity = INLINE_FRAMES;
    }
    Py_CLEAR(ps->view);
}

/* Hooks that containers call, which every message has. An ext_hook runs seldom: the collector goes on when it first does. */
static ALWAYS_INLINE bool parser_has_hooks(const unpack_options *options)
{
    return options->object_hook || options->object_pairs_hook || options->list_hook;
}

/* The new list or tuple of a frame is there, and what guards it is to be applied. */
static NEVER_INLINE void parser_guard_frame(parser *ps, frame *f)
{
    if (ps->guard == GUARD_HIDE) {
        PyObject_GC_UnTrack(f->obj);
        f->hidden = true;
    }
    else {
        ps->guard = GUARD_NONE;
        ps->gc_held = gc_hold(GC_HOLD_BYTES);
    }
}

/* Hide what is open: what lies below a hidden frame is hidden already. */
static NEVER_INLINE void parser_hide_frames(parser *ps)
{
    for (Py_ssize_t i = ps->top; i-- > 0 && !ps->frames[i].hidden;) {
        frame *f = &ps->frames[i];
        f->hidden = true;
        if (f->kind != FRAME_MAP_KEY && f->kind != FRAME_MAP_VALUE && f->kind != FRAME_SKIP)
            PyObject_GC_UnTrack(f->obj);
    }
}

/* Any code may run from here on. */
static ALWAYS_INLINE void parser_hide(parser *ps)
{
    if (UNLIKELY(ps->guard != GUARD_HIDE)) {
        ps->guard = GUARD_HIDE;
        parser_hide_frames(ps);
    }
}

/* Python code is about to run: it must find the collector as it left it. It stays on for the rest of the message. */
static inline void parser_gc_resume(parser *ps)
{
    if (ps->gc_held) {
        ps->gc_held = false;
        gc_resume(true);
    }
}

/* Room for more frames; false with MemoryError. There are never more than max_depth. */
static NEVER_INLINE bool parser_more_frames(parser *ps)
{
    Py_ssize_t capacity = ps->capacity * 4;
    if (capacity > ps->options->max_depth)
        capacity = ps->options->max_depth;
    frame *grown = ps->frames == ps->inline_frames ? NULL : ps->frames;
    grown = PyMem_Realloc(grown, (size_t)capacity * sizeof *grown);
    if (!grown) {
        PyErr_NoMemory();
        return false;
    }
    if (ps->frames == ps->inline_frames)
        memcpy(grown, ps->inline_frames, sizeof ps->inline_frames);
    ps->frames = grown;
    ps->capacity = capacity;
    return true;
}

static NEVER_INLINE int raise_limit(const char *name, uint64_t found, Py_ssize_t limit)
{
    PyErr_Format(S.LimitError, "%llu exceeds %s(%zd)", (unsigned long long)found, name, limit);
    return -1;
}

static NEVER_INLINE int raise_too_deep(const parser *ps)
{
    PyErr_Format(S.StackError, "nested deeper than max_depth(%zd)", ps->options->max_depth);
    return -1;
}

static NEVER_INLINE int raise_format(void)
{
    PyErr_SetString(S.FormatError, "byte 0xc1 starts no MessagePack type");
    return -1;
}

/* In all limits -1 stands for none. A length or count is below 2^33: any other negative limit is less than all of them.
   Of the totals, negative ones are none, which the conversion to unsigned makes of them. */

/* Check a payload of n bytes before it is awaited or built. */
static ALWAYS_INLINE int parser_count_bytes(parser *ps, uint64_t n, Py_ssize_t limit, const char *limit_name)
{
    const uint64_t in_all = (uint64_t)ps->options->max_total_bytes;
    if (limit != -1 && UNLIKELY((int64_t)n > (int64_t)limit))
        return raise_limit(limit_name, n, limit);
    if (UNLIKELY(n > in_all - ps->bytes))
        return raise_limit("max_total_bytes", ps->bytes + n, ps->options->max_total_bytes);
    return 0;
}

static ALWAYS_INLINE int parser_count_items(parser *ps, uint64_t n)
{
    const uint64_t in_all = (uint64_t)ps->options->max_total_items;
    if (UNLIKELY(ps->items + n > in_all))
        return raise_limit("max_total_items", ps->items + n, ps->options->max_total_items);
    ps->items += n;
    return 0;
}

/* Check the number of items or pairs that a header declares. */
static ALWAYS_INLINE int parser_count_children(parser *ps, uint64_t n, Py_ssize_t limit, Py_ssize_t default_limit,
                                               const char *limit_name, int values_each)
{
    if (UNLIKELY(ps->top >= ps->options->max_depth))
        return raise_too_deep(ps);
    if (limit == -1)
        limit = default_limit;
    if (UNLIKELY((int64_t)n > (int64_t)limit))
        return raise_limit(limit_name, n, limit);
    return parser_count_items(ps, n * (uint64_t)values_each);
}

/* How many of n declared items to allocate in advance. Each takes a byte of input at least, so that all open
   containers of a sound message together declare fewer items than the message has bytes: what a container of a lying
   message gets is within that, however they nest. */
static ALWAYS_INLINE Py_ssize_t parser_reserve(parser *ps, uint64_t n, uint64_t bytes_left, uint64_t bytes_seen)
{
    uint64_t room = bytes_seen > (uint64_t)ps->reserved ? bytes_seen - (uint64_t)ps->reserved : 0;
    if (n > bytes_left)
        n = bytes_left;
    if (n > room)
        n = room;
    ps->reserved += (Py_ssize_t)n;
    return (Py_ssize_t)n;
}

/* ---- values ---- */

static NEVER_INLINE PyObject *value_str(parser *ps, const unsigned char *s, size_t n)
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
static NEVER_INLINE bool parser_view_stream(parser *ps, const unsigned char *s, Py_ssize_t n, Py_ssize_t available,
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
static NEVER_INLINE bool parser_view_source(parser *ps)
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
static PyObject *value_bin_view(parser *ps, const unsigned char *s, Py_ssize_t n, Py_ssize_t available, uint64_t offset)
{
    if ((!ps->view || offset < ps->view_start || offset + (uint64_t)n > ps->view_end) &&
        !(ps->source ? parser_view_source(ps) : parser_view_stream(ps, s, n, available, offset)))
        return NULL;
    const Py_ssize_t position = (Py_ssize_t)(offset - ps->view_start);
    return PySequence_GetSlice(ps->view, position, position + n);
}

static PyObject *timestamp_value(parser *ps, const unsigned char *s, size_t n)
{
    int64_t seconds;
    uint32_t nanoseconds = 0;
    if (n == 4) {
        uint32_t value;
        _msgpack_load32(uint32_t, s, &value);
        seconds = value;
    }
    else if (n == 8) {
        uint64_t value;
        _msgpack_load64(uint64_t, s, &value);
        nanoseconds = (uint32_t)(value >> 34);
        seconds = (int64_t)(value & 0x3ffffffff);
    }
    else if (n == 12) {
        uint64_t value;
        _msgpack_load32(uint32_t, s, &nanoseconds);
        _msgpack_load64(uint64_t, s + 4, &value);
        seconds = (int64_t)value;
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
        PyObject *o = s_object && ns_object ? type_alloc(S.Timestamp) : NULL;
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
        int64_t days = seconds / 86400;
        if (days < INT32_MIN || days > INT32_MAX) {
            PyErr_Format(PyExc_OverflowError, "days=%lld; too large to convert to C int", (long long)days);
            return NULL;
        }
        if (UNLIKELY(!S.epoch)) {
            parser_gc_resume(ps);
            parser_hide(ps);
            if (datetime_ready() < 0)
                return NULL;
        }
        PyObject *delta = PyDelta_FromDSU((int)days, (int)(seconds % 86400), (int)(nanoseconds / 1000));
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

/* The value of an extension; *by_hook tells whether an error is the hook's, to be passed on untouched. */
static NEVER_INLINE PyObject *value_ext(parser *ps, int code, const unsigned char *s, size_t n, bool *by_hook)
{
    ps->bytes += n;
    if (code == -1)
        return timestamp_value(ps, s, n);
    PyObject *hook = ps->options->ext_hook;
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
    }
    PyObject *data = PyBytes_FromStringAndSize((const char *)s, (Py_ssize_t)n);
    PyObject *number = data ? PyLong_FromLong(code) : NULL;
    PyObject *result = NULL;
    if (number && hook == S.ExtType) {
        /* as its __new__ does after its checks, which hold here */
        PyObject *fields = PyTuple_Pack(2, number, data), *args = fields ? PyTuple_Pack(1, fields) : NULL;
        result = args ? PyTuple_Type.tp_new((PyTypeObject *)hook, args, NULL) : NULL;
        Py_XDECREF(args);
        Py_XDECREF(fields);
    }
    else if (number) {
        *by_hook = true;
        result = PyObject_CallFunctionObjArgs(hook, number, data, NULL);
    }
    Py_XDECREF(number);
    Py_XDECREF(data);
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
static NEVER_INLINE int key_check(parser *ps, PyObject *key, bool is_pair)
{
    if (ps->options->strict_map_key) {
        if (PyUnicode_CheckExact(key) || PyBytes_CheckExact(key))
            return 1;
        PyErr_Format(PyExc_ValueError, "%.100s is not allowed for map key when strict_map_key=True",
                     Py_TYPE(key)->tp_name);
        return 0;
    }
    if (is_pair || PyUnicode_CheckExact(key) || PyBytes_CheckExact(key) || PyLong_CheckExact(key) ||
        PyFloat_CheckExact(key) || PyBool_Check(key) || key == Py_None)
        return 1;
    /* its hash, and comparisons with other keys later on, may be Python code */
    parser_gc_resume(ps);
    parser_hide(ps);
    if (PyObject_Hash(key) != -1)
        return 1;
    return PyErr_ExceptionMatches(PyExc_TypeError) ? 0 : -1;
}

/* For a container that begins in f: how many containers of a map key are open with it, 0 outside of keys. */
static ALWAYS_INLINE int key_depth(const frame *f)
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

#endif
