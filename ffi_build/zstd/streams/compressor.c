/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ZstdCompressor of cpkg.zstd, which cpkg.zstandard's compression streams also use. It compresses frame after frame
 * with a context of a preset. After an error, a new frame begins. cpkg/_native/zstd/compressor.py does the same in
 * Python, for interpreters without this module.
 */
#pragma once

#include <unistd.h>

#include <zstd.h>

#include "../../common/arguments.c"
#include "../compression_preset.c"
#include "chunks.c"
#include "raising.c"
#include "turn.c"

typedef struct {
    PyObject_HEAD
    Turn turn;
    CompressionPreset *preset;
    ZSTD_CCtx *cctx; /* the context; NULL before it is needed and after it was given back */
    PyObject *lent;  /* the owner of a context that Python has lent */
    long process;    /* the only process that may use this context; 0: any */
    int last_mode;   /* the mode of the last call; ZSTD_e_end if no frame has begun */
    int is_pledged;
    unsigned long long left; /* the rest of the pledged size */
} Compressor;

/* Take a context from the preset; return 0, or -1 with an exception set. */
static int compressor_take(Compressor *compressor)
{
    CompressionPreset *preset = compressor->preset;
    compressor->process = 0;
    if (preset->is_ready) {
        Kept *kept = kept_here();
        compressor->cctx = kept != NULL ? preset_take_cctx(preset, kept) : (void *)PyErr_NoMemory();
    }
    else {
        compressor->cctx = preset_borrow((PyObject *)preset, &compressor->lent, &compressor->process);
    }
    return compressor->cctx == NULL ? -1 : 0;
}

/* Give back the context, if there is one; keep an exception that is set. */
static void compressor_give_back(Compressor *compressor, int has_failed)
{
    ZSTD_CCtx *cctx = compressor->cctx;
    compressor->cctx = NULL;
    if (compressor->lent != NULL)
        preset_return((PyObject *)compressor->preset, &compressor->lent, has_failed);
    else if (cctx != NULL && (has_failed || ZSTD_isError(ZSTD_CCtx_reset(cctx, ZSTD_reset_session_only))))
        ZSTD_freeCCtx(cctx);
    else if (cctx != NULL)
        preset_give_cctx(compressor->preset, cctx);
}

/* Initialize with a preset; return 0, or -1 with an exception set. */
static int compressor_open(Compressor *compressor, PyObject *preset)
{
    SET_SHOWN(compressor->last_mode, ZSTD_e_end);
    compressor->preset = (CompressionPreset *)new_ref(preset);
    if (compressor_take(compressor) < 0)
        return -1;
    turn_make(&compressor->turn);
    return 0;
}

static int compressor_traverse(PyObject *self, visitproc visit, void *arg)
{
    Compressor *compressor = (Compressor *)self;
    VISIT_TYPE(self);
    Py_VISIT(compressor->preset);
    Py_VISIT(compressor->lent);
    return 0;
}

static int compressor_clear(PyObject *self)
{
    Compressor *compressor = (Compressor *)self;
    if (compressor->lent != NULL) {
        compressor->cctx = NULL; /* its owner frees it */
        Py_CLEAR(compressor->lent);
    }
    compressor_give_back(compressor, 0);
    Py_CLEAR(compressor->preset);
    return 0;
}

COLLECTED_DEALLOC(compressor, turn_free(&((Compressor *)self)->turn))

/*
 * Return a preset for a level (an int or None), created without Python code. Return NULL with an exception set, or
 * without one if the level is out of range.
 */
static PyObject *plain_settings(PyObject *level)
{
    int overflow = 0;
    long number = level == Py_None ? 0 : PyLong_AsLongAndOverflow(level, &overflow);
    if (overflow != 0 || number < ZSTD_minCLevel() || number > ZSTD_maxCLevel())
        return NULL;
    CompressionPreset *preset = object_new(compression_preset_type);
    if (preset != NULL) {
        preset->parameters[0] = (Parameter){ZSTD_c_compressionLevel, (int)number};
        preset->count = level != Py_None;
        preset->is_ready = preset->is_plain = 1;
    }
    return (PyObject *)preset;
}

/* Refuse to initialize an object again, because a call may be using it; return 0, or -1 with an exception set. */
static int check_first_init(PyObject *self, const void *preset)
{
    if (preset == NULL)
        return 0;
    PyErr_Format(PyExc_RuntimeError, "%s is already initialized", Py_TYPE(self)->tp_name);
    return -1;
}

static int compressor_init(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"level", "options", "zstd_dict", NULL};
    Compressor *compressor = (Compressor *)self;
    PyObject *level = Py_None, *options = Py_None, *dictionary = Py_None, *preset = NULL;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|OOO:ZstdCompressor", names, &level, &options, &dictionary) ||
        check_first_init(self, compressor->preset) < 0)
        return -1;
    if (options == Py_None && dictionary == Py_None && (level == Py_None || PyLong_CheckExact(level)))
        preset = plain_settings(level);
    if (preset == NULL && !PyErr_Occurred())
        preset = call_presets("compression_of", "OOO", level, options, dictionary);
    /* reading the arguments may have called Python code, which may have initialized the object */
    int result = preset == NULL ? -1 : check_first_init(self, compressor->preset);
    if (result == 0)
        result = compressor_open(compressor, preset);
    Py_XDECREF(preset);
    return result;
}

/* _over(preset): return a compressor with the settings of a preset. */
static PyObject *compressor_over(PyObject *type, PyObject *preset)
{
    Compressor *compressor = object_new((PyTypeObject *)type);
    if (compressor != NULL && compressor_open(compressor, preset) < 0)
        Py_CLEAR(compressor);
    return (PyObject *)compressor;
}

/* Refuse to continue in a forked child, which has no worker threads; return 0, or -1 with an exception set. */
static int compressor_check_process(const Compressor *compressor)
{
    if (compressor->cctx == NULL || compressor->process == 0 || compressor->process == (long)getpid())
        return 0;
    PyErr_SetString(PyExc_RuntimeError,
                    "a compressor with nb_workers cannot be used in a forked child: create a new one");
    return -1;
}

/* Begin a turn and take a context; return 0, or -1 with an exception set. */
static int compressor_enter(PyObject *self)
{
    Compressor *compressor = (Compressor *)self;
    if (turn_enter(self, &compressor->turn) < 0)
        return -1;
    if (compressor_check_process(compressor) == 0 && (compressor->cctx != NULL || compressor_take(compressor) == 0))
        return 0;
    turn_leave(&compressor->turn);
    return -1;
}

/* Check the pledged size before data is consumed; return 0, or -1 with an exception set. */
static int compressor_check_pledge(Compressor *compressor, size_t size, int mode)
{
    unsigned long long left = compressor->left;
    if (mode == ZSTD_e_end && compressor->last_mode == ZSTD_e_end)
        return 0; /* libzstd declares the size of the data of a frame that is compressed in one call */
    if (size > left || (size < left && mode == ZSTD_e_end)) {
        PyObject *difference = PyLong_FromUnsignedLongLong(size > left ? size - left : left - size);
        PyObject *more = size > left ? Py_True : Py_False;
        raise_made(difference == NULL ? NULL : call_presets("pledge_error", "NO", difference, more));
        return -1;
    }
    compressor->left -= size;
    return 0;
}

/* Compress an input during a turn; `mode` is a ZSTD_EndDirective. Return bytes, or NULL with an exception set. */
static PyObject *compressor_run(PyObject *self, const Input *data, int mode)
{
    Compressor *compressor = (Compressor *)self;
    PyObject *output = NULL;
    size_t result = 0;
    if (compressor_enter(self) < 0)
        return NULL;
    if (!compressor->is_pledged || compressor_check_pledge(compressor, data->size, mode) == 0) {
        output = compress_chunk(compressor->cctx, data, mode, &result);
        if (output == NULL) {
            if (ZSTD_isError(result))
                raise_made(call_presets("compression_error", "(K)", (unsigned long long)result));
            compressor_give_back(compressor, 1);
            mode = ZSTD_e_end;
        }
        compressor->is_pledged &= mode != ZSTD_e_end;
        SET_SHOWN(compressor->last_mode, mode);
    }
    turn_leave(&compressor->turn);
    return output;
}

/* Read a mode from `least` to ZSTD_e_end, or return `mode` if the argument is missing; -1 with an exception set. */
static int take_mode(PyObject *argument, int least, int mode, const char *wrong)
{
    if (argument != NULL) {
        Py_ssize_t number = PyNumber_AsSsize_t(argument, NULL);
        if (number == -1 && PyErr_Occurred())
            return -1;
        if (number < least || number > ZSTD_e_end) {
            PyErr_SetString(PyExc_ValueError, wrong);
            return -1;
        }
        mode = (int)number;
    }
    return mode;
}

static Signature compress_signature = {
    .name = "compress", .n_required = 1, .n_positional = 2, .positional_name = {"data", "mode"}};
static Signature flush_signature = {.name = "flush", .n_positional = 1, .positional_name = {"mode"}};

static PyObject *compressor_compress(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    PyObject *values[2] = {NULL, NULL};
    Input in;
    if (arguments_read(&compress_signature, args, nargs, kwnames, values, NULL) < 0)
        return NULL;
    int mode = take_mode(values[1], ZSTD_e_continue, ZSTD_e_continue,
                         "mode argument wrong value, it should be one of ZstdCompressor.CONTINUE, "
                         "ZstdCompressor.FLUSH_BLOCK, ZstdCompressor.FLUSH_FRAME.");
    if (mode < 0 || input_open(&in, values[0]) < 0)
        return NULL;
    PyObject *output = compressor_run(self, &in, mode);
    input_close(&in);
    return output;
}

static PyObject *compressor_flush(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    const Input nothing = {"", 0, {0}};
    PyObject *value = NULL;
    if (arguments_read(&flush_signature, args, nargs, kwnames, &value, NULL) < 0)
        return NULL;
    int mode = take_mode(value, ZSTD_e_flush, ZSTD_e_end,
                         "mode argument wrong value, it should be ZstdCompressor.FLUSH_FRAME or "
                         "ZstdCompressor.FLUSH_BLOCK.");
    return mode < 0 ? NULL : compressor_run(self, &nothing, mode);
}

/* Read a pledged size; return 0, or -1 with an exception set. */
static int take_pledge(PyObject *size, unsigned long long *left)
{
    PyObject *number = PyNumber_Index(size);
    if (number == NULL)
        return -1;
    *left = PyLong_AsUnsignedLongLong(number); /* after an error the largest number, which is not a valid size */
    Py_DECREF(number);
    if (*left < ZSTD_CONTENTSIZE_ERROR)
        return 0;
    PyErr_Format(PyExc_ValueError, "size argument should be a positive int less than %llu", ZSTD_CONTENTSIZE_ERROR);
    return -1;
}

static PyObject *compressor_pledge(PyObject *self, PyObject *size)
{
    Compressor *compressor = (Compressor *)self;
    unsigned long long left = ZSTD_CONTENTSIZE_UNKNOWN;
    if ((size != Py_None && take_pledge(size, &left) < 0) || compressor_enter(self) < 0)
        return NULL;
    PyObject *done = NULL;
    if (compressor->last_mode != ZSTD_e_end) {
        PyErr_SetString(PyExc_ValueError,
                        "set_pledged_input_size() method must be called when last_mode == FLUSH_FRAME");
    }
    else {
        compressor->is_pledged = size != Py_None;
        compressor->left = left;
        ZSTD_CCtx_setPledgedSrcSize(compressor->cctx, left);
        done = new_ref(Py_None);
    }
    turn_leave(&compressor->turn);
    return done;
}

static PyObject *compressor_memory_size(PyObject *self, PyObject *Py_UNUSED(unused))
{
    if (compressor_enter(self) < 0)
        return NULL;
    size_t size = ZSTD_sizeof_CCtx(((Compressor *)self)->cctx);
    turn_leave(&((Compressor *)self)->turn);
    return PyLong_FromSize_t(size);
}

/* _release(): give back the context, except if a signal handler calls this inside a call that uses the context. */
static PyObject *compressor_release(PyObject *self, PyObject *Py_UNUSED(unused))
{
    Compressor *compressor = (Compressor *)self;
    if (compressor->turn.owner != PyThread_get_thread_ident()) {
        if (turn_enter(self, &compressor->turn) < 0)
            return NULL;
        compressor_give_back(compressor, 0);
        turn_leave(&compressor->turn);
    }
    Py_RETURN_NONE;
}

static PyMethodDef compressor_methods[] = {
    {"compress", AS_METHOD(compressor_compress), FASTCALL,
     "compress($self, /, data, mode=0)\n--\n\n" DOCUMENTED_ZstdCompressor_compress},
    {"flush", AS_METHOD(compressor_flush), FASTCALL, "flush($self, /, mode=2)\n--\n\n" DOCUMENTED_ZstdCompressor_flush},
    {"set_pledged_input_size", compressor_pledge, METH_O,
     "set_pledged_input_size($self, size, /)\n--\n\n" DOCUMENTED_ZstdCompressor_set_pledged_input_size},
    {"_memory_size", compressor_memory_size, METH_NOARGS, NULL},
    {"_over", compressor_over, METH_O | METH_CLASS, NULL},
    {"_release", compressor_release, METH_NOARGS, NULL},
    {"__reduce_ex__", object_refuse_pickling, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};

static PyMemberDef compressor_members[] = {
    {"last_mode", T_INT, offsetof(Compressor, last_mode), READONLY, DOCUMENTED_ZstdCompressor_last_mode},
    {NULL, 0, 0, 0, NULL},
};

DECLARE_TYPE(compressor, "cpkg._native.zstd.compiled._Compressor", Compressor, Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
             {Py_tp_doc, "_Compressor(level=None, options=None, zstd_dict=None)\n--\n\n" DOCUMENTED_ZstdCompressor},
             {Py_tp_init, compressor_init}, COLLECTED_SLOTS(compressor), {Py_tp_methods, compressor_methods},
             {Py_tp_members, compressor_members})
