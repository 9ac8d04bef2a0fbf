/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the four file objects have in common: they read or write, and do neither backwards. No io.IOBase, as they are
 * none in python-zstandard: one that is given up is neither closed nor flushed. cpkg/zstandard/files.py is the same in
 * Python.
 */
#pragma once

#include "../streams/calls.c"
#include "other_file.c"
#include "../streams/object.c"
#include "../streams/raising.c"
#include "../streams/turn.c"

typedef struct FileObject {
    PyObject_HEAD
    PyObject *weak_references;
    Turn turn;
    int (*end)(struct FileObject *object); /* what close() does once; return 0, or -1 with an exception set */
    PyObject *file;                        /* the source or the target */
    int is_closing_file;
    int is_entered;
    char is_closed;
} FileObject;

/* Begin one in zeroed memory. */
static void file_open(FileObject *object, PyObject *file, int closefd, int (*end)(FileObject *))
{
    object->end = end;
    object->file = new_ref(file);
    object->is_closing_file = closefd;
}

/* Free the members of the base, before the object itself. */
static void file_free(FileObject *object)
{
    if (object->weak_references != NULL)
        PyObject_ClearWeakRefs((PyObject *)object);
    turn_free(&object->turn);
    Py_CLEAR(object->file);
    object_free((PyObject *)object);
}

/* Return 0 for one that is open, else -1 with an exception set. */
static int file_check_open(const FileObject *object)
{
    if (object->is_closed) {
        PyErr_SetString(PyExc_ValueError, "stream is closed");
        return -1;
    }
    return 0;
}

/* Begin a turn in one that is open; return 0, or -1 with an exception set. */
static int file_enter(FileObject *object)
{
    if (turn_enter((PyObject *)object, &object->turn) < 0)
        return -1;
    if (file_check_open(object) < 0) {
        turn_leave((PyObject *)object, &object->turn);
        return -1;
    }
    return 0;
}

/* Close the other file, if that is wanted and possible; whatever exception is set stays. Return 0 or -1. */
static int file_close_other(FileObject *object)
{
    if (!object->is_closing_file)
        return 0;
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    int result = call_if_there(object->file, name_close);
    if (type != NULL) {
        if (result < 0)
            PyErr_Clear();
        PyErr_Restore(type, value, traceback);
    }
    return result;
}

static PyObject *file_close(PyObject *self, PyObject *Py_UNUSED(unused))
{
    FileObject *object = (FileObject *)self;
    if (turn_enter(self, &object->turn) < 0)
        return NULL;
    int result = object->is_closed ? 0 : object->end(object);
    turn_leave(self, &object->turn);
    return result < 0 ? NULL : new_ref(Py_None);
}

static PyObject *file_unsupported(PyObject *Py_UNUSED(self), PyObject *Py_UNUSED(args), PyObject *Py_UNUSED(kwargs))
{
    return raise_from("io", "UnsupportedOperation", PyUnicode_FromString("not supported by this stream"));
}

static PyObject *file_not_iterable(PyObject *self)
{
    return file_unsupported(self, NULL, NULL);
}

static PyObject *file_false(PyObject *Py_UNUSED(self), PyObject *Py_UNUSED(unused))
{
    Py_RETURN_FALSE;
}

static PyObject *file_true(PyObject *Py_UNUSED(self), PyObject *Py_UNUSED(unused))
{
    Py_RETURN_TRUE;
}

static PyObject *file_exit(PyObject *self, PyObject *Py_UNUSED(args))
{
    ((FileObject *)self)->is_entered = 0;
    PyObject *closed = PyObject_CallMethodNoArgs(self, name_close);
    if (closed == NULL)
        return NULL;
    Py_DECREF(closed);
    Py_RETURN_FALSE;
}

static PyMemberDef file_members[] = {
    {"closed", T_BOOL, offsetof(FileObject, is_closed), READONLY, "Whether close() was called."},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(FileObject, weak_references), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

#define FILE_UNSUPPORTED(name, parameters) \
    {name, AS_METHOD(file_unsupported), METH_VARARGS | METH_KEYWORDS, \
     name "($self, /" parameters ")\n--\n\nRaise io.UnsupportedOperation."}

/* Methods that no file object has another answer to. */
#define FILE_METHODS \
    {"isatty", file_false, METH_NOARGS, "isatty($self, /)\n--\n\nReturn False."}, \
        {"seekable", file_false, METH_NOARGS, "seekable($self, /)\n--\n\nReturn False."}, \
        FILE_UNSUPPORTED("readline", ", size=-1"), FILE_UNSUPPORTED("readlines", ", hint=-1")

/* Declare the type of a file object whose other functions begin with `base`. */
#define DECLARE_FILE_TYPE(object, base, type_name, structure, doc) \
    DECLARE_TYPE(object, "cpkg.zstandard." type_name, structure, Py_TPFLAGS_HAVE_GC, {Py_tp_doc, doc}, \
                 {Py_tp_new, object_refuse_new}, COLLECTED_SLOTS(base), {Py_tp_iter, file_not_iterable}, \
                 {Py_tp_iternext, file_not_iterable}, {Py_tp_members, file_members}, \
                 {Py_tp_methods, object##_methods})
