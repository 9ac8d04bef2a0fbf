/* SPDX-License-Identifier: Apache-2.0 */
/* The type Unpacker: a stream of messages, from feed() or from a file. */
#pragma once

#include "../../common/objects.c"
#include "../common/formats.c"
#include "../common/options.c"
#include "../common/state.c"
#include "functions.c"
#include "huge_pages.c"
#include "parse_loop.c"
#include "parser_state.c"
#include "stream.c"

static PyObject *unpacker_new(PyTypeObject *type, PyObject *Py_UNUSED(args), PyObject *Py_UNUSED(keywords))
{
    Unpacker *self = object_new(type);
    if (self) {
        self->options = default_unpack_options;
        self->options.ext_hook = NULL; /* the Unpacker owns no objects until __init__ */
        parser_init(&self->ps, &self->options, self->options.max_buffer_size);
    }
    return (PyObject *)self;
}

/* The objects among the options that an Unpacker owns. */
#define UNPACKER_OBJECTS(visit, options) \
    visit((options)->file_like); \
    visit((options)->object_hook); \
    visit((options)->object_pairs_hook); \
    visit((options)->list_hook); \
    visit((options)->ext_hook); \
    visit((options)->unicode_errors); \
    visit((options)->type)

static int unpacker_traverse(PyObject *object, visitproc visit, void *arg)
{
    Unpacker *self = (Unpacker *)object;
    VISIT_TYPE(object);
    UNPACKER_OBJECTS(Py_VISIT, &self->options);
    return parser_traverse(&self->ps, visit, arg);
}

static int unpacker_clear(PyObject *object)
{
    Unpacker *self = (Unpacker *)object;
    parser_clear(&self->ps);
    arenas_drop_kept(&self->ahead);
    UNPACKER_OBJECTS(Py_CLEAR, &self->options);
    return 0;
}

static void unpacker_free(Unpacker *self)
{
    parser_free(&self->ps);
    PyMem_Free(self->buffer);
}

COLLECTED_DEALLOC(unpacker, unpacker_free((Unpacker *)self))

static NEVER_INLINE bool unpacker_refuse(const char *method)
{
    PyErr_Format(PyExc_RuntimeError, "Unpacker.%s() cannot be called while unpacking is in progress", method);
    return false;
}

static ALWAYS_INLINE bool unpacker_enter(Unpacker *self, const char *method)
{
    return LIKELY(busy_take(&self->busy)) || unpacker_refuse(method);
}

/* Begin an operation like unpacker_enter(), but refuse if an exception that the input did not cause has interrupted an
   object: the next bytes are part of that object and would look like complete objects. */
static ALWAYS_INLINE bool unpacker_enter_whole(Unpacker *self, const char *method)
{
    if (!unpacker_enter(self, method))
        return false;
    if (LIKELY(!self->ps.broken))
        return true;
    PyErr_Format(PyExc_RuntimeError,
                 "an exception interrupted the object that begins at byte %llu of the stream: create a new Unpacker",
                 (unsigned long long)self->start);
    busy_drop(&self->busy);
    return false;
}

/* Check and store the options; `file_like` is NULL if it was not given. Return 0, or -1 with an exception set. */
static int unpacker_set(Unpacker *self, UnpackOptions *options, PyObject *file_like)
{
    if (options->max_buffer_size == 0)
        options->max_buffer_size = INT32_MAX;
    if (options->read_size > options->max_buffer_size) {
        PyErr_SetString(PyExc_ValueError, "read_size should be less or equal to max_buffer_size");
        return -1;
    }
    if (options->read_size == 0)
        options->read_size = options->max_buffer_size < 1024 * 1024 ? options->max_buffer_size : 1024 * 1024;
    /* a str, bin or ext that is longer than the buffer can never be complete */
    Py_ssize_t *const lengths[] = {&options->max_str_len, &options->max_bin_len, &options->max_ext_len};
    for (size_t i = 0; i < COUNT_OF(lengths); i++)
        if (*lengths[i] == -1)
            *lengths[i] = options->max_buffer_size;
    if (unpack_options_check(options) < 0)
        return -1;
    if (file_like && file_like != Py_None) {
        PyObject *read = PyObject_GetAttr(file_like, S.str_read);
        if (!read)
            return -1;
        int callable = PyCallable_Check(read);
        Py_DECREF(read);
        if (!callable) {
            PyErr_SetString(PyExc_TypeError, "`file_like.read` must be a callable.");
            return -1;
        }
        options->file_like = file_like;
    }
    if (!unpacker_enter(self, "__init__"))
        return -1;
    UNPACKER_OBJECTS(Py_XINCREF, options);
    unpacker_clear((PyObject *)self);
    parser_free(&self->ps);
    self->options = *options;
    parser_init(&self->ps, &self->options, options->max_buffer_size);
    PyMem_Free(self->buffer);
    self->buffer = NULL;
    self->head = self->tail = self->capacity = 0;
    self->base = self->floor = 0;
    self->header_read = 0;
    unpacker_publish(self);
    self->mode = MODE_NONE;
    busy_drop(&self->busy);
    return 0;
}

static int unpacker_init(PyObject *object, PyObject *args, PyObject *keywords)
{
    Unpacker *self = (Unpacker *)object;
    UnpackOptions options = default_unpack_options;
    PyObject *positional[1] = {NULL};
    OwnedArguments owned;
    int result = -1,
        failed = arguments_read_init(&unpacker_type_signature, args, keywords, positional, &options, &owned);
    PyObject *reader = NULL;
    if (failed == 0 && options.type) {
        PyObject *function = typed_function("reader");
        reader = function ? PyObject_Call(function, S.empty_tuple, keywords) : NULL;
        Py_XDECREF(function);
        failed = reader && PyArg_ParseTuple(reader, "On", &options.type, &options.max_depth) ? 0 : -1;
        options.raw_depth = 0;
        options.max_total_bytes = -1; /* the function counts these bytes */
    }
    if (failed == 0)
        result = unpacker_set(self, &options, positional[0]);
    Py_XDECREF(reader);
    arguments_drop(&owned);
    return result;
}

static PyObject *unpacker_feed(PyObject *object, PyObject *data)
{
    Unpacker *self = (Unpacker *)object;
    Py_buffer view;
    if (!unpacker_enter_whole(self, "feed"))
        return NULL;
    int result = -1;
    if (self->options.file_like)
        PyErr_SetString(PyExc_AssertionError, "unpacker.feed() is not be able to use with `file_like`.");
    else if (input_get(data, &view) == 0) {
        result = unpacker_append(self, view.buf, view.len);
        PyBuffer_Release(&view);
    }
    busy_drop(&self->busy);
    if (result < 0)
        return NULL;
    Py_RETURN_NONE;
}

/* Read the header of an array or map; *result becomes its length. */
static enum parse_result unpacker_header(Unpacker *self, PyObject **result)
{
    const int wanted = self->mode == MODE_MAP_HEADER ? FORMAT_MAP : FORMAT_ARRAY;
    FormatHeader h;
    const bool is_whole = read_header(self->buffer + self->head, (size_t)(self->tail - self->head), &h);
    if (h.kind != wanted) {
        PyErr_SetString(PyExc_ValueError, "Unexpected type header on stream");
        error_set_offset(self->base + (uint64_t)self->head);
        return PARSE_ERROR;
    }
    if (!is_whole)
        return PARSE_MORE;
    *result = PyLong_FromSize_t(h.length);
    if (!*result)
        return PARSE_ERROR;
    self->head += (Py_ssize_t)h.size;
    return PARSE_DONE;
}

static enum parse_result unpacker_step(Unpacker *self, PyObject **result)
{
    if (self->mode == MODE_ARRAY_HEADER || self->mode == MODE_MAP_HEADER)
        return unpacker_header(self, result);
    Parser *ps = &self->ps;
    ps->base = self->base;
    ps->discard = self->mode == MODE_SKIP;
    ps->counts = self->mode == MODE_UNPACK;
    ps->raw_top = self->mode == MODE_UNPACK ? self->options.raw_depth : 0;
    const bool hooks = parser_has_hooks(&self->options);
    ps->gc_held = !hooks && gc_hold(self->tail - self->head);
    ps->guard = guard_of(ps->gc_held);
    /* an object that is already large is likely to grow */
    arenas_hold_kept(&self->ahead, hooks ? 0 : self->base + (uint64_t)self->tail - self->start);
    enum parse_result outcome = parser_run(ps, self->buffer, self->tail, &self->head, result);
    arenas_release_kept(self->ahead);
    if (outcome != PARSE_MORE)
        arenas_drop_kept(&self->ahead);
    if (ps->gc_held)
        gc_resume(true);
    ps->gc_held = false;
    /* The position does not move back before `floor`, to a wrong value that arrived in pieces: callers must not depend
       on how much of the value is still in the buffer. */
    if (outcome == PARSE_ERROR && self->base + (uint64_t)self->head < self->floor)
        self->head = (Py_ssize_t)(self->floor - self->base);
    return outcome;
}

/* Return an object of the Unpacker's `type` from its message, a Raw, which is stolen; NULL with an exception set on
   failure. */
static NEVER_INLINE PyObject *unpacker_typed(Unpacker *self, PyObject *raw)
{
    PyObject *end = PyLong_FromUnsignedLongLong(self->base + (uint64_t)self->head);
    PyObject *result = end ? PyObject_CallFunctionObjArgs(self->options.type, raw, end, NULL) : NULL;
    Py_DECREF(raw);
    Py_XDECREF(end);
    if (!result && !is_hooks_error())
        self->ps.broken = true;
    return result;
}

/* Return the next object in a mode, or NULL with an exception set. If `iterating` and the data has ended, return NULL
   without an exception. */
static PyObject *unpacker_next(Unpacker *self, enum unpack_mode mode, const char *method, bool iterating)
{
    PyObject *result = NULL;
    if (!unpacker_enter_whole(self, method))
        return NULL;
    if (UNLIKELY(self->mode != MODE_NONE && self->mode != mode)) {
        PyErr_SetString(PyExc_ValueError, "Cannot switch unpacking methods while an object is incomplete");
        busy_drop(&self->busy);
        return NULL;
    }
    for (;;) {
        enum parse_result outcome = PARSE_MORE;
        if (self->head < self->tail) {
            if (self->mode == MODE_NONE)
                self->start = self->base + (uint64_t)self->head;
            self->mode = mode;
            outcome = unpacker_step(self, &result);
        }
        if (LIKELY(outcome != PARSE_MORE)) {
            self->mode = MODE_NONE;
            self->header_read = 0;
            break;
        }
        self->header_read = unpacker_count_header(self);
        unpacker_publish(self);
        if (self->options.file_like) {
            if (unpacker_read_file(self) < 0)
                break;
            continue;
        }
        if (!iterating) {
            PyErr_SetString(S.OutOfData, "No more data to unpack.");
            error_set_offset(self->base + (uint64_t)self->head);
        }
        break;
    }
    unpacker_settle(self);
    if (UNLIKELY(self->options.type != NULL) && result && mode == MODE_UNPACK)
        result = unpacker_typed(self, result);
    busy_drop(&self->busy);
    return result;
}

/* Define a method that returns the next object in a mode. */
#define UNPACKER_METHOD(function, mode, method) \
    static PyObject *function(PyObject *self, PyObject *unused) \
    { \
        (void)unused; \
        return unpacker_next((Unpacker *)self, mode, method, false); \
    }

UNPACKER_METHOD(unpacker_unpack, MODE_UNPACK, "unpack")
UNPACKER_METHOD(unpacker_skip, MODE_SKIP, "skip")
UNPACKER_METHOD(unpacker_unpack_raw, MODE_RAW, "unpack_raw")
UNPACKER_METHOD(unpacker_read_array_header, MODE_ARRAY_HEADER, "read_array_header")
UNPACKER_METHOD(unpacker_read_map_header, MODE_MAP_HEADER, "read_map_header")

static PyObject *unpacker_iternext(PyObject *self)
{
    return unpacker_next((Unpacker *)self, MODE_UNPACK, "unpack", true);
}

static PyObject *unpacker_read_bytes(PyObject *object, PyObject *argument)
{
    Unpacker *self = (Unpacker *)object;
    Py_ssize_t wanted;
    if (size_read("nbytes", argument, &wanted) < 0)
        return NULL;
    if (wanted < 0) {
        PyErr_Format(PyExc_ValueError, "nbytes must be 0 or more, not %zd", wanted);
        return NULL;
    }
    if (!unpacker_enter_whole(self, "read_bytes"))
        return NULL;
    PyObject *result = NULL;
    if (self->mode != MODE_NONE)
        PyErr_SetString(PyExc_ValueError, "Cannot switch unpacking methods while an object is incomplete");
    else {
        Py_ssize_t available = self->tail - self->head, taken = wanted < available ? wanted : available;
        Py_buffer beyond = {.len = 0}; /* bytes read from the file past the buffer */
        int some = 0;
        self->start = self->base + (uint64_t)self->head;
        if (taken < wanted && self->options.file_like)
            some = unpacker_call_read(self, wanted - taken, &beyond);
        if (some >= 0 && (result = PyBytes_FromStringAndSize(NULL, taken + beyond.len))) {
            if (taken)
                memcpy(PyBytes_AS_STRING(result), self->buffer + self->head, (size_t)taken);
            if (some)
                memcpy(PyBytes_AS_STRING(result) + taken, beyond.buf, (size_t)beyond.len);
            self->head += taken;
            self->base += (uint64_t)beyond.len;
            unpacker_settle(self);
        }
        if (some > 0) {
            self->ps.broken = !result;
            PyBuffer_Release(&beyond);
        }
    }
    busy_drop(&self->busy);
    return result;
}

static PyObject *unpacker_tell(PyObject *object, PyObject *Py_UNUSED(unused))
{
    Unpacker *self = (Unpacker *)object;
    return PyLong_FromUnsignedLongLong(SHOWN(self->position));
}

static PyMethodDef unpacker_methods[] = {
    {"feed", unpacker_feed, METH_O, "feed($self, next_bytes, /)\n--\n\n" DOCUMENTED_Unpacker_feed},
    {"unpack", unpacker_unpack, METH_NOARGS, "unpack($self)\n--\n\n" DOCUMENTED_Unpacker_unpack},
    {"skip", unpacker_skip, METH_NOARGS, "skip($self)\n--\n\n" DOCUMENTED_Unpacker_skip},
    {"unpack_raw", unpacker_unpack_raw, METH_NOARGS, "unpack_raw($self)\n--\n\n" DOCUMENTED_Unpacker_unpack_raw},
    {"read_array_header", unpacker_read_array_header, METH_NOARGS,
     "read_array_header($self)\n--\n\n" DOCUMENTED_Unpacker_read_array_header},
    {"read_map_header", unpacker_read_map_header, METH_NOARGS,
     "read_map_header($self)\n--\n\n" DOCUMENTED_Unpacker_read_map_header},
    {"read_bytes", unpacker_read_bytes, METH_O, "read_bytes($self, nbytes, /)\n--\n\n" DOCUMENTED_Unpacker_read_bytes},
    {"tell", unpacker_tell, METH_NOARGS, "tell($self)\n--\n\n" DOCUMENTED_Unpacker_tell},
    {"__reduce__", object_refuse_pickling, METH_NOARGS, "__reduce__($self)\n--\n\nRaise TypeError."},
    {"__class_getitem__", Py_GenericAlias, METH_O | METH_CLASS, "Return a generic alias for type checkers."},
    {NULL, NULL, 0, NULL},
};

DECLARE_TYPE(unpacker, "cpkg._native.msgpack.cpython.Unpacker", Unpacker, Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
             {Py_tp_doc, "Unpacker(file_like=None, *" UNPACKER_TYPE_SIGNATURE ")\n--\n\n" DOCUMENTED_Unpacker},
             {Py_tp_new, unpacker_new}, {Py_tp_init, unpacker_init}, COLLECTED_SLOTS(unpacker),
             {Py_tp_methods, unpacker_methods}, {Py_tp_iter, PyObject_SelfIter}, {Py_tp_iternext, unpacker_iternext})
