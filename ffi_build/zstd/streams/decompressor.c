/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ZstdDecompressor of cpkg.zstd, which cpkg.zstandard's decompression streams also use. decoder.c decompresses;
 * this file keeps input that was not used. cpkg/_native/zstd/decompressor.py does the same in Python, for interpreters
 * without this module.
 */
#pragma once

#include <zstd.h>

#include "compressor.c"
#include "decoder.c"

static int decompressor_clear(PyObject *self)
{
    Decompressor *decompressor = (Decompressor *)self;
    if (decompressor->lent != NULL) {
        decompressor->dctx = NULL; /* its owner frees it */
        Py_CLEAR(decompressor->lent);
    }
    decompressor_give_back(decompressor, 0);
    Py_CLEAR(decompressor->preset);
    Py_CLEAR(decompressor->pending);
    return 0;
}

static int decompressor_traverse(PyObject *self, visitproc visit, void *arg)
{
    VISIT_TYPE(self);
    Py_VISIT(((Decompressor *)self)->preset);
    Py_VISIT(((Decompressor *)self)->lent);
    return 0;
}

COLLECTED_DEALLOC(decompressor, turn_free(&((Decompressor *)self)->turn))

/* Forget all input, and the results about it. */
static void decompressor_forget(Decompressor *decompressor)
{
    Py_CLEAR(decompressor->pending);
    decompressor->position = 0;
    decompressor->offset = 0;
    SET_SHOWN(decompressor->is_eof, 0);
    SET_SHOWN(decompressor->needs_input, 1);
}

/* Initialize with a preset; return 0, or -1 with an exception set. */
static int decompressor_open(Decompressor *decompressor, PyObject *preset, int is_multi_frame, int is_by_frame)
{
    decompressor->is_multi_frame = is_multi_frame;
    decompressor->goes_on = is_multi_frame && !is_by_frame;
    decompressor_forget(decompressor);
    SET_SHOWN(decompressor->at_start, 1);
    decompressor->preset = (DecompressionPreset *)new_ref(preset);
    decompressor->window_max = decompressor->preset->window_max;
    decompressor->has_magic = 1;
    if (!decompressor->preset->is_ready) {
        PyObject *limits = PyObject_GetAttrString(preset, "_frame_limits");
        unsigned long long window_max = 0;
        int is_read = limits != NULL && PyArg_ParseTuple(limits, "Kp", &window_max, &decompressor->has_magic);
        Py_XDECREF(limits);
        if (!is_read)
            return -1;
        decompressor->window_max = window_max;
    }
    turn_make(&decompressor->turn);
    return 0;
}

static int decompressor_init(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"zstd_dict", "options", "multi_frame", NULL};
    Decompressor *decompressor = (Decompressor *)self;
    PyObject *dictionary = Py_None, *options = Py_None, *preset;
    int is_multi_frame = 0;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|OO$p:ZstdDecompressor", names, &dictionary, &options,
                                     &is_multi_frame) ||
        check_first_init(self, decompressor->preset) < 0)
        return -1;
    if (dictionary == Py_None && options == Py_None) {
        preset = object_new(decompression_preset_type);
        if (preset != NULL) {
            ((DecompressionPreset *)preset)->window_max = WINDOW_SIZE_MAX_DEFAULT;
            ((DecompressionPreset *)preset)->is_ready = ((DecompressionPreset *)preset)->serves_one = 1;
        }
    }
    else {
        preset = call_presets("decompression_of", "OO", dictionary, options);
    }
    /* reading the arguments may have called Python code, which may have initialized the object */
    int result = preset == NULL ? -1 : check_first_init(self, decompressor->preset);
    if (result == 0)
        result = decompressor_open(decompressor, preset, is_multi_frame, 0);
    if (result == 0 && !is_default((DecompressionPreset *)preset))
        result = decompressor_take(decompressor); /* raises the error of a damaged dictionary */
    Py_XDECREF(preset);
    return result;
}

/*
 * _over(preset, multi_frame=False, frame_by_frame=False): return a decompressor with the settings of a preset. With
 * both True, each call stops at the end of a frame.
 */
static PyObject *decompressor_over(PyObject *type, PyObject *args)
{
    PyObject *preset;
    int is_multi_frame = 0, is_by_frame = 0;
    if (!PyArg_ParseTuple(args, "O|pp:_over", &preset, &is_multi_frame, &is_by_frame))
        return NULL;
    Decompressor *decompressor = object_new((PyTypeObject *)type);
    if (decompressor != NULL && decompressor_open(decompressor, preset, is_multi_frame, is_by_frame) < 0)
        Py_CLEAR(decompressor);
    return (PyObject *)decompressor;
}

/* The input and output of one call. The output is bytes, or is written to the caller's memory. */
typedef struct {
    ZSTD_inBuffer in;
    PyObject *owner; /* the bytes object that contains `in`; NULL if `in` is in the caller's buffer */
    char *memory;    /* the caller's memory; NULL if the output is bytes */
    size_t limit;
    size_t size;
    PyObject *pieces; /* the output: bytes, a list of bytes, or NULL if there is none yet */
    size_t left;      /* libzstd's result for the last frame, if it is an error */
} Work;

/* Add bytes to the output; the reference is stolen. Return 0, or -1 with an exception set. */
static int work_add(Work *work, PyObject *piece)
{
    int result = 0;
    if (work->pieces == NULL) {
        work->pieces = piece;
        return 0;
    }
    if (PyBytes_CheckExact(work->pieces)) {
        PyObject *list = PyList_New(1);
        if (list == NULL) {
            Py_DECREF(piece);
            return -1;
        }
        PyList_SET_ITEM(list, 0, work->pieces);
        work->pieces = list;
    }
    result = PyList_Append(work->pieces, piece);
    Py_DECREF(piece);
    return result;
}

/* Decompress up to the end of a frame; return 0, or -1 with an exception set or an error in `left`. */
static int work_step(Work *work, Decompressor *decompressor)
{
    size_t room = work->limit - work->size;
    work->left = 0;
    if (work->memory != NULL && work->size == 0)
        return frame_into(decompressor, &work->in, work->memory, room, &work->size, &work->left);
    /* in the caller's memory, a frame that fails must not write after the content of earlier frames, so a copy is
       made */
    Py_ssize_t limit = work->limit == SIZE_MAX ? -1 : (Py_ssize_t)room;
    PyObject *piece = frame_bytes(decompressor, &work->in, limit, &work->left);
    if (piece == NULL)
        return -1;
    size_t size = (size_t)PyBytes_GET_SIZE(piece);
    int result = 0;
    if (work->memory != NULL) {
        memcpy(work->memory + work->size, PyBytes_AS_STRING(piece), size);
        Py_DECREF(piece);
    }
    else {
        result = work_add(work, piece);
    }
    work->size += size;
    return result;
}

/* Decompress as far as the input and the limit allow; return 0, or -1 with an exception set. */
static int work_run(Work *work, Decompressor *decompressor)
{
    do {
        if (work_step(work, decompressor) < 0) {
            if (!ZSTD_isError(work->left))
                return -1;
            if (work->size == 0 || !decompressor->goes_on) {
                const unsigned long long at = decompressor->offset + work->in.pos;
                const int is_magic = ZSTD_getErrorCode(work->left) == ZSTD_error_prefix_unknown;
                raise_made(call_presets("decompression_error", "KK", (unsigned long long)work->left,
                                        is_magic ? at - decompressor->head_before : at));
                return -1;
            }
            /* the failed frame begins at the input's position, so the next call raises its error */
            decompressor_restart(decompressor);
            return 0;
        }
    } while (decompressor->at_start && decompressor->goes_on && work->in.pos < work->in.size &&
             work->size < work->limit);
    return 0;
}

/* Set the input: the unused data of earlier calls, then the data of this call; return 0, or -1 with an exception
   set. */
static int work_take(Work *work, Decompressor *decompressor, const Input *data)
{
    PyObject *pending = decompressor->pending;
    Py_ssize_t start = decompressor->position;
    work->in = (ZSTD_inBuffer){data->start, data->size, 0};
    if (pending == NULL)
        return 0;
    if (data->size == 0) {
        work->owner = new_ref(pending);
        work->in = (ZSTD_inBuffer){PyBytes_AS_STRING(pending), (size_t)PyBytes_GET_SIZE(pending), (size_t)start};
        return 0;
    }
    size_t rest = (size_t)(PyBytes_GET_SIZE(pending) - start);
    work->owner = rest + data->size > (size_t)PY_SSIZE_T_MAX
                      ? PyErr_NoMemory()
                      : PyBytes_FromStringAndSize(NULL, (Py_ssize_t)(rest + data->size));
    if (work->owner == NULL)
        return -1;
    char *joined = PyBytes_AS_STRING(work->owner);
    memcpy(joined, PyBytes_AS_STRING(pending) + start, rest);
    memcpy(joined + rest, data->start, data->size);
    decompressor->offset += (unsigned long long)start;
    work->in = (ZSTD_inBuffer){joined, rest + data->size, 0};
    return 0;
}

/* Keep the unused input, which is part of `data` if it has no owner; return 0, or -1 with an exception set. */
static int work_keep(Work *work, Decompressor *decompressor, PyObject *data)
{
    PyObject *kept = NULL;
    Py_ssize_t position = 0;
    if (work->in.pos == work->in.size) {
        decompressor->offset += work->in.pos;
    }
    else if (work->owner != NULL || PyBytes_CheckExact(data)) {
        kept = new_ref(work->owner != NULL ? work->owner : data);
        position = (Py_ssize_t)work->in.pos;
    }
    else { /* copy, because the caller may change its buffer after the call */
        kept = PyBytes_FromStringAndSize((const char *)work->in.src + work->in.pos,
                                         (Py_ssize_t)(work->in.size - work->in.pos));
        if (kept == NULL)
            return -1;
        decompressor->offset += work->in.pos;
    }
    Py_XSETREF(decompressor->pending, kept);
    decompressor->position = position;
    return 0;
}

/* Process a call whose data is `data`, the contents of the object `given`; return 0, or -1 with an exception set. */
static int work_do(Work *work, Decompressor *decompressor, const Input *data, PyObject *given)
{
    if (decompressor->is_eof && !decompressor->is_multi_frame) {
        PyErr_SetString(PyExc_EOFError, "Already at the end of a Zstandard frame.");
        return -1;
    }
    if (decompressor->pending == NULL && data->size == 0 && (decompressor->needs_input || work->limit == 0)) {
        SET_SHOWN(decompressor->needs_input, work->limit != 0 || decompressor->is_eof);
        return 0;
    }
    int result = work_take(work, decompressor, data);
    /* with a limit of 0 there is no output, and libzstd would treat the 17th such call as an error */
    if (result == 0 && (work->limit != 0 || decompressor->pending == NULL))
        result = work_run(work, decompressor);
    else if (result == 0)
        return work_keep(work, decompressor, given);
    int is_used_up = result == 0 && work->in.pos == work->in.size;
    if (result == 0)
        result = work_keep(work, decompressor, given);
    if (result < 0) {
        PyObject *type, *value, *traceback;
        PyErr_Fetch(&type, &value, &traceback);
        decompressor_forget(decompressor);
        decompressor_restart(decompressor);
        PyErr_Restore(type, value, traceback);
        return -1;
    }
    int is_eof = decompressor->at_start && (is_used_up || !decompressor->is_multi_frame);
    int is_over = is_eof && !decompressor->is_multi_frame;
    SET_SHOWN(decompressor->is_eof, is_eof);
    SET_SHOWN(decompressor->needs_input, is_used_up && !is_over && (work->size != work->limit || is_eof));
    if (is_over)
        decompressor_give_back(decompressor, 0);
    return 0;
}

/* Take a turn and process a call in it; return 0, or -1 with an exception set. */
static int decompressor_run(PyObject *self, Work *work, PyObject *data)
{
    Decompressor *decompressor = (Decompressor *)self;
    Input in;
    if (input_open(&in, data) < 0)
        return -1;
    int result = turn_enter(self, &decompressor->turn);
    if (result == 0) {
        result = work_do(work, decompressor, &in, data);
        turn_leave(&decompressor->turn);
    }
    Py_CLEAR(work->owner);
    input_close(&in);
    return result;
}

static Signature decompress_signature = {
    .name = "decompress", .n_required = 1, .n_positional = 2, .positional_name = {"data", "max_length"}};

static PyObject *decompressor_decompress(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    PyObject *values[2] = {NULL, NULL};
    if (arguments_read(&decompress_signature, args, nargs, kwnames, values, NULL) < 0)
        return NULL;
    Py_ssize_t limit = values[1] == NULL ? -1 : PyNumber_AsSsize_t(values[1], NULL);
    if (limit == -1 && PyErr_Occurred())
        return NULL;
    Work work = {.limit = limit < 0 ? SIZE_MAX : (size_t)limit};
    PyObject *content = NULL;
    if (decompressor_run(self, &work, values[0]) == 0) {
        if (work.pieces == NULL)
            return PyBytes_FromStringAndSize(NULL, 0);
        if (PyBytes_CheckExact(work.pieces))
            return work.pieces;
        PyObject *empty = PyBytes_FromStringAndSize(NULL, 0);
        content = empty == NULL ? NULL : PyObject_CallMethod(empty, "join", "O", work.pieces);
        Py_XDECREF(empty);
    }
    Py_XDECREF(work.pieces);
    return content;
}

/*
 * _decompress_into(data, buffer): do the same as decompress(), but store the content in a writable buffer, and return
 * the number of bytes stored. File objects read with this method.
 */
static PyObject *decompressor_into(PyObject *self, PyObject *const *args, Py_ssize_t nargs)
{
    Py_buffer view;
    if (check_count("_decompress_into", nargs, 2) < 0 || PyObject_GetBuffer(args[1], &view, PyBUF_WRITABLE) < 0)
        return NULL;
    Work work = {.memory = view.buf, .limit = (size_t)view.len};
    int result = decompressor_run(self, &work, args[0]);
    PyBuffer_Release(&view);
    return result < 0 ? NULL : PyLong_FromSize_t(work.size);
}

static PyObject *decompressor_unused(PyObject *self, void *Py_UNUSED(unused))
{
    Decompressor *decompressor = (Decompressor *)self;
    PyObject *rest = NULL;
    if (turn_enter(self, &decompressor->turn) < 0)
        return NULL;
    if (decompressor->position > 0 && decompressor->is_eof && decompressor->pending != NULL) {
        rest = PyBytes_FromStringAndSize(PyBytes_AS_STRING(decompressor->pending) + decompressor->position,
                                         PyBytes_GET_SIZE(decompressor->pending) - decompressor->position);
        if (rest != NULL) {
            Py_SETREF(decompressor->pending, new_ref(rest));
            decompressor->position = 0;
        }
    }
    else if (decompressor->is_eof && decompressor->pending != NULL) {
        rest = new_ref(decompressor->pending);
    }
    else {
        rest = PyBytes_FromStringAndSize(NULL, 0);
    }
    turn_leave(&decompressor->turn);
    return rest;
}

static PyObject *decompressor_memory_size(PyObject *self, PyObject *Py_UNUSED(unused))
{
    Decompressor *decompressor = (Decompressor *)self;
    if (turn_enter(self, &decompressor->turn) < 0)
        return NULL;
    PyObject *size = decompressor_take(decompressor) < 0 ? NULL
                                                         : PyLong_FromSize_t(ZSTD_sizeof_DCtx(decompressor->dctx));
    turn_leave(&decompressor->turn);
    return size;
}

/* _release(): give back the context, except if a signal handler calls this inside a call that uses the context. */
static PyObject *decompressor_release(PyObject *self, PyObject *Py_UNUSED(unused))
{
    Decompressor *decompressor = (Decompressor *)self;
    if (decompressor->turn.owner != PyThread_get_thread_ident()) {
        if (turn_enter(self, &decompressor->turn) < 0)
            return NULL;
        decompressor_give_back(decompressor, 0);
        turn_leave(&decompressor->turn);
    }
    Py_RETURN_NONE;
}

static PyMethodDef decompressor_methods[] = {
    {"decompress", AS_METHOD(decompressor_decompress), FASTCALL,
     "decompress($self, /, data, max_length=-1)\n--\n\n" DOCUMENTED_ZstdDecompressor_decompress},
    {"_decompress_into", AS_METHOD(decompressor_into), METH_FASTCALL, NULL},
    {"_memory_size", decompressor_memory_size, METH_NOARGS, NULL},
    {"_over", decompressor_over, METH_VARARGS | METH_CLASS, NULL},
    {"_release", decompressor_release, METH_NOARGS, NULL},
    {"__reduce_ex__", object_refuse_pickling, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef decompressor_getset[] = {
    {"unused_data", decompressor_unused, NULL, DOCUMENTED_ZstdDecompressor_unused_data, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMemberDef decompressor_members[] = {
    {"eof", T_BOOL, offsetof(Decompressor, is_eof), READONLY, DOCUMENTED_ZstdDecompressor_eof},
    {"needs_input", T_BOOL, offsetof(Decompressor, needs_input), READONLY, DOCUMENTED_ZstdDecompressor_needs_input},
    {"_at_start", T_BOOL, offsetof(Decompressor, at_start), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

DECLARE_TYPE(decompressor, "cpkg._native.zstd.compiled._Decompressor", Decompressor,
             Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
             {Py_tp_doc,
              "_Decompressor(zstd_dict=None, options=None, *, multi_frame=False)\n--\n\n" DOCUMENTED_ZstdDecompressor},
             {Py_tp_init, decompressor_init}, COLLECTED_SLOTS(decompressor), {Py_tp_methods, decompressor_methods},
             {Py_tp_getset, decompressor_getset}, {Py_tp_members, decompressor_members})
