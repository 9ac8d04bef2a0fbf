/* SPDX-License-Identifier: Apache-2.0 */
/* read_to_iter() and copy_stream(), in both directions. */
#pragma once

#include "flow.c"
#include "../streams/object.c"
#include "target.c"
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

static PyType_Slot pieces_slots[] = {
    {Py_tp_doc, "The iterator that read_to_iter() returns."},
    OBJECT_SLOTS(pieces),
    {Py_tp_iter, PyObject_SelfIter},
    {Py_tp_iternext, pieces_next},
    {0, NULL},
};

static PyType_Spec pieces_spec = OBJECT_SPEC("ZstdIterator", Pieces, pieces_slots);

/* _read_to_iter(reader, size, read_size, write_size) of one that compresses */
static PyObject *make_compression_iterator(PyObject *preset, PyObject *const *args, Py_ssize_t nargs)
{
    Py_ssize_t sizes[2] = {0, 0};
    if (check_count("_read_to_iter", nargs, 4) < 0 || take_numbers(args + 2, sizes, 2, NULL, 0) < 0)
        return NULL;
    Pieces *pieces = object_new(pieces_type);
    if (pieces != NULL && flow_open_packing(&pieces->flow, preset, args[0], args[1], sizes[0]) < 0)
        Py_CLEAR(pieces);
    if (pieces != NULL)
        pieces->write_size = sizes[1];
    return (PyObject *)pieces;
}

/* _read_to_iter(reader, read_size, write_size, skip_bytes) of one that decompresses */
static PyObject *make_decompression_iterator(PyObject *preset, PyObject *const *args, Py_ssize_t nargs)
{
    Py_ssize_t sizes[3] = {0, 0, 0};
    if (check_count("_read_to_iter", nargs, 4) < 0 || take_numbers(args + 1, sizes, 3, NULL, 0) < 0)
        return NULL;
    Pieces *pieces = object_new(pieces_type);
    if (pieces != NULL && flow_open_unpacking(&pieces->flow, preset, args[0], sizes[0], sizes[2]) < 0)
        Py_CLEAR(pieces);
    if (pieces != NULL) {
        pieces->flow.is_first_only = 1;
        pieces->write_size = sizes[1];
    }
    return (PyObject *)pieces;
}

/* Write all that comes of a flow, unless opening it has failed, and end it; return (bytes read, bytes written). */
static PyObject *copy_flow(Flow *flow, int opened, PyObject *target, Py_ssize_t write_size)
{
    unsigned long long written = 0;
    Py_ssize_t size = opened < 0 ? -1 : 1;
    while (size > 0) {
        PyObject *piece = PyErr_CheckSignals() < 0 ? NULL : flow_next(flow, write_size);
        size = piece == NULL ? -1 : PyBytes_GET_SIZE(piece);
        if (size > 0 && write_one_piece(target, piece, size) < 0)
            size = -1;
        Py_XDECREF(piece);
        written += size > 0 ? (unsigned long long)size : 0;
    }
    unsigned long long taken = origin_taken(&flow->source);
    flow_clear(flow);
    return size < 0 ? NULL : Py_BuildValue("(KK)", taken, written);
}

/* _copy_stream(ifh, ofh, size, read_size, write_size) of one that compresses */
static PyObject *copy_compressing(PyObject *preset, PyObject *const *args, Py_ssize_t nargs)
{
    Py_ssize_t sizes[2] = {0, 0};
    if (check_count("_copy_stream", nargs, 5) < 0 || take_numbers(args + 3, sizes, 2, NULL, 0) < 0)
        return NULL;
    Flow flow = {.is_finished = 0};
    return copy_flow(&flow, flow_open_packing(&flow, preset, args[0], args[2], sizes[0]), args[1], sizes[1]);
}

/* _copy_stream(ifh, ofh, read_size, write_size) of one that decompresses */
static PyObject *copy_decompressing(PyObject *preset, PyObject *const *args, Py_ssize_t nargs)
{
    Py_ssize_t sizes[2] = {0, 0};
    if (check_count("_copy_stream", nargs, 4) < 0 || take_numbers(args + 2, sizes, 2, NULL, 0) < 0)
        return NULL;
    Flow flow = {.is_finished = 0};
    return copy_flow(&flow, flow_open_unpacking(&flow, preset, args[0], sizes[0], 0), args[1], sizes[1]);
}
