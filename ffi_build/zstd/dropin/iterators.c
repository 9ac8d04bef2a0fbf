/* SPDX-License-Identifier: Apache-2.0 */
/* read_to_iter() and copy_stream(), in both directions. */
#ifndef CPKG_ZSTD_DROPIN_ITERATORS
#define CPKG_ZSTD_DROPIN_ITERATORS

#include <Python.h>

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

/* read_to_iter's iterator that compresses, for a preset. */
static PyObject *new_packing_iterator(PyObject *preset, PyObject *reader, PyObject *size, Py_ssize_t read_size,
                                      Py_ssize_t write_size)
{
    Pieces *pieces = object_new(pieces_type);
    if (pieces == NULL || flow_open_packing(&pieces->flow, preset, reader, size, read_size) < 0) {
        Py_XDECREF(pieces);
        return NULL;
    }
    pieces->write_size = write_size;
    return (PyObject *)pieces;
}

/* read_to_iter's iterator that decompresses, for a preset. */
static PyObject *new_unpacking_iterator(PyObject *preset, PyObject *reader, Py_ssize_t read_size, Py_ssize_t write_size,
                                        Py_ssize_t skip)
{
    Pieces *pieces = object_new(pieces_type);
    if (pieces == NULL || flow_open_unpacking(&pieces->flow, preset, reader, read_size, skip) < 0) {
        Py_XDECREF(pieces);
        return NULL;
    }
    pieces->flow.is_first_only = 1;
    pieces->write_size = write_size;
    return (PyObject *)pieces;
}

/* Write all that comes of a flow, and end it; return (bytes read, bytes written). */
static PyObject *copy_flow(Flow *flow, PyObject *target, Py_ssize_t write_size)
{
    unsigned long long written = 0;
    Py_ssize_t size = 1;
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

/* copy_stream() that compresses, for a preset. */
static PyObject *copy_packing(PyObject *preset, PyObject *source, PyObject *target, PyObject *size,
                              Py_ssize_t read_size, Py_ssize_t write_size)
{
    Flow flow;
    memset(&flow, 0, sizeof flow);
    if (flow_open_packing(&flow, preset, source, size, read_size) < 0) {
        flow_clear(&flow);
        return NULL;
    }
    return copy_flow(&flow, target, write_size);
}

/* copy_stream() that decompresses, for a preset. */
static PyObject *copy_unpacking(PyObject *preset, PyObject *source, PyObject *target, Py_ssize_t read_size,
                                Py_ssize_t write_size)
{
    Flow flow;
    memset(&flow, 0, sizeof flow);
    if (flow_open_unpacking(&flow, preset, source, read_size, 0) < 0) {
        flow_clear(&flow);
        return NULL;
    }
    return copy_flow(&flow, target, write_size);
}

#endif
