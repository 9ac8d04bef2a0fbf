/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The arguments of the one-shot builtins.
 *
 * Unusual arguments take the slow path: a Python function gets the call unchanged, and raises all errors. So nothing
 * here raises. (common/arguments.c, which MessagePack uses, does raise; its exceptions would only be dropped here.)
 */
#pragma once

#include <zstd.h>

#include "../common/compat.c"

/*
 * Return whether a keyword is `text`. The first letter excludes most other names without calling memcmp(). This matters
 * because a keyword is compared with each name of the function, and compressing a small message takes no longer than a
 * few calls of memcmp().
 */
static ALWAYS_INLINE int is_named(PyObject *keyword, const char *text)
{
    return PyUnicode_IS_COMPACT_ASCII(keyword) && *(const char *)PyUnicode_DATA(keyword) == *text &&
           (size_t)PyUnicode_GET_LENGTH(keyword) == strlen(text) &&
           memcmp(PyUnicode_DATA(keyword), text, strlen(text)) == 0;
}

/*
 * Store the arguments of a builtin in `values` (borrowed, or NULL if missing), and return 0. Return -1, without an
 * exception, if they do not fit the parameters or the first argument is missing.
 */
static ALWAYS_INLINE int take_ordinary(const char *const *names, Py_ssize_t names_count, Py_ssize_t positional_max,
                                       PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames, PyObject **values)
{
    if (nargs > positional_max)
        return -1;
    for (Py_ssize_t i = 0; i < names_count; i++)
        values[i] = i < nargs ? args[i] : NULL;
    Py_ssize_t keywords = kwnames == NULL ? 0 : PyTuple_GET_SIZE(kwnames);
    for (Py_ssize_t k = 0; k < keywords; k++) {
        PyObject *name = PyTuple_GET_ITEM(kwnames, k);
        Py_ssize_t i = 0;
        while (i < names_count && !is_named(name, names[i]))
            i++;
        if (i == names_count || values[i] != NULL)
            return -1;
        values[i] = args[nargs + k];
    }
    return values[0] != NULL ? 0 : -1;
}

/* Take the slow path: pass the call unchanged to a Python function of the builtin's module. */
static PyObject *call_slow(PyObject *module, const char *name, PyObject *const *args, Py_ssize_t nargs,
                           PyObject *kwnames)
{
    PyObject *function = PyObject_GetAttrString(module, name);
    if (function == NULL)
        return NULL;
    PyObject *result = PyObject_Vectorcall(function, args, (size_t)nargs, kwnames);
    Py_DECREF(function);
    return result;
}

static int is_given(PyObject *argument)
{
    return argument != NULL && argument != Py_None;
}

/*
 * Read a size, an int from 0 to PY_SSIZE_T_MAX, and return 0. A missing argument or None leaves `size` unchanged.
 * Return -1, without an exception, for any other value.
 */
static int take_size_or_none(PyObject *argument, size_t *size)
{
    if (!is_given(argument))
        return 0;
    int overflow = 0;
    long long number = PyLong_CheckExact(argument) ? PyLong_AsLongLongAndOverflow(argument, &overflow) : -1;
    if (overflow != 0 || number < 0 || number > PY_SSIZE_T_MAX)
        return -1;
    *size = (size_t)number;
    return 0;
}

typedef struct {
    int key;
    int value;
} Parameter;

enum { PARAMETERS_MAX = 32 };

/* Return whether an object is an int, or a member of an int enum, without its own __index__(). */
static int is_plain_int(PyObject *object)
{
    return PyLong_Check(object) && Py_TYPE(object)->tp_as_number->nb_index == PyLong_Type.tp_as_number->nb_index;
}

/*
 * Read an `options` dict whose keys are ints or members of the module's enum `key_type`. Return the number of
 * parameters, or -1, without an exception, if the dict takes the slow path.
 */
static int take_options(PyObject *module, const char *key_type, PyObject *options, Parameter *parameters)
{
    if (!is_given(options))
        return 0;
    if (!PyDict_CheckExact(options))
        return -1;
    PyObject *type = NULL, *key = NULL, *value;
    int count = 0, has_members = 0;
    Py_ssize_t position = 0;
    WITH_LOCKED(options)
    while (!has_members && PyDict_Next(options, &position, &key, &value))
        has_members = !PyLong_CheckExact(key);
    END_LOCKED()
    /* the look-up may run code that changes the dict, so it comes before the loop that reads the parameters */
    if (has_members && (type = PyObject_GetAttrString(module, key_type)) == NULL) {
        PyErr_Clear();
        return -1;
    }
    WITH_LOCKED(options)
    position = 0;
    while (count >= 0 && PyDict_Next(options, &position, &key, &value)) {
        int key_overflow = 0, value_overflow = 0;
        if (count == PARAMETERS_MAX || !(PyLong_CheckExact(key) || (PyObject *)Py_TYPE(key) == type) ||
            !is_plain_int(key) || !is_plain_int(value)) {
            count = -1;
            break;
        }
        long id = PyLong_AsLongAndOverflow(key, &key_overflow);
        long number = PyLong_AsLongAndOverflow(value, &value_overflow);
        if (key_overflow != 0 || value_overflow != 0 || id != (int)id || number != (int)number) {
            count = -1;
            break;
        }
        parameters[count].key = (int)id;
        parameters[count].value = (int)number;
        count++;
    }
    END_LOCKED()
    Py_XDECREF(type);
    return count;
}

/*
 * Return whether a compression parameter is documented, within its bounds (libzstd does not check all bounds), and
 * allowed in a context that is kept for later calls. With other parameters, a call takes the slow path.
 */
static int is_ordinary(Parameter parameter)
{
    int key = parameter.key;
    if (key < ZSTD_c_compressionLevel || key > ZSTD_c_dictIDFlag ||
        (key > ZSTD_c_strategy && key < ZSTD_c_enableLongDistanceMatching)) {
        return 0;
    }
    ZSTD_bounds bounds = ZSTD_cParam_getBounds((ZSTD_cParameter)key);
    return !ZSTD_isError(bounds.error) &&
           (parameter.value == 0 || (parameter.value >= bounds.lowerBound && parameter.value <= bounds.upperBound));
}
