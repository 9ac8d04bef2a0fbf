/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The classes of the standard library, attrs and numpy whose objects C packs and unpacks itself.
 *
 * No object of a class can exist before its module is imported. So nothing is imported here. Until all classes are
 * found, an object of an unknown class starts a search for them among the imported modules.
 */
#pragma once

#include "interpreter.c"
#include "state.c"

/* The extension types of cpkg/objects/types_written.py. */
enum {
    EXTENSION_ARRAY = 'A',
    EXTENSION_DATE = 'D',
    EXTENSION_DATETIME = 'L',
    EXTENSION_DECIMAL = 'N',
    EXTENSION_DURATION = 'P',
    EXTENSION_TIME = 'T',
    EXTENSION_UUID = 'U',
};

/* The position of an array's items is a multiple of ARRAY_ITEMS_ALIGNED, plus ARRAY_ITEMS_AFTER
   (cpkg/objects/arrays.py). */
#define ARRAY_ITEMS_AFTER 2
#define ARRAY_ITEMS_ALIGNED 8

#define NUMBER_KINDS "biufc" /* the kinds of an array's items, as in numpy's dtypes */

#define DECIMAL_LONG 256 /* the longest text of a Decimal that C handles */
#define UUID_SIZE 16
#define DURATION_SIZE 12 /* bytes of a timedelta: days, seconds, microseconds, with 32 bits each */

/* The first and the last second that datetime can represent, in UTC. */
#define FIRST_SECOND (-62135596800LL)
#define LAST_SECOND 253402300799LL

/* Return the days from 1970-01-01 to a date; the calculation uses years that begin in March. */
static int64_t days_of_date(int year, int month, int day)
{
    const int from_march = (month + 9) % 12, years = year - (month <= 2);
    return 365LL * years + years / 4 - years / 100 + years / 400 + (153 * from_march + 2) / 5 + day - 719469;
}

/* Calculate the date that is a number of days after 1970-01-01, with years that begin in March. Multiplications that
   are exact for all dates of datetime replace divisions (Neri and Schneider, "Euclidean affine functions and their
   application to calendar algorithms"). */
static void date_of_days(int days, int *year, int *month, int *day)
{
    const uint32_t quarters = 4 * (uint32_t)(days + 719468) + 3, century = quarters / 146097;
    const uint64_t scaled = 2939745ULL * (quarters % 146097 | 3);
    const uint32_t year_day = (uint32_t)scaled / 2939745 / 4, months = 2141 * year_day + 197913;
    const int is_next = year_day >= 306; /* January or February */
    *year = (int)(100 * century + (uint32_t)(scaled >> 32)) + is_next;
    *month = (int)(months >> 16) - 12 * is_next;
    *day = (int)((months & 0xffff) / 2141) + 1;
}

/* Whether a type is the class with this name, if that was found already. */
#define IS_VALUE(type, name) ((PyObject *)(type) == KEPT(name))

/* Return a name of an imported module; NULL, without an exception, if the module is not imported or lacks the name. No
   code of the module runs: a class that a module has not loaded yet has no objects. */
static PyObject *imported_name(const char *module_name, const char *name)
{
    PyObject *key = PyUnicode_FromString(module_name), *module = key ? PyImport_GetModule(key) : NULL;
    PyObject *found = module && PyModule_Check(module) ? PyMapping_GetItemString(PyModule_GetDict(module), name) : NULL;
    Py_XDECREF(key);
    Py_XDECREF(module);
    if (!found)
        PyErr_Clear();
    return found;
}

static bool find_datetime(void)
{
    PyObject *module = KEPT(epoch) ? NULL : imported_name("datetime", "datetime");
    const bool found = module && datetime_ready() == 0;
    Py_XDECREF(module);
    if (!found)
        PyErr_Clear(); /* an interpreter without _datetime */
    return found;
}

static bool find_uuid(void)
{
    PyObject *found = S.UUID ? NULL : imported_name("uuid", "UUID");
    PyObject *safety = found ? imported_name("uuid", "SafeUUID") : NULL;
    if (safety && take_slot(found, "int", &S.uuid_int) == 0 && take_slot(found, "is_safe", &S.uuid_is_safe) == 0 &&
        (S.uuid_unknown = PyObject_GetAttrString(safety, "unknown"))) {
        Py_DECREF(safety);
        keep(&S.UUID, found);
        return true;
    }
    Py_XDECREF(safety);
    Py_XDECREF(found);
    PyErr_Clear();
    return false;
}

/* Return a context with the greatest precision. It converts text like Decimal(), but in less time. */
static PyObject *exact_context(void)
{
    PyObject *type = imported_name("_decimal", "Context"), *context = type ? PyObject_CallNoArgs(type) : NULL;
    static const char *const limits[][2] = {{"prec", "MAX_PREC"}, {"Emax", "MAX_EMAX"}, {"Emin", "MIN_EMIN"}};
    for (size_t i = 0; context && i < COUNT_OF(limits); i++) {
        PyObject *limit = imported_name("_decimal", limits[i][1]);
        if (!limit || PyObject_SetAttrString(context, limits[i][0], limit) < 0)
            Py_CLEAR(context);
        Py_XDECREF(limit);
    }
    PyObject *clamp = small_int(0);
    if (context && PyObject_SetAttrString(context, "clamp", clamp) < 0)
        Py_CLEAR(context);
    Py_DECREF(clamp);
    Py_XDECREF(type);
    return context;
}

static bool find_decimal(void)
{
    PyObject *found = S.Decimal ? NULL : imported_name("_decimal", "Decimal"); /* the class in C */
    PyObject *context = found ? exact_context() : NULL;
    if (context && (S.decimal_of = PyObject_GetAttrString(context, "create_decimal"))) {
        Py_DECREF(context);
        keep(&S.Decimal, found);
        return true;
    }
    Py_XDECREF(context);
    Py_XDECREF(found);
    PyErr_Clear();
    return false;
}

static bool find_enum(void)
{
    PyObject *found = S.Enum ? NULL : imported_name("enum", "Enum");
    if (found && PyType_Check(found) && (S.enum_value = type_lookup((PyTypeObject *)found, S.str_value))) {
        keep(&S.Enum, found);
        return true;
    }
    Py_XDECREF(found);
    return false;
}

static bool find_fields(void)
{
    PyObject *found = S.Field ? NULL : imported_name("dataclasses", "Field");
    if (found && take_slot(found, "name", &S.field_name) == 0 && take_slot(found, "_field_type", &S.field_type) == 0 &&
        (S.FIELD = imported_name("dataclasses", "_FIELD"))) {
        keep(&S.Field, found);
        return true;
    }
    Py_XDECREF(found);
    PyErr_Clear();
    return false;
}

static bool find_attribute(void)
{
    PyObject *found = S.Attribute ? NULL : imported_name("attr", "Attribute");
    if (found && take_slot(found, "name", &S.attribute_name) == 0) {
        keep(&S.Attribute, found);
        return true;
    }
    Py_XDECREF(found);
    PyErr_Clear();
    return false;
}

static bool find_numpy(void)
{
    PyObject *found = S.ndarray ? NULL : imported_name("numpy", "ndarray");
    PyObject *generic = found ? imported_name("numpy", "generic") : NULL;
    PyObject *dtype = generic ? imported_name("numpy", "dtype") : NULL;
    if (dtype && PyType_Check(generic) && PyType_Check(found) &&
        (S.ndarray_tolist = type_lookup((PyTypeObject *)found, S.str_tolist))) {
        S.numpy_dtype = dtype;
        keep(&S.numpy_generic, generic);
        keep(&S.ndarray, found);
        return true;
    }
    Py_XDECREF(dtype);
    Py_XDECREF(generic);
    Py_XDECREF(found);
    return false;
}

static bool find_array(void)
{
    PyObject *found = S.array ? NULL : imported_name("array", "array");
    if (found && PyType_Check(found)) {
        keep(&S.array, found);
        return true;
    }
    Py_XDECREF(found);
    return false;
}

/* If modules were imported since the last search, search for the missing classes; return whether one was found. While
   one thread searches, other threads leave objects of unknown classes to Python. */
static NEVER_INLINE bool find_value_classes(void)
{
    const Py_ssize_t modules = PyDict_Size(PyImport_GetModuleDict());
    if (LIKELY(modules == SHOWN(S.modules_seen)) || !busy_take(&S.finding))
        return false;
    SET_SHOWN(S.modules_seen, modules);
    const bool found[] = {find_datetime(), find_uuid(),      find_decimal(), find_enum(),
                          find_fields(),   find_attribute(), find_numpy(),   find_array()};
    busy_drop(&S.finding);
    return memchr(found, true, sizeof found) != NULL;
}
