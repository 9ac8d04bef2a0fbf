/* SPDX-License-Identifier: Apache-2.0 */
/* Import: put the builtins into the module cpkg._native.zstd.compiled, and keep the error if that fails. */
#pragma once

#include "../common/compat.c"
#include "../common/set_up_error.c"
#include "compression_preset.c"
#include "contexts.c"
#include "decompression_preset.c"
#include "dropin/methods.c"
#include "oneshot.c"
#include "streams/compressor.c"
#include "streams/decompressor.c"
#include "write_buffer.c"
/* Nothing would hold io.TextIOWrapper's own lock while next() takes a line. */
#ifndef Py_GIL_DISABLED
#include "lines.c"
#endif

static PyMethodDef builtins[] = {
    {"compress", AS_METHOD(builtin_compress), FASTCALL,
     "compress(data, level=None, options=None, zstd_dict=None, *, threads=None, frame_size=None)\n--\n\n" DOCUMENTED_compress},
    {"decompress", AS_METHOD(builtin_decompress), FASTCALL,
     "decompress(data, zstd_dict=None, options=None, *, max_output_size=None, size_hint=None, "
     "threads=None)\n--\n\n" DOCUMENTED_decompress},
    {"_stream_decompress", AS_METHOD(stream_decompress), METH_FASTCALL, NULL},
    {"_stream_decompress_into", AS_METHOD(stream_decompress_into), METH_FASTCALL, NULL},
#ifndef Py_GIL_DISABLED
    {"_make_text_reader", make_text_reader, METH_VARARGS, NULL},
#endif
    {NULL, NULL, 0, NULL},
};

/* Add a type to a module, and put it into `place`, if that is not NULL; return 0, or -1 with an exception set. */
static int add_type(PyObject *module, const char *name, PyType_Spec *spec, PyTypeObject **place)
{
    PyObject *type = PyType_FromSpec(spec);
    int result = type == NULL ? -1 : PyObject_SetAttrString(module, name, type);
    if (result == 0 && place != NULL)
        *place = (PyTypeObject *)new_ref(type); /* for good, as the process has one module of this kind */
    Py_XDECREF(type);
    return result;
}

/*
 * Add the builtins to a module, which has to have `_slow_compress` and `_slow_decompress`; return 0, or -1 with an
 * exception set.
 */
static int add_builtins(PyObject *module)
{
    static bool served; /* imports come one at a time */
    if (served) {
        /* the types of another interpreter are not those of the first one's objects */
        return set_up_refuse("Zstandard");
    }
    if (contexts_set_up() < 0) {
        PyErr_SetString(PyExc_OSError, "no thread-specific storage is left for the contexts that threads keep");
        return -1;
    }
    served = true;
    int result = PyModule_AddFunctions(module, builtins);
    if (result == 0)
        result = add_type(module, "_WriteBuffer", &write_buffer_spec, NULL);
    if (result == 0)
        result = add_type(module, "_CompressionPreset", &compression_preset_spec, &compression_preset_type);
    if (result == 0)
        result = add_type(module, "_DecompressionPreset", &decompression_preset_spec, &decompression_preset_type);
    if (result == 0)
        result = add_type(module, "_Compressor", &compressor_spec, NULL);
    if (result == 0)
        result = add_type(module, "_Decompressor", &decompressor_spec, NULL);
    if (result == 0)
        result = add_stream_types(module);
#ifndef Py_GIL_DISABLED
    if (result == 0)
        result = add_type(module, "_LineBuffer", &line_buffer_spec, NULL);
#endif
    if (result == 0) {
        PyObject *calls = PyCapsule_New((void *)&calls_for_job, ZSTD_CALLS_NAME, NULL);
        result = calls == NULL ? -1 : PyObject_SetAttrString(module, "_job_calls", calls);
        Py_XDECREF(calls);
    }
    return result;
}

static const char *cpkg_builtins_error(void)
{
    return set_up_error;
}

/* Do add_builtins() for cffi, which calls this without the GIL; if that fails cpkg_builtins_error() says why. */
static int cpkg_add_builtins(void *module)
{
    return set_up(add_builtins, module);
}
