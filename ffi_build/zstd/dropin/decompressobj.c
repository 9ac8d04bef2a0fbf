/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ZstdDecompressionObj: decompressing what a caller hands over, without a file.
 * cpkg/zstandard/decompression_objects.py is the same in Python.
 */
#pragma once

#include "../streams/calls.c"
#include "../streams/decoder.c"
#include "../streams/object.c"
#include "../streams/turn.c"

typedef struct {
    PyObject_HEAD
    Turn turn;
    Decoder decoder;
    PyObject *unused;  /* bytes; NULL before the end of the frame */
    PyObject *failure; /* a str */
    unsigned long long taken;
    int read_across_frames;
    int is_cleared; /* by the collector */
} DecompressionObj;

static PyTypeObject *decompression_obj_type;

static int decompression_obj_clear(PyObject *self)
{
    DecompressionObj *obj = (DecompressionObj *)self;
    obj->is_cleared = 1;
    decoder_clear(&obj->decoder);
    Py_CLEAR(obj->unused);
    Py_CLEAR(obj->failure);
    return 0;
}

OBJECT_WITH_TURN(decompression_obj, DecompressionObj, decoder)

/* Join two bytes objects and release them; the first may be NULL. */
static PyObject *bytes_joined(PyObject *first, PyObject *second)
{
    if (first == NULL || second == NULL)
        return second;
    PyBytes_ConcatAndDel(&first, second);
    return first;
}

static PyObject *decompression_obj_run(DecompressionObj *obj, const Input *data)
{
    ZSTD_inBuffer in = {data->start, data->size, 0};
    PyObject *content = NULL;
    if (obj->unused != NULL)
        return raise_zstd_error("cannot use a decompressobj multiple times");
    if (obj->failure != NULL)
        return raise_from("purepy.errors", "ZstdError", new_ref(obj->failure));
    if (obj->is_cleared)
        return raise_zstd_error("the collector has cleared this object");
    if (data->size == 0)
        return PyBytes_FromStringAndSize(NULL, 0);
    do {
        PyObject *more = decoder_step(&obj->decoder, &in, -1, obj->taken);
        if (more == NULL) {
            Py_CLEAR(content);
            obj->failure = failure_text("%U", PyObject_Str);
            return NULL;
        }
        content = bytes_joined(content, more);
    } while (content != NULL && obj->read_across_frames && !obj->decoder.is_drained);
    obj->taken += data->size;
    if (content != NULL && !obj->read_across_frames && obj->decoder.at_start) {
        obj->unused = PyBytes_FromStringAndSize(data->start + in.pos, (Py_ssize_t)(data->size - in.pos));
        decoder_release(&obj->decoder);
        if (obj->unused == NULL)
            Py_CLEAR(content);
    }
    return content;
}

static PyObject *decompression_obj_decompress(PyObject *self, PyObject *const *args, Py_ssize_t nargs,
                                              PyObject *kwnames)
{
    DecompressionObj *obj = (DecompressionObj *)self;
    PyObject *data, *content = NULL;
    Input in;
    if (take_only_argument("decompress", "data", 1, args, nargs, kwnames, &data) < 0 || input_open(&in, data) < 0)
        return NULL;
    if (turn_enter(self, &obj->turn) == 0) {
        content = decompression_obj_run(obj, &in);
        turn_leave(self, &obj->turn);
    }
    input_close(&in);
    return content;
}

static PyObject *decompression_obj_flush(PyObject *Py_UNUSED(self), PyObject *const *args, Py_ssize_t nargs,
                                         PyObject *kwnames)
{
    PyObject *length;
    return take_only_argument("flush", "length", 0, args, nargs, kwnames, &length) < 0
               ? NULL
               : PyBytes_FromStringAndSize(NULL, 0);
}

static PyObject *decompression_obj_unused(PyObject *self, void *Py_UNUSED(unused))
{
    PyObject *found = ((DecompressionObj *)self)->unused;
    return found != NULL ? new_ref(found) : PyBytes_FromStringAndSize(NULL, 0);
}

static PyObject *decompression_obj_tail(PyObject *Py_UNUSED(self), void *Py_UNUSED(unused))
{
    return PyBytes_FromStringAndSize(NULL, 0);
}

static PyObject *decompression_obj_eof(PyObject *self, void *Py_UNUSED(unused))
{
    return PyBool_FromLong(((DecompressionObj *)self)->unused != NULL);
}

static PyMethodDef decompression_obj_methods[] = {
    {"decompress", AS_METHOD(decompression_obj_decompress), FASTCALL,
     "decompress($self, /, data)\n--\n\n" DROPIN_ZstdDecompressionObj_decompress},
    {"flush", AS_METHOD(decompression_obj_flush), FASTCALL,
     "flush($self, /, length=0)\n--\n\n" DROPIN_ZstdDecompressionObj_flush},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef decompression_obj_getset[] = {
    {"unused_data", decompression_obj_unused, NULL, DROPIN_ZstdDecompressionObj_unused_data, NULL},
    {"unconsumed_tail", decompression_obj_tail, NULL, DROPIN_ZstdDecompressionObj_unconsumed_tail, NULL},
    {"eof", decompression_obj_eof, NULL, DROPIN_ZstdDecompressionObj_eof, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot decompression_obj_slots[] = {
    {Py_tp_doc, DROPIN_ZstdDecompressionObj},
    OBJECT_SLOTS(decompression_obj),
    {Py_tp_methods, decompression_obj_methods},
    {Py_tp_getset, decompression_obj_getset},
    {0, NULL},
};

static PyType_Spec decompression_obj_spec =
    OBJECT_SPEC("ZstdDecompressionObj", DecompressionObj, decompression_obj_slots);

/* _decompressobj(read_across_frames) */
static PyObject *make_decompression_obj(PyObject *preset, PyObject *is_wanted)
{
    int read_across_frames = PyObject_IsTrue(is_wanted);
    DecompressionObj *obj = read_across_frames < 0 ? NULL : object_new(decompression_obj_type);
    if (obj == NULL || decoder_open(&obj->decoder, (DecompressionPreset *)preset) < 0) {
        Py_XDECREF(obj);
        return NULL;
    }
    obj->read_across_frames = read_across_frames;
    return (PyObject *)obj;
}
