/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decode messages to objects of a type, which a table of nodes describes (table.c). Slots of objects are set by offset.
 */
#ifndef CPKG_MSGPACK_TYPED_DECODE
#define CPKG_MSGPACK_TYPED_DECODE

#include "../unpack/huge_pages.c"
#include "arrays.c"
#include "containers.c"
#include "objects.c"

/* Decode a value of an Enum, Literal or union by looking it up in a table; typed_choice() has tried the node's
   `texts`. */
static NEVER_INLINE PyObject *typed_other_choice(TypedDecoder *d, const TypedNode *node, Py_ssize_t depth)
{
    const unsigned char *start = d->p;
    const Py_ssize_t offset = typed_offset(d);
    const bool number = *start < 0x80 || *start >= 0xe0 || (*start >= 0xcc && *start <= 0xd3);
    const bool text = (*start & 0xe0) == 0xa0 || (*start >= 0xd9 && *start <= 0xdb);
    PyObject *table = number ? node->by_int : text ? node->by_str : NULL;
    if (!table)
        return typed_slow(d, node, depth);
    PyObject *key = number ? typed_int(d) : typed_key_str(d);
    PyObject *found = key ? PyDict_GetItemWithError(table, key) : NULL;
    Py_XINCREF(found);
    if (found || PyErr_Occurred()) {
        Py_XDECREF(key);
        return found;
    }
    if (node->made) { /* the class of an Enum: its _missing_ may accept the value */
        typed_python(d);
        found = PyObject_CallOneArg(node->made, key);
        Py_DECREF(key);
        return found ? found : typed_refused(d, offset, "enum", NULL);
    }
    Py_DECREF(key);
    d->p = start;
    return number || !node->item ? typed_slow(d, node, depth) : typed_quick(d, node->item, depth);
}

static ALWAYS_INLINE PyObject *typed_choice(TypedDecoder *d, const TypedNode *node, Py_ssize_t depth)
{
    for (Py_ssize_t i = 0; i < node->texts_count; i++)
        if (typed_text_is(d, &node->texts[i].text)) {
            d->p += node->texts[i].text.size;
            return new_ref(node->texts[i].value);
        }
    return typed_other_choice(d, node, depth);
}

static NEVER_INLINE PyObject *typed_union(TypedDecoder *d, const TypedNode *node, Py_ssize_t depth)
{
    unsigned char which = node->by_byte[*d->p];
    if (which == UNION_CODES) {
        int code;
        size_t size;
        if (!typed_ext(d, &code, &size))
            return typed_mismatch(d);
        which = node->by_code[(unsigned char)code];
    }
    if (which < UNION_CODES)
        return typed_quick(d, node->parts[which], depth);
    if (which == UNION_NOTHING)
        return typed_mismatch(d);
    if (which == UNION_TEXTS)
        return typed_other_choice(d, node, depth);
    const TypedNode *part = typed_object_of(d, node);
    return part ? typed_quick(d, part, depth) : NULL;
}

static NEVER_INLINE PyObject *typed_value(TypedDecoder *d, const TypedNode *node, Py_ssize_t depth)
{
    if (UNLIKELY(node->extra) && !typed_weigh(d, node->extra, typed_offset(d)))
        return NULL;
    switch ((enum typed_kind)node->kind) {
    case TYPED_OBJECT:
        return typed_object(d, node, depth);
    case TYPED_LIST:
    case TYPED_TUPLE:
        return typed_array(d, node, depth);
    case TYPED_SET:
    case TYPED_FROZENSET:
        return typed_set(d, node, depth);
    case TYPED_DICT:
        return typed_dict(d, node, depth);
    case TYPED_FIXED_TUPLE:
        return typed_fixed_tuple(d, node, depth);
    case TYPED_ROW:
        return typed_row(d, node, depth);
    case TYPED_CHOICE:
        return typed_choice(d, node, depth);
    case TYPED_UNION:
        return typed_union(d, node, depth);
    case TYPED_ANY:
        return typed_any(d, depth);
    case TYPED_BYTES:
        return UNLIKELY(node->hook != NULL) && (*d->p < 0xc4 || *d->p > 0xc6) ? typed_array_extension(d, node)
                                                                              : typed_bytes(d, node);
    case TYPED_EXTENSION:
        return typed_extension(d, node, depth);
    case TYPED_EXT_TYPE:
        return typed_ext_type(d);
    case TYPED_RAW:
        return typed_raw(d);
    case TYPED_HOOKED:
        return typed_hooked(d, node, depth);
    case TYPED_NUMBERS:
        return typed_numbers(d, node, depth);
    case TYPED_NONE:
        if (*d->p != 0xc0)
            return typed_mismatch(d);
        d->p++;
        return new_ref(Py_None);
    default:
        return typed_slow(d, node, depth);
    }
}

/* Return whether the current exception is of a type that readers of text, times or untyped values raise for wrong
   bytes. */
static bool typed_is_of_message(void)
{
    return PyErr_ExceptionMatches(PyExc_ValueError) || PyErr_ExceptionMatches(PyExc_TypeError) ||
           PyErr_ExceptionMatches(PyExc_ArithmeticError);
}

/* Decode the only message; return NULL with an exception set if other bytes follow. */
static PyObject *typed_whole(TypedDecoder *d)
{
    PyObject *value = typed_quick(d, &d->table->nodes[0], d->max_depth);
    if (UNLIKELY(value && d->p != d->end)) {
        PyObject *text = PyUnicode_New(0, 0);
        if (text)
            typed_refuse(d, text, typed_offset(d), "extra", value);
        Py_XDECREF(text);
        Py_CLEAR(value);
    }
    return value;
}

/* Decode up to `count` consecutive messages into a list. At a wrong message, stop with an exception set; *begin is
   where that message begins, and *room the room left before it. Each message has its own key meters. */
static PyObject *typed_each(TypedDecoder *d, Py_ssize_t count, Py_ssize_t *begin, int64_t *room)
{
    const TypedNode *node = &d->table->nodes[0];
    const Py_ssize_t most = d->end - d->data;
    PyObject *made = PyList_New(count < most ? count : most);
    if (!made)
        return NULL;
    PyObject_GC_UnTrack(made);
    PyObject **slot = ((PyListObject *)made)->ob_item;
    Py_ssize_t done = 0, start = 0;
    for (; done < count; done++) {
        start = typed_offset(d);
        *room = d->room;
        PyObject *value = LIKELY(typed_tick(d)) ? typed_quick(d, node, d->max_depth) : NULL;
        if (UNLIKELY(!value))
            break;
        slot[done] = value;
        if (UNLIKELY(d->meters.allowed != SPARE_PROBES))
            key_meters_clear(&d->meters);
    }
    if (done == count) {
        *room = d->room;
        if (d->p != d->end) {
            start = typed_offset(d);
            typed_mismatch(d);
        }
    }
    *begin = start;
    Py_SET_SIZE(made, done);
    PyObject_GC_Track(made);
    return made;
}

/* Return the result of `decode` for several messages; the list `made` is stolen. */
static PyObject *typed_outcome(const TypedDecoder *d, PyObject *made, Py_ssize_t begin, int64_t room)
{
    PyObject *type = NULL, *exc = NULL, *traceback = NULL;
    if (made && PyErr_Occurred()) {
        if (!PyErr_ExceptionMatches(d->table->mismatch) && !PyErr_ExceptionMatches(d->table->refused) &&
            !PyErr_ExceptionMatches(S.LimitError) && (d->stopped || !typed_is_of_message())) {
            Py_DECREF(made);
            return NULL;
        }
        PyErr_Fetch(&type, &exc, &traceback);
        PyErr_NormalizeException(&type, &exc, &traceback);
        Py_XDECREF(type);
        Py_XDECREF(traceback);
    }
    return made ? Py_BuildValue("NnNL", made, begin, exc ? exc : new_ref(Py_None), (long long)room) : NULL;
}

/*
 * decode(data, max_depth, room): return the object of the only message in a bytes object. `room` is how many bytes of
 * memory its values may take beyond those of untyped values; -1 means no limit. Raises `mismatch` for a message that is
 * damaged or has another type, or a ValueError, TypeError or ArithmeticError of the reader that found the damage.
 * Raises `refused` for a message that Python code refuses. Raises LimitError and StackError.
 *
 * decode(data, max_depth, room, count): decode `count` messages. Returns a tuple of a list of their objects, a
 * position, an exception and a room. If a message is wrong, the list ends before it, the position is where it begins,
 * and the room is what was left before it. If no message is wrong, the exception is None.
 */
static PyObject *typed_decode(PyObject *o, PyObject *const *args, Py_ssize_t n_args)
{
    TypedTable *self = (TypedTable *)o;
    TypedDecoder d;
    ArenasAhead ahead;
    Py_ssize_t count = -1, begin = 0;
    int64_t room;
    if ((n_args != 3 && n_args != 4) || !PyBytes_CheckExact(args[0]) || !self->keep) {
        PyErr_SetString(PyExc_TypeError, "decode takes bytes, a depth, a room and, for several messages, their number");
        return NULL;
    }
    d.max_depth = PyLong_AsSsize_t(args[1]);
    d.room = room = PyLong_AsLongLong(args[2]);
    if (n_args == 4)
        count = PyLong_AsSsize_t(args[3]);
    if ((d.max_depth == -1 || d.room == -1 || count == -1) && PyErr_Occurred())
        return NULL;
    const bool weighs = room >= 0;
    if (!weighs)
        d.room = INT64_MAX;
    const Py_ssize_t size = PyBytes_GET_SIZE(args[0]);
    d.source = args[0];
    d.table = self;
    d.data = d.p = (const unsigned char *)PyBytes_AS_STRING(args[0]);
    d.end = d.data + size;
    d.ticks = 0;
    d.floor = stack_floor();
    d.stopped = false;
    d.meters = (KeyMeters){.allowed = SPARE_PROBES};
    d.ends = (TypedEnds){.entries = NULL};
    d.reserved = 0;
    d.values = d.inline_values;
    d.top = 0;
    d.capacity = TYPED_VALUES;
    d.gc_held = gc_hold(size);
    arenas_hold(&ahead, size);
    PyObject *value = count < 0 ? typed_whole(&d) : typed_each(&d, count, &begin, &room);
    arenas_release(&ahead);
    if (d.values != d.inline_values)
        PyMem_Free(d.values);
    PyMem_Free(d.ends.entries);
    if (d.gc_held)
        gc_resume(true);
    return count < 0 ? value : typed_outcome(&d, value, begin, weighs ? room : -1);
}

static PyMethodDef typed_table_methods[] = {
    {"decode", AS_METHOD(typed_decode), METH_FASTCALL, NULL},
    {NULL, NULL, 0, NULL},
};

DECLARE_TYPE(typed_table, "cpkg._native.msgpack.cpython.TypedTable", TypedTable, Py_TPFLAGS_HAVE_GC,
             {Py_tp_new, typed_table_new}, COLLECTED_SLOTS(typed_table), {Py_tp_methods, typed_table_methods})

#endif
