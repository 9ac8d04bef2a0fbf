/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ordinary calls of cpkg's `dumps` and `loads`, without Python code between the caller and the codecs.
 *
 * Every rare case (hooks, other arguments, buffers, every error in the input) is passed unchanged to the Python
 * functions in cpkg/objects/dumps_loads.py, which define the behaviour and raise each error.
 */
#pragma once

#include "common/options.c"
#include "common/state.c"
#include "job_arguments.c"
#include "pack/functions.c"
#include "unpack/functions.c"
#include "unpack/weigh.c"

/* As a limit, the largest length that a header can declare: no limit. */
#define JOB_ANY_LENGTH 0xffffffffu

/* ---- dumps ---- */

enum compressing { NEVER, AUTO, ALWAYS };

static PyObject *job_finish(PyObject *message, enum compressing compress, Py_ssize_t level, bool checksum)
{
    if (!message)
        return NULL;
    PyObject *packed = PyObject_CallFunction(job.finish, "OOnO", message, compress == ALWAYS ? Py_True : job.str_auto,
                                             level, checksum ? Py_True : Py_False);
    Py_DECREF(message);
    return packed;
}

static PyObject *job_pack(const PackOptions *options, PyObject *o, enum compressing compress, Py_ssize_t level,
                          Py_ssize_t min_size, bool checksum)
{
    Encoder c;
    unsigned char *p = encode_start(&c, options, true);
    if (UNLIKELY(encode_count(&c, p, 1) < 0) ||
        UNLIKELY(!(p = encode_value(&c, p, o, options->max_depth, MAY_CONVERT | MAY_DEFAULT)))) {
        writer_drop(&c.w);
        return NULL;
    }
    const size_t size = (size_t)(p - c.w.start);
    if (compress == NEVER || (compress == AUTO && (Py_ssize_t)size < min_size))
        return writer_finish(&c.w, p);
    const ZstdCalls *calls = job_zstd();
    PyObject *frame = NULL;
    if (calls)
        frame =
            calls->compress((const char *)c.w.start, size, (int)level, checksum, compress == ALWAYS ? SIZE_MAX : size);
    if (UNLIKELY(!frame)) {
        if (!PyErr_Occurred())
            return job_finish(writer_finish(&c.w, p), compress, level, checksum);
        writer_drop(&c.w);
        return NULL;
    }
    if (frame == Py_None) {
        Py_DECREF(frame);
        return writer_finish(&c.w, p);
    }
    writer_drop(&c.w);
    return frame;
}

static PyObject *job_dumps(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t n_args, PyObject *keywords)
{
    PyObject *values[DUMPS_OPTIONS];
    if (LIKELY(n_args == 1 && !keywords))
        return job_pack(&job.packing, args[0], AUTO, job.level, job.min_size, true);
    if (n_args != 1 || !job_keywords(dumps_names, DUMPS_OPTIONS, args + 1, keywords, values))
        return PyObject_Vectorcall(job.dumps, args, (size_t)n_args, keywords);

    enum compressing compress = AUTO;
    Py_ssize_t level = job.level, min_size = job.min_size;
    bool checksum = true, ordinary = true;
    PackOptions options = job.packing;
    if (values[COMPRESS] == Py_True || values[COMPRESS] == Py_False)
        compress = values[COMPRESS] == Py_True ? ALWAYS : NEVER;
    else
        ordinary = !values[COMPRESS] || values[COMPRESS] == job.str_auto;
    ordinary = ordinary && job_size(values[LEVEL], -(1 << 17), 22, &level) &&
               job_size(values[MIN_SIZE], PY_SSIZE_T_MIN, PY_SSIZE_T_MAX, &min_size) &&
               job_bool(values[CHECKSUM], &checksum) && job_bool(values[SORT_KEYS], &options.sort_keys) &&
               job_size(values[DUMPS_MAX_DEPTH], 0, PY_SSIZE_T_MAX, &options.max_depth);
    if (!ordinary)
        return PyObject_Vectorcall(job.dumps, args, (size_t)n_args, keywords);
    if (!values[DEFAULT_] || values[DEFAULT_] == Py_None)
        return job_pack(&options, args[0], compress, level, min_size, checksum);
    options.default_ = PyObject_CallFunctionObjArgs(job.with_default, values[DEFAULT_], NULL);
    if (!options.default_)
        return NULL;
    PyObject *packed = job_pack(&options, args[0], compress, level, min_size, checksum);
    Py_DECREF(options.default_);
    return packed;
}

/* ---- loads ---- */

/* The limits of loads() (-1: no limit), and whether the caller has set each of them. */
typedef struct {
    Py_ssize_t output_size, memory;
    bool has_output_size, has_memory;
} JobLimits;

/* Return the size to which input of `size` bytes may expand, but at least `floor`. */
static Py_ssize_t job_grown(Py_ssize_t size, Py_ssize_t floor)
{
    const Py_ssize_t grown = size <= PY_SSIZE_T_MAX / job.expansion ? size * job.expansion : PY_SSIZE_T_MAX;
    return grown > floor ? grown : floor;
}

/* Return whether a message's objects may exceed the memory limit, calculated as in cpkg/objects/dumps_loads.py. */
static bool job_is_heavy(const char *message, Py_ssize_t size, Py_ssize_t data_size, const JobLimits *limits,
                         Py_ssize_t max_depth)
{
    Py_ssize_t memory = limits->memory;
    if (!limits->has_memory) {
        if (LIKELY(size <= job.memory_floor / job.heaviest) || limits->output_size < 0)
            return false;
        memory = job_grown(data_size, job.memory_floor);
        if (limits->has_output_size && limits->output_size > memory / 2)
            memory = limits->output_size <= PY_SSIZE_T_MAX / 2 ? 2 * limits->output_size : PY_SSIZE_T_MAX;
    }
    if (memory < 0 || size <= memory / job.heaviest)
        return false;
    const int64_t found = cpkg_weigh(message, (size_t)size, memory, max_depth);
    return found >= 0 || found == WEIGH_NO_MEMORY;
}

/* Return the content of frames, or the message itself if it is not compressed; NULL without an exception for rare
   cases. */
static PyObject *job_message(PyObject *data, const JobLimits *limits)
{
    const unsigned char *start = (const unsigned char *)PyBytes_AS_STRING(data);
    const Py_ssize_t size = PyBytes_GET_SIZE(data);
    if (UNLIKELY(size == 0))
        return NULL;
    /* frames begin with 0x28, skippable frames with 0x50 to 0x5f; a message that begins so is an int of one byte */
    if (LIKELY(size == 1 || (start[0] != 0x28 && (start[0] & 0xf0) != 0x50)))
        return limits->has_output_size && limits->output_size >= 0 && limits->output_size < size ? NULL : new_ref(data);
    if (limits->has_output_size && (limits->output_size < 0 || limits->output_size >= 2 * job.default_window))
        return NULL; /* this limit allows a window larger than the default */
    const ZstdCalls *calls = job_zstd();
    const Py_ssize_t limit = limits->has_output_size ? limits->output_size : job_grown(size, job.output_floor);
    return calls ? calls->decompress((const char *)start, (size_t)size, (size_t)limit) : NULL;
}

static PyObject *job_unpack(const UnpackOptions *options, PyObject *data, const JobLimits *limits)
{
    PyObject *message = job_message(data, limits), *o = NULL;
    if (!message)
        return NULL;
    const Py_ssize_t size = PyBytes_GET_SIZE(message);
    if (LIKELY(!job_is_heavy(PyBytes_AS_STRING(message), size, PyBytes_GET_SIZE(data), limits, options->max_depth)))
        o = unpack_data(options, (const unsigned char *)PyBytes_AS_STRING(message), size, 0, message, false, NULL);
    Py_DECREF(message);
    return o;
}

/* Return true, and clear the exception, if Python must repeat the call: it raises errors of the input with more
   details. */
static bool job_may_retry(void)
{
    if (PyErr_Occurred() && !PyErr_ExceptionMatches(PyExc_ValueError) && !PyErr_ExceptionMatches(PyExc_TypeError) &&
        !PyErr_ExceptionMatches(PyExc_OverflowError) && !PyErr_ExceptionMatches(job.CodecError))
        return false;
    PyErr_Clear();
    return true;
}

static PyObject *job_loads(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t n_args, PyObject *keywords)
{
    PyObject *values[LOADS_OPTIONS], *o;
    JobLimits limits = {0, 0, false, false};
    if (UNLIKELY(n_args != 1 || !PyBytes_CheckExact(args[0])))
        goto slow;
    if (!keywords)
        o = job_unpack(&job.unpacking, args[0], &limits);
    else {
        UnpackOptions options = job.unpacking;
        if (!job_keywords(loads_names, LOADS_OPTIONS, args + 1, keywords, values))
            goto slow;
        for (int i = 0; i < LOADS_MAY_BE_NONE; i++)
            if (values[i] == Py_None)
                values[i] = NULL;
        if (values[EXT_HOOK] || values[OBJECT_HOOK] ||
            !job_size(values[MAX_OUTPUT_SIZE], -1, PY_SSIZE_T_MAX, &limits.output_size) ||
            !job_size(values[MAX_MEMORY], -1, PY_SSIZE_T_MAX, &limits.memory) ||
            !job_size(values[MAX_TOTAL_ITEMS], -1, PY_SSIZE_T_MAX, &options.max_total_items) ||
            !job_size(values[LOADS_MAX_DEPTH], 0, PY_SSIZE_T_MAX, &options.max_depth) ||
            !job_bool(values[USE_LIST], &options.use_list) ||
            !job_bool(values[STRICT_MAP_KEY], &options.strict_map_key) ||
            !job_size(values[TIMESTAMP], 0, 3, &options.timestamp))
            goto slow;
        options.tuple_keys = !options.strict_map_key;
        if (unpack_options_check(&options) < 0) /* sets the fields that derive from options */
            return NULL;
        limits.has_output_size = values[MAX_OUTPUT_SIZE] != NULL;
        limits.has_memory = values[MAX_MEMORY] != NULL;
        o = job_unpack(&options, args[0], &limits);
    }
    if (LIKELY(o != NULL))
        return o;
    if (!job_may_retry())
        return NULL;
slow:
    return PyObject_Vectorcall(job.loads, args, (size_t)n_args, keywords);
}

/* ---- import ---- */

static PyMethodDef job_methods[] = {
    {"dumps", AS_METHOD(job_dumps), FASTCALL, NULL},
    {"loads", AS_METHOD(job_loads), FASTCALL, NULL},
};

static int job_intern(const char *const *names, int n, PyObject **to)
{
    for (int i = 0; i < n; i++)
        if (!to[i] && !(to[i] = PyUnicode_InternFromString(names[i])))
            return -1;
    return 0;
}

/*
 * Return the functions `dumps` and `loads`, given a dict of the Python objects that they use. A second call replaces
 * all of these objects, including the Zstandard module. The caller ensures that no other thread is in this function, or
 * in `dumps` or `loads`.
 */
static PyObject *job_functions(PyObject *Py_UNUSED(module), PyObject *shared)
{
    PyObject *module_name = PyUnicode_FromString("cpkg"), *functions[2] = {NULL, NULL}, *result = NULL;
    for (size_t i = 0; i < COUNT_OF(job_shared) && module_name; i++) {
        PyObject *found = PyDict_GetItemString(shared, job_shared[i].name);
        if (!found) {
            PyErr_Format(PyExc_KeyError, "%s", job_shared[i].name);
            goto done;
        }
        Py_XSETREF(*job_shared[i].to, new_ref(found));
    }
    for (size_t i = 0; i < COUNT_OF(job_constants) && module_name; i++) {
        PyObject *found = PyDict_GetItemString(shared, job_constants[i].name);
        *job_constants[i].to = found ? PyLong_AsSsize_t(found) : -1;
        if (*job_constants[i].to <= 0) {
            if (!PyErr_Occurred())
                PyErr_Format(PyExc_KeyError, "%s", job_constants[i].name);
            goto done;
        }
    }
    job.calls = NULL;
    Py_CLEAR(job.calls_owner);
    if (!module_name || !(job.str_auto = PyUnicode_InternFromString("auto")) ||
        job_intern(dumps_options, DUMPS_OPTIONS, dumps_names) < 0 ||
        job_intern(loads_options, LOADS_OPTIONS, loads_names) < 0 ||
        !(job_methods[0].ml_doc = PyUnicode_AsUTF8(job.dumps_doc)) ||
        !(job_methods[1].ml_doc = PyUnicode_AsUTF8(job.loads_doc)))
        goto done;
    job.packing = default_pack_options;
    job.packing.default_ = job.pack_default;
    job.packing.datetime = job.packing.dataclass = job.packing.enum_ = job.packing.numpy = true;
    job.unpacking = default_unpack_options;
    job.unpacking.ext_hook = job.unpack_ext;
    job.unpacking.value_types = true;
    job.unpacking.strict_map_key = false;
    job.unpacking.tuple_keys = true;
    job.unpacking.timestamp = 3;
    job.unpacking.max_str_len = job.unpacking.max_bin_len = job.unpacking.max_ext_len = JOB_ANY_LENGTH;
    job.unpacking.max_array_len = job.unpacking.max_map_len = JOB_ANY_LENGTH;
    if (unpack_options_check(&job.unpacking) < 0)
        goto done;
    for (int i = 0; i < 2; i++)
        if ((functions[i] = PyCFunction_NewEx(&job_methods[i], NULL, module_name)))
            leave_uncounted(functions[i]);
        else
            goto done;
    result = PyTuple_Pack(2, functions[0], functions[1]);
done:
    Py_XDECREF(functions[0]);
    Py_XDECREF(functions[1]);
    Py_XDECREF(module_name);
    return result;
}
