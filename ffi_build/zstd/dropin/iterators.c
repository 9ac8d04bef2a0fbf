/* SPDX-License-Identifier: Apache-2.0 */
/* read_to_iter() and copy_stream(), in both directions. */
#pragma once

#include "flow.c"
#include "../streams/object.c"
#include "../streams/turn.c"

typedef struct {
    PyObject_HEAD
    Turn turn;
    Flow flow;
    Py_ssize_t write_size;
} Pieces;

static PyTypeObject *pieces_type;

static int pieces_clear(PyObject *self)
{
    flow_clear(&((Pieces *)self)->flow);
    return 0;
}

OBJECT_WITH_TURN(pieces, Pieces, flow)

static PyObject *pieces_next(PyObject *self)
{
    Pieces *pieces = (Pieces *)self;
    if (turn_enter(self, &pieces->turn) < 0)
        return NULL;
    PyObject *piece = flow_next(&pieces->flow, pieces->write_size);
    if (piece == NULL || PyBytes_GET_SIZE(piece) == 0) {
        Py_CLEAR(piece);
        flow_release(&pieces->flow);
    }
    turn_leave(self, &pieces->turn);
    return piece;
}

DECLARE_STREAM_TYPE(pieces, "ZstdIterator", Pieces, {Py_tp_doc, "The iterator that read_to_iter() returns."},
                    {Py_tp_iter, PyObject_SelfIter}, {Py_tp_iternext, pieces_next})

static PyObject *new_pieces(PyObject *preset, PyObject *reader, PyObject *size, Py_ssize_t read_size,
                            Py_ssize_t write_size, Py_ssize_t skip)
{
    Pieces *pieces = object_new(pieces_type);
    if (pieces != NULL && flow_open(&pieces->flow, preset, reader, size, read_size, skip) < 0)
        Py_CLEAR(pieces);
    if (pieces != NULL) {
        pieces->flow.is_first_only = size == NULL;
        pieces->write_size = write_size;
    }
    return (PyObject *)pieces;
}

/* _read_to_iter(reader, size, read_size, write_size) of one that compresses */
static PyObject *make_compression_iterator(PyObject *preset, PyObject *const *args, Py_ssize_t nargs)
{
    Py_ssize_t sizes[2] = {0, 0};
    if (check_count("_read_to_iter", nargs, 4) < 0 || take_numbers(args + 2, sizes, 2, NULL, 0) < 0)
        return NULL;
    return new_pieces(preset, args[0], args[1], sizes[0], sizes[1], 0);
}

/* _read_to_iter(reader, read_size, write_size, skip_bytes) of one that decompresses */
static PyObject *make_decompression_iterator(PyObject *preset, PyObject *const *args, Py_ssize_t nargs)
{
    Py_ssize_t sizes[3] = {0, 0, 0};
    if (check_count("_read_to_iter", nargs, 4) < 0 || take_numbers(args + 1, sizes, 3, NULL, 0) < 0)
        return NULL;
    return new_pieces(preset, args[0], NULL, sizes[0], sizes[1], sizes[2]);
}

/* Write all that comes of a source, by the sizes to read and to write at a time; return (bytes read, bytes written). */
static PyObject *copy_through(PyObject *preset, PyObject *source, PyObject *target, PyObject *size,
                              const Py_ssize_t *sizes)
{
    Flow flow = {.is_finished = 0};
    unsigned long long written = 0;
    Py_ssize_t moved = flow_open(&flow, preset, source, size, sizes[0], 0) < 0 ? -1 : 1;
    while (moved > 0) {
        PyObject *piece = PyErr_CheckSignals() < 0 ? NULL : flow_next(&flow, sizes[1]);
        moved = piece == NULL ? -1 : PyBytes_GET_SIZE(piece);
        if (moved > 0 && file_write(target, name_write, piece, moved) < 0)
            moved = -1;
        Py_XDECREF(piece);
        written += moved > 0 ? (unsigned long long)moved : 0;
    }
    unsigned long long taken = origin_taken(&flow.source);
    flow_clear(&flow);
    return moved < 0 ? NULL : Py_BuildValue("(KK)", taken, written);
}

/* _copy_stream(ifh, ofh, size, read_size, write_size) of one that compresses */
static PyObject *copy_compressing(PyObject *preset, PyObject *const *args, Py_ssize_t nargs)
{
    Py_ssize_t sizes[2] = {0, 0};
    if (check_count("_copy_stream", nargs, 5) < 0 || take_numbers(args + 3, sizes, 2, NULL, 0) < 0)
        return NULL;
    return copy_through(preset, args[0], args[1], args[2], sizes);
}

/* _copy_stream(ifh, ofh, read_size, write_size) of one that decompresses */
static PyObject *copy_decompressing(PyObject *preset, PyObject *const *args, Py_ssize_t nargs)
{
    Py_ssize_t sizes[2] = {0, 0};
    if (check_count("_copy_stream", nargs, 4) < 0 || take_numbers(args + 2, sizes, 2, NULL, 0) < 0)
        return NULL;
    return copy_through(preset, args[0], args[1], NULL, sizes);
}
