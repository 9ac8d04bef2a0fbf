/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parser's state, and the values that need more than a line.
 *
 * unpackb and Unpacker share one parser. It is iterative: open containers are frames on its own stack, so that depth costs
 * no C stack, and a message may be cut anywhere and continued later. A value is consumed only when it is complete; if the
 * input ends inside a value, the position stays at its header.
 *
 * No Python code must find a list or tuple while it is filled: no hook, no finalizer, and no other thread of a
 * free-threaded build. Its missing items are NULL, and a list moves its slots when it grows. So the garbage collector does
 * not track it as long as such code may run. A dict is complete at any time.
 */
#pragma once

#include "../common/interpreter.c"
#include "../common/options.c"
#include "../common/state.c"
#include "../common/utf8.c"
#include "key_meter.c"
#include "text.c"

#define INLINE_FRAMES 24

/* The deepest nesting within a map key: hashing and comparing recurse, on stacks as small as 64 KiB. */
#define KEY_DEPTH_MAX 32

enum frame_kind {
    FRAME_LIST,
    FRAME_TUPLE,
    FRAME_MAP_KEY,
    FRAME_MAP_VALUE,
    FRAME_PAIRS_KEY, /* for object_pairs_hook: a list of (key, value) */
    FRAME_PAIRS_VALUE,
    FRAME_SKIP, /* counts values without creating objects */
};

typedef struct {
    PyObject *obj;       /* the container, owned */
    PyObject *key;       /* the key whose value comes next, owned */
    PyObject **slot;     /* the next allocated slot of a list or tuple */
    Py_ssize_t slots;    /* how many there are */
    uint64_t left;       /* items or pairs still to come */
    uint64_t start;      /* offset of the header */
    Py_ssize_t reserved; /* the part of the preallocation budget that this frame uses */
    unsigned char kind;
    unsigned char in_key; /* the number of open containers of a map key, including this one; 0 outside keys */
    bool to_tuple;        /* a list that becomes a tuple when it is complete */
    bool hidden;          /* not tracked by the garbage collector yet */
} Frame;

typedef struct {
    const UnpackOptions *options;
    Py_ssize_t size; /* the size from which default limits follow: that of the input, or max_buffer_size */
    bool gc_held;
    enum guard guard;
    Py_ssize_t raw_top; /* values at this depth become Raw, or are skipped; -1 for none */
    bool discard;       /* skip() */
    bool counts;        /* items; skip() and unpack_raw() do not */

    Frame *frames;
    Py_ssize_t top, capacity;
    uint64_t items, bytes; /* of the message so far */
    KeyMeters meters;
    uint64_t base; /* offset of data[0] in the message or stream */
    uint64_t message_start;
    Py_ssize_t reserved;
    bool started;
    bool broken; /* by an exception that the input did not cause: the next bytes are part of an object */

    bool skipping;
    Py_ssize_t skip_top; /* the frames below belong to objects that are created */
    uint64_t skip_start;

    PyObject *source;              /* the object that the views of bin_view refer to, borrowed; NULL: copies */
    PyObject *view;                /* memoryview of it or of the latest copy, owned */
    uint64_t view_start, view_end; /* the range that it covers, as offsets */
    Frame inline_frames[INLINE_FRAMES];
} Parser;

/* Whether the current exception was raised by a hook; then the stream continues at its position, as in msgpack. Other
   exceptions may come from anywhere: a TimeoutError usually comes from a signal handler. */
static NEVER_INLINE bool is_hooks_error(void)
{
    return PyErr_ExceptionMatches(PyExc_Exception) && !PyErr_ExceptionMatches(PyExc_MemoryError) &&
           !PyErr_ExceptionMatches(PyExc_TimeoutError);
}

/* Few stores, since this takes a good part of the time of a short message. */
static ALWAYS_INLINE void parser_init(Parser *ps, const UnpackOptions *options, Py_ssize_t size)
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
    ps->started = ps->broken = false;
    ps->skipping = false;
    ps->source = ps->view = NULL;
    ps->meters = (KeyMeters){.allowed = SPARE_PROBES};
}

/* Give up the current message. Each frame is removed before its objects are released, which may run Python code. */
static void parser_clear(Parser *ps)
{
    ps->reserved = 0;
    ps->started = ps->skipping = false;
    key_meters_clear(&ps->meters);
    while (ps->top > 0) {
        const Frame f = ps->frames[--ps->top];
        Py_XDECREF(f.key);
        Py_XDECREF(f.obj);
    }
}

/* For tp_traverse. The items of an unfinished container are visited instead of the container, which visitors must not see. */
static int parser_traverse(Parser *ps, visitproc visit, void *arg)
{
    for (Py_ssize_t i = 0; i < ps->top; i++) {
        const Frame *f = &ps->frames[i];
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

static ALWAYS_INLINE void parser_free(Parser *ps)
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

/* Hooks for containers, which every message has. An ext_hook is rare: its first call turns the garbage collector on. */
static ALWAYS_INLINE bool parser_has_hooks(const UnpackOptions *options)
{
    return options->object_hook || options->object_pairs_hook || options->list_hook;
}

/* Protect the new list or tuple of a frame. */
static NEVER_INLINE void parser_guard_frame(Parser *ps, Frame *f)
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

/* Hide open containers: those below a hidden frame are already hidden. */
static NEVER_INLINE void parser_hide_frames(Parser *ps)
{
    for (Py_ssize_t i = ps->top; i-- > 0 && !ps->frames[i].hidden;) {
        Frame *f = &ps->frames[i];
        f->hidden = true;
        if (f->kind != FRAME_MAP_KEY && f->kind != FRAME_MAP_VALUE && f->kind != FRAME_SKIP)
            PyObject_GC_UnTrack(f->obj);
    }
}

/* Any code may run from here on. */
static ALWAYS_INLINE void parser_hide(Parser *ps)
{
    if (UNLIKELY(ps->guard != GUARD_HIDE)) {
        ps->guard = GUARD_HIDE;
        parser_hide_frames(ps);
    }
}

/* Python code is about to run, and must find the garbage collector in its usual state. It stays on for the rest of the message. */
static inline void parser_gc_resume(Parser *ps)
{
    if (ps->gc_held) {
        ps->gc_held = false;
        gc_resume(true);
    }
}

/* Room for more frames; false with MemoryError. There are never more than max_depth. */
static NEVER_INLINE bool parser_more_frames(Parser *ps)
{
    Py_ssize_t capacity = ps->capacity * 4;
    if (capacity > ps->options->max_depth)
        capacity = ps->options->max_depth;
    Frame *grown = ps->frames == ps->inline_frames ? NULL : ps->frames;
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

static NEVER_INLINE int raise_too_deep(const Parser *ps)
{
    PyErr_Format(S.StackError, "nested deeper than max_depth(%zd)", ps->options->max_depth);
    return -1;
}

static NEVER_INLINE int raise_format(void)
{
    PyErr_SetString(S.FormatError, "byte 0xc1 is not a MessagePack format");
    return -1;
}

/* In all limits -1 means no limit. A length or count is below 2^33, and any other negative limit is smaller than all of them.
   A negative total means no limit, by its conversion to unsigned. */

/* Check a payload of n bytes before waiting for it or creating it. */
static ALWAYS_INLINE int parser_count_bytes(Parser *ps, uint64_t n, Py_ssize_t limit, const char *limit_name)
{
    const uint64_t in_all = (uint64_t)ps->options->max_total_bytes;
    if (limit != -1 && UNLIKELY((int64_t)n > (int64_t)limit))
        return raise_limit(limit_name, n, limit);
    if (UNLIKELY(n > in_all - ps->bytes))
        return raise_limit("max_total_bytes", ps->bytes + n, ps->options->max_total_bytes);
    return 0;
}

static ALWAYS_INLINE int parser_count_items(Parser *ps, uint64_t n)
{
    const uint64_t in_all = (uint64_t)ps->options->max_total_items;
    if (UNLIKELY(ps->items + n > in_all))
        return raise_limit("max_total_items", ps->items + n, ps->options->max_total_items);
    ps->items += n;
    return 0;
}

/* Check the number of items or pairs that a header declares. */
static ALWAYS_INLINE int parser_count_children(Parser *ps, uint64_t n, Py_ssize_t limit, Py_ssize_t default_limit,
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

/* How many of n declared items to allocate in advance. Each item takes at least one byte of input, so all open containers
   of a valid message together declare fewer items than the message has bytes. The containers of an invalid message
   together get no more than that, however they are nested. */
static ALWAYS_INLINE Py_ssize_t parser_reserve(Parser *ps, uint64_t n, uint64_t bytes_left, uint64_t bytes_seen)
{
    uint64_t room = bytes_seen > (uint64_t)ps->reserved ? bytes_seen - (uint64_t)ps->reserved : 0;
    if (n > bytes_left)
        n = bytes_left;
    if (n > room)
        n = room;
    ps->reserved += (Py_ssize_t)n;
    return (Py_ssize_t)n;
}
