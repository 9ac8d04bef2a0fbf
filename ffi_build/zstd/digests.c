/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The digests of dictionaries, for the one-shot functions. A digest is the tables that libzstd builds from a
 * dictionary. Python creates digests and keeps them with the ZstdDict (Digests in purepy/zstd/format/zdict.py); C looks
 * them up. If a digest is missing, the call takes the slow path, which creates it. A call holds a reference to its
 * digest, because Python may drop the digest at any time.
 */
#pragma once

#include <zstd.h>

#include "../common/compat.c"
#include "arguments.c"
#include "short_calls.c"

/* How to load a dictionary: the numbers of ZstdDict.as_digested_dict, as_undigested_dict and as_prefix. */
enum { DIGESTED, UNDIGESTED, PREFIX };

/* For data of up to this size, a level's tables give the same frame as loading the dictionary (settings.py). */
enum { SHARED_DATA_MAX = (128 << 10) - 1 };

/* Interned names: of ZstdDict's attribute with a dict of digests, and of this backend's entries in that dict. */
static PyObject *digests_name, *cdicts_name, *ddict_name;

static int digests_set_up(void)
{
    digests_name = PyUnicode_InternFromString("_digests");
    cdicts_name = PyUnicode_InternFromString("native compress");
    ddict_name = PyUnicode_InternFromString("native decompress");
    return digests_name == NULL || cdicts_name == NULL || ddict_name == NULL ? -1 : 0;
}

/* A digest in use: libzstd's tables, and the object that owns them. */
typedef struct {
    const void *tables;
    PyObject *owner;
} Digest;

static void digest_let_go(Digest *digest)
{
    Py_CLEAR(digest->owner);
}

/* Return the tuple that Python keeps under a name, a new reference; NULL, without an exception, if it is missing. */
static ALWAYS_INLINE PyObject *digests_of(PyObject *dictionary, PyObject *name)
{
    PyObject *digests = PyObject_GetAttr(dictionary, digests_name);
    PyObject *kept = NULL;
    if (digests != NULL && PyDict_Check(digests)) {
        WITH_LOCKED(digests)
        kept = PyDict_GetItemWithError(digests, name);
        Py_XINCREF(kept);
        END_LOCKED()
    }
    Py_XDECREF(digests);
    if (kept == NULL)
        PyErr_Clear();
    else if (!PyTuple_CheckExact(kept))
        Py_CLEAR(kept);
    return kept;
}

/*
 * Take a digest from `form`, a tuple of three items, of which C uses the second: the address of the tables. Return 0,
 * or -1 without an exception.
 */
static ALWAYS_INLINE int digest_take(Digest *digest, PyObject *form)
{
    if (!PyTuple_CheckExact(form) || PyTuple_GET_SIZE(form) != 3 || !PyLong_CheckExact(PyTuple_GET_ITEM(form, 1)))
        return -1;
    size_t address = PyLong_AsSize_t(PyTuple_GET_ITEM(form, 1)); /* faster than PyLong_AsVoidPtr() */
    if (address == (size_t)-1) {
        PyErr_Clear();
        return -1;
    }
    digest->tables = (const void *)address;
    digest->owner = new_ref(form);
    return 0;
}

/*
 * Read the argument `zstd_dict`: a dictionary, or a tuple of a dictionary and the way to load it. Return that way,
 * `how` if it is not given, or -1, without an exception, if the call takes the slow path.
 */
static int take_dictionary(PyObject *argument, int how, PyObject **dictionary)
{
    *dictionary = argument;
    if (PyTuple_CheckExact(argument) && PyTuple_GET_SIZE(argument) == 2) {
        PyObject *number = PyTuple_GET_ITEM(argument, 1);
        int overflow = 0;
        long found = PyLong_CheckExact(number) ? PyLong_AsLongAndOverflow(number, &overflow) : -1;
        if (overflow != 0 || found < DIGESTED || found > UNDIGESTED)
            return -1;
        *dictionary = PyTuple_GET_ITEM(argument, 0);
        how = (int)found;
    }
    return how;
}

/*
 * Find the digest for compressing `size` bytes with the argument `zstd_dict` and the parameters. Return 0, or -1,
 * without an exception, if the call takes the slow path.
 */
static int digest_for_compression(Digest *digest, PyObject *argument, const Parameter *parameters, int count,
                                  size_t size)
{
    PyObject *dictionary;
    int how = take_dictionary(argument, UNDIGESTED, &dictionary);
    int level = ZSTD_CLEVEL_DEFAULT;
    if (how < 0 || !has_level_alone(parameters, count) || (how == UNDIGESTED && size > SHARED_DATA_MAX))
        return -1;
    for (int i = 0; i < count; i++)
        if (parameters[i].key == ZSTD_c_compressionLevel && parameters[i].value != 0)
            level = parameters[i].value;
    PyObject *kept = digests_of(dictionary, cdicts_name);
    int result = -1;
    for (Py_ssize_t i = 0; kept != NULL && result < 0 && i < PyTuple_GET_SIZE(kept); i++) {
        PyObject *pair = PyTuple_GET_ITEM(kept, i);
        if (PyTuple_CheckExact(pair) && PyTuple_GET_SIZE(pair) == 2 && PyLong_CheckExact(PyTuple_GET_ITEM(pair, 0)) &&
            PyLong_AsLong(PyTuple_GET_ITEM(pair, 0)) == level) {
            result = digest_take(digest, PyTuple_GET_ITEM(pair, 1));
        }
    }
    Py_XDECREF(kept);
    return result;
}

/* Find the digest for decompressing with the argument `zstd_dict`; return 0, or -1, without an exception, if it is
   missing. */
static int digest_for_decompression(Digest *digest, PyObject *argument)
{
    PyObject *dictionary;
    if (take_dictionary(argument, DIGESTED, &dictionary) != DIGESTED)
        return -1;
    PyObject *form = digests_of(dictionary, ddict_name);
    int result = form == NULL ? -1 : digest_take(digest, form);
    Py_XDECREF(form);
    return result;
}
