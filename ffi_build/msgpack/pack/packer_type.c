/* SPDX-License-Identifier: Apache-2.0 */
/* The type Packer. */
#pragma once

#include "../../common/objects.c"
#include "../common/options.c"
#include "../common/state.c"
#include "objects.c"
#include "packer_call.c"

static PyObject *packer_new(PyTypeObject *type, PyObject *Py_UNUSED(args), PyObject *Py_UNUSED(keywords))
{
    Packer *self = object_new(type);
    if (self)
        self->options = default_pack_options;
    return (PyObject *)self;
}

/* The objects among the options that a Packer owns. */
#define PACKER_OBJECTS(visit, options) \
    visit((options)->default_); \
    visit((options)->unicode_errors); \
    visit((options)->buffer)

static int packer_traverse(PyObject *object, visitproc visit, void *arg)
{
    const PackOptions *options = &((Packer *)object)->options;
    VISIT_TYPE(object);
    PACKER_OBJECTS(Py_VISIT, options);
    return 0;
}

static int packer_clear(PyObject *object)
{
    PackOptions *options = &((Packer *)object)->options;
    PACKER_OBJECTS(Py_CLEAR, options);
    return 0;
}

COLLECTED_DEALLOC(packer, PyMem_Free(((Packer *)self)->data))

static void packer_set(Packer *self, const PackOptions *options)
{
    const PackOptions old = self->options;
    PACKER_OBJECTS(Py_XINCREF, options);
    self->options = *options;
    PyMem_Free(self->data);
    self->data = NULL;
    self->size = self->capacity = 0;
    PACKER_OBJECTS(Py_XDECREF, &old);
}

static int packer_init(PyObject *object, PyObject *args, PyObject *keywords)
{
    Packer *self = (Packer *)object;
    PackOptions options = default_pack_options;
    OwnedArguments owned;
    int result = -1;
    if (arguments_read_init(&packer_type_signature, args, keywords, NULL, &options, &owned) == 0 &&
        pack_options_check(&options) == 0) {
        WITH_LOCKED(self)
        if (self->under_way)
            PyErr_SetString(PyExc_RuntimeError, "Packer.__init__() cannot be called while packing is in progress");
        else if (packer_can_change(self)) {
            packer_set(self, &options);
            result = 0;
        }
        END_LOCKED()
    }
    arguments_drop(&owned);
    return result;
}

static PyObject *packer_pack(PyObject *object, PyObject *o)
{
    Packer *self = (Packer *)object;
    Encoder c;
    Packing call;
    if (!packer_enter(self, &call, "pack"))
        return NULL;
    unsigned char *p = encode_start(&c, &self->options, false);
    p = encode_count(&c, p, 1) < 0 ? NULL : encode_value(&c, p, o, self->options.max_depth, MAY_CONVERT | MAY_DEFAULT);
    return packer_deliver(self, &call, &c, p);
}

static PyObject *packer_pack_map_pairs(PyObject *object, PyObject *pairs)
{
    Packer *self = (Packer *)object;
    Encoder c;
    Packing call;
    if (!packer_enter(self, &call, "pack_map_pairs"))
        return NULL;
    unsigned char *p = encode_start(&c, &self->options, false);
    if (encode_count(&c, p, 1) < 0)
        p = NULL;
    else {
        /* the documentation requires a sequence; any iterable with a length is accepted */
        Py_ssize_t n = PyObject_Size(pairs);
        PyObject *listed = n < 0 || !may_nest(&c, p, self->options.max_depth) ? NULL : PySequence_List(pairs);
        if (listed && PyList_GET_SIZE(listed) != n)
            p = size_changed(&c, p, "list");
        else
            p = listed ? encode_pairs(&c, p, listed, n, self->options.max_depth - 1) : NULL;
        if (p) {
            Py_ssize_t now = PyObject_Size(pairs);
            if (now != n)
                p = now < 0 ? NULL : size_changed(&c, p, "list");
        }
        Py_XDECREF(listed);
    }
    return packer_deliver(self, &call, &c, p);
}

/* Pack only the header of an array or map; `what` is "array" or "map". */
static PyObject *packer_pack_header(PyObject *object, PyObject *size, const char *method, const char *what, bool is_map)
{
    Packer *self = (Packer *)object;
    Encoder c;
    int overflow = 0;
    long long n = 0;
    PyObject *index = PyNumber_Index(size);
    if (!index)
        return NULL;
    n = PyLong_AsLongLongAndOverflow(index, &overflow);
    Py_DECREF(index);
    if (overflow) {
        PyErr_SetString(PyExc_OverflowError, "Python int too large to convert to C long");
        return NULL;
    }
    if (n < 0) {
        PyErr_Format(PyExc_ValueError, "%s size must be non-negative", what);
        return NULL;
    }
    if (n > (long long)PACK_LENGTH_MAX) {
        PyErr_Format(PyExc_ValueError, "%s too large", what);
        return NULL;
    }
    PyObject *result = NULL;
    WITH_LOCKED(self)
    if (packer_check(self, method)) {
        unsigned char *p = encode_start(&c, &self->options, false);
        if (c.w.end - p < HEADER_MAX)
            p = writer_grow(&c.w, p, HEADER_MAX);
        if (p)
            result = packer_result(self, &c.w, is_map ? write_map(p, (size_t)n) : write_array(p, (size_t)n));
        else
            writer_drop(&c.w);
    }
    END_LOCKED()
    return result;
}

static PyObject *packer_pack_array_header(PyObject *self, PyObject *size)
{
    return packer_pack_header(self, size, "pack_array_header", "array", false);
}

static PyObject *packer_pack_map_header(PyObject *self, PyObject *size)
{
    return packer_pack_header(self, size, "pack_map_header", "map", true);
}

static PyObject *packer_pack_ext_type(PyObject *object, PyObject *const *args, Py_ssize_t n_args, PyObject *names)
{
    Packer *self = (Packer *)object;
    PyObject *positional[2] = {NULL};
    Encoder c;
    if (arguments_read(&pack_ext_type_signature, args, n_args, names, positional, NULL) < 0)
        return NULL;
    PyObject *data = positional[1], *result = NULL;
    if (!PyBytes_Check(data) && !PyByteArray_Check(data)) {
        PyErr_Format(PyExc_TypeError, "data must be bytes, not %.100s", short_type_name(data));
        return NULL;
    }
    PyObject *index = PyNumber_Index(positional[0]);
    if (!index)
        return NULL;
    int overflow;
    long code = PyLong_AsLongAndOverflow(index, &overflow);
    Py_DECREF(index);
    if (overflow || code < -128 || code > 127) {
        PyErr_SetString(PyExc_OverflowError, "ext type code must be in -128..127");
        return NULL;
    }
    WITH_LOCKED(self)
    if (packer_check(self, "pack_ext_type")) {
        unsigned char *p = encode_start(&c, &self->options, false);
        WITH_LOCKED(data)
        p = PyBytes_Check(data) ? encode_ext(&c, p, (int)code, PyBytes_AS_STRING(data), PyBytes_GET_SIZE(data))
                                : encode_ext(&c, p, (int)code, PyByteArray_AS_STRING(data), PyByteArray_GET_SIZE(data));
        END_LOCKED()
        if (p)
            result = packer_result(self, &c.w, p);
        else
            writer_drop(&c.w);
    }
    END_LOCKED()
    return result;
}

static PyObject *packer_reset(PyObject *object, PyObject *Py_UNUSED(unused))
{
    Packer *self = (Packer *)object;
    bool done = false;
    WITH_LOCKED(self)
    if (packer_check(self, "reset")) {
        self->size = 0;
        done = !self->options.buffer || PyByteArray_Resize(self->options.buffer, 0) == 0;
    }
    END_LOCKED()
    return done ? new_ref(Py_None) : NULL;
}

static PyObject *packer_bytes(PyObject *object, PyObject *Py_UNUSED(unused))
{
    Packer *self = (Packer *)object;
    PyObject *result = NULL;
    WITH_LOCKED(self)
    PyObject *buffer = self->options.buffer;
    if (!self->under_way || !packer_called_from_within(self, "bytes"))
        result = buffer ? PyBytes_FromObject(buffer) : PyBytes_FromStringAndSize((char *)self->data, self->size);
    END_LOCKED()
    return result;
}

static int packer_export(PyObject *object, Py_buffer *view, int flags)
{
    Packer *self = (Packer *)object;
    int result = -1;
    view->obj = NULL;
    WITH_LOCKED(self)
    PyObject *buffer = self->options.buffer;
    if (self->under_way && packer_called_from_within(self, "getbuffer"))
        ; /* the error is set */
    else if (!buffer) {
        result = PyBuffer_FillInfo(view, object, self->data ? self->data : bytes_of_nothing, self->size, 1, flags);
        if (result == 0)
            self->exports++;
    }
    else if (flags & PyBUF_WRITABLE)
        PyErr_SetString(PyExc_BufferError, "Object is not writable.");
    else {
        result = PyObject_GetBuffer(buffer, view, flags);
        view->readonly = 1;
    }
    END_LOCKED()
    return result;
}

static void packer_release_buffer(PyObject *object, Py_buffer *Py_UNUSED(view))
{
    Packer *self = (Packer *)object;
    WITH_LOCKED(self)
    self->exports--;
    END_LOCKED()
}

static PyObject *packer_getbuffer(PyObject *object, PyObject *Py_UNUSED(unused))
{
    return PyMemoryView_FromObject(object);
}

static PyMethodDef packer_methods[] = {
    {"pack", packer_pack, METH_O, "pack($self, obj, /)\n--\n\n" DOCUMENTED_Packer_pack},
    {"pack_map_pairs", packer_pack_map_pairs, METH_O,
     "pack_map_pairs($self, pairs, /)\n--\n\n" DOCUMENTED_Packer_pack_map_pairs},
    {"pack_array_header", packer_pack_array_header, METH_O,
     "pack_array_header($self, size, /)\n--\n\n" DOCUMENTED_Packer_pack_array_header},
    {"pack_map_header", packer_pack_map_header, METH_O,
     "pack_map_header($self, size, /)\n--\n\n" DOCUMENTED_Packer_pack_map_header},
    {"pack_ext_type", AS_METHOD(packer_pack_ext_type), FASTCALL,
     "pack_ext_type($self, typecode, data)\n--\n\n" DOCUMENTED_Packer_pack_ext_type},
    {"reset", packer_reset, METH_NOARGS, "reset($self)\n--\n\n" DOCUMENTED_Packer_reset},
    {"bytes", packer_bytes, METH_NOARGS, "bytes($self)\n--\n\n" DOCUMENTED_Packer_bytes},
    {"getbuffer", packer_getbuffer, METH_NOARGS, "getbuffer($self)\n--\n\n" DOCUMENTED_Packer_getbuffer},
    {"__reduce__", object_refuse_pickling, METH_NOARGS, "__reduce__($self)\n--\n\nRaise TypeError."},
    {NULL, NULL, 0, NULL},
};

DECLARE_TYPE(packer, "cpkg._native.msgpack.cpython.Packer", Packer, Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
             {Py_tp_doc, "Packer(*" PACKER_TYPE_SIGNATURE ")\n--\n\n" DOCUMENTED_Packer}, {Py_tp_new, packer_new},
             {Py_tp_init, packer_init}, COLLECTED_SLOTS(packer), {Py_tp_methods, packer_methods},
             {Py_bf_getbuffer, packer_export}, {Py_bf_releasebuffer, packer_release_buffer})
