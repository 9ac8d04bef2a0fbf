/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parser's loop: MessagePack specification, "Formats".
 *
 * The unpack_template.h of msgpack-c is not used. It stores every value in a union before it calls a callback, has no
 * callback for keys, depth or the end of a container, and allocates as much memory as a header declares. Only its
 * dispatch on the first byte could be used, which is a single switch.
 *
 * parser_run() creates the values that parser_skip() (skip.c) skips. Both use the same frames, positions and depth
 * limits: a change of one needs the same change of the other. weigh.c and the parts for PyPy read headers as
 * parser_skip() does.
 */
#pragma once

#include "../common/interpreter.c"
#include "../common/numbers.c"
#include "../common/options.c"
#include "../common/state.c"
#include "parser_state.c"
#include "skip.c"
#include "text.c"
#include "values.c"

#define IN_KEY(f) ((f) && ((f)->in_key || (f)->kind == FRAME_MAP_KEY || (f)->kind == FRAME_PAIRS_KEY))

/* Parse data[*position..size), which continues the data parsed before. `plain` is a compile-time constant: whether all
   options are plain. PARSE_DONE: *result is the object, a new reference. PARSE_MORE: parsing continues at *position
   once there is more data. PARSE_ERROR: an exception is set, the message is given up, and *position is at the invalid
   value, or after the value if a hook raised. */
static ALWAYS_INLINE enum parse_result parser_run_as(Parser *ps, const unsigned char *data, Py_ssize_t size,
                                                     Py_ssize_t *position, PyObject **result, const bool plain)
{
    const unsigned char *p = data + *position, *start = p, *const end = data + size;
    const UnpackOptions *const options = ps->options;
    Frame *f = ps->top ? &ps->frames[ps->top - 1] : NULL;
    PyObject *obj;
    uint64_t n, at;
    const bool plain_text = plain || options->plain_text;

#define OFFSET_OF(pointer) (ps->base + (uint64_t)((pointer) - data))
#define NEED(n) \
    do { \
        if (UNLIKELY(end - p < (n))) \
            goto more; \
    } while (0)
/* read the number in the k bytes after the first byte into obj */
#define NUMBER(k, expression) \
    NEED(k); \
    obj = (expression); \
    p += (k); \
    goto scalar
/* read the length field of k bytes into n */
#define LENGTH(k, expression) \
    NEED(k); \
    n = (expression); \
    p += (k)
    /* clang-format off */
#define CASES_16(x) \
    case (x): case (x) + 1: case (x) + 2: case (x) + 3: case (x) + 4: case (x) + 5: case (x) + 6: case (x) + 7: \
    case (x) + 8: case (x) + 9: case (x) + 10: case (x) + 11: case (x) + 12: case (x) + 13: case (x) + 14: \
    case (x) + 15
    /* clang-format on */

    if (!plain && ps->skipping)
        goto skip;
    if (!ps->started) {
        if (p == end)
            return PARSE_MORE;
        ps->started = true;
        ps->message_start = OFFSET_OF(p);
        ps->items = ps->bytes = 0;
        ps->meters.probes = 0;
        ps->meters.allowed = SPARE_PROBES;
        if (ps->counts && parser_count_items(ps, 1) < 0)
            goto fail;
    }
    if (!f || (f->kind != FRAME_MAP_KEY && f->kind != FRAME_PAIRS_KEY))
        goto value;

key:
    start = p;
    if (UNLIKELY(p == end))
        goto more;
    if (LIKELY(plain_text) && LIKELY((*p & 0xe0) == 0xa0)) {
        n = *p & 0x1f;
        if (UNLIKELY((uint64_t)(end - p) <= n))
            goto more;
        f->key = key_new(p + 1, n, ps->shared);
        if (UNLIKELY(!f->key))
            goto fail;
        p += n + 1;
        f->kind++; /* the value comes next */
        goto value;
    }
    goto header;

value:
    if (!plain && UNLIKELY(ps->top == ps->raw_top) && !(f && f->in_key))
        goto begin_skip;
header:
    start = p;
    if (UNLIKELY(p == end))
        goto more;
    switch (*p++) {
        /* clang-format off */
    CASES_16(0x00): CASES_16(0x10): CASES_16(0x20): CASES_16(0x30):
    CASES_16(0x40): CASES_16(0x50): CASES_16(0x60): CASES_16(0x70):
        obj = small_int(*start);
        goto scalar;
    CASES_16(0xe0): CASES_16(0xf0):
        obj = small_int((signed char)*start);
        goto scalar;
    CASES_16(0xa0): CASES_16(0xb0):
        n = *start & 0x1f;
        goto str;
    CASES_16(0x90):
        n = *start & 0x0f;
        goto array;
    CASES_16(0x80):
        n = *start & 0x0f;
        goto map;
    /* clang-format on */
    case 0xc0:
        obj = new_ref(Py_None);
        goto scalar;
    case 0xc2:
        obj = new_ref(Py_False);
        goto scalar;
    case 0xc3:
        obj = new_ref(Py_True);
        goto scalar;
    case 0xc4:
        LENGTH(1, *p);
        goto bin;
    case 0xc5:
        LENGTH(2, read16(p));
        goto bin;
    case 0xc6:
        LENGTH(4, read32(p));
        goto bin;
    case 0xc7:
        LENGTH(1, *p);
        goto ext;
    case 0xc8:
        LENGTH(2, read16(p));
        goto ext;
    case 0xc9:
        LENGTH(4, read32(p));
        goto ext;
    case 0xca:
        NUMBER(4, PyFloat_FromDouble(read_float(p)));
    case 0xcb:
        NUMBER(8, PyFloat_FromDouble(read_double(p)));
    case 0xcc:
        NUMBER(1, small_int(*p));
    case 0xcd:
        NUMBER(2, value_uint(read16(p)));
    case 0xce:
        NUMBER(4, value_uint(read32(p)));
    case 0xcf:
        NUMBER(8, value_uint(read64(p)));
    case 0xd0:
        NUMBER(1, value_int((int8_t)*p));
    case 0xd1:
        NUMBER(2, value_int((int16_t)read16(p)));
    case 0xd2:
        NUMBER(4, value_int((int32_t)read32(p)));
    case 0xd3:
        NUMBER(8, value_int((int64_t)read64(p)));
    case 0xd4:
    case 0xd5:
    case 0xd6:
    case 0xd7:
    case 0xd8:
        n = (uint64_t)1 << (*start - 0xd4);
        goto ext;
    case 0xd9:
        LENGTH(1, *p);
        goto str;
    case 0xda:
        LENGTH(2, read16(p));
        goto str;
    case 0xdb:
        LENGTH(4, read32(p));
        goto str;
    case 0xdc:
        LENGTH(2, read16(p));
        goto array;
    case 0xdd:
        LENGTH(4, read32(p));
        goto array;
    case 0xde:
        LENGTH(2, read16(p));
        goto map;
    case 0xdf:
        LENGTH(4, read32(p));
        goto map;
    default:
        raise_format();
        goto fail;
    }

str:
    if (LIKELY(plain_text) && LIKELY(n <= PLAIN_TEXT_MAX)) {
        if (UNLIKELY((uint64_t)(end - p) < n))
            goto more;
        obj = text_new(p, n, ps->shared);
    }
    else {
        if (parser_count_bytes(ps, n, options->max_str_len, "max_str_len") < 0)
            goto fail;
        if ((uint64_t)(end - p) < n)
            goto more;
        obj = value_str(ps, p, n);
    }
    p += n;
    goto scalar;

bin:
    if (parser_count_bytes(ps, n, options->max_bin_len, "max_bin_len") < 0)
        goto fail;
    if ((uint64_t)(end - p) < n)
        goto more;
    ps->bytes += n;
    if (UNLIKELY(options->bin_view) && !IN_KEY(f))
        obj = value_bin_view(ps, p, (Py_ssize_t)n, end - p, OFFSET_OF(p));
    else
        obj = PyBytes_FromStringAndSize((const char *)p, (Py_ssize_t)n);
    p += n;
    goto scalar;

ext:
    {
        bool by_hook = false;
        if (parser_count_bytes(ps, n, options->max_ext_len, "max_ext_len") < 0)
            goto fail;
        if ((uint64_t)(end - p) < n + 1)
            goto more;
        obj = value_ext(ps, (signed char)*p, p + 1, n, &by_hook);
        p += n + 1;
        if (!obj && by_hook)
            goto fail_by_hook;
        goto scalar;
    }

array:
    {
        const int in_key = key_depth(f);
        const bool tuple = (!plain && !options->use_list) || (in_key && options->tuple_keys);
        if (UNLIKELY(parser_count_children(ps, n, options->max_array_len, ps->size, "max_array_len", 1) < 0))
            goto fail;
        if (UNLIKELY(in_key > KEY_DEPTH_MAX) && raise_key_too_deep() < 0)
            goto fail;
        if (n == 0) {
            obj = tuple ? new_ref(S.empty_tuple) : PyList_New(0);
            if (!plain && obj && options->list_hook) {
                parser_gc_resume(ps);
                parser_hide(ps);
                PyObject *hooked = PyObject_CallFunctionObjArgs(options->list_hook, obj, NULL);
                Py_DECREF(obj);
                obj = hooked;
                if (!obj)
                    goto fail_by_hook;
            }
            goto scalar;
        }
        if (UNLIKELY(ps->top == ps->capacity) && !parser_more_frames(ps))
            goto fail;
        Py_ssize_t slots = parser_reserve(ps, n, (uint64_t)(end - p), OFFSET_OF(end) - ps->message_start);
        f = &ps->frames[ps->top];
        f->reserved = slots;
        f->slots = slots;
        f->to_tuple = tuple && (uint64_t)slots < n;
        if (tuple && !f->to_tuple) {
            f->kind = FRAME_TUPLE;
            f->obj = PyTuple_New(slots);
            f->slot = f->obj ? &PyTuple_GET_ITEM(f->obj, 0) : NULL;
        }
        else {
            f->kind = FRAME_LIST;
            f->obj = PyList_New(slots);
            f->slot = f->obj ? ((PyListObject *)f->obj)->ob_item : NULL;
        }
        f->key = NULL;
        f->left = n;
        f->start = OFFSET_OF(start);
        f->in_key = (unsigned char)in_key;
        f->hidden = false;
        if (UNLIKELY(!f->obj))
            goto fail;
        if (UNLIKELY(ps->guard))
            parser_guard_frame(ps, f);
        ps->top++;
        goto value;
    }

map:
    {
        const int in_key = key_depth(f);
        const bool pairs = !plain && options->object_pairs_hook != NULL;
        if (UNLIKELY(parser_count_children(ps, n, options->max_map_len, ps->size / 2, "max_map_len", 2) < 0))
            goto fail;
        if (UNLIKELY(in_key > KEY_DEPTH_MAX) && raise_key_too_deep() < 0)
            goto fail;
        if (UNLIKELY(ps->top == ps->capacity) && !parser_more_frames(ps))
            goto fail;
        Py_ssize_t room = parser_reserve(ps, 2 * n, (uint64_t)(end - p), OFFSET_OF(end) - ps->message_start);
        f = &ps->frames[ps->top];
        f->reserved = room;
        f->to_tuple = false;
        f->slots = 0;
        f->slot = NULL;
        if (pairs) {
            f->kind = FRAME_PAIRS_KEY;
            f->slots = room / 2;
            f->obj = PyList_New(f->slots);
            if (f->obj)
                f->slot = ((PyListObject *)f->obj)->ob_item;
        }
        else {
            f->kind = FRAME_MAP_KEY;
            f->obj = dict_new(room / 2);
        }
        f->key = NULL;
        f->left = n;
        f->start = OFFSET_OF(start);
        f->in_key = (unsigned char)in_key;
        f->hidden = false;
        if (UNLIKELY(!f->obj))
            goto fail;
        if (UNLIKELY(pairs) && ps->guard)
            parser_guard_frame(ps, f);
        ps->top++;
        if (LIKELY(n))
            goto key;
        goto close;
    }

scalar:
    if (UNLIKELY(!obj))
        goto fail;
    at = OFFSET_OF(start);
deliver:
    if (UNLIKELY(!f))
        goto done;
    switch (f->kind) {
    case FRAME_LIST:
    case FRAME_TUPLE:
        if (LIKELY(f->slots)) {
            *f->slot++ = obj;
            f->slots--;
        }
        else {
            int failed = PyList_Append(f->obj, obj);
            Py_DECREF(obj);
            if (failed)
                goto fail;
        }
        if (LIKELY(--f->left))
            goto value;
        goto close;
    case FRAME_MAP_KEY:
    case FRAME_PAIRS_KEY: {
        int allowed = key_check(ps, f, obj);
        if (UNLIKELY(allowed <= 0)) {
            Py_DECREF(obj);
            if (allowed < 0)
                goto fail_by_hook;
            goto fail_at;
        }
        f->key = obj;
        f->kind++;
        goto value;
    }
    case FRAME_MAP_VALUE: {
        int failed = PyDict_SetItem(f->obj, f->key, obj);
        Py_DECREF(obj);
        Py_CLEAR(f->key);
        f->kind--;
        if (UNLIKELY(failed))
            goto fail_by_hook;
        if (LIKELY(--f->left))
            goto key;
        goto close;
    }
    default: {
        PyObject *pair = PyTuple_New(2);
        if (!pair) {
            Py_DECREF(obj);
            goto fail;
        }
        PyTuple_SET_ITEM(pair, 0, f->key);
        PyTuple_SET_ITEM(pair, 1, obj);
        f->key = NULL;
        f->kind--;
        if (LIKELY(f->slots)) {
            *f->slot++ = pair;
            f->slots--;
        }
        else {
            int failed = PyList_Append(f->obj, pair);
            Py_DECREF(pair);
            if (failed)
                goto fail;
        }
        if (LIKELY(--f->left))
            goto key;
        goto close;
    }
    }

close:
    {
        PyObject *hook = plain                        ? NULL
                         : f->kind <= FRAME_TUPLE     ? options->list_hook
                         : f->kind == FRAME_PAIRS_KEY ? options->object_pairs_hook
                                                      : options->object_hook;
        obj = f->obj;
        at = f->start;
        ps->reserved -= f->reserved;
        if (UNLIKELY(ps->meters.innermost != NULL) && ps->meters.innermost->level == ps->top)
            key_meter_drop(&ps->meters);
        if (UNLIKELY(f->to_tuple)) {
            obj = PyList_AsTuple(f->obj);
            ps->top--;
            Py_DECREF(f->obj);
        }
        else {
            if (UNLIKELY(f->hidden) && f->kind != FRAME_MAP_KEY)
                PyObject_GC_Track(obj);
            ps->top--;
        }
        f = ps->top ? f - 1 : NULL;
        if (UNLIKELY(!obj))
            goto fail;
        if (UNLIKELY(hook != NULL)) {
            parser_gc_resume(ps);
            parser_hide(ps);
            PyObject *hooked = PyObject_CallFunctionObjArgs(hook, obj, NULL);
            Py_DECREF(obj);
            obj = hooked;
            if (!obj)
                goto fail_by_hook;
        }
        goto deliver;
    }

begin_skip:
    start = p;
    if (p == end)
        goto more;
    ps->skipping = true;
    ps->skip_top = ps->top;
    ps->skip_start = OFFSET_OF(p);
skip:
    start = p;
    switch (parser_skip(ps, &start, end)) {
    case PARSE_ERROR:
        goto fail;
    case PARSE_MORE:
        at = ps->skip_start;
        if (!ps->discard && parser_count_bytes(ps, OFFSET_OF(start) - at, PY_SSIZE_T_MAX, "") < 0)
            goto fail_at;
        goto more;
    case PARSE_DONE:
        break;
    }
    p = start;
    at = ps->skip_start;
    ps->skipping = false;
    f = ps->top ? &ps->frames[ps->top - 1] : NULL; /* parser_more_frames() may have moved the frames */
    if (ps->discard)
        obj = new_ref(Py_None);
    else {
        uint64_t length = OFFSET_OF(p) - at;
        if (parser_count_bytes(ps, length, PY_SSIZE_T_MAX, "") < 0)
            goto fail_at;
        ps->bytes += length;
        obj = raw_new(PyBytes_FromStringAndSize((const char *)p - length, (Py_ssize_t)length));
        if (!obj)
            goto fail_at;
    }
    goto deliver;

done:
    ps->started = false;
    *result = obj;
    *position = p - data;
    return PARSE_DONE;

more:
    parser_hide_frames(ps);
    *position = start - data;
    return PARSE_MORE;

fail:
    at = OFFSET_OF(start);
fail_at:
    error_set_offset(at);
    p = at < ps->base ? data : data + (at - ps->base);
    if (PyErr_ExceptionMatches(PyExc_MemoryError))
        goto fail_by_hook;
    goto failed;
fail_by_hook:
    ps->broken = !is_hooks_error();
failed:
    parser_clear(ps);
    *position = p - data;
    return PARSE_ERROR;

#undef OFFSET_OF
#undef NEED
#undef NUMBER
#undef LENGTH
#undef CASES_16
}

static enum parse_result parser_run(Parser *ps, const unsigned char *data, Py_ssize_t size, Py_ssize_t *position,
                                    PyObject **result)
{
    return parser_run_as(ps, data, size, position, result, false);
}

/* Do the same as parser_run(), for plain options and a parser that skips nothing. Not testing the other options saves a
   tenth of the time of a short message. */
static enum parse_result parser_run_plain(Parser *ps, const unsigned char *data, Py_ssize_t size, Py_ssize_t *position,
                                          PyObject **result)
{
    return parser_run_as(ps, data, size, position, result, true);
}
