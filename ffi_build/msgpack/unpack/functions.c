/* SPDX-License-Identifier: Apache-2.0 */
/* unpackb, unpackb_from and unpack: whole messages. */
#pragma once

#include "../../common/compat.c"
#include "../common/options.c"
#include "../common/state.c"
#include "huge_pages.c"
#include "parse_loop.c"
#include "parser_state.c"

/* Get the bytes of an object's buffer into `view`, which must be released; return 0, or -1 with an exception set. As in
   msgpack, buffers that are not contiguous are copied, and buffers whose items are not single bytes are refused. */
static int input_get(PyObject *o, Py_buffer *view)
{
    if (PyObject_GetBuffer(o, view, PyBUF_FULL_RO) < 0)
        return -1;
    if (view->itemsize != 1) {
        PyBuffer_Release(view);
        PyErr_SetString(PyExc_BufferError, "cannot unpack from multi-byte object");
        return -1;
    }
    if (PyBuffer_IsContiguous(view, 'C'))
        return 0;
    PyBuffer_Release(view);
    PyObject *contiguous = PyMemoryView_GetContiguous(o, PyBUF_READ, 'C');
    if (!contiguous)
        return -1;
    int result = PyObject_GetBuffer(contiguous, view, PyBUF_SIMPLE);
    Py_DECREF(contiguous);
    return result;
}

/* Unpack the object at `offset` and set *end to its end; if `end` is NULL, nothing may follow the object. `source` owns
   the data; `shared`: whether others may change them meanwhile. */
static ALWAYS_INLINE PyObject *unpack_data(const UnpackOptions *options, const unsigned char *data, Py_ssize_t size,
                                           Py_ssize_t offset, PyObject *source, bool shared, Py_ssize_t *end)
{
    Parser ps;
    ArenasAhead ahead;
    PyObject *o = NULL;
    parser_init(&ps, options, size - offset);
    ps.source = source;
    ps.shared = shared;
    const bool hooks = !options->plain && parser_has_hooks(options);
    ps.gc_held = !hooks && gc_hold(size - offset);
    ps.guard = guard_of(ps.gc_held);
    arenas_hold(&ahead, hooks ? 0 : size - offset);
    enum parse_result outcome = LIKELY(options->plain) ? parser_run_plain(&ps, data, size, &offset, &o)
                                                       : parser_run(&ps, data, size, &offset, &o);
    arenas_release(&ahead);
    parser_free(&ps);
    if (ps.gc_held)
        gc_resume(true);

    if (UNLIKELY(outcome == PARSE_MORE)) {
        PyErr_SetString(S.TruncatedError,
                        size ? "Unpack failed: incomplete input"
                             : "Unpack failed: incomplete input: the input is empty, expected a MessagePack object");
        error_set_offset((uint64_t)offset);
    }
    else if (outcome == PARSE_DONE && end)
        *end = offset;
    else if (UNLIKELY(outcome == PARSE_DONE && offset < size)) {
        PyObject *extra = PyBytes_FromStringAndSize((const char *)data + offset, size - offset);
        PyObject *error = extra ? PyObject_CallFunctionObjArgs(S.ExtraData, o, extra, NULL) : NULL;
        if (error) {
            PyErr_SetObject(S.ExtraData, error);
            error_set_offset((uint64_t)offset);
        }
        Py_XDECREF(error);
        Py_XDECREF(extra);
        Py_CLEAR(o);
    }
    return o;
}

static PyObject *unpack_object(UnpackOptions *options, PyObject *packed, Py_ssize_t offset, Py_ssize_t *end)
{
    Py_buffer view;
    PyObject *o = NULL, *viewed = NULL;
    if (unpack_options_check(options) < 0)
        return NULL;
    if (UNLIKELY(options->bin_view)) {
        /* views need an object that exports exactly this buffer; the owner that a buffer names may not be one */
        viewed = PyMemoryView_FromObject(packed);
        if (!viewed)
            return NULL;
        packed = viewed;
    }
    if (input_get(packed, &view) == 0) {
        if (offset < 0 || offset > view.len)
            PyErr_Format(PyExc_ValueError, "offset %zd is outside the buffer of %zd bytes", offset, view.len);
        else {
            const PyObject *owner = view.obj && PyMemoryView_Check(view.obj) ? PyMemoryView_GET_BASE(view.obj)
                                                                             : view.obj;
            o = unpack_data(options, view.buf, view.len, offset, view.obj, !owner || !PyBytes_Check(owner), end);
        }
        PyBuffer_Release(&view);
    }
    Py_XDECREF(viewed);
    return o;
}

/* Call the function of cpkg.typed that implements the option `type` for the function `name`, with the same
   arguments. */
static NEVER_INLINE PyObject *typed_call(const char *name, PyObject *const *args, Py_ssize_t n, PyObject *keyword_names)
{
    PyObject *function = typed_function(name);
    PyObject *o = function ? PyObject_Vectorcall(function, args, (size_t)n, keyword_names) : NULL;
    Py_XDECREF(function);
    return o;
}

static PyObject *unpackb(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t n, PyObject *keyword_names)
{
    if (LIKELY(n == 1 && !keyword_names) && LIKELY(PyBytes_CheckExact(args[0])))
        return unpack_data(&default_unpack_options, (const unsigned char *)PyBytes_AS_STRING(args[0]),
                           PyBytes_GET_SIZE(args[0]), 0, args[0], false, NULL);
    UnpackOptions options = default_unpack_options;
    PyObject *positional[1] = {NULL};
    if (arguments_read(&unpackb_signature, args, n, keyword_names, positional, &options) < 0)
        return NULL;
    if (UNLIKELY(options.type != NULL))
        return typed_call("unpackb", args, n, keyword_names);
    return unpack_object(&options, positional[0], 0, NULL);
}

static PyObject *unpackb_from(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t n, PyObject *keyword_names)
{
    UnpackOptions options = default_unpack_options;
    PyObject *positional[2] = {NULL};
    Py_ssize_t offset = 0, end;
    if (arguments_read(&unpackb_from_signature, args, n, keyword_names, positional, &options) < 0)
        return NULL;
    if (UNLIKELY(options.type != NULL))
        return typed_call("unpackb_from", args, n, keyword_names);
    if (positional[1] && size_read("offset", positional[1], &offset) < 0)
        return NULL;
    PyObject *o = unpack_object(&options, positional[0], offset, &end);
    return o ? Py_BuildValue("Nn", o, end) : NULL;
}

static PyObject *unpack(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t n, PyObject *keyword_names)
{
    UnpackOptions options = default_unpack_options;
    PyObject *positional[1] = {NULL};
    if (arguments_read(&unpack_signature, args, n, keyword_names, positional, &options) < 0)
        return NULL;
    if (UNLIKELY(options.type != NULL))
        return typed_call("unpack", args, n, keyword_names);
    PyObject *packed = PyObject_CallMethodObjArgs(positional[0], S.str_read, NULL);
    if (!packed)
        return NULL;
    PyObject *o = unpack_object(&options, packed, 0, NULL);
    Py_DECREF(packed);
    return o;
}
