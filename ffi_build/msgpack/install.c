/* SPDX-License-Identifier: Apache-2.0 */
/* The import of the module: read the shared types from its namespace, and put the builtins into it. */
#pragma once

#include "../common/set_up_error.c"
#include "common/options.c"
#include "common/own_values.c"
#include "common/state.c"
#include "job.c"
#include "pack/functions.c"
#include "pack/packer_type.c"
#include "typed/decode.c"
#include "unpack/functions.c"
#include "unpack/huge_pages.c"
#include "unpack/unpacker_type.c"

static const char *cpkg_msgpack_error(void)
{
    return set_up_error;
}

static PyMethodDef functions[] = {
    {"packb", AS_METHOD(packb), FASTCALL, "packb(o, *" PACK_SIGNATURE ")\n--\n\n" DOCUMENTED_packb},
    {"pack", AS_METHOD(pack), FASTCALL, "pack(o, stream, *" PACK_SIGNATURE ")\n--\n\n" DOCUMENTED_pack},
    {"pack_into", AS_METHOD(pack_into), FASTCALL,
     "pack_into(o, buffer, offset=0, *" PACK_SIGNATURE ")\n--\n\n" DOCUMENTED_pack_into},
    {"unpackb", AS_METHOD(unpackb), FASTCALL, "unpackb(packed, *" UNPACK_SIGNATURE ")\n--\n\n" DOCUMENTED_unpackb},
    {"unpackb_from", AS_METHOD(unpackb_from), FASTCALL,
     "unpackb_from(buffer, offset=0, *" UNPACK_SIGNATURE ")\n--\n\n" DOCUMENTED_unpackb_from},
    {"unpack", AS_METHOD(unpack), FASTCALL, "unpack(stream, *" UNPACK_SIGNATURE ")\n--\n\n" DOCUMENTED_unpack},
    {"typed_packb", AS_METHOD(typed_packb), METH_FASTCALL, NULL},
    {"job_functions", job_functions, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};

/* Get a new reference to an object of the namespace by its name; return 0, or -1 with an exception set. */
static int take(PyObject *namespace_dict, const char *name, PyObject **to)
{
    PyObject *value = PyDict_GetItemString(namespace_dict, name);
    if (!value) {
        PyErr_Format(PyExc_NameError, "the namespace has no %s", name);
        return -1;
    }
    *to = new_ref(value);
    return 0;
}

static int setup_tables(void)
{
    for (int i = SMALL_INT_MIN; i <= SMALL_INT_MAX; i++)
        if (!(S.small_ints[i - SMALL_INT_MIN] = PyLong_FromLong(i)))
            return -1;
    for (int i = 0; i < 128; i++) {
        /* the interpreter has a table of these strings; PyUnicode_New() would create a second object */
        if (!(S.ascii_chars[i] = PyUnicode_FromOrdinal(i)))
            return -1;
    }
    return scratch_make() < 0 ? -1 : options_init();
}

static int setup_names(void)
{
    return (S.str_read = PyUnicode_InternFromString("read")) && (S.str_write = PyUnicode_InternFromString("write")) &&
                   (S.str_offset = PyUnicode_InternFromString("offset")) &&
                   (S.str_toreadonly = PyUnicode_InternFromString("toreadonly")) &&
                   (S.str_typed_class = PyUnicode_InternFromString("__typed_class__")) &&
                   (S.str_value = PyUnicode_InternFromString("value")) &&
                   (S.str_value_kept = PyUnicode_InternFromString("_value_")) &&
                   (S.str_dataclass_fields = PyUnicode_InternFromString("__dataclass_fields__")) &&
                   (S.str_attrs_attrs = PyUnicode_InternFromString("__attrs_attrs__")) &&
                   (S.str_tolist = PyUnicode_InternFromString("tolist")) &&
                   (S.str_find_form = PyUnicode_InternFromString("find_form")) &&
                   (S.str_isoformat = PyUnicode_InternFromString("isoformat")) &&
                   (S.str_tzinfo = PyUnicode_InternFromString("tzinfo")) &&
                   (S.str_class = PyUnicode_InternFromString("__class__")) &&
                   (S.str_makes_no_cycles = PyUnicode_InternFromString("makes_no_cycles")) &&
                   (S.empty_tuple = PyTuple_New(0)) && (S.one_second_in_ns = PyLong_FromLong(1000000000))
               ? 0
               : -1;
}

/* The objects of the namespace that the pure backend also uses. */
static const struct {
    const char *name;
    PyObject **to;
} shared[] = {
    {"LimitError", &S.LimitError}, {"BufferFull", &S.BufferFull},
    {"OutOfData", &S.OutOfData},   {"FormatError", &S.FormatError},
    {"StackError", &S.StackError}, {"TruncatedError", &S.TruncatedError},
    {"ExtraData", &S.ExtraData},   {"ExtType", &S.ExtType},
    {"Timestamp", &S.Timestamp},   {"Raw", &S.Raw},
};

static int setup_shared(PyObject *ns)
{
    for (size_t i = 0; i < COUNT_OF(shared); i++)
        if (take(ns, shared[i].name, shared[i].to) < 0)
            return -1;
    if (take_slot(S.Timestamp, "seconds", &S.timestamp_seconds) < 0 ||
        take_slot(S.Timestamp, "nanoseconds", &S.timestamp_nanoseconds) < 0 ||
        take_slot(S.Raw, "data", &S.raw_data) < 0)
        return -1;
    PyObject *builtins = PyEval_GetBuiltins(); /* borrowed */
    PyObject *frozendict = builtins ? PyDict_GetItemString(builtins, "frozendict") : NULL;
    S.frozendict = frozendict && PyType_Check(frozendict) ? new_ref(frozendict) : NULL;
#if PY_VERSION_HEX < 0x030A0000
    PyObject *gc = PyImport_ImportModule("gc");
    if (!gc)
        return -1;
    gc_isenabled = PyObject_GetAttrString(gc, "isenabled");
    gc_disable = PyObject_GetAttrString(gc, "disable");
    gc_enable = PyObject_GetAttrString(gc, "enable");
    Py_DECREF(gc);
    if (!gc_isenabled || !gc_disable || !gc_enable)
        return -1;
#endif
    return 0;
}

/* Refuse a second interpreter, or a second import of cpkg: its types with the same names are different objects, and it
   must not receive objects of the first types, which the state keeps for the whole process. The types are compared
   because the current interpreter cannot be queried: cffi has released the thread state. */
static int check_shared(PyObject *ns)
{
    for (size_t i = 0; i < COUNT_OF(shared); i++)
        if (PyDict_GetItemString(ns, shared[i].name) != *shared[i].to)
            return set_up_refuse("MessagePack");
    return 0;
}

static int install(PyObject *module)
{
    PyObject *ns = PyModule_GetDict(module); /* borrowed */
    if (S.ready && check_shared(ns) < 0)
        return -1;
    if (!S.ready) {
        if (setup_tables() < 0 || setup_names() < 0 || setup_shared(ns) < 0)
            return -1;
        S.Packer = PyType_FromSpec(&packer_spec);
        S.Unpacker = S.Packer ? PyType_FromSpec(&unpacker_spec) : NULL;
        S.TypedClass = S.Unpacker ? (PyTypeObject *)PyType_FromSpec(&typed_class_spec) : NULL;
        if (!S.TypedClass)
            return -1;
#if HAS_OWN_VALUES
        S.has_own_values = own_values_work();
        if (PyErr_Occurred())
            return -1;
#endif
        arenas_setup();
        default_unpack_options.ext_hook = S.ExtType;
        S.ready = true;
    }
    if (PyDict_SetItemString(ns, "Packer", S.Packer) < 0 || PyDict_SetItemString(ns, "Unpacker", S.Unpacker) < 0 ||
        PyDict_SetItemString(ns, "TypedClass", (PyObject *)S.TypedClass) < 0)
        return -1;
    if (PyModule_AddFunctions(module, functions) < 0)
        return -1;
    PyObject *type = PyType_FromSpec(&typed_table_spec);
    int failed = !type || PyDict_SetItemString(ns, "TypedTable", type) < 0;
    Py_XDECREF(type);
    return failed ? -1 : 0;
}

static int cpkg_msgpack_install(void *module)
{
    return set_up(install, module);
}
