/* SPDX-License-Identifier: Apache-2.0 */
/* The options of packing and unpacking. */
#pragma once

#include "../../common/arguments.c"

/* The options, in the order of the signatures: X(kind, name, field, default in Python's notation). The fields of the
   structs, the defaults, the tables for reading arguments and the texts of the signatures are generated from these
   lists. */
/* clang-format off */
#define PACK_OPTIONS(X) \
    X(CALLABLE,  default,           default_,          None) \
    X(BOOL,      use_single_float,  use_single_float,  False) \
    X(BOOL,      autoreset,         autoreset,         True) \
    X(BOOL,      use_bin_type,      use_bin_type,      True) \
    X(BOOL,      strict_types,      strict_types,      False) \
    X(BOOL,      datetime,          datetime,          False) \
    X(STR,       unicode_errors,    unicode_errors,    None) \
    X(SIZE,      buf_size,          buf_size,          262144) /* checked but ignored: the output grows as needed */ \
    X(COUNT,     max_depth,         max_depth,         1024) \
    X(LIMIT,     max_total_bytes,   max_total_bytes,   -1) /* no limit, as below */ \
    X(LIMIT,     max_total_items,   max_total_items,   -1) \
    X(BOOL,      sort_keys,         sort_keys,         False) \
    X(BOOL,      dataclass,         dataclass,         False) \
    X(BOOL,      date,              date,              False) \
    X(BOOL,      uuid,              uuid,              False) \
    X(BOOL,      enum,              enum_,             False) \
    X(BOOL,      decimal,           decimal,           False) \
    X(BOOL,      numpy,             numpy,             False)

#define PACKER_TYPE_OPTIONS(X) \
    X(BYTEARRAY, buffer,            buffer,            None) /* the buffer that a Packer appends to */

/* For unpacking, a fifth column names the fast path that ignores the option, and is not used if the option differs from
   its default. TEXT: the path for short str. LENGTH: the same, but it is also used if the limit is PLAIN_TEXT_MAX or
   more. LOOP: the plain loop. KEPT: none, because all paths implement the option. */
#define UNPACK_OPTIONS(X) \
    X(CALLABLE,  object_hook,       object_hook,       None,      LOOP) \
    X(CALLABLE,  list_hook,         list_hook,         None,      LOOP) \
    X(BOOL,      use_list,          use_list,          True,      LOOP) \
    X(BOOL,      raw,               raw,               False,     TEXT) \
    X(SIZE,      timestamp,         timestamp,         0,         KEPT) \
    X(BOOL,      strict_map_key,    strict_map_key,    True,      KEPT) \
    X(STR,       unicode_errors,    unicode_errors,    None,      TEXT) \
    X(CALLABLE,  object_pairs_hook, object_pairs_hook, None,      LOOP) \
    X(CALLABLE,  ext_hook,          ext_hook,          ...,       KEPT) /* ExtType, which the import sets in the defaults: \
                                                                           a text signature cannot spell it */ \
    X(LIMIT,     max_str_len,       max_str_len,       -1,        LENGTH) \
    X(LIMIT,     max_bin_len,       max_bin_len,       -1,        KEPT) \
    X(LIMIT,     max_array_len,     max_array_len,     -1,        KEPT) \
    X(LIMIT,     max_map_len,       max_map_len,       -1,        KEPT) \
    X(LIMIT,     max_ext_len,       max_ext_len,       -1,        KEPT) \
    X(COUNT,     max_depth,         max_depth,         1024,      KEPT) \
    X(LIMIT,     max_total_items,   max_total_items,   -1,        KEPT) \
    X(LIMIT,     max_total_bytes,   max_total_bytes,   -1,        TEXT) \
    X(BOOL,      tuple_keys,        tuple_keys,        False,     KEPT) \
    X(BOOL,      bin_view,          bin_view,          False,     KEPT) \
    X(SIZE,      raw_depth,         raw_depth,         -1,        LOOP) \
    X(OBJECT,    type,              type,              None,      KEPT) /* cpkg.typed implements it; an Unpacker \
                                                                           keeps the decoder for the type here */

#define UNPACKER_TYPE_OPTIONS(X) \
    X(COUNT,     read_size,         read_size,         0,         KEPT) \
    X(COUNT,     max_buffer_size,   max_buffer_size,   104857600, KEPT)
/* clang-format on */

/* Objects in the structs are NULL for None. A function borrows them from its caller; a Packer or Unpacker owns them. */
#define TYPE_BOOL bool
#define TYPE_SIZE Py_ssize_t
#define TYPE_COUNT Py_ssize_t
#define TYPE_LIMIT Py_ssize_t
#define TYPE_CALLABLE PyObject *
#define TYPE_STR PyObject *
#define TYPE_BYTEARRAY PyObject *
#define TYPE_OBJECT PyObject *
#define PYTHON_True true
#define PYTHON_False false
#define DEFAULT_BOOL(value) PYTHON_##value
#define DEFAULT_SIZE(value) value
#define DEFAULT_COUNT(value) value
#define DEFAULT_LIMIT(value) value
#define DEFAULT_CALLABLE(value) NULL
#define DEFAULT_STR(value) NULL
#define DEFAULT_BYTEARRAY(value) NULL
#define DEFAULT_OBJECT(value) NULL

#define FIELD(kind, name, field, ...) TYPE_##kind field;
#define DEFAULT(kind, name, field, value, ...) .field = DEFAULT_##kind(value),
#define SIGNATURE_TEXT(kind, name, field, value, ...) ", " #name "=" #value
#define PACK_ROW(kind, name, field, ...) {#name, OPTION_##kind, offsetof(PackOptions, field), NULL},
#define UNPACK_ROW(kind, name, field, ...) {#name, OPTION_##kind, offsetof(UnpackOptions, field), NULL},

typedef struct {
    PACK_OPTIONS(FIELD)
    PACKER_TYPE_OPTIONS(FIELD)
} PackOptions;

typedef struct {
    UNPACK_OPTIONS(FIELD)
    UNPACKER_TYPE_OPTIONS(FIELD)
    PyObject *file_like; /* borrowed or owned, like the options */
    bool value_types;    /* ext_hook is the hook of `loads`, so C reads ordinary values of extension types itself */
    bool plain_text;     /* a short str needs no check except UTF-8; derived from the other options */
    bool plain;          /* no hook for containers, arrays become lists, no raw_depth; also derived */
} UnpackOptions;

static const PackOptions default_pack_options = {PACK_OPTIONS(DEFAULT) PACKER_TYPE_OPTIONS(DEFAULT)};
static UnpackOptions default_unpack_options = {UNPACK_OPTIONS(DEFAULT) UNPACKER_TYPE_OPTIONS(DEFAULT)
                                                   /* derived from these defaults */
                                                   .plain_text = true,
                                               .plain = true};

static Option pack_table[] = {PACK_OPTIONS(PACK_ROW)};
static Option packer_type_table[] = {PACK_OPTIONS(PACK_ROW) PACKER_TYPE_OPTIONS(PACK_ROW)};
static Option unpack_table[] = {UNPACK_OPTIONS(UNPACK_ROW)};
static Option unpacker_type_table[] = {UNPACK_OPTIONS(UNPACK_ROW) UNPACKER_TYPE_OPTIONS(UNPACK_ROW)};

/* The text of the options in a signature, which follows the last positional parameter, or "*". */
#define PACK_SIGNATURE PACK_OPTIONS(SIGNATURE_TEXT)
#define PACKER_TYPE_SIGNATURE PACK_SIGNATURE PACKER_TYPE_OPTIONS(SIGNATURE_TEXT)
#define UNPACK_SIGNATURE UNPACK_OPTIONS(SIGNATURE_TEXT)
#define UNPACKER_TYPE_SIGNATURE UNPACK_SIGNATURE UNPACKER_TYPE_OPTIONS(SIGNATURE_TEXT)

static Signature packb_signature = {"packb", pack_table, COUNT_OF(pack_table), 1, 1, {"o"}, {NULL}};
static Signature pack_signature = {"pack", pack_table, COUNT_OF(pack_table), 2, 2, {"o", "stream"}, {NULL}};
static Signature pack_into_signature = {"pack_into", pack_table, COUNT_OF(pack_table), 2, 3, {"o", "buffer", "offset"},
                                        {NULL}};
static Signature packer_type_signature = {"Packer", packer_type_table, COUNT_OF(packer_type_table), 0, 0, {NULL},
                                          {NULL}};
static Signature unpackb_signature = {"unpackb", unpack_table, COUNT_OF(unpack_table), 1, 1, {"packed"}, {NULL}};
static Signature unpack_signature = {"unpack", unpack_table, COUNT_OF(unpack_table), 1, 1, {"stream"}, {NULL}};
static Signature unpackb_from_signature = {"unpackb_from",       unpack_table, COUNT_OF(unpack_table), 1, 2,
                                           {"buffer", "offset"}, {NULL}};
static Signature unpacker_type_signature = {
    "Unpacker", unpacker_type_table, COUNT_OF(unpacker_type_table), 0, 1, {"file_like"}, {NULL}};
static Signature pack_ext_type_signature = {"pack_ext_type", NULL, 0, 2, 2, {"typecode", "data"}, {NULL}};

static Signature *const all_signatures[] = {
    &packb_signature,  &pack_signature,         &pack_into_signature,     &packer_type_signature,  &unpackb_signature,
    &unpack_signature, &unpackb_from_signature, &unpacker_type_signature, &pack_ext_type_signature};

_Static_assert(COUNT_OF(packer_type_table) < OWNED_MAX && COUNT_OF(unpacker_type_table) + 1 < OWNED_MAX,
               "room for one too many");

static int options_init(void)
{
    for (size_t i = 0; i < COUNT_OF(all_signatures); i++)
        if (signature_init(all_signatures[i]) < 0)
            return -1;
    return 0;
}

static int pack_options_check(const PackOptions *options)
{
    if (options->buf_size < 0) {
        PyErr_SetString(PyExc_OverflowError, "can't convert negative value to size_t");
        return -1;
    }
    return 0;
}

/* plain_text skips the checks of strings up to this length */
#define PLAIN_TEXT_MAX 255

#define IS_DEFAULT(kind, field, value) (options->field == DEFAULT_##kind(value))
#define TEXT_KEPT(kind, field, value)
#define TEXT_LOOP(kind, field, value)
#define TEXT_TEXT(kind, field, value) IS_DEFAULT(kind, field, value) &&
#define TEXT_LENGTH(kind, field, value) (options->field == -1 || options->field >= PLAIN_TEXT_MAX) &&
#define LOOP_KEPT(kind, field, value)
#define LOOP_LOOP(kind, field, value) IS_DEFAULT(kind, field, value) &&
#define LOOP_TEXT(kind, field, value)
#define LOOP_LENGTH(kind, field, value)
#define ALLOWS_TEXT(kind, name, field, value, way) TEXT_##way(kind, field, value)
#define ALLOWS_LOOP(kind, name, field, value, way) LOOP_##way(kind, field, value)

static int unpack_options_check(UnpackOptions *options)
{
    options->plain_text = UNPACK_OPTIONS(ALLOWS_TEXT) true;
    options->plain = UNPACK_OPTIONS(ALLOWS_LOOP) options->plain_text;
    if (options->object_hook && options->object_pairs_hook) {
        PyErr_SetString(PyExc_TypeError, "object_pairs_hook and object_hook are mutually exclusive.");
        return -1;
    }
    if (options->timestamp < 0 || options->timestamp > 3) {
        PyErr_SetString(PyExc_ValueError, "timestamp must be 0..3");
        return -1;
    }
    return 0;
}
