/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parser's state, its limits, and how it hides unfinished containers.
 *
 * unpackb and Unpacker share one parser. It is iterative: open containers are frames on its own stack. So nesting takes
 * no C stack, and a message may be cut anywhere and continued later. A value is consumed only when it is complete; if
 * the input ends inside a value, the position stays at the value's header.
 *
 * Python code must not find a list or tuple while it is filled, neither in a hook or finalizer nor in another thread of
 * a free-threaded build. Its missing items are NULL, and a list moves its slots when it grows. So the garbage collector
 * does not track the list or tuple while such code may run. A dict is valid at any time.
 */
#pragma once

#include "../common/interpreter.c"
#include "../common/options.c"
#include "../common/state.c"
#include "../common/utf8.c"
#include "key_meter.c"
#include "text.c"

#define INLINE_FRAMES 24

/* The deepest nesting within a map key, because hashing and comparing a key recurse, on stacks as small as 64 KiB. */
#define KEY_DEPTH_MAX 32

enum frame_kind {
    FRAME_LIST,
    FRAME_TUPLE,
    FRAME_MAP_KEY,
    FRAME_MAP_VALUE,
    FRAME_PAIRS_KEY, /* of a map for object_pairs_hook: a list of (key, value) */
    FRAME_PAIRS_VALUE,
    FRAME_SKIP, /* counts values without creating objects */
};

typedef struct {
    PyObject *obj;       /* the container, owned */
    PyObject *key;       /* the key whose value comes next, owned */
    PyObject **slot;     /* the next allocated slot of a list or tuple */
    Py_ssize_t slots;    /* the number of allocated slots that are not filled */
    uint64_t left;       /* items or pairs still to come */
    uint64_t start;      /* offset of the header in the message or stream */
    Py_ssize_t reserved; /* the number of items that were allocated in advance, see parser_reserve() */
    unsigned char kind;
    unsigned char in_key; /* the number of open containers in the same map key, including this one; 0 outside keys */
    bool to_tuple;        /* the container is a list that becomes a tuple when it is complete */
    bool hidden;          /* the garbage collector does not track the container yet */
} Frame;

typedef struct {
    const UnpackOptions *options;
    Py_ssize_t size; /* the size of the input, or max_buffer_size; default limits depend on it */
    bool gc_held;
    enum guard guard;
    Py_ssize_t raw_top; /* the depth at which values become Raw or are skipped; -1 if there is none */
    bool discard;       /* whether a skipped value is dropped, as by skip(), and does not become a Raw */
    bool shared;        /* whether others may change the data meanwhile */
    bool counts;        /* whether items are counted; skip() and unpack_raw() do not count them */

    Frame *frames;
    Py_ssize_t top, capacity;
    uint64_t items, bytes; /* number of items, and of bytes in str, bin and ext, in the message so far */
    KeyMeters meters;
    uint64_t base; /* offset of data[0] in the message or stream */
    uint64_t message_start;
    Py_ssize_t reserved;
    bool started;
    bool broken; /* an exception that the input did not cause has interrupted an object: the next bytes belong to it */

    bool skipping;
    Py_ssize_t skip_top; /* the number of frames below, whose objects are created and not skipped */
    uint64_t skip_start;

    PyObject *source; /* the object that contains the data, for bin_view; borrowed, NULL if there is none */
    PyObject *view;   /* a memoryview of the source, or, without a source, of the latest copy; owned */
    uint64_t view_start, view_end; /* the offsets where the view begins and ends */
    Frame inline_frames[INLINE_FRAMES];
} Parser;

/* Return whether the current exception is one that a hook usually raises; after it, the stream continues at its
   position, as in msgpack. Other exceptions may come from anywhere: a TimeoutError usually comes from a signal
   handler. */
static NEVER_INLINE bool is_hooks_error(void)
{
    return PyErr_ExceptionMatches(PyExc_Exception) && !PyErr_ExceptionMatches(PyExc_MemoryError) &&
           !PyErr_ExceptionMatches(PyExc_TimeoutError);
}

/* Set only the members that need a value, because setting all would take much of the time of a short message. */
static ALWAYS_INLINE void parser_init(Parser *ps, const UnpackOptions *options, Py_ssize_t size)
{
    ps->options = options;
    ps->size = size;
    ps->gc_held = false;
    ps->guard = GUARD_HIDE;
    ps->raw_top = options->raw_depth;
    ps->discard = ps->shared = false;
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

/* Give up the current message. Each frame is removed before its objects are released, because releasing them may run
   Python code. */
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

/* Visit all objects, for tp_traverse. Of an unfinished list or tuple, only the items are visited, because visitors must
   not find the container. */
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

/* Return whether there is a hook for containers, which most messages call. An ext_hook does not count, because few
   messages call it: its first call turns the garbage collector on. */
static ALWAYS_INLINE bool parser_has_hooks(const UnpackOptions *options)
{
    return options->object_hook || options->object_pairs_hook || options->list_hook;
}

/* Hide the new list or tuple of a frame, or turn the garbage collector off, as ps->guard requires. */
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

/* Hide all open containers. The containers below a hidden frame are already hidden. */
static NEVER_INLINE void parser_hide_frames(Parser *ps)
{
    for (Py_ssize_t i = ps->top; i-- > 0 && !ps->frames[i].hidden;) {
        Frame *f = &ps->frames[i];
        f->hidden = true;
        if (f->kind != FRAME_MAP_KEY && f->kind != FRAME_MAP_VALUE && f->kind != FRAME_SKIP)
            PyObject_GC_UnTrack(f->obj);
    }
}

/* Hide open containers, and all that follow, because any code may run from here on. */
static ALWAYS_INLINE void parser_hide(Parser *ps)
{
    if (UNLIKELY(ps->guard != GUARD_HIDE)) {
        ps->guard = GUARD_HIDE;
        parser_hide_frames(ps);
    }
}

/* Turn the garbage collector on again for the rest of the message, because Python code is about to run, and must find
   it in its usual state. */
static inline void parser_gc_resume(Parser *ps)
{
    if (ps->gc_held) {
        ps->gc_held = false;
        gc_resume(true);
    }
}

/* Allocate more frames, at most max_depth; return false with MemoryError set on failure. */
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

/* A limit of -1 means no limit. Any other negative limit refuses everything, because it is smaller than all lengths and
   counts, which are below 2^33. For max_total_bytes and max_total_items, which are converted to unsigned, any negative
   value means no limit. */

/* Check the size of a payload, before waiting for its bytes or creating its object; return 0, or -1 with LimitError
   set. */
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

/* Check the depth, and the number of items or pairs that a header declares; return 0, or -1 with an exception set. */
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

/* Return how many of n declared items to allocate in advance. Each item takes at least one byte of input, so all open
   containers of a valid message together declare fewer items than the message has bytes. The containers of an invalid
   message, however they are nested, also get no more items than that. */
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
