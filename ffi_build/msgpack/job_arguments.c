/* SPDX-License-Identifier: Apache-2.0 */
/* The arguments of `dumps` and `loads` in job.c, and the Python objects that they use. */
#pragma once

#include "../common/compat.c"
#include "../common/zstd_calls.h"
#include "common/options.c"
#include "common/state.c"

/* Python objects, named as in the dict that job_functions() receives, and what C derives from them. */
static struct {
    PyObject *dumps, *loads; /* the Python functions for all rare cases */
    PyObject *finish;        /* finish(message, compress, level, checksum) */
    PyObject *find_zstd;     /* returns the calls of the compiled Zstandard module, or None */
    PyObject *pack_default, *with_default, *unpack_ext;
    PyObject *CodecError;
    PyObject *dumps_doc, *loads_doc;
    PyObject *str_auto;
    PyObject *calls_owner; /* the owner of `calls`: a capsule, None, or NULL before the first search */
    const ZstdCalls *calls;
    Py_ssize_t level, min_size, output_floor, memory_floor, expansion, heaviest, default_window;
    PackOptions packing;
    UnpackOptions unpacking;
} job;

static const struct {
    const char *name;
    PyObject **to;
} job_shared[] = {
    {"dumps", &job.dumps},
    {"loads", &job.loads},
    {"finish", &job.finish},
    {"find_zstd", &job.find_zstd},
    {"pack_default", &job.pack_default},
    {"with_default", &job.with_default},
    {"unpack_ext", &job.unpack_ext},
    {"CodecError", &job.CodecError},
    {"dumps_doc", &job.dumps_doc},
    {"loads_doc", &job.loads_doc},
};

/* Constants that cpkg/objects/dumps_loads.py defines and explains. */
static const struct {
    const char *name;
    Py_ssize_t *to;
} job_constants[] = {
    {"LEVEL", &job.level},
    {"MIN_SIZE", &job.min_size},
    {"OUTPUT_FLOOR", &job.output_floor},
    {"MEMORY_FLOOR", &job.memory_floor},
    {"EXPANSION", &job.expansion},
    {"HEAVIEST", &job.heaviest},
    {"DEFAULT_WINDOW", &job.default_window},
};

enum { COMPRESS, LEVEL, MIN_SIZE, CHECKSUM, DEFAULT_, SORT_KEYS, DUMPS_MAX_DEPTH, DUMPS_OPTIONS };
static const char *const dumps_options[DUMPS_OPTIONS] = {"compress", "level",     "min_size", "checksum",
                                                         "default",  "sort_keys", "max_depth"};
static PyObject *dumps_names[DUMPS_OPTIONS];

enum {
    MAX_OUTPUT_SIZE,
    MAX_MEMORY,
    MAX_TOTAL_ITEMS,
    EXT_HOOK,
    OBJECT_HOOK,
    LOADS_MAX_DEPTH,
    USE_LIST,
    STRICT_MAP_KEY,
    TIMESTAMP,
    LOADS_OPTIONS
};
#define LOADS_MAY_BE_NONE LOADS_MAX_DEPTH /* the arguments before this one may be None */
static const char *const loads_options[LOADS_OPTIONS] = {"max_output_size", "max_memory",     "max_total_items",
                                                         "ext_hook",        "object_hook",    "max_depth",
                                                         "use_list",        "strict_map_key", "timestamp"};
static PyObject *loads_names[LOADS_OPTIONS];

/* Sort keyword arguments into `values` (borrowed, or NULL if missing); return false for an unknown name. */
static bool job_keywords(PyObject *const *names, int n_names, PyObject *const *args, PyObject *keywords,
                         PyObject **values)
{
    for (int i = 0; i < n_names; i++)
        values[i] = NULL;
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(keywords); k++) {
        int i = 0;
        while (i < n_names && names[i] != PyTuple_GET_ITEM(keywords, k))
            i++;
        if (i == n_names)
            return false; /* unknown, or, rarely, not interned */
        values[i] = args[k];
    }
    return true;
}

/* job_bool() and job_size() read an argument if it is given, and return false if Python must handle its value. */
static bool job_bool(PyObject *value, bool *to)
{
    if (value)
        *to = value == Py_True;
    return !value || value == Py_True || value == Py_False;
}

static bool job_size(PyObject *value, Py_ssize_t least, Py_ssize_t most, Py_ssize_t *to)
{
    int overflow = 0;
    if (!value)
        return true;
    if (!PyLong_CheckExact(value))
        return false;
    const long long number = PyLong_AsLongLongAndOverflow(value, &overflow);
    *to = (Py_ssize_t)number;
    return !overflow && number >= least && number <= most;
}

/* Return the calls of the compiled Zstandard module; NULL without an exception if another backend was chosen. */
static const ZstdCalls *job_zstd(void)
{
    if (UNLIKELY(!KEPT_AT(job.calls_owner))) {
        PyObject *found = PyObject_CallFunctionObjArgs(job.find_zstd, NULL);
        if (!found)
            return NULL;
        /* threads that do this at the same time store the same pointer */
        const ZstdCalls *calls = found == Py_None ? NULL : PyCapsule_GetPointer(found, ZSTD_CALLS_NAME);
        SET_SHOWN(job.calls, calls);
        keep(&job.calls_owner, found);
    }
    return SHOWN(job.calls);
}
