/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ZstdCompressionObj: compressing what a caller hands over, without a file.
 * cpkg/zstandard/compression_objects.py is the same in Python.
 */
#pragma once

#include "../streams/calls.c"
#include "../streams/feed.c"
#include "../streams/object.c"
#include "../streams/turn.c"

/* Modes of ZstdCompressionObj.flush(). */
enum { OBJ_FINISH = 0, OBJ_BLOCK = 1 };

typedef struct {
    PyObject_HEAD
    Turn turn;
    Feed feed;
    int is_finished;
} CompressionObj;

static int compression_obj_clear(PyObject *self)
{
    ((CompressionObj *)self)->is_finished = 1;
    feed_clear(&((CompressionObj *)self)->feed);
    return 0;
}

OBJECT_WITH_TURN(compression_obj, CompressionObj, feed)

static PyObject *compression_obj_compress(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    CompressionObj *obj = (CompressionObj *)self;
    PyObject *data, *output = NULL;
    Input in;
    if (take_only_argument("compress", "data", 1, args, nargs, kwnames, &data) < 0 || input_open(&in, data) < 0)
        return NULL;
    if (turn_enter(self, &obj->turn) == 0) {
        output = obj->is_finished ? raise_zstd_error("cannot call compress() after compressor finished")
                                  : feed_push(&obj->feed, &in, ZSTD_e_continue);
        turn_leave(self, &obj->turn);
    }
    input_close(&in);
    return output;
}

static PyObject *compression_obj_flush(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    CompressionObj *obj = (CompressionObj *)self;
    PyObject *given, *output = NULL;
    if (take_only_argument("flush", "flush_mode", 0, args, nargs, kwnames, &given) < 0)
        return NULL;
    long mode = given == NULL ? OBJ_FINISH : PyLong_AsLong(given);
    if (mode == -1 && PyErr_Occurred())
        return NULL;
    if (mode != OBJ_FINISH && mode != OBJ_BLOCK) {
        PyErr_SetString(PyExc_ValueError, "flush mode not recognized");
        return NULL;
    }
    if (turn_enter(self, &obj->turn) < 0)
        return NULL;
    if (obj->is_finished) {
        raise_zstd_error("compressor object already finished");
    }
    else if (mode == OBJ_BLOCK) {
        output = feed_flush(&obj->feed, ZSTD_e_flush);
    }
    else {
        obj->is_finished = 1;
        output = feed_flush(&obj->feed, ZSTD_e_end);
        feed_release(&obj->feed);
    }
    turn_leave(self, &obj->turn);
    return output;
}

static PyMethodDef compression_obj_methods[] = {
    {"compress", AS_METHOD(compression_obj_compress), FASTCALL,
     "compress($self, /, data)\n--\n\n" DROPIN_ZstdCompressionObj_compress},
    {"flush", AS_METHOD(compression_obj_flush), FASTCALL,
     "flush($self, /, flush_mode=0)\n--\n\n" DROPIN_ZstdCompressionObj_flush},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot compression_obj_slots[] = {
    {Py_tp_doc, DROPIN_ZstdCompressionObj},
    OBJECT_SLOTS(compression_obj),
    {Py_tp_methods, compression_obj_methods},
    {0, NULL},
};

static PyType_Spec compression_obj_spec = OBJECT_SPEC("ZstdCompressionObj", CompressionObj, compression_obj_slots);

static PyTypeObject *compression_obj_type;

/* _compressobj(size) */
static PyObject *make_compression_obj(PyObject *preset, PyObject *size)
{
    CompressionObj *obj = object_new(compression_obj_type);
    if (obj != NULL && feed_open(&obj->feed, (CompressionPreset *)preset, size) < 0)
        Py_CLEAR(obj);
    return (PyObject *)obj;
}
