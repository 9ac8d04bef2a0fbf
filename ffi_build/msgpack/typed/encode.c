/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Encode dataclass and attrs objects. A TypedClass describes the fields of a class, whose values are read from slots or
 * attributes.
 *
 * The TypedClass is an attribute of the class, and lives as long as the class. A subclass inherits the attribute, but
 * needs its own TypedClass.
 */
#ifndef CPKG_MSGPACK_PACK_OBJECTS
#include "../pack/objects.c" /* includes this file, because functions of both files call each other */
#elif !defined(CPKG_MSGPACK_TYPED_ENCODE)
#define CPKG_MSGPACK_TYPED_ENCODE

#include "../common/state.c"
#include "../common/words.c"
#include "../pack/containers.c"
#include "../pack/encoder.c"
#include "table.c"

#define TYPED_FIELDS_MAX 64

typedef struct {
    PyObject_HEAD
    PyObject *cls, *keep; /* the class; the description of its fields */
    TypedField *fields;
    Py_ssize_t count;
    bool array_like, omits;
} TypedClass;

static int typed_class_traverse(PyObject *o, visitproc visit, void *arg)
{
    VISIT_TYPE(o);
    Py_VISIT(((TypedClass *)o)->cls);
    Py_VISIT(((TypedClass *)o)->keep);
    return 0;
}

static int typed_class_clear(PyObject *o)
{
    TypedClass *self = (TypedClass *)o;
    self->count = 0;
    Py_CLEAR(self->cls);
    Py_CLEAR(self->keep);
    return 0;
}

COLLECTED_DEALLOC(typed_class, PyMem_Free(((TypedClass *)self)->fields))

/* TypedClass(cls, fields, array_like, omits): `fields` are the descriptions of the fields. `array_like` is whether
   objects become arrays, and `omits` whether a field that has its default is omitted. */
static PyObject *typed_class_new(PyTypeObject *type, PyObject *args, PyObject *Py_UNUSED(keywords))
{
    PyObject *cls, *fields;
    int array_like, omits;
    if (!PyArg_ParseTuple(args, "O!O!pp", &PyType_Type, &cls, &PyList_Type, &fields, &array_like, &omits))
        return NULL;
    TypedClass *self = object_new(type);
    if (!self)
        return NULL;
    self->cls = new_ref(cls);
    self->keep = new_ref(fields);
    self->array_like = array_like;
    self->omits = omits;
    if (PyList_GET_SIZE(fields) > TYPED_FIELDS_MAX ||
        !typed_read_fields(NULL, cls, fields, &self->fields, &self->count)) {
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_ValueError, "fields: not the description of a class's fields");
        Py_DECREF(self);
        return NULL;
    }
    return (PyObject *)self;
}

DECLARE_TYPE(typed_class, "cpkg._native.msgpack.cpython.TypedClass", TypedClass, Py_TPFLAGS_HAVE_GC,
             {Py_tp_new, typed_class_new}, COLLECTED_SLOTS(typed_class))

/* Return the TypedClass of a class, a new reference; NULL without an exception if it has none. */
static inline TypedClass *typed_class_of(PyTypeObject *type)
{
    PyObject *found = type_lookup(type, S.str_typed_class);
    if (found && Py_TYPE(found) == S.TypedClass && ((TypedClass *)found)->cls == (PyObject *)type)
        return (TypedClass *)found;
    Py_XDECREF(found);
    return NULL;
}

/* Return the value of field number i, a new reference, or NULL with an exception set. */
static ALWAYS_INLINE PyObject *typed_field_value(PyObject *o, const TypedClass *typed, Py_ssize_t i)
{
    TypedField *field = &typed->fields[i];
    const bool plain = LIKELY(Py_TYPE(o)->tp_getattro == PyObject_GenericGetAttr);
#ifndef Py_GIL_DISABLED
    PyObject *value = field->offset >= 0 ? slot_get(o, field->offset) : NULL;
#if HAS_OWN_VALUES
    if (field->offset < 0 && plain && LIKELY(typed_is_own(field, Py_TYPE(o))))
        value = own_value(o, i, field->name);
#endif
    if (LIKELY(value != NULL))
        return new_ref(value);
#endif
    return plain ? PyObject_GenericGetAttr(o, field->name) : PyObject_GetAttr(o, field->name);
}

/* Return whether a field has its default, or -1 with an exception set. C handles the frequent cases of is_default() in
   cpkg/typed/nodes.py. */
static int typed_is_default(const TypedField *field, PyObject *value)
{
    if (!field->is_default)
        return 0;
    if (field->how == DEFAULT_VALUE) {
        if (value == field->fallback)
            return 1;
        if (Py_TYPE(value) != Py_TYPE(field->fallback) || PyBool_Check(value))
            return 0;
        if (PyUnicode_CheckExact(value) || PyLong_CheckExact(value) || PyBytes_CheckExact(value))
            return PyObject_RichCompareBool(value, field->fallback, Py_EQ);
        if (PyFloat_CheckExact(value)) {
            const double one = PyFloat_AS_DOUBLE(value), two = PyFloat_AS_DOUBLE(field->fallback);
            return one == two ? !signbit(one) == !signbit(two) : isnan(one) && isnan(two);
        }
    }
    else if (field->how == DEFAULT_LIST)
        return PyList_CheckExact(value) && PyList_GET_SIZE(value) == 0;
    else if (field->how == DEFAULT_DICT)
        return PyDict_CheckExact(value) && PyDict_GET_SIZE(value) == 0;
    else if ((PyObject *)Py_TYPE(value) != field->fallback)
        return 0;
    PyObject *found = PyObject_CallOneArg(field->is_default, value);
    const int result = found ? PyObject_IsTrue(found) : -1;
    Py_XDECREF(found);
    return result;
}

static ALWAYS_INLINE unsigned char *encode_field(Encoder *c, unsigned char *p, const TypedField *field, PyObject *value,
                                                 Py_ssize_t depth, bool key)
{
    if (key) {
        RESERVE((size_t)field->key.size + 16);
        copy_short(p, field->key.bytes, (size_t)field->key.size);
        p += field->key.size;
    }
    else
        RESERVE(16);
    if (value == Py_None || value == Py_False || value == Py_True) {
        *p++ = value == Py_None ? 0xc0 : value == Py_False ? 0xc2 : 0xc3;
        return p;
    }
    return encode_element(c, p, value, depth);
}

static NEVER_INLINE unsigned char *encode_typed_omitting(Encoder *c, unsigned char *p, PyObject *o,
                                                         const TypedClass *typed, Py_ssize_t depth)
{
    PyObject *values[TYPED_FIELDS_MAX] = {NULL};
    size_t count = 0;
    for (Py_ssize_t i = 0; p && i < typed->count; i++) {
        values[i] = typed_field_value(o, typed, i);
        const int omit = values[i] ? typed_is_default(&typed->fields[i], values[i]) : -1;
        if (omit < 0)
            p = NULL;
        else if (omit)
            Py_CLEAR(values[i]);
        else
            count++;
    }
    if (p && (size_t)(c->w.end - p) < HEADER_MAX)
        p = writer_grow(&c->w, p, HEADER_MAX);
    if (p)
        p = write_map(p, count);
    for (Py_ssize_t i = 0; i < typed->count; i++) {
        if (p && values[i])
            p = encode_field(c, p, &typed->fields[i], values[i], depth, true);
        Py_XDECREF(values[i]);
    }
    return p;
}

/* Encode an object of exactly the class that `typed` describes. */
static unsigned char *encode_typed(Encoder *c, unsigned char *p, PyObject *o, const TypedClass *typed, Py_ssize_t depth)
{
    if (!may_nest(c, p, depth))
        return NULL;
    if (typed->omits)
        return encode_typed_omitting(c, p, o, typed, depth - 1);
    RESERVE(HEADER_MAX);
    p = typed->array_like ? write_array(p, (size_t)typed->count) : write_map(p, (size_t)typed->count);
    for (Py_ssize_t i = 0; i < typed->count; i++) {
        PyObject *value = typed_field_value(o, typed, i);
        if (UNLIKELY(!value))
            return NULL;
        p = encode_field(c, p, &typed->fields[i], value, depth - 1, !typed->array_like);
        Py_DECREF(value);
        if (UNLIKELY(!p))
            return NULL;
    }
    return p;
}

/* ---- enc_hook ---- */

static bool type_has(PyTypeObject *type, PyObject *name)
{
    PyObject *found = type_lookup(type, name);
    Py_XDECREF(found);
    return found != NULL;
}

/* Whether a class was defined in Python. Since 3.12 Decimal, deque and others are also heap types, but immutable. */
#ifdef Py_TPFLAGS_IMMUTABLETYPE
#define TYPE_OF_PYTHON(flags) (((flags) & (Py_TPFLAGS_HEAPTYPE | Py_TPFLAGS_IMMUTABLETYPE)) == Py_TPFLAGS_HEAPTYPE)
#else
#define TYPE_OF_PYTHON(flags) ((flags) & Py_TPFLAGS_HEAPTYPE)
#endif

/* Return whether only enc_hook can handle the objects of a class: it is an ordinary class defined in Python. */
static bool is_for_hook(PyTypeObject *type)
{
    for (PyTypeObject *base = type; base != &PyBaseObject_Type; base = base->tp_base)
        if (!TYPE_OF_PYTHON(base->tp_flags) || (base->tp_as_buffer && base->tp_as_buffer->bf_getbuffer))
            return false;
    if (!KEPT(UUID) || PyType_IsSubtype(type, (PyTypeObject *)S.UUID) || !KEPT(Decimal) || !KEPT(Enum) ||
        PyType_IsSubtype(type, (PyTypeObject *)S.Enum))
        return false;
    PyObject *getter = type_lookup(type, S.str_class), *usual = type_lookup(&PyBaseObject_Type, S.str_class);
    const bool pretends = getter != usual;
    Py_XDECREF(getter);
    Py_XDECREF(usual);
    return !pretends && !type_has(type, S.str_dataclass_fields) && !type_has(type, S.str_attrs_attrs);
}

/* Call enc_hook for an object, and encode the result. */
static unsigned char *encode_hooked(Encoder *c, unsigned char *p, PyObject *o, Py_ssize_t depth)
{
    PyObject *replaced = PyObject_CallOneArg(c->hook, o);
    if (!replaced)
        return NULL;
    const PyTypeObject *type = Py_TYPE(replaced);
    int overflow = 0;
    if (type == &PyLong_Type)
        PyLong_AsLongLongAndOverflow(replaced, &overflow);
    if (overflow || (type != &PyLong_Type && type != &PyUnicode_Type && type != &PyList_Type && type != &PyDict_Type &&
                     type != &PyTuple_Type && type != &PyBytes_Type && type != &PyFloat_Type && type != &PyBool_Type &&
                     replaced != Py_None)) {
        TypedClass *typed = typed_class_of(Py_TYPE(replaced));
        if (!typed)
            Py_SETREF(replaced, PyObject_CallOneArg(c->after, replaced));
        Py_XDECREF(typed);
    }
    if (!replaced)
        return NULL;
    p = encode_value(c, p, replaced, depth, MAY_CONVERT);
    Py_DECREF(replaced);
    return p;
}

#endif
