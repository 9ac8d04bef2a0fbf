/* SPDX-License-Identifier: Apache-2.0 */
/* packb, pack and pack_into. */
#pragma once

#include "../../common/writing.c"
#include "../common/options.c"
#include "../common/state.c"
#include "objects.c"
#include "writer.c"

/* Pack one object; return new bytes, or NULL with an exception set. */
static ALWAYS_INLINE PyObject *pack_to_bytes(const PackOptions *options, PyObject *o)
{
    Encoder c;
    unsigned char *p = encode_start(&c, options, false);
    if (LIKELY(encode_count(&c, p, 1) == 0) &&
        LIKELY((p = encode_value(&c, p, o, options->max_depth, MAY_CONVERT | MAY_DEFAULT)) != NULL))
        return writer_finish(&c.w, p);
    writer_drop(&c.w);
    return NULL;
}

/* typed_packb(o, default, max_depth, enc_hook, converted): encode as cpkg.typed does. Objects of ordinary classes are
   passed to enc_hook, unless it is None, and results of rare types to `converted`. `default` handles all other
   unsupported types. */
static PyObject *typed_packb(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t n_args)
{
    Encoder c;
    PackOptions options = default_pack_options;
    if (n_args != 5) {
        PyErr_SetString(PyExc_TypeError, "typed_packb takes five arguments");
        return NULL;
    }
    options.default_ = args[1];
    options.datetime = options.enum_ = options.numpy = true;
    options.max_depth = PyLong_AsSsize_t(args[2]);
    if (options.max_depth == -1 && PyErr_Occurred())
        return NULL;
    unsigned char *p = encode_start(&c, &options, true);
    c.typed = true;
    c.hook = args[3] == Py_None ? NULL : args[3];
    c.after = args[4];
    if ((p = encode_value(&c, p, args[0], options.max_depth, MAY_CONVERT | MAY_DEFAULT)) != NULL)
        return writer_finish(&c.w, p);
    writer_drop(&c.w);
    return NULL;
}

/* Return the packed object, or None without autoreset: then packb and pack behave as if a Packer collected the
   bytes. */
static PyObject *pack_result(const PackOptions *options, PyObject *o)
{
    PyObject *packed = pack_to_bytes(options, o);
    if (UNLIKELY(packed && !options->autoreset)) {
        Py_DECREF(packed);
        packed = new_ref(Py_None);
    }
    return packed;
}

static PyObject *packb(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t n_args, PyObject *keyword_names)
{
    if (LIKELY(n_args == 1 && !keyword_names))
        return pack_to_bytes(&default_pack_options, args[0]);
    PackOptions options = default_pack_options;
    PyObject *positional[1] = {NULL};
    if (arguments_read(&packb_signature, args, n_args, keyword_names, positional, &options) < 0 ||
        pack_options_check(&options) < 0)
        return NULL;
    return pack_result(&options, positional[0]);
}

static PyObject *pack(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t n_args, PyObject *keyword_names)
{
    PackOptions options = default_pack_options;
    PyObject *positional[2] = {NULL};
    if (arguments_read(&pack_signature, args, n_args, keyword_names, positional, &options) < 0 ||
        pack_options_check(&options) < 0)
        return NULL;
    PyObject *packed = pack_result(&options, positional[0]);
    if (!packed)
        return NULL;
    int result = file_write(positional[1], S.str_write, packed, packed == Py_None ? -1 : PyBytes_GET_SIZE(packed));
    Py_DECREF(packed);
    if (result < 0)
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *pack_into(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t n_args,
                           PyObject *keyword_names)
{
    PackOptions options = default_pack_options;
    PyObject *positional[3] = {NULL};
    Py_ssize_t offset = 0;
    Py_buffer target;
    PyObject *result = NULL;

    if (arguments_read(&pack_into_signature, args, n_args, keyword_names, positional, &options) < 0 ||
        pack_options_check(&options) < 0)
        return NULL;
    if (positional[2] && size_read("offset", positional[2], &offset) < 0)
        return NULL;
    if (PyObject_GetBuffer(positional[1], &target, PyBUF_FULL_RO) < 0)
        return NULL;
    if (target.readonly || !PyBuffer_IsContiguous(&target, 'C')) {
        PyErr_SetString(target.readonly ? PyExc_TypeError : PyExc_BufferError,
                        target.readonly ? "pack_into needs a writable buffer" : "pack_into needs a contiguous buffer");
        PyBuffer_Release(&target);
        return NULL;
    }
    if (offset < 0 || offset > target.len) {
        PyErr_Format(PyExc_ValueError, "offset %zd is outside the buffer of %zd bytes", offset, target.len);
        PyBuffer_Release(&target);
        return NULL;
    }
    Encoder c;
    unsigned char *p = encode_start(&c, &options, false);
    if (encode_count(&c, p, 1) == 0 &&
        (p = encode_value(&c, p, positional[0], options.max_depth, MAY_CONVERT | MAY_DEFAULT)) != NULL &&
        writer_check_limit(&c.w, (size_t)(p - c.w.start)) == 0) {
        Py_ssize_t size = p - c.w.start;
        if (size > target.len - offset)
            PyErr_Format(PyExc_ValueError, "the packed object needs %zd bytes, the buffer has %zd from offset %zd",
                         size, target.len - offset, offset);
        else {
            if (size)
                memcpy((char *)target.buf + offset, c.w.start, (size_t)size);
            result = PyLong_FromSsize_t(offset + size);
        }
    }
    writer_drop(&c.w);
    PyBuffer_Release(&target);
    return result;
}
