/* SPDX-License-Identifier: Apache-2.0 */
/* ZstdDecompressionWriter: a file that decompresses what it is given and writes it to another. */
#pragma once

#include "target.c"
#include "writer_base.c"

static PyTypeObject *decompression_writer_type;

/* Decompress an input and write what comes of it; return how many bytes that were, or -1 with an exception set. */
static Py_ssize_t writer_unpack(Writer *writer, const Input *data)
{
    ZSTD_inBuffer in = {data->start, data->size, 0};
    Py_ssize_t written = 0;
    unsigned long long before = writer->taken;
    writer->taken += data->size;
    while (data->size > 0) {
        PyObject *content = decoder_step(&writer->decoder, &in, writer->write_size, before);
        int result = content == NULL ? -1 : write_pieces(writer->base.file, content, writer->write_size);
        written += content == NULL ? 0 : PyBytes_GET_SIZE(content);
        if (result < 0) {
            writer->failure = content == NULL && is_zstd_error() ? failure_text("%U", PyObject_Str)
                                                                 : failure_text("output was lost: %U", PyObject_Repr);
            Py_XDECREF(content);
            return -1;
        }
        Py_DECREF(content);
        if (writer->decoder.is_drained)
            break;
    }
    return written;
}

static PyObject *decompression_writer_write(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    Writer *writer = (Writer *)self;
    PyObject *data;
    Input in;
    if (take_only_argument("write", "data", 1, args, nargs, kwnames, &data) < 0 || file_enter(&writer->base) < 0)
        return NULL;
    Py_ssize_t written = -1;
    if (writer->failure != NULL) {
        raise_from("purepy.errors", "ZstdError", new_ref(writer->failure));
    }
    else if (input_open(&in, data) == 0) {
        written = writer_unpack(writer, &in);
        input_close(&in);
    }
    turn_leave(self, &writer->base.turn);
    return written < 0 ? NULL : PyLong_FromSsize_t(writer->returns_read ? (Py_ssize_t)in.size : written);
}

static PyObject *decompression_writer_flush(PyObject *self, PyObject *Py_UNUSED(unused))
{
    Writer *writer = (Writer *)self;
    if (file_enter(&writer->base) < 0)
        return NULL;
    int result = call_if_there(writer->base.file, name_flush);
    turn_leave(self, &writer->base.turn);
    return result < 0 ? NULL : new_ref(Py_None);
}

static PyObject *decompression_writer_end(PyObject *self)
{
    Writer *writer = (Writer *)self;
    int result = 0;
    if (!writer->base.is_closed) {
        writer->base.is_closed = 1;
        decoder_release(&writer->decoder);
        result = file_close_other(&writer->base);
        if (result == 0 && writer->failure == NULL && !writer->decoder.at_start) {
            raise_truncated(writer->taken);
            result = -1;
        }
    }
    return result < 0 ? NULL : new_ref(Py_None);
}

static PyObject *decompression_writer_close(PyObject *self, PyObject *Py_UNUSED(unused))
{
    return file_in_turn(self, decompression_writer_end);
}

/* Leave a `with` block: because of an exception the end of the data is none of interest. */
static PyObject *decompression_writer_exit(PyObject *self, PyObject *args)
{
    Writer *writer = (Writer *)self;
    PyObject *type = PyTuple_GET_SIZE(args) > 0 ? PyTuple_GET_ITEM(args, 0) : Py_None;
    if (type != Py_None && writer->failure == NULL) {
        PyObject *value = PyTuple_GET_SIZE(args) > 1 ? PyTuple_GET_ITEM(args, 1) : type;
        writer->failure = PyUnicode_FromFormat("given up because of %R", value);
        if (writer->failure == NULL) {
            PyErr_Clear();
            writer->failure = PyUnicode_FromString("given up because of an exception");
        }
    }
    return file_exit(self, args);
}

static PyObject *decompression_writer_context_size(PyObject *self)
{
    return decoder_memory_size(&((Writer *)self)->decoder);
}

static PyObject *decompression_writer_memory_size(PyObject *self, PyObject *Py_UNUSED(unused))
{
    return file_in_turn(self, decompression_writer_context_size);
}

static PyMethodDef decompression_writer_methods[] = {
    WRITER_METHODS,
    {"write", AS_METHOD(decompression_writer_write), FASTCALL,
     "write($self, /, data)\n--\n\n" DROPIN_ZstdDecompressionWriter_write},
    {"flush", decompression_writer_flush, METH_NOARGS, "flush($self, /)\n--\n\n" DROPIN_ZstdDecompressionWriter_flush},
    {"close", decompression_writer_close, METH_NOARGS, "close($self, /)\n--\n\n" DROPIN_ZstdDecompressionWriter_close},
    {"memory_size", decompression_writer_memory_size, METH_NOARGS,
     "memory_size($self, /)\n--\n\n" DROPIN_ZstdDecompressionWriter_memory_size},
    FILE_UNSUPPORTED("tell", ""),
    FILE_UNSUPPORTED("writelines", ", lines"),
    {"__exit__", decompression_writer_exit, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot decompression_writer_slots[] = {
    {Py_tp_doc, DROPIN_ZstdDecompressionWriter},
    FILE_SLOTS(writer, decompression_writer_methods),
};

static PyType_Spec decompression_writer_spec =
    OBJECT_SPEC("ZstdDecompressionWriter", Writer, decompression_writer_slots);

/* _stream_writer(writer, write_size, write_return_read, closefd) */
static PyObject *make_decompression_writer(PyObject *preset, PyObject *const *args, Py_ssize_t nargs)
{
    Writer *writer =
        check_count("_stream_writer", nargs, 4) < 0 ? NULL : writer_new(decompression_writer_type, args[0], args + 1);
    if (writer != NULL && decoder_open(&writer->decoder, (DecompressionPreset *)preset) < 0)
        Py_CLEAR(writer);
    return (PyObject *)writer;
}
