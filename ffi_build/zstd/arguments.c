/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The arguments of the one-shot builtins.
 *
 * Whatever is out of the ordinary takes the slow path: the Python function gets the call as it came, and raises each
 * error. So nothing here raises, unlike the parser of MessagePack's options, whose errors would be made to be dropped.
 */
#pragma once

#include <zstd.h>

#include "../common/compat.c"

/*
 * Sort the arguments of a builtin into `values`, borrowed, NULL where there is none. Return -1, with no error set, if
 * they do not fit, or if the first one is missing.
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
        while (i < names_count && PyUnicode_CompareWithASCIIString(name, names[i]) != 0)
            i++;
        if (i == names_count || values[i] != NULL)
            return -1;
        values[i] = args[nargs + k];
    }
    return values[0] != NULL ? 0 : -1;
}

/* Take the slow path: hand the call, as it came, to a Python function of the module that the builtins belong to. */
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

/* Read a size that may be None; return -1, with no error set, for anything but an int from 0 to PY_SSIZE_T_MAX. */
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

/* Say whether an object is an int, or an enum's member, whose value is what __index__() would give. */
static int is_plain_int(PyObject *object)
{
    return PyLong_Check(object) && Py_TYPE(object)->tp_as_number->nb_index == PyLong_Type.tp_as_number->nb_index;
}

/*
 * Read an `options` dict; keys are ints or members of the module's enum `key_type`. Return the number of parameters,
 * or -1, with no error set, for anything that takes the slow path.
 */
static int take_options(PyObject *module, const char *key_type, PyObject *options, Parameter *parameters)
{
    if (!is_given(options))
        return 0;
    if (!PyDict_CheckExact(options))
        return -1;
    PyObject *type = PyObject_GetAttrString(module, key_type);
    if (type == NULL) {
        PyErr_Clear();
        return -1;
    }
    int count = 0;
    WITH_LOCKED(options)
    PyObject *key, *value;
    Py_ssize_t position = 0;
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
    Py_DECREF(type);
    return count;
}

/*
 * Say whether a compression parameter is a documented one, within its bounds, that may be set in a kept context; the
 * rest takes the slow path. (libzstd does not look at the bounds of them all.)
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
