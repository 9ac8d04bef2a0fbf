/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ZstdCompressionObj and ZstdDecompressionObj: what a caller hands over is compressed or decompressed, without a file.
 * cpkg/zstandard/compression_objects.py and cpkg/zstandard/decompression_objects.py are the same in Python.
 */
#pragma once

#include "../streams/calls.c"
#include "../streams/decoder.c"
#include "../streams/feed.c"
#include "../streams/object.c"

static PyTypeObject *compression_obj_type, *decompression_obj_type;

/* Do a method whose only argument is data, in a turn. Returns what `run` does, or NULL with an exception set. */
static ALWAYS_INLINE PyObject *run_in_turn(PyObject *self, Turn *turn, PyObject *(*run)(PyObject *, const Input *),
                                           const char *name, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    PyObject *data, *result = NULL;
    Input in;
    if (take_only_argument(name, "data", 1, args, nargs, kwnames, &data) < 0 || input_open(&in, data) < 0)
        return NULL;
    if (turn_enter(self, turn) == 0) {
        result = run(self, &in);
        turn_leave(self, turn);
    }
    input_close(&in);
    return result;
}

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

static PyObject *compression_obj_run(PyObject *self, const Input *data)
{
    CompressionObj *obj = (CompressionObj *)self;
    return obj->is_finished ? raise_zstd_error("cannot call compress() after compressor finished")
                            : feed_push(&obj->feed, data, ZSTD_e_continue);
}

static PyObject *compression_obj_compress(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    return run_in_turn(self, &((CompressionObj *)self)->turn, compression_obj_run, "compress", args, nargs, kwnames);
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

DECLARE_STREAM_TYPE(compression_obj, "ZstdCompressionObj", CompressionObj, {Py_tp_doc, DROPIN_ZstdCompressionObj},
                    {Py_tp_methods, compression_obj_methods})

/* _compressobj(size) */
static PyObject *make_compression_obj(PyObject *preset, PyObject *size)
{
    CompressionObj *obj = object_new(compression_obj_type);
    if (obj != NULL && feed_open(&obj->feed, (CompressionPreset *)preset, size) < 0)
        Py_CLEAR(obj);
    return (PyObject *)obj;
}

/* ---- the one that decompresses ---- */

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

static PyObject *decompression_obj_run(PyObject *self, const Input *data)
{
    DecompressionObj *obj = (DecompressionObj *)self;
    ZSTD_inBuffer in = {data->start, data->size, 0};
    PyObject *content = NULL;
    if (obj->unused != NULL)
        return raise_zstd_error("cannot use a decompressobj multiple times");
    if (obj->failure != NULL)
        return raise_from("purepy.base.errors", "ZstdError", new_ref(obj->failure));
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
    return run_in_turn(self, &((DecompressionObj *)self)->turn, decompression_obj_run, "decompress", args, nargs,
                       kwnames);
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

DECLARE_STREAM_TYPE(decompression_obj, "ZstdDecompressionObj", DecompressionObj,
                    {Py_tp_doc, DROPIN_ZstdDecompressionObj}, {Py_tp_methods, decompression_obj_methods},
                    {Py_tp_getset, decompression_obj_getset})

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
