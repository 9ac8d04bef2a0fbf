/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ZstdCompressor of cpkg.zstd: a Feed that goes from frame to frame, and after an error on to a new one.
 * cpkg/_native/zstd/compressor.py is the same in Python, for where there is no C.
 */
#pragma once

#include <zstd.h>

#include "calls.c"
#include "feed.c"
#include "object.c"
#include "turn.c"

typedef struct {
    PyObject_HEAD
    Turn turn;
    Feed feed;
    int last_mode;
} Compressor;

static int compressor_clear(PyObject *self)
{
    feed_clear(&((Compressor *)self)->feed);
    return 0;
}

OBJECT_WITH_TURN(compressor, Compressor, feed)

/* Return the settings of a level that needs nothing of Python, or NULL, without an exception for all others. */
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

/* Refuse to set up an object again, whose call may be under way; return 0, or -1 with an exception set. */
static int check_first_init(PyObject *self, const void *preset)
{
    if (preset == NULL)
        return 0;
    PyErr_Format(PyExc_RuntimeError, "%s is initialized once", Py_TYPE(self)->tp_name);
    return -1;
}

static int compressor_init(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"level", "options", "zstd_dict", NULL};
    Compressor *compressor = (Compressor *)self;
    PyObject *level = Py_None, *options = Py_None, *dictionary = Py_None, *preset = NULL;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|OOO:ZstdCompressor", names, &level, &options, &dictionary) ||
        check_first_init(self, compressor->feed.preset) < 0)
        return -1;
    if (options == Py_None && dictionary == Py_None && (level == Py_None || PyLong_CheckExact(level)))
        preset = plain_settings(level);
    if (preset == NULL && !PyErr_Occurred())
        preset = call_presets("compression_of", "OOO", level, options, dictionary);
    SET_SHOWN(compressor->last_mode, ZSTD_e_end);
    int result = preset == NULL ? -1 : feed_open(&compressor->feed, (CompressionPreset *)preset, NULL);
    Py_XDECREF(preset);
    return result;
}

/* _over(preset): a compressor with the settings of a preset. */
static PyObject *compressor_over(PyObject *type, PyObject *preset)
{
    Compressor *compressor = object_new((PyTypeObject *)type);
    if (compressor == NULL)
        return NULL;
    SET_SHOWN(compressor->last_mode, ZSTD_e_end);
    if (feed_open(&compressor->feed, (CompressionPreset *)preset, NULL) < 0)
        Py_CLEAR(compressor);
    return (PyObject *)compressor;
}

/* Begin a turn, with a context; return 0, or -1 with an exception set. */
static int compressor_enter(PyObject *self)
{
    Compressor *compressor = (Compressor *)self;
    Feed *feed = &compressor->feed;
    if (turn_enter(self, &compressor->turn) < 0)
        return -1;
    if (feed->preset == NULL)
        PyErr_Format(PyExc_RuntimeError, "%s is not initialized", Py_TYPE(self)->tp_name);
    else if (feed_check_process(feed) == 0 && (feed->cctx != NULL || feed_take(feed) == 0))
        return 0;
    turn_leave(self, &compressor->turn);
    return -1;
}

static PyObject *compressor_run(PyObject *self, const Input *data, int mode)
{
    Compressor *compressor = (Compressor *)self;
    Feed *feed = &compressor->feed;
    PyObject *output = NULL;
    if (compressor_enter(self) < 0)
        return NULL;
    if (!feed->is_pledged || feed_check_pledge(feed, data->size, mode) == 0) {
        output = feed_convert(feed, data, mode);
        SET_SHOWN(compressor->last_mode, output != NULL ? mode : ZSTD_e_end);
        if (output == NULL)
            feed_renew(feed);
    }
    turn_leave(self, &compressor->turn);
    return output;
}

/* Read a mode from `least` on; return it, or -1 with an exception set. */
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

static PyObject *compressor_compress(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    static const char *const names[] = {"data", "mode"};
    PyObject *values[2];
    Input in;
    if (take_arguments("compress", names, 2, 1, args, nargs, kwnames, values) < 0)
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
    PyObject *value;
    if (take_only_argument("flush", "mode", 0, args, nargs, kwnames, &value) < 0)
        return NULL;
    int mode = take_mode(value, ZSTD_e_flush, ZSTD_e_end,
                         "mode argument wrong value, it should be ZstdCompressor.FLUSH_FRAME or "
                         "ZstdCompressor.FLUSH_BLOCK.");
    return mode < 0 ? NULL : compressor_run(self, &nothing, mode);
}

static PyObject *compressor_pledge(PyObject *self, PyObject *size)
{
    Feed pledge = {.is_pledged = 0};
    if (size != Py_None) {
        PyObject *number = PyNumber_Index(size);
        int result = number == NULL ? -1 : feed_take_pledge(&pledge, number);
        Py_XDECREF(number);
        if (result < 0 || !pledge.is_pledged)
            return result < 0 ? NULL : raise_pledge_range();
    }
    if (compressor_enter(self) < 0)
        return NULL;
    Compressor *compressor = (Compressor *)self;
    PyObject *done = Py_None;
    if (compressor->last_mode != ZSTD_e_end) {
        PyErr_SetString(PyExc_ValueError,
                        "set_pledged_input_size() method must be called when last_mode == FLUSH_FRAME");
        done = NULL;
    }
    else {
        compressor->feed.is_pledged = pledge.is_pledged;
        compressor->feed.left = pledge.left;
        ZSTD_CCtx_setPledgedSrcSize(compressor->feed.cctx, pledge.is_pledged ? pledge.left : ZSTD_CONTENTSIZE_UNKNOWN);
    }
    turn_leave(self, &compressor->turn);
    Py_XINCREF(done);
    return done;
}

static PyObject *compressor_memory_size(PyObject *self, PyObject *Py_UNUSED(unused))
{
    if (compressor_enter(self) < 0)
        return NULL;
    size_t size = ZSTD_sizeof_CCtx(((Compressor *)self)->feed.cctx);
    turn_leave(self, &((Compressor *)self)->turn);
    return PyLong_FromSize_t(size);
}

/* _release(): give the context back, unless a signal handler asks inside of a call, which goes on using it. */
static PyObject *compressor_release(PyObject *self, PyObject *Py_UNUSED(unused))
{
    Compressor *compressor = (Compressor *)self;
    if (compressor->turn.owner != PyThread_get_thread_ident()) {
        if (turn_enter(self, &compressor->turn) < 0)
            return NULL;
        feed_release(&compressor->feed);
        turn_leave(self, &compressor->turn);
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
