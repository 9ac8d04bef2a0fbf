/* SPDX-License-Identifier: Apache-2.0 */
/* The import: add the builtins to the module cpkg._native.zstd.compiled, and keep the error if that fails. */
#pragma once

#include "../common/compat.c"
#include "../common/set_up_error.c"
#include "compression_preset.c"
#include "contexts.c"
#include "decompression_preset.c"
#include "oneshot.c"
#include "streams/compressor.c"
#include "streams/decompressor.c"
#include "write_buffer.c"
/* Not in free-threaded builds, where this code would have to hold io.TextIOWrapper's own lock while it takes a line. */
#ifndef Py_GIL_DISABLED
#include "lines.c"
#endif

static PyMethodDef builtins[] = {
    {"compress", AS_METHOD(builtin_compress), FASTCALL,
     "compress(data, level=None, options=None, zstd_dict=None, *, threads=None, frame_size=None)\n--\n\n" DOCUMENTED_compress},
    {"decompress", AS_METHOD(builtin_decompress), FASTCALL,
     "decompress(data, zstd_dict=None, options=None, *, max_output_size=None, size_hint=None, "
     "threads=None, padding=False)\n--\n\n" DOCUMENTED_decompress},
    {"_stream_decompress", AS_METHOD(stream_decompress), METH_FASTCALL, NULL},
    {"_stream_decompress_into", AS_METHOD(stream_decompress_into), METH_FASTCALL, NULL},
#ifndef Py_GIL_DISABLED
    {"_make_text_reader", make_text_reader, METH_VARARGS, NULL},
#endif
    {NULL, NULL, 0, NULL},
};

/* The types that Python code uses from the module. */
static const TypeToAdd builtin_types[] = {
    {"_WriteBuffer", &write_buffer_spec, NULL},
    {"_CompressionPreset", &compression_preset_spec, &compression_preset_type},
    {"_DecompressionPreset", &decompression_preset_spec, &decompression_preset_type},
    {"_Compressor", &compressor_spec, NULL},
    {"_Decompressor", &decompressor_spec, NULL},
#ifndef Py_GIL_DISABLED
    {"_LineBuffer", &line_buffer_spec, NULL},
#endif
};

/*
 * Add the builtins to a module, which must have `_slow_compress` and `_slow_decompress`; return 0, or -1 with an
 * exception set.
 */
static int add_builtins(PyObject *module)
{
    static bool served; /* not atomic, because imports run one at a time */
    if (served) {
        /* the types of another interpreter would not match the objects that the first interpreter has created */
        return set_up_refuse("Zstandard");
    }
    if (contexts_set_up() < 0) {
        PyErr_SetString(PyExc_OSError, "no thread-specific storage is left for the contexts of threads");
        return -1;
    }
    served = true;
    int result = digests_set_up();
    if (result == 0)
        result = PyModule_AddFunctions(module, builtins);
    Signature *const signatures[] = {&compress_signature, &flush_signature, &decompress_signature};
    for (size_t i = 0; result == 0 && i < COUNT_OF(signatures); i++)
        result = signature_init(signatures[i]);
    if (result == 0)
        result = add_types(module, builtin_types, COUNT_OF(builtin_types));
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

/* Call add_builtins() for cffi, which calls this without the GIL; cpkg_builtins_error() returns the error's text. */
static int cpkg_add_builtins(void *module)
{
    return set_up(add_builtins, module);
}
