/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A type as a table of nodes. It is created once from the description that cpkg.typed.native writes, and decode.c and
 * its parts read it.
 *
 * The table keeps the description (a list of dicts), which owns every object that the nodes refer to.
 */
#pragma once

#include <limits.h>

#include "../common/options.c"
#include "../common/own_values.c"
#include "../common/state.c"
#include "../common/value_classes.c"
#include "../common/words.c"

/* The kinds of nodes, in the order of KINDS in cpkg.typed.native. */
enum typed_kind {
    TYPED_SLOW, /* left to Python */
    TYPED_ANY,
    TYPED_NONE,
    TYPED_BOOL,
    TYPED_INT,
    TYPED_FLOAT,
    TYPED_STR,
    TYPED_BYTES,
    TYPED_EXTENSION, /* a date, UUID and so on */
    TYPED_EXT_TYPE,
    TYPED_RAW,
    TYPED_HOOKED, /* dec_hook creates the object */
    TYPED_NUMBERS,
    TYPED_LIST,
    TYPED_SET,
    TYPED_FROZENSET,
    TYPED_TUPLE,       /* of any length */
    TYPED_FIXED_TUPLE, /* one item for each part */
    TYPED_DICT,
    TYPED_OBJECT, /* an object whose message is a map */
    TYPED_ROW,    /* an object whose message is an array */
    TYPED_CHOICE, /* one of a few values */
    TYPED_UNION,
    TYPED_KINDS,
};

enum typed_build {
    BUILD_SET,     /* set the attributes of a bare instance */
    BUILD_KEYWORD, /* call the constructor with keywords */
    BUILD_POSITION,
    BUILD_DICT,
};

enum typed_default {
    DEFAULT_NONE, /* none: the field is required */
    DEFAULT_VALUE,
    DEFAULT_FACTORY,
    DEFAULT_LIST,
    DEFAULT_DICT,
    DEFAULT_ABSENT, /* none: the field is left out */
};

/* by_byte[] of a union maps a value's first byte to the index of the part that decodes it, or to one of these codes. */
#define UNION_CODES 0xfc /* an extension value: by_code[] has the part for its code */
#define UNION_OBJECTS 0xfd
#define UNION_TEXTS 0xfe /* text that several parts may accept: look it up in by_str, otherwise use `item` or Python */
#define UNION_NOTHING 0xff

typedef struct TypedNode TypedNode;

/* The packed form of a text. */
typedef struct {
    const unsigned char *bytes;
    Py_ssize_t size;
    uint64_t word, mask, last; /* up to 8 first bytes, and their mask; the last 8 bytes if it has more than 8 */
} PackedText;

typedef struct {
    PyObject *name; /* interned */
    PackedText key;
    Py_ssize_t text_size;
    const TypedNode *node;
    Py_ssize_t offset; /* the offset of the field's slot, or -1 */
    PyObject *fallback;
    enum typed_default how;
    Py_ssize_t extra;     /* the memory of its default, in bytes */
    PyObject *is_default; /* the comparison function of a field that is omitted while it has its default */
    unsigned version;     /* the version of the class for which the next two members are true or false */
    bool is_own;          /* instances keep the attribute in their own values; no descriptor of the class replaces it */
    bool are_first;       /* set in the first field if all fields are own, and are the first attributes of instances */
} TypedField;

typedef struct {
    char sign; /* '>', 'g' for >=, '<', 'l' for <= */
    long long whole;
    double real;
    PyObject *object; /* comparing values with it runs no Python code */
} TypedBound;

/* A text, and the value of an enum or literal that it stands for, or the number of the part of a union that it
   chooses. */
typedef struct {
    PackedText text;
    PyObject *value;
    Py_ssize_t part;
} TypedText;

/* An object of a union without a tag: the index of its part, and the end of the numbers of the keys that distinguish it
   from later objects. The numbers of the next object's keys begin there. */
typedef struct {
    Py_ssize_t part, keys_end;
} TypedChoice;

/* The description of a type. Members that most values need come first, then those for constraints. */
struct TypedNode {
    unsigned char kind;
    bool nullable;
    bool checked;
    bool forbid;      /* refuse unknown keys or extra items of an array */
    bool runs_python; /* hashing or comparing a key runs Python code */
    bool by_number;   /* C compares numbers with the bounds */
    unsigned char bounds_count;
    enum typed_build build;
    int code; /* the code of the extension type, or the format of an array's numbers */
    Py_ssize_t extra,
        extra_item; /* memory of a value, and of each of its items, in bytes beyond that of the untyped value */
    const TypedNode *item;
    TypedField *fields;
    Py_ssize_t fields_count, required;
    Py_ssize_t min_len, max_len; /* -1: no limit */
    TypedBound *bounds;
#define NODE_OBJECTS(X) \
    X(search) \
    X(is_aware) \
    X(problem) \
    X(made) \
    X(cls) \
    X(passed) \
    X(post_init) X(keywords) X(as_tuples) X(hook) X(slow) X(by_str) X(by_int) X(tag_values) X(choose) X(unique)
#define NODE_OBJECT(name) PyObject *name;
    NODE_OBJECTS(NODE_OBJECT)
    const TypedNode *key;
    TypedText *texts; /* texts that are compared before looking into a table */
    Py_ssize_t texts_count;
    const TypedNode **parts;
    TypedChoice *choices;
    Py_ssize_t parts_count, choices_count;
    const unsigned char *by_byte, *by_code; /* of a union: 256 bytes each, see UNION_CODES */
    const char *tag;                        /* of a union: the packed key whose value chooses the object */
    Py_ssize_t tag_size;
    union {
        Py_ssize_t tag_text_size;
        uint32_t numpy_items; /* a bit for each dtype that numpy arrays may have: see numbers_fit() */
    };
};

typedef struct {
    PyObject_HEAD
    PyObject *keep, *mismatch, *refused;
    UnpackOptions untyped; /* for untyped values; max_depth is set at each call */
    TypedNode *nodes;
    Py_ssize_t count;
} TypedTable;

static int typed_table_traverse(PyObject *o, visitproc visit, void *arg)
{
    TypedTable *self = (TypedTable *)o;
    VISIT_TYPE(o);
    Py_VISIT(self->keep);
    Py_VISIT(self->mismatch);
    Py_VISIT(self->refused);
    Py_VISIT(self->untyped.ext_hook);
    return 0;
}

static int typed_table_clear(PyObject *o)
{
    TypedTable *self = (TypedTable *)o;
    /* the nodes refer to objects that are released now, but only a table that is no longer used is cleared */
    Py_CLEAR(self->keep);
    Py_CLEAR(self->mismatch);
    Py_CLEAR(self->refused);
    Py_CLEAR(self->untyped.ext_hook);
    return 0;
}

static void typed_table_free(TypedTable *self)
{
    for (Py_ssize_t i = 0; self->nodes && i < self->count; i++) {
        PyMem_Free((void *)self->nodes[i].parts);
        PyMem_Free(self->nodes[i].choices);
        PyMem_Free(self->nodes[i].fields);
        PyMem_Free(self->nodes[i].texts);
        PyMem_Free(self->nodes[i].bounds);
    }
    PyMem_Free(self->nodes);
}

COLLECTED_DEALLOC(typed_table, typed_table_free((TypedTable *)self))

#if HAS_OWN_VALUES
static NEVER_INLINE bool typed_find_own(TypedField *field, PyTypeObject *type)
{
    PyObject *found = type_lookup(type, field->name); /* the look-up gives the class a version, if it has none */
    field->version = type->tp_version_tag;
    field->is_own = S.has_own_values && field->version && !(found && Py_TYPE(found)->tp_descr_set) &&
                    type->tp_flags & Py_TPFLAGS_HEAPTYPE && shared_names(type);
    field->are_first = false;
    Py_XDECREF(found);
    return field->is_own;
}

/* Return whether instances keep the value of a field in their own values (own_values.c). Any change of the class or a
   base changes the version. A class that cannot have a version, such as a class that was changed 1000 times, has
   version 0. */
static ALWAYS_INLINE bool typed_is_own(TypedField *field, PyTypeObject *type)
{
    return LIKELY(field->version == type->tp_version_tag) ? field->is_own : typed_find_own(field, type);
}

static NEVER_INLINE bool typed_find_first(TypedField *fields, Py_ssize_t n, PyTypeObject *type)
{
    for (Py_ssize_t i = 0; i < n; i++)
        if (!typed_is_own(&fields[i], type) || !is_name_at(shared_names(type), i, fields[i].name))
            return false;
    return fields->are_first = n > 0;
}

/* Return whether n fields are the first attributes of a class's instances, in the order of the fields. Once true, this
   stays true, except if the version changes. */
static ALWAYS_INLINE bool typed_are_first(TypedField *fields, Py_ssize_t n, PyTypeObject *type)
{
    return LIKELY(fields->are_first && fields->version == type->tp_version_tag) || typed_find_first(fields, n, type);
}
#endif

/* ---- reading the description ---- */

/* Return a value of a description, borrowed; NULL, perhaps with an exception set, if it is missing or None. */
static PyObject *spec_get(PyObject *spec, const char *name)
{
    PyObject *key = PyUnicode_FromString(name), *found = key ? PyDict_GetItemWithError(spec, key) : NULL;
    Py_XDECREF(key);
    return found == Py_None ? NULL : found;
}

/* Allocate zeroed memory for `count` entries; return NULL with MemoryError set on failure. One more entry is allocated,
   so that the result is not NULL for a count of 0. */
static void *spec_entries(Py_ssize_t count, size_t size)
{
    void *entries = PyMem_Calloc((size_t)count + 1, size);
    return entries ? entries : PyErr_NoMemory();
}

static Py_ssize_t spec_number(PyObject *spec, const char *name, Py_ssize_t otherwise)
{
    PyObject *found = spec_get(spec, name);
    return found ? PyLong_AsSsize_t(found) : otherwise;
}

static const TypedNode *spec_node(const TypedTable *self, PyObject *spec, const char *name)
{
    Py_ssize_t index = spec_number(spec, name, -1);
    return index >= 0 && index < self->count ? &self->nodes[index] : NULL;
}

static bool spec_bytes(PyObject *spec, const char *name, Py_ssize_t least, const char **to, Py_ssize_t *size)
{
    PyObject *found = spec_get(spec, name);
    if (!found || !PyBytes_Check(found) || PyBytes_GET_SIZE(found) < least)
        return false;
    *to = PyBytes_AS_STRING(found);
    if (size)
        *size = PyBytes_GET_SIZE(found);
    return true;
}

/* Return the offset of a slot from its member descriptor, or -1. The descriptor must belong to the class or a base,
   because the offset of another class's slot could be outside the object, or belong to another field. */
static Py_ssize_t typed_slot_offset(PyObject *slot, PyObject *cls, PyObject *name)
{
    if (!slot || Py_TYPE(slot) != &PyMemberDescr_Type)
        return -1;
    const PyMemberDef *member = ((PyMemberDescrObject *)slot)->d_member;
    const bool own = PyType_IsSubtype((PyTypeObject *)cls, PyDescr_TYPE(slot)) && PyUnicode_Check(PyDescr_NAME(slot)) &&
                     PyUnicode_Compare(PyDescr_NAME(slot), name) == 0;
    return own && member->type == T_OBJECT_EX && !(member->flags & READONLY) ? member->offset : -1;
}

static bool read_packed_text(PyObject *packed, PackedText *text)
{
    if (!packed || !PyBytes_Check(packed) || PyBytes_GET_SIZE(packed) < 1)
        return false;
    text->bytes = (const unsigned char *)PyBytes_AS_STRING(packed);
    text->size = PyBytes_GET_SIZE(packed);
    const size_t first = text->size < 8 ? (size_t)text->size : 8;
    memcpy(&text->word, text->bytes, first);
    memset(&text->mask, 0xff, first);
    if (text->size > 8)
        text->last = load8(text->bytes + text->size - 8);
    return true;
}

static bool typed_read_field(const TypedTable *self, PyObject *cls, PyObject *spec, TypedField *field)
{
    if (!PyDict_Check(spec) || !read_packed_text(spec_get(spec, "packed"), &field->key))
        return false;
    field->name = spec_get(spec, "name");
    field->text_size = spec_number(spec, "text_size", 0);
    field->node = self ? spec_node(self, spec, "node") : NULL;
    field->fallback = spec_get(spec, "fallback");
    if (!field->fallback)
        field->fallback = Py_None;
    field->how = (enum typed_default)spec_number(spec, "how", 0);
    field->extra = spec_number(spec, "extra", 0);
    field->is_default = spec_get(spec, "is_default");
    if (!field->name || !PyUnicode_CheckExact(field->name))
        return false;
    field->offset = typed_slot_offset(spec_get(spec, "slot"), cls, field->name);
    return field->text_size >= 0 && field->text_size <= field->key.size && !PyErr_Occurred();
}

/* Read the descriptions of the fields of the class `cls`; return false for an invalid description. `self` is NULL for
   fields that are only encoded, and so need no node. */
static bool typed_read_fields(const TypedTable *self, PyObject *cls, PyObject *specs, TypedField **fields,
                              Py_ssize_t *count)
{
    if (!PyList_Check(specs))
        return false;
    *count = PyList_GET_SIZE(specs);
    *fields = spec_entries(*count, sizeof **fields);
    for (Py_ssize_t i = 0; *fields && i < *count; i++)
        if (!typed_read_field(self, cls, PyList_GET_ITEM(specs, i), &(*fields)[i]) || (self && !(*fields)[i].node))
            return false;
    return *fields != NULL;
}

static bool typed_read_parts(const TypedTable *self, PyObject *parts, TypedNode *node)
{
    if (!PyList_Check(parts))
        return false;
    node->parts_count = PyList_GET_SIZE(parts);
    node->parts = spec_entries(node->parts_count, sizeof *node->parts);
    for (Py_ssize_t i = 0; node->parts && i < node->parts_count; i++) {
        Py_ssize_t index = PyLong_AsSsize_t(PyList_GET_ITEM(parts, i));
        if (index < 0 || index >= self->count)
            return false;
        node->parts[i] = &self->nodes[index];
    }
    return node->parts != NULL;
}

/* Read a dict whose keys are packed texts; return false if it is invalid. */
static bool typed_read_texts(PyObject *texts, TypedNode *node)
{
    if (!PyDict_CheckExact(texts))
        return false;
    node->texts_count = PyDict_GET_SIZE(texts);
    node->texts = spec_entries(node->texts_count, sizeof *node->texts);
    PyObject *packed;
    Py_ssize_t at = 0;
    for (Py_ssize_t i = 0; node->texts && i < node->texts_count; i++) {
        TypedText *text = &node->texts[i];
        if (!PyDict_Next(texts, &at, &packed, &text->value) || !read_packed_text(packed, &text->text))
            return false;
        if (node->kind != TYPED_UNION)
            continue;
        text->part = PyLong_AsSsize_t(text->value);
        if (text->part < 0 || text->part >= node->parts_count)
            return false;
    }
    return node->texts != NULL;
}

static bool typed_read_choices(PyObject *choices, TypedNode *node)
{
    if (!PyList_Check(choices))
        return false;
    node->choices_count = PyList_GET_SIZE(choices);
    node->choices = spec_entries(node->choices_count, sizeof *node->choices);
    Py_ssize_t end = 0;
    for (Py_ssize_t i = 0; node->choices && i < node->choices_count; i++) {
        TypedChoice *choice = &node->choices[i];
        if (!PyArg_ParseTuple(PyList_GET_ITEM(choices, i), "nn", &choice->part, &choice->keys_end) ||
            choice->part < 0 || choice->part >= node->parts_count || choice->keys_end < end)
            return false;
        end = choice->keys_end;
    }
    return node->choices != NULL;
}

static bool typed_read_bounds(PyObject *bounds, TypedNode *node)
{
    if (!PyList_Check(bounds) || PyList_GET_SIZE(bounds) > UCHAR_MAX)
        return false;
    const bool real = node->kind == TYPED_FLOAT;
    node->bounds_count = (unsigned char)PyList_GET_SIZE(bounds);
    node->bounds = spec_entries(node->bounds_count, sizeof *node->bounds);
    node->by_number = real || node->kind == TYPED_INT;
    for (int i = 0; node->bounds && i < node->bounds_count; i++) {
        TypedBound *bound = &node->bounds[i];
        const char *sign;
        if (!PyArg_ParseTuple(PyList_GET_ITEM(bounds, i), "sO", &sign, &bound->object))
            return false;
        bound->sign = sign[0];
        if (PyLong_CheckExact(bound->object)) {
            int overflow;
            bound->whole = PyLong_AsLongLongAndOverflow(bound->object, &overflow);
            bound->real = (double)bound->whole;
            if (overflow || bound->whole < -(1LL << 53) || bound->whole > 1LL << 53)
                node->by_number = false;
        }
        else if (real && PyFloat_CheckExact(bound->object))
            bound->real = PyFloat_AS_DOUBLE(bound->object);
        else
            node->by_number = false;
    }
    return node->bounds != NULL;
}

/* Read the description of a node; return false, perhaps with an exception set, if it is invalid. */
static bool typed_read_node(const TypedTable *self, PyObject *spec, TypedNode *node)
{
    if (!PyDict_Check(spec))
        return false;
    Py_ssize_t kind = spec_number(spec, "kind", -1);
    if (kind < 0 || kind >= TYPED_KINDS)
        return false;
    node->kind = (unsigned char)kind;
    node->nullable = spec_get(spec, "nullable") != NULL;
    node->checked = spec_get(spec, "checked") != NULL;
    node->forbid = spec_get(spec, "forbid") != NULL;
    node->runs_python = spec_get(spec, "runs_python") != NULL;
    node->build = (enum typed_build)spec_number(spec, "build", 0);
    node->code = (int)spec_number(spec, "code", 0);
    node->required = spec_number(spec, "required", 0);
    node->extra = spec_number(spec, "extra", 0);
    node->extra_item = spec_number(spec, "extra_item", 0);
    node->item = spec_node(self, spec, "item");
    node->key = spec_node(self, spec, "key");
#define READ_OBJECT(name) node->name = spec_get(spec, #name);
    NODE_OBJECTS(READ_OBJECT)
    node->min_len = spec_number(spec, "min_len", -1);
    node->max_len = spec_number(spec, "max_len", -1);
    PyObject *fields = spec_get(spec, "fields"), *parts = spec_get(spec, "parts"), *bounds = spec_get(spec, "bounds");
    PyObject *texts = spec_get(spec, "texts");
    const bool is_object = kind == TYPED_OBJECT || kind == TYPED_ROW;
    if (is_object && (!fields || !node->cls || !PyType_Check(node->cls)))
        return false;
    if ((is_object && !typed_read_fields(self, node->cls, fields, &node->fields, &node->fields_count)) ||
        (parts && !typed_read_parts(self, parts, node)) || (bounds && !typed_read_bounds(bounds, node)) ||
        (texts && !typed_read_texts(texts, node)))
        return false;
    const char *by_byte, *by_code;
    if (kind == TYPED_UNION) {
        if (!spec_bytes(spec, "by_byte", 256, &by_byte, NULL) || !spec_bytes(spec, "by_code", 256, &by_code, NULL))
            return false;
        node->by_byte = (const unsigned char *)by_byte;
        node->by_code = (const unsigned char *)by_code;
        for (int i = 0; i < 256; i++)
            if ((node->by_byte[i] >= node->parts_count && node->by_byte[i] < UNION_CODES) ||
                (node->by_code[i] >= node->parts_count && node->by_code[i] != UNION_NOTHING))
                return false;
        if (spec_get(spec, "tag") && !spec_bytes(spec, "tag", 1, &node->tag, &node->tag_size))
            return false;
        PyObject *choices = spec_get(spec, "choices");
        if (choices && !typed_read_choices(choices, node))
            return false;
        node->tag_text_size = spec_number(spec, "tag_text_size", 0);
        if (node->tag_text_size < 0 || node->tag_text_size > node->tag_size || (node->tag && !node->tag_values))
            return false;
    }
    if (kind == TYPED_NUMBERS)
        node->numpy_items = (uint32_t)spec_number(spec, "numpy_items", 0);
    if (kind == TYPED_HOOKED && (!node->hook || !node->cls))
        return false;
    const bool has_item = kind == TYPED_LIST || kind == TYPED_SET || kind == TYPED_FROZENSET || kind == TYPED_TUPLE ||
                          kind == TYPED_DICT;
    if ((has_item && !node->item) || (kind == TYPED_DICT && !node->key) || (kind == TYPED_FIXED_TUPLE && !parts) ||
        (node->build == BUILD_KEYWORD && is_object && (!node->keywords || !PyTuple_CheckExact(node->keywords))) ||
        (node->by_str && !PyDict_CheckExact(node->by_str)) || (node->by_int && !PyDict_CheckExact(node->by_int)) ||
        (node->tag_values && !PyDict_CheckExact(node->tag_values)) ||
        (node->unique && !PyDict_CheckExact(node->unique)) || (node->passed && !PyFrozenSet_CheckExact(node->passed)))
        return false;
    return !PyErr_Occurred();
}

/* TypedTable(description, mismatch, refused, ext_hook): `description` is a list of dicts, one for each node, the whole
   type first. */
static PyObject *typed_table_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    PyObject *specs, *mismatch, *refused, *ext_hook;
    if (keywords && PyDict_GET_SIZE(keywords)) {
        PyErr_SetString(PyExc_TypeError, "TypedTable takes no keyword arguments");
        return NULL;
    }
    if (!PyArg_ParseTuple(args, "O!OOO", &PyList_Type, &specs, &mismatch, &refused, &ext_hook))
        return NULL;
    find_value_classes(); /* called first, because it clears exceptions */
    TypedTable *self = object_new(type);
    if (!self)
        return NULL;
    self->keep = PyList_AsTuple(specs);
    self->mismatch = new_ref(mismatch);
    self->refused = new_ref(refused);
    self->untyped = default_unpack_options;
    self->untyped.ext_hook = new_ref(ext_hook);
    self->untyped.value_types = true;
    self->untyped.strict_map_key = false;
    self->untyped.tuple_keys = true;
    self->untyped.timestamp = 3;
    self->untyped.max_str_len = self->untyped.max_bin_len = self->untyped.max_array_len = self->untyped.max_map_len =
        self->untyped.max_ext_len = (Py_ssize_t)1 << 33;
    self->count = self->keep ? PyTuple_GET_SIZE(self->keep) : 0;
    self->nodes = self->keep ? spec_entries(self->count, sizeof *self->nodes) : NULL;
    bool sound = self->keep && self->nodes && self->count && unpack_options_check(&self->untyped) == 0;
    for (Py_ssize_t i = 0; sound && i < self->count; i++)
        sound = typed_read_node(self, PyTuple_GET_ITEM(self->keep, i), &self->nodes[i]);
    if (!sound) {
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_ValueError, "not the description of a type");
        Py_DECREF(self);
        return NULL;
    }
    return (PyObject *)self;
}
