/* SPDX-License-Identifier: Apache-2.0 */
/* The arguments of methods that have no Python half to hand a wrong call to. */
#pragma once

#include "../arguments.c"

/* Check how many arguments a method has that are all given by position; return 0, or -1 with a TypeError. */
static int check_count(const char *name, Py_ssize_t nargs, Py_ssize_t wanted)
{
    if (nargs != wanted) {
        PyErr_Format(PyExc_TypeError, "%s() takes %zd arguments, not %zd", name, wanted, nargs);
        return -1;
    }
    return 0;
}

/* Sort positional and keyword arguments into `values`, borrowed, NULL where there is none; -1 with a TypeError. */
static int take_arguments(const char *function, const char *const *names, Py_ssize_t count, Py_ssize_t required,
                          PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames, PyObject **values)
{
    Py_ssize_t misfit = sort_arguments(names, count, count, args, nargs, kwnames, values);
    if (misfit == TOO_MANY_ARGUMENTS) {
        PyErr_Format(PyExc_TypeError, "%s() takes at most %zd arguments (%zd given)", function, count, nargs);
        return -1;
    }
    if (misfit != ARGUMENTS_FIT) {
        PyObject *name = PyTuple_GET_ITEM(kwnames, misfit);
        Py_ssize_t i = 0;
        while (i < count && PyUnicode_CompareWithASCIIString(name, names[i]) != 0)
            i++;
        PyErr_Format(PyExc_TypeError,
                     i == count ? "%s() got an unexpected keyword argument '%U'"
                                : "%s() got multiple values for argument '%U'",
                     function, name);
        return -1;
    }
    for (Py_ssize_t i = 0; i < required; i++) {
        if (values[i] == NULL) {
            PyErr_Format(PyExc_TypeError, "%s() missing required argument: '%s'", function, names[i]);
            return -1;
        }
    }
    return 0;
}

/* Take the one argument that a method has, NULL if it is left out and may be; -1 with a TypeError. */
static inline int take_only_argument(const char *function, const char *name, int is_required, PyObject *const *args,
                                     Py_ssize_t nargs, PyObject *kwnames, PyObject **value)
{
    if (LIKELY(nargs == 1 && kwnames == NULL)) {
        *value = args[0];
        return 0;
    }
    return take_arguments(function, &name, 1, is_required, args, nargs, kwnames, value);
}
