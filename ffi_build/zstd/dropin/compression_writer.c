/* SPDX-License-Identifier: Apache-2.0 */
/* ZstdCompressionWriter: a file that compresses what it is given and writes it to another. */
#pragma once

#include "target.c"
#include "writer_base.c"

/* Modes of ZstdCompressionWriter.flush(). */
enum { WRITER_BLOCK = 0, WRITER_FRAME = 1 };

static PyTypeObject *compression_writer_type;

/* Compress an input, write what comes of it, and return how many bytes that were; -1 with an exception set. */
static Py_ssize_t writer_push(Writer *writer, const Input *data, int mode)
{
    PyObject *output = feed_push(&writer->feed, data, mode);
    if (output == NULL)
        return -1;
    Py_ssize_t size = PyBytes_GET_SIZE(output);
    int result = write_pieces(writer->base.file, output, writer->write_size);
    Py_DECREF(output);
    if (result < 0) {
        feed_fail(&writer->feed,
                  failure_text("compressed data was lost, as it could not be written: %U", PyObject_Repr));
        return -1;
    }
    writer->written += (unsigned long long)size;
    return size;
}

static PyObject *compression_writer_write(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    Writer *writer = (Writer *)self;
    PyObject *data;
    Input in, piece;
    if (take_only_argument("write", "data", 1, args, nargs, kwnames, &data) < 0 || file_enter(&writer->base) < 0)
        return NULL;
    Py_ssize_t written = 0, more = input_open(&in, data);
    if (more == 0) {
        size_t done = 0;
        while (more >= 0 && input_piece(&piece, &in, &done)) {
            more = writer_push(writer, &piece, ZSTD_e_continue);
            written += more;
        }
        input_close(&in);
    }
    turn_leave(self, &writer->base.turn);
    return more < 0 ? NULL : PyLong_FromSsize_t(writer->returns_read ? (Py_ssize_t)in.size : written);
}

static Py_ssize_t writer_flush(Writer *writer, int mode)
{
    const Input nothing = {"", 0, {0}};
    return writer_push(writer, &nothing, mode);
}

static PyObject *compression_writer_flush(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    Writer *writer = (Writer *)self;
    PyObject *given;
    Py_ssize_t mode = WRITER_BLOCK;
    if (take_only_argument("flush", "flush_mode", 0, args, nargs, kwnames, &given) < 0 || take_ssize(given, &mode) < 0)
        return NULL;
    if (mode != WRITER_BLOCK && mode != WRITER_FRAME)
        return PyErr_Format(PyExc_ValueError, "unknown flush_mode: %R", given);
    if (file_enter(&writer->base) < 0)
        return NULL;
    Py_ssize_t written = writer_flush(writer, mode == WRITER_BLOCK ? ZSTD_e_flush : ZSTD_e_end);
    if (written >= 0 && call_if_there(writer->base.file, name_flush) < 0)
        written = -1;
    turn_leave(self, &writer->base.turn);
    return written < 0 ? NULL : PyLong_FromSsize_t(written);
}

static PyObject *compression_writer_end(PyObject *self)
{
    Writer *writer = (Writer *)self;
    Py_ssize_t result = 0;
    if (!writer->base.is_closed) {
        if (writer->feed.failure == NULL)
            result = writer_flush(writer, ZSTD_e_end);
        writer->base.is_closed = 1;
        feed_release(&writer->feed);
        if (file_close_other(&writer->base) < 0)
            result = -1;
    }
    return result < 0 ? NULL : new_ref(Py_None);
}

static PyObject *compression_writer_close(PyObject *self, PyObject *Py_UNUSED(unused))
{
    return file_in_turn(self, compression_writer_end);
}

static PyObject *compression_writer_tell(PyObject *self, PyObject *Py_UNUSED(unused))
{
    return PyLong_FromUnsignedLongLong(((Writer *)self)->written);
}

static PyObject *compression_writer_context_size(PyObject *self)
{
    ZSTD_CCtx *cctx = ((Writer *)self)->feed.cctx;
    return cctx == NULL ? new_ref(Py_None) : PyLong_FromSize_t(ZSTD_sizeof_CCtx(cctx));
}

static PyObject *compression_writer_memory_size(PyObject *self, PyObject *Py_UNUSED(unused))
{
    return file_in_turn(self, compression_writer_context_size);
}

static PyObject *compression_writer_writelines(PyObject *Py_UNUSED(self), PyObject *Py_UNUSED(unused))
{
    PyErr_SetString(PyExc_NotImplementedError, "writelines() is not yet implemented");
    return NULL;
}

static PyMethodDef compression_writer_methods[] = {
    WRITER_METHODS,
    {"write", AS_METHOD(compression_writer_write), FASTCALL,
     "write($self, /, data)\n--\n\n" DROPIN_ZstdCompressionWriter_write},
    {"flush", AS_METHOD(compression_writer_flush), FASTCALL,
     "flush($self, /, flush_mode=0)\n--\n\n" DROPIN_ZstdCompressionWriter_flush},
    {"close", compression_writer_close, METH_NOARGS, "close($self, /)\n--\n\n" DROPIN_ZstdCompressionWriter_close},
    {"tell", compression_writer_tell, METH_NOARGS, "tell($self, /)\n--\n\n" DROPIN_ZstdCompressionWriter_tell},
    {"memory_size", compression_writer_memory_size, METH_NOARGS,
     "memory_size($self, /)\n--\n\n" DROPIN_ZstdCompressionWriter_memory_size},
    {"writelines", compression_writer_writelines, METH_O,
     "writelines($self, lines, /)\n--\n\nRaise NotImplementedError, as python-zstandard does."},
    {"__exit__", file_exit, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot compression_writer_slots[] = {
    {Py_tp_doc, DROPIN_ZstdCompressionWriter},
    FILE_SLOTS(writer, compression_writer_methods),
};

static PyType_Spec compression_writer_spec = OBJECT_SPEC("ZstdCompressionWriter", Writer, compression_writer_slots);

/* _stream_writer(writer, size, write_size, write_return_read, closefd) */
static PyObject *make_compression_writer(PyObject *preset, PyObject *const *args, Py_ssize_t nargs)
{
    Writer *writer =
        check_count("_stream_writer", nargs, 5) < 0 ? NULL : writer_new(compression_writer_type, args[0], args + 2);
    if (writer != NULL && feed_open(&writer->feed, (CompressionPreset *)preset, args[1]) < 0)
        Py_CLEAR(writer);
    return (PyObject *)writer;
}
