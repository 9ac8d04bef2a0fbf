/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading the arguments of a builtin. Each function has one table of options. Their values go directly into a struct,
 * without an argument tuple.
 */
#pragma once

#include "compat.c"

enum option_kind {
    OPTION_BOOL,
    OPTION_SIZE,
    OPTION_COUNT,
    OPTION_LIMIT,
    OPTION_CALLABLE,
    OPTION_STR,
    OPTION_BYTEARRAY,
    OPTION_OBJECT
};

typedef struct {
    const char *name;
    enum option_kind kind;
    size_t offset;
    PyObject *interned; /* the name as the interpreter passes it; set at import */
} Option;

/* The parameters of a function: up to three that may be positional, then its options. */
typedef struct {
    const char *name;
    Option *options;
    size_t n_options;
    int n_required;
    int n_positional;
    const char *positional_name[3];
    PyObject *positional[3]; /* the interned names; set at import */
} Signature;

/* Intern the names of the parameters, so that keyword_set() can compare pointers. */
static int signature_init(Signature *s)
{
    for (size_t i = 0; i < s->n_options; i++)
        if (!s->options[i].interned && !(s->options[i].interned = PyUnicode_InternFromString(s->options[i].name)))
            return -1;
    for (int i = 0; i < s->n_positional; i++)
        if (!(s->positional[i] = PyUnicode_InternFromString(s->positional_name[i])))
            return -1;
    return 0;
}

/* Return the name of an object's type, without the module, which the names of types in C contain. */
static const char *short_type_name(PyObject *o)
{
    const char *name = Py_TYPE(o)->tp_name, *dot = strrchr(name, '.');
    return dot ? dot + 1 : name;
}

/* Read the argument `name`, an int or an object with __index__; return 0, or -1 with an exception set. */
static int size_read(const char *name, PyObject *value, Py_ssize_t *to)
{
    if (!PyIndex_Check(value)) {
        PyErr_Format(PyExc_TypeError, "%s must be an int, not %.100s", name, short_type_name(value));
        return -1;
    }
    PyObject *number = PyNumber_Index(value);
    if (!number)
        return -1;
    *to = PyLong_AsSsize_t(number);
    if (*to == -1 && PyErr_Occurred()) {
        PyErr_Clear();
        PyObject *text = PyNumber_ToBase(number, 16); /* an int of very many digits cannot become decimal text */
        int bits = 8 * (int)sizeof(Py_ssize_t) - 1;
        if (text)
            PyErr_Format(PyExc_OverflowError, "%s must be from -2**%d to 2**%d-1, not %U", name, bits, bits, text);
        Py_XDECREF(text);
        Py_DECREF(number);
        return -1;
    }
    Py_DECREF(number);
    return 0;
}

static int option_set(const Option *opt, void *options, PyObject *value)
{
    void *field = (char *)options + opt->offset;
    switch (opt->kind) {
    case OPTION_BOOL: {
        int truth = PyObject_IsTrue(value);
        if (truth < 0)
            return -1;
        *(bool *)field = truth != 0;
        return 0;
    }
    case OPTION_COUNT:
    case OPTION_LIMIT:
    case OPTION_SIZE: {
        Py_ssize_t size;
        if (size_read(opt->name, value, &size) < 0)
            return -1;
        if (opt->kind != OPTION_SIZE && size < (opt->kind == OPTION_COUNT ? 0 : -1)) {
            PyErr_Format(PyExc_ValueError, "%s must be 0 or more, %snot %zd", opt->name,
                         opt->kind == OPTION_COUNT ? "" : "or -1 for no limit, ", size);
            return -1;
        }
        *(Py_ssize_t *)field = size;
        return 0;
    }
    case OPTION_OBJECT:
        break;
    case OPTION_CALLABLE:
        if (value != Py_None && !PyCallable_Check(value)) {
            PyErr_Format(PyExc_TypeError, "%s must be a callable.", opt->name);
            return -1;
        }
        break;
    case OPTION_STR:
        if (value != Py_None) {
            Py_ssize_t size;
            if (!PyUnicode_Check(value)) {
                PyErr_Format(PyExc_TypeError, "%s must be a str or None, not %.100s", opt->name,
                             short_type_name(value));
                return -1;
            }
            const char *text = PyUnicode_AsUTF8AndSize(value, &size);
            if (text && strlen(text) != (size_t)size)
                PyErr_Format(PyExc_ValueError, "%s must not contain a null character", opt->name);
            if (!text || PyErr_Occurred())
                return -1;
        }
        break;
    case OPTION_BYTEARRAY:
        if (value != Py_None && !PyByteArray_CheckExact(value)) {
            PyErr_Format(PyExc_TypeError, "%s must be a bytearray or None, not %.100s", opt->name,
                         short_type_name(value));
            return -1;
        }
        break;
    }
    *(PyObject **)field = value == Py_None ? NULL : value;
    return 0;
}

/* Set a keyword argument: a positional parameter or an option. */
static NEVER_INLINE int keyword_set(const Signature *s, PyObject *name, PyObject *value, PyObject **positional,
                                    void *options)
{
    /* names written in a call are interned; keys of a mapping may not be, so a second pass compares by value */
    for (int by_value = 0; by_value < 2; by_value++) {
        for (size_t i = 0; i < s->n_options; i++)
            if (by_value ? PyUnicode_Compare(name, s->options[i].interned) == 0 : name == s->options[i].interned)
                return option_set(&s->options[i], options, value);
        for (int i = 0; i < s->n_positional; i++)
            if (by_value ? PyUnicode_Compare(name, s->positional[i]) == 0 : name == s->positional[i]) {
                if (positional[i]) {
                    PyErr_Format(PyExc_TypeError, "%s() got multiple values for argument '%U'", s->name, name);
                    return -1;
                }
                positional[i] = value;
                return 0;
            }
    }
    PyErr_Format(PyExc_TypeError, "%s() got an unexpected keyword argument '%U'", s->name, name);
    return -1;
}

static int positional_check(const Signature *s, Py_ssize_t n_given, PyObject *const *positional)
{
    if (n_given > s->n_positional) {
        PyErr_Format(PyExc_TypeError, "%s() takes at most %d positional argument%s (%zd given)", s->name,
                     s->n_positional, s->n_positional == 1 ? "" : "s", n_given);
        return -1;
    }
    for (int i = 0; i < s->n_required; i++)
        if (positional && !positional[i]) {
            PyErr_Format(PyExc_TypeError, "%s() missing required argument: '%s'", s->name, s->positional_name[i]);
            return -1;
        }
    return 0;
}

/* Read the arguments of a METH_FASTCALL | METH_KEYWORDS function. `positional` must be all NULL. */
static ALWAYS_INLINE int arguments_read(const Signature *s, PyObject *const *args, Py_ssize_t n_args,
                                        PyObject *keyword_names, PyObject **positional, void *options)
{
    if (UNLIKELY(n_args > s->n_positional))
        return positional_check(s, n_args, NULL);
    for (Py_ssize_t i = 0; i < n_args; i++)
        positional[i] = args[i];
    if (keyword_names) {
        Py_ssize_t n = PyTuple_GET_SIZE(keyword_names);
        for (Py_ssize_t i = 0; i < n; i++)
            if (keyword_set(s, PyTuple_GET_ITEM(keyword_names, i), args[n_args + i], positional, options) < 0)
                return -1;
    }
    if (UNLIKELY(n_args < s->n_required))
        return positional_check(s, n_args, positional);
    return 0;
}

/* The arguments of a tp_init. Code that runs while they are read (__bool__, __index__, a file's `read`) can find and
   empty the dict of keyword arguments, so the arguments are owned until all options are set. OWNED_MAX is larger than
   the number of parameters of any function, so if more arguments are given, one of the first has an unknown name. */
#define OWNED_MAX 32

typedef struct {
    Py_ssize_t n;
    PyObject *names[OWNED_MAX], *values[OWNED_MAX];
} OwnedArguments;

static inline void arguments_drop(OwnedArguments *owned)
{
    while (owned->n > 0) {
        owned->n--;
        Py_DECREF(owned->names[owned->n]);
        Py_DECREF(owned->values[owned->n]);
    }
}

/* Read arguments from a tuple and a dict, like arguments_read(). Always call arguments_drop() afterwards. */
static inline int arguments_read_init(const Signature *s, PyObject *args, PyObject *keywords, PyObject **positional,
                                      void *options, OwnedArguments *owned)
{
    Py_ssize_t n_args = PyTuple_GET_SIZE(args);
    owned->n = 0;
    if (positional_check(s, n_args, NULL) < 0)
        return -1;
    for (Py_ssize_t i = 0; i < n_args; i++)
        positional[i] = PyTuple_GET_ITEM(args, i);
    if (keywords) {
        PyObject *name, *value;
        Py_ssize_t position = 0;
        WITH_LOCKED(keywords)
        while (owned->n < OWNED_MAX && PyDict_Next(keywords, &position, &name, &value)) {
            owned->names[owned->n] = new_ref(name);
            owned->values[owned->n++] = new_ref(value);
        }
        END_LOCKED()
        for (Py_ssize_t i = 0; i < owned->n; i++)
            if (keyword_set(s, owned->names[i], owned->values[i], positional, options) < 0)
                return -1;
    }
    return positional_check(s, n_args, positional);
}
