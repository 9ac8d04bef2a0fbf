/* SPDX-License-Identifier: Apache-2.0 */
/* The options of packing and unpacking. */
#ifndef CPKG_MSGPACK_COMMON_OPTIONS
#define CPKG_MSGPACK_COMMON_OPTIONS

#include <Python.h>
#include <stdbool.h>
#include <stddef.h>

#include "../../common/arguments.c"

#define DEFAULT_MAX_DEPTH 1024

typedef struct {
    PyObject *default_; /* or NULL; objects here are borrowed: from the caller, or owned by the Packer */
    PyObject *unicode_errors;
    PyObject *buffer; /* a bytearray that a Packer appends to, or NULL */
    Py_ssize_t max_depth;
    Py_ssize_t max_total_bytes; /* -1: no limit; the same below */
    Py_ssize_t max_total_items;
    Py_ssize_t buf_size; /* checked and ignored: the output grows as it needs to */
    bool use_single_float, autoreset, use_bin_type, strict_types, datetime, sort_keys;
    bool dataclass, date, uuid, enum_, decimal, numpy;
} pack_options;

typedef struct {
    PyObject *object_hook, *object_pairs_hook, *list_hook, *ext_hook; /* or NULL; borrowed likewise */
    PyObject *unicode_errors;
    PyObject *file_like;
    Py_ssize_t max_str_len, max_bin_len, max_array_len, max_map_len, max_ext_len;
    Py_ssize_t max_depth, max_total_bytes, max_total_items, raw_depth;
    Py_ssize_t read_size, max_buffer_size;
    Py_ssize_t timestamp;
    bool use_list, raw, strict_map_key, tuple_keys, bin_view;
    bool plain_text; /* nothing but its UTF-8 matters of a short str; follows from the others */
} unpack_options;

#define PACK(name, kind, field) {name, kind, offsetof(pack_options, field), NULL}
#define UNPACK(name, kind, field) {name, kind, offsetof(unpack_options, field), NULL}
#define PACKER_OPTIONS \
    PACK("default", OPTION_CALLABLE, default_), \
    PACK("use_bin_type", OPTION_BOOL, use_bin_type), \
    PACK("datetime", OPTION_BOOL, datetime), \
    PACK("strict_types", OPTION_BOOL, strict_types), \
    PACK("use_single_float", OPTION_BOOL, use_single_float), \
    PACK("autoreset", OPTION_BOOL, autoreset), \
    PACK("unicode_errors", OPTION_STR, unicode_errors), \
    PACK("buf_size", OPTION_SIZE, buf_size), \
    PACK("max_depth", OPTION_DEPTH, max_depth), \
    PACK("max_total_bytes", OPTION_SIZE, max_total_bytes), \
    PACK("max_total_items", OPTION_SIZE, max_total_items), \
    PACK("sort_keys", OPTION_BOOL, sort_keys), \
    PACK("dataclass", OPTION_BOOL, dataclass), \
    PACK("date", OPTION_BOOL, date), \
    PACK("uuid", OPTION_BOOL, uuid), \
    PACK("enum", OPTION_BOOL, enum_), \
    PACK("decimal", OPTION_BOOL, decimal), \
    PACK("numpy", OPTION_BOOL, numpy)
#define UNPACKER_OPTIONS \
    UNPACK("raw", OPTION_BOOL, raw), \
    UNPACK("strict_map_key", OPTION_BOOL, strict_map_key), \
    UNPACK("use_list", OPTION_BOOL, use_list), \
    UNPACK("timestamp", OPTION_SIZE, timestamp), \
    UNPACK("object_hook", OPTION_CALLABLE, object_hook), \
    UNPACK("object_pairs_hook", OPTION_CALLABLE, object_pairs_hook), \
    UNPACK("list_hook", OPTION_CALLABLE, list_hook), \
    UNPACK("ext_hook", OPTION_CALLABLE, ext_hook), \
    UNPACK("unicode_errors", OPTION_STR, unicode_errors), \
    UNPACK("max_str_len", OPTION_SIZE, max_str_len), \
    UNPACK("max_bin_len", OPTION_SIZE, max_bin_len), \
    UNPACK("max_array_len", OPTION_SIZE, max_array_len), \
    UNPACK("max_map_len", OPTION_SIZE, max_map_len), \
    UNPACK("max_ext_len", OPTION_SIZE, max_ext_len), \
    UNPACK("max_depth", OPTION_DEPTH, max_depth), \
    UNPACK("max_total_items", OPTION_SIZE, max_total_items), \
    UNPACK("max_total_bytes", OPTION_SIZE, max_total_bytes), \
    UNPACK("tuple_keys", OPTION_BOOL, tuple_keys), \
    UNPACK("bin_view", OPTION_BOOL, bin_view), \
    UNPACK("raw_depth", OPTION_SIZE, raw_depth)

static option pack_table[] = {PACKER_OPTIONS};
static option packer_table[] = {PACKER_OPTIONS, PACK("buffer", OPTION_BYTEARRAY, buffer)};
static option unpack_table[] = {UNPACKER_OPTIONS};
static option unpacker_table[] = {UNPACKER_OPTIONS, UNPACK("read_size", OPTION_SIZE, read_size),
                                  UNPACK("max_buffer_size", OPTION_SIZE, max_buffer_size)};
#undef PACK
#undef UNPACK

static signature packb_signature = {"packb", pack_table, COUNT_OF(pack_table), 1, 1, {"o"}, {NULL}};
static signature pack_signature = {"pack", pack_table, COUNT_OF(pack_table), 2, 2, {"o", "stream"}, {NULL}};
static signature pack_into_signature = {
    "pack_into", pack_table, COUNT_OF(pack_table), 2, 3, {"o", "buffer", "offset"}, {NULL}};
static signature packer_signature = {"Packer", packer_table, COUNT_OF(packer_table), 0, 0, {NULL}, {NULL}};
static signature unpackb_signature = {"unpackb", unpack_table, COUNT_OF(unpack_table), 1, 1, {"packed"}, {NULL}};
static signature unpack_signature = {"unpack", unpack_table, COUNT_OF(unpack_table), 1, 1, {"stream"}, {NULL}};
static signature unpackb_from_signature = {
    "unpackb_from", unpack_table, COUNT_OF(unpack_table), 1, 2, {"buffer", "offset"}, {NULL}};
static signature unpacker_signature = {
    "Unpacker", unpacker_table, COUNT_OF(unpacker_table), 0, 1, {"file_like"}, {NULL}};
static signature pack_ext_type_signature = {"pack_ext_type", NULL, 0, 2, 2, {"typecode", "data"}, {NULL}};

static signature *const all_signatures[] = {&packb_signature,   &pack_signature,   &pack_into_signature,
                                            &packer_signature,  &unpackb_signature, &unpack_signature,
                                            &unpackb_from_signature, &unpacker_signature, &pack_ext_type_signature};

static const pack_options default_pack_options = {
    .max_depth = DEFAULT_MAX_DEPTH,
    .max_total_bytes = -1,
    .max_total_items = -1,
    .buf_size = 256 * 1024,
    .autoreset = true,
    .use_bin_type = true,
};

/* import adds the ext_hook */
static unpack_options default_unpack_options = {
    .max_str_len = -1,
    .max_bin_len = -1,
    .max_array_len = -1,
    .max_map_len = -1,
    .max_ext_len = -1,
    .max_depth = DEFAULT_MAX_DEPTH,
    .max_total_bytes = -1,
    .max_total_items = -1,
    .raw_depth = -1,
    .max_buffer_size = 100 * 1024 * 1024,
    .use_list = true,
    .strict_map_key = true,
    .plain_text = true,
};

_Static_assert(COUNT_OF(packer_table) < OWNED_MAX && COUNT_OF(unpacker_table) + 1 < OWNED_MAX, "room for one too many");

static int options_init(void)
{
    for (size_t i = 0; i < COUNT_OF(all_signatures); i++)
        if (signature_init(all_signatures[i]) < 0)
            return -1;
    return 0;
}

static int pack_options_check(const pack_options *options)
{
    if (options->buf_size < 0) {
        PyErr_SetString(PyExc_OverflowError, "can't convert negative value to size_t");
        return -1;
    }
    return 0;
}

/* plain_text passes over the checks of strings up to this length */
#define PLAIN_TEXT_MAX 255

static int unpack_options_check(unpack_options *options)
{
    options->plain_text = !options->raw && !options->unicode_errors && options->max_total_bytes == -1 &&
                          (options->max_str_len == -1 || options->max_str_len >= PLAIN_TEXT_MAX);
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

#endif
