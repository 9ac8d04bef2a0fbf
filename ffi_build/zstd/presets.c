/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Presets: settings for any number of frames, and a context that has them. The Python half is in
 * cpkg/_native/zstd/presets.py, whose classes derive from these types: it sets them up, makes contexts with
 * dictionaries or worker threads, and gets every call that is out of the ordinary, as it came.
 *
 * A context is out of its place while it is in use, so that threads may share a preset: who finds the place empty makes
 * a context of his own. It is exchanged in one step, for builds without the GIL.
 */
#ifndef CPKG_ZSTD_PRESETS
#define CPKG_ZSTD_PRESETS

#include <Python.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <zstd.h>

#include "arguments.c"
#include "buffers.c"
#include "contexts.c"
#include "format.c"
#include "streams.c"

/* How many bytes the frames of a stream have taken, had compressed when they were last flushed, and given. */
typedef struct {
    uint64_t ingested;
    uint64_t flushed;
    uint64_t produced;
} Progress;

typedef struct {
    PyObject_HEAD
    void *context; /* a ZSTD_CCtx * */
    int is_ready;
    int is_plain; /* neither a dictionary nor threads: contexts are made here, and shared with other calls */
    int count;
    Parameter parameters[PARAMETERS_MAX];
    uint64_t streams; /* how many were made of it (dropin/feed.c) */
    Progress latest;  /* of the last one */
} CompressionPreset;

typedef struct {
    PyObject_HEAD
    void *context; /* a ZSTD_DCtx * */
    int is_ready;
    int has_dictionary; /* else the contexts that threads keep serve */
    uint64_t window_max;
} DecompressionPreset;

/* Say whether a context without parameters serves. */
static int is_default(const DecompressionPreset *preset)
{
    return preset->is_ready && !preset->has_dictionary && preset->window_max == WINDOW_SIZE_MAX_DEFAULT;
}

static void *exchange(void **place, void *context)
{
    return __atomic_exchange_n(place, context, __ATOMIC_ACQ_REL);
}

/* Put a context into its place; return what was to be put there, if the place is not empty, or NULL. */
static void *put_back(void **place, void *context)
{
    void *empty = NULL;
    return __atomic_compare_exchange_n(place, &empty, context, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED) ? NULL : context;
}

/* Have the Python half make a context; return it, or NULL with an exception set. */
static void *new_context(PyObject *preset)
{
    PyObject *address = PyObject_CallMethod(preset, "_new_context", NULL);
    void *context = address == NULL ? NULL : PyLong_AsVoidPtr(address);
    Py_XDECREF(address);
    return context;
}

/* Return a context that is set up, or NULL with an exception set. */
static ZSTD_CCtx *preset_take_cctx(CompressionPreset *preset, Kept *kept)
{
    ZSTD_CCtx *cctx = exchange(&preset->context, NULL);
    if (cctx != NULL || !preset->is_plain) {
        return cctx != NULL ? cctx : new_context((PyObject *)preset);
    }
    cctx = take_cctx(kept);
    size_t result = 0;
    for (int i = 0; cctx != NULL && i < preset->count && !ZSTD_isError(result); i++) {
        result = ZSTD_CCtx_setParameter(cctx, (ZSTD_cParameter)preset->parameters[i].key, preset->parameters[i].value);
    }
    if (cctx == NULL) {
        PyErr_NoMemory();
    }
    else if (ZSTD_isError(result)) {
        ZSTD_freeCCtx(cctx);
        PyErr_Format(PyExc_ValueError, "libzstd takes no such parameter: %s", ZSTD_getErrorName(result));
        cctx = NULL;
    }
    return cctx;
}

/* Keep a context that is between frames, and of which no call has failed. */
static void preset_give_cctx(CompressionPreset *preset, Kept *kept, ZSTD_CCtx *cctx)
{
    if (put_back(&preset->context, cctx) != NULL) {
        if (preset->is_plain && kept != NULL) {
            give_cctx(kept, cctx, 0);
        }
        else {
            ZSTD_freeCCtx(cctx);
        }
    }
}

/* _set_up(pairs, is_plain): take the parameters of plain contexts; called once, before anything else. */
static PyObject *compression_set_up(PyObject *self, PyObject *args)
{
    CompressionPreset *preset = (CompressionPreset *)self;
    PyObject *pairs;
    int is_plain;
    if (!PyArg_ParseTuple(args, "O!p:_set_up", &PyList_Type, &pairs, &is_plain)) {
        return NULL;
    }
    Py_ssize_t count = PyList_GET_SIZE(pairs);
    if (preset->is_ready || count > PARAMETERS_MAX) {
        PyErr_SetString(PyExc_RuntimeError, "a preset is set up once");
        return NULL;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        Parameter *parameter = &preset->parameters[i];
        if (!PyArg_ParseTuple(PyList_GET_ITEM(pairs, i), "ii", &parameter->key, &parameter->value)) {
            return NULL;
        }
    }
    preset->count = (int)count;
    preset->is_plain = is_plain;
    preset->is_ready = 1;
    Py_RETURN_NONE;
}

static void compression_preset_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    CompressionPreset *preset = (CompressionPreset *)self;
    Kept *kept = preset->is_plain ? kept_here() : NULL;
    if (preset->context != NULL) {
        if (kept != NULL) {
            give_cctx(kept, preset->context, 0); /* presets often serve one frame: for the next of them */
        }
        else {
            ZSTD_freeCCtx(preset->context);
        }
    }
    type->tp_free(self);
    Py_DECREF(type);
}

PyDoc_STRVAR(preset_compress_doc,
             "compress($self, /, data)\n--\n\n"
             "Compress a buffer into one frame and return it as bytes.\n\n"
             "The header has the content's size, unless the parameters say otherwise. Raises ZstdError if\n"
             "libzstd fails.");

static PyObject *preset_compress(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    static const char *const names[] = {"data"};
    CompressionPreset *preset = (CompressionPreset *)self;
    PyObject *data;
    if (sort_arguments(names, 1, 1, args, nargs, kwnames, &data) < 0 || !preset->is_ready) {
        return call_slow(self, "_compress", args, nargs, kwnames);
    }
    Input in;
    if (input_open(&in, data) < 0) {
        return NULL;
    }
    PyObject *result = NULL;
    size_t bound = ZSTD_compressBound(in.size);
    Output out;
    if (ZSTD_isError(bound) || bound > (size_t)PY_SSIZE_T_MAX) {
        PyErr_NoMemory();
        goto done;
    }
    if (output_begin(&out, bound <= SCRATCH_SIZE ? 0 : bound, bound) < 0) {
        goto done;
    }
    ZSTD_CCtx *cctx = preset_take_cctx(preset, out.kept);
    if (cctx == NULL) {
        output_abandon(&out);
        goto done;
    }
    size_t written;
    Py_BEGIN_ALLOW_THREADS
    written = ZSTD_compress2(cctx, out.buffer.dst, out.buffer.size, in.start, in.size);
    Py_END_ALLOW_THREADS
    if (ZSTD_isError(written)) {
        ZSTD_freeCCtx(cctx);
        output_abandon(&out);
        input_close(&in);
        return call_slow(self, "_compress", args, nargs, kwnames);
    }
    preset_give_cctx(preset, out.kept, cctx);
    out.buffer.pos = written;
    result = output_finish(&out);
done:
    input_close(&in);
    return result;
}

/* Return a context's address, for Python code that gives it back or frees it. */
static PyObject *compression_take(PyObject *self, PyObject *unused)
{
    (void)unused;
    Kept *kept = kept_here();
    if (kept == NULL) {
        return PyErr_NoMemory();
    }
    ZSTD_CCtx *cctx = preset_take_cctx((CompressionPreset *)self, kept);
    return cctx == NULL ? NULL : PyLong_FromVoidPtr(cctx);
}

/* Take back a context, given by its address. */
static PyObject *compression_give(PyObject *self, PyObject *address)
{
    ZSTD_CCtx *cctx = PyLong_AsVoidPtr(address);
    if (cctx == NULL) {
        return NULL;
    }
    if (ZSTD_isError(ZSTD_CCtx_reset(cctx, ZSTD_reset_session_only))) {
        ZSTD_freeCCtx(cctx);
    }
    else {
        preset_give_cctx((CompressionPreset *)self, kept_here(), cctx);
    }
    Py_RETURN_NONE;
}

static PyMethodDef compression_preset_methods[] = {
    {"compress", AS_METHOD(preset_compress), FASTCALL, preset_compress_doc},
    {"_set_up", compression_set_up, METH_VARARGS, NULL},
    {"_take", compression_take, METH_NOARGS, NULL},
    {"_give", compression_give, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot compression_preset_slots[] = {
    {Py_tp_doc, "Settings for any number of frames; for the class in zstd/presets.py."},
    {Py_tp_dealloc, compression_preset_dealloc},
    {Py_tp_methods, compression_preset_methods},
    {0, NULL},
};

static PyType_Spec compression_preset_spec = {
    .name = "cpkg._native.zstd.compiled._CompressionPreset",
    .basicsize = sizeof(CompressionPreset),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
    .slots = compression_preset_slots,
};

/* Return a context that is set up as far as decompressing at once needs it, or NULL with an exception set. */
static ZSTD_DCtx *preset_take_dctx(DecompressionPreset *preset, Kept *kept)
{
    ZSTD_DCtx *dctx;
    if (preset->has_dictionary) {
        dctx = exchange(&preset->context, NULL);
        return dctx != NULL ? dctx : new_context((PyObject *)preset);
    }
    dctx = take_dctx(kept);
    if (dctx == NULL) {
        PyErr_NoMemory();
    }
    return dctx;
}

/* Keep a context, or free it; `result` is libzstd's of the call that it was taken for. */
static void preset_give_dctx(DecompressionPreset *preset, Kept *kept, ZSTD_DCtx *dctx, size_t result)
{
    if (!preset->has_dictionary) {
        give_dctx(kept, dctx, result);
    }
    else if (ZSTD_isError(result) || put_back(&preset->context, dctx) != NULL) {
        ZSTD_freeDCtx(dctx);
    }
}

/* _set_up(window_max, has_dictionary): called once, before anything else; without it every call goes to Python. */
static PyObject *decompression_set_up(PyObject *self, PyObject *args)
{
    DecompressionPreset *preset = (DecompressionPreset *)self;
    unsigned long long window_max;
    int has_dictionary;
    if (!PyArg_ParseTuple(args, "Kp:_set_up", &window_max, &has_dictionary)) {
        return NULL;
    }
    if (preset->is_ready) {
        PyErr_SetString(PyExc_RuntimeError, "a preset is set up once");
        return NULL;
    }
    preset->window_max = window_max;
    preset->has_dictionary = has_dictionary;
    preset->is_ready = 1;
    Py_RETURN_NONE;
}

static void decompression_preset_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    DecompressionPreset *preset = (DecompressionPreset *)self;
    Kept *kept = is_default(preset) ? kept_here() : NULL;
    if (preset->context != NULL && kept != NULL) {
        give_dctx(kept, preset->context, 0); /* for the next of those that serve one frame */
    }
    else {
        ZSTD_freeDCtx(preset->context);
    }
    type->tp_free(self);
    Py_DECREF(type);
}

/* Measure the frame at the start of an input; return -1 for what takes the slow path. */
static int preset_measure(const DecompressionPreset *preset, const Input *in, Frame *frame)
{
    const unsigned char *src = (const unsigned char *)in->start;
    if (!preset->is_ready || in->size < 4 || little_endian(src, 4) != FRAME_MAGIC) {
        return -1;
    }
    return measure_frame_for(src, src + in->size, preset->window_max, preset->has_dictionary, frame);
}

PyDoc_STRVAR(preset_decompress_doc,
             "decompress($self, /, data, max_output_size=0, read_across_frames=False, allow_extra_data=True)\n--\n\n"
             "Decompress the frame at the start of a buffer and return its content as bytes.\n\n"
             "max_output_size is the most that the content may be, in bytes: ZstdLimitError if it is more.\n"
             "0 stands for no limit, which only a frame may have whose header tells the content's size. What\n"
             "follows the frame is not looked at, unless allow_extra_data is false: then it is a ZstdError.\n"
             "read_across_frames is not implemented, as it is not in python-zstandard: ZstdError. Raises\n"
             "ZstdError for data that is truncated or corrupted.");

static PyObject *preset_decompress(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    static const char *const names[] = {"data", "max_output_size", "read_across_frames", "allow_extra_data"};
    DecompressionPreset *preset = (DecompressionPreset *)self;
    PyObject *values[4];
    size_t limit = 0;
    Input in;
    if (sort_arguments(names, 4, 4, args, nargs, kwnames, values) < 0 || take_size(values[1], &limit) < 0 ||
        (values[2] != NULL && values[2] != Py_False) ||
        (values[3] != NULL && values[3] != Py_False && values[3] != Py_True)) {
        goto slow;
    }
    if (input_open(&in, values[0]) < 0) {
        return NULL;
    }
    Frame frame;
    if (preset_measure(preset, &in, &frame) < 0 || !is_trusted(frame.content, frame.is_declared, frame.size) ||
        (frame.is_declared ? limit > 0 && frame.content > limit : limit == 0) ||
        (values[3] == Py_False && frame.size != in.size)) {
        input_close(&in);
        goto slow;
    }
    PyObject *result = NULL;
    Output out;
    size_t capacity = frame.is_declared || frame.content < limit ? (size_t)frame.content : limit;
    if (output_begin(&out, capacity <= SCRATCH_SIZE && !frame.is_declared ? 0 : capacity, capacity) < 0) {
        goto done;
    }
    ZSTD_DCtx *dctx = preset_take_dctx(preset, out.kept);
    if (dctx == NULL) {
        output_abandon(&out);
        goto done;
    }
    size_t written;
    Py_BEGIN_ALLOW_THREADS
    written = ZSTD_decompressDCtx(dctx, out.buffer.dst, out.buffer.size, in.start, frame.size);
    Py_END_ALLOW_THREADS
    preset_give_dctx(preset, out.kept, dctx, written);
    if (ZSTD_isError(written) || (frame.is_declared && written != frame.content)) {
        output_abandon(&out);
        input_close(&in);
        goto slow;
    }
    out.buffer.pos = written;
    result = output_finish(&out);
done:
    input_close(&in);
    return result;
slow:
    return call_slow(self, "_decompress", args, nargs, kwnames);
}

/*
 * Decompress the frame at the start of some data, if it is there whole and its content has room (-1: any). Return the
 * content as bytes, or NULL, without an exception for what takes the slow path.
 */
static PyObject *whole_frame(DecompressionPreset *preset, const char *data, size_t size, Py_ssize_t room, Frame *frame)
{
    Input in = {data, size, {0}};
    if (preset_measure(preset, &in, frame) < 0 || !is_trusted(frame->content, frame->is_declared, frame->size) ||
        (room >= 0 && frame->content > (size_t)room)) {
        return NULL;
    }
    Output out;
    size_t capacity = (size_t)frame->content;
    if (output_begin(&out, capacity <= SCRATCH_SIZE && !frame->is_declared ? 0 : capacity, capacity) < 0) {
        return NULL;
    }
    ZSTD_DCtx *dctx = preset_take_dctx(preset, out.kept);
    if (dctx == NULL) {
        output_abandon(&out);
        return NULL;
    }
    size_t written;
    Py_BEGIN_ALLOW_THREADS
    written = ZSTD_decompressDCtx(dctx, out.buffer.dst, out.buffer.size, data, frame->size);
    Py_END_ALLOW_THREADS
    preset_give_dctx(preset, out.kept, dctx, written);
    if (ZSTD_isError(written) || (frame->is_declared && written != frame->content)) {
        output_abandon(&out);
        return NULL;
    }
    out.buffer.pos = written;
    return output_finish(&out);
}

/*
 * _whole_frame(data, start, room) -> (bytes, position, True), or None if it takes the slow path.
 *
 * Decompresses the frame that begins at `start`, if it is there whole and its content has room (-1: any).
 */
static PyObject *preset_whole_frame(PyObject *self, PyObject *const *args, Py_ssize_t nargs)
{
    DecompressionPreset *preset = (DecompressionPreset *)self;
    if (check_count("_whole_frame", nargs, 3) < 0) {
        return NULL;
    }
    Py_ssize_t start = PyLong_AsSsize_t(args[1]);
    Py_ssize_t room = PyLong_AsSsize_t(args[2]);
    Input in;
    if (PyErr_Occurred() || input_open(&in, args[0]) < 0) {
        return NULL;
    }
    PyObject *result = NULL;
    if (start < 0 || (size_t)start > in.size) {
        PyErr_SetString(PyExc_ValueError, "start lies outside of the data");
    }
    else {
        Frame frame;
        result = whole_frame(preset, in.start + start, in.size - (size_t)start, room, &frame);
        if (result != NULL) {
            result = decoded(result, (size_t)start + frame.size, 1);
        }
        else if (!PyErr_Occurred()) {
            result = new_ref(Py_None);
        }
    }
    input_close(&in);
    return result;
}

static PyObject *decompression_take(PyObject *self, PyObject *unused)
{
    (void)unused;
    void *dctx = exchange(&((DecompressionPreset *)self)->context, NULL);
    return dctx == NULL ? new_ref(Py_None) : PyLong_FromVoidPtr(dctx);
}

static PyObject *decompression_give(PyObject *self, PyObject *address)
{
    ZSTD_DCtx *dctx = PyLong_AsVoidPtr(address);
    if (dctx == NULL) {
        return NULL;
    }
    if (ZSTD_isError(ZSTD_DCtx_reset(dctx, ZSTD_reset_session_only)) ||
        put_back(&((DecompressionPreset *)self)->context, dctx) != NULL) {
        ZSTD_freeDCtx(dctx);
    }
    Py_RETURN_NONE;
}

static PyMethodDef decompression_preset_methods[] = {
    {"decompress", AS_METHOD(preset_decompress), FASTCALL, preset_decompress_doc},
    {"_set_up", decompression_set_up, METH_VARARGS, NULL},
    {"_take", decompression_take, METH_NOARGS, NULL},
    {"_give", decompression_give, METH_O, NULL},
    {"_whole_frame", AS_METHOD(preset_whole_frame), METH_FASTCALL, NULL},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot decompression_preset_slots[] = {
    {Py_tp_doc, "Limits and a dictionary for any number of frames; for the class in zstd/presets.py."},
    {Py_tp_dealloc, decompression_preset_dealloc},
    {Py_tp_methods, decompression_preset_methods},
    {0, NULL},
};

static PyType_Spec decompression_preset_spec = {
    .name = "cpkg._native.zstd.compiled._DecompressionPreset",
    .basicsize = sizeof(DecompressionPreset),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
    .slots = decompression_preset_slots,
};

#endif
