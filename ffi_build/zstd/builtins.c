/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Builtin functions over libzstd for CPython; part of zstd/module.c.
 *
 * A thread keeps its last compression and decompression context and a buffer, because making a context costs
 * several times what compressing a short message does. A context is out of its slot while it is in use: Python
 * code that runs meanwhile on the same thread (a signal handler, a finalizer) finds the slot empty and works with a
 * new one. Kept contexts never have workers or dictionaries, what parameters they have is reset before use, and one
 * whose call failed is not kept: libzstd's reset does not reach all that an error may leave.
 */

#include <Python.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <structmember.h>

enum {
    BLOCK_MAX = 128 << 10,
    SCRATCH_SIZE = BLOCK_MAX + (4 << 10), /* a block, or ZSTD_compressBound() of one */
    KEPT_CCTX_MAX = 4 << 20,
    KEPT_DCTX_MAX = 1 << 20,
    BIG_PIECE = 8 << 20, /* up to this a limit is taken for the size to come */
};

#define WINDOW_LOG_MAX_DEFAULT 27
/* What ZSTD_decompressStream() accepts unless told otherwise. */
#define WINDOW_SIZE_MAX_DEFAULT (((uint64_t)1 << WINDOW_LOG_MAX_DEFAULT) + 1)
/* How much is allocated at once without asking what the input's size is. */
#define DECLARED_SIZE_TRUST ((uint64_t)1 << 30)
#define UNKNOWN_SIZE_TRUST ((uint64_t)64 << 20)

/* Without the GIL an object's own lock guards its fields; with it nothing gives it up in such a section. */
#ifndef Py_BEGIN_CRITICAL_SECTION
#define Py_BEGIN_CRITICAL_SECTION(object) {
#define Py_END_CRITICAL_SECTION() }
#endif

typedef struct {
    ZSTD_CCtx *cctx;
    ZSTD_DCtx *dctx;
    char *scratch;
} Kept;

static pthread_key_t kept_key;
static pthread_once_t kept_once = PTHREAD_ONCE_INIT;
static int kept_ready;

static void kept_free(void *memory)
{
    Kept *kept = memory;
    ZSTD_freeCCtx(kept->cctx);
    ZSTD_freeDCtx(kept->dctx);
    free(kept->scratch);
    free(kept);
}

static void kept_setup(void)
{
    kept_ready = pthread_key_create(&kept_key, kept_free) == 0;
}

/* Return this thread's slots, or NULL if there is no memory for them. */
static Kept *kept_here(void)
{
    Kept *kept = pthread_getspecific(kept_key);
    if (kept == NULL) {
        kept = calloc(1, sizeof *kept);
        if (kept == NULL || pthread_setspecific(kept_key, kept) != 0) {
            free(kept);
            return NULL;
        }
    }
    return kept;
}

/* Return a context without parameters, or NULL if there is no memory for one. */
static ZSTD_CCtx *take_cctx(Kept *kept)
{
    ZSTD_CCtx *cctx = kept->cctx;
    kept->cctx = NULL;
    if (cctx != NULL && ZSTD_isError(ZSTD_CCtx_reset(cctx, ZSTD_reset_session_and_parameters))) {
        ZSTD_freeCCtx(cctx);
        cctx = NULL;
    }
    return cctx != NULL ? cctx : ZSTD_createCCtx();
}

/* Keep a context, or free it; `result` is libzstd's of the call that it was taken for. */
static void give_cctx(Kept *kept, ZSTD_CCtx *cctx, size_t result)
{
    if (!ZSTD_isError(result) && kept->cctx == NULL && ZSTD_sizeof_CCtx(cctx) <= KEPT_CCTX_MAX) {
        kept->cctx = cctx;
    }
    else {
        ZSTD_freeCCtx(cctx);
    }
}

/* Return a context without parameters, or NULL if there is no memory for one. */
static ZSTD_DCtx *take_dctx(Kept *kept)
{
    ZSTD_DCtx *dctx = kept->dctx;
    kept->dctx = NULL;
    return dctx != NULL ? dctx : ZSTD_createDCtx();
}

/* Keep a context, or free it; `result` is libzstd's of the call that it was taken for. */
static void give_dctx(Kept *kept, ZSTD_DCtx *dctx, size_t result)
{
    if (!ZSTD_isError(result) && kept->dctx == NULL && ZSTD_sizeof_DCtx(dctx) <= KEPT_DCTX_MAX) {
        kept->dctx = dctx;
    }
    else {
        ZSTD_freeDCtx(dctx);
    }
}

/* Return memory of SCRATCH_SIZE bytes, or NULL if there is none. */
static char *take_scratch(Kept *kept)
{
    char *scratch = kept->scratch;
    kept->scratch = NULL;
    return scratch != NULL ? scratch : malloc(SCRATCH_SIZE);
}

static void give_scratch(Kept *kept, char *scratch)
{
    if (kept->scratch == NULL) {
        kept->scratch = scratch;
    }
    else {
        free(scratch);
    }
}

/*
 * Take and give contexts for Python code, which reaches them through cffi: these run without the GIL and touch nothing
 * of the interpreter's.
 */
static ZSTD_CCtx *cpkg_take_cctx(void)
{
    Kept *kept = kept_here();
    return kept != NULL ? take_cctx(kept) : NULL;
}

static ZSTD_DCtx *cpkg_take_dctx(void)
{
    Kept *kept = kept_here();
    return kept != NULL ? take_dctx(kept) : NULL;
}

/* Reset at once what Python code may have set: dictionaries are pointers into memory that it is about to free. */
static void cpkg_give_cctx(ZSTD_CCtx *cctx)
{
    Kept *kept = kept_here();
    if (kept != NULL) {
        give_cctx(kept, cctx, ZSTD_CCtx_reset(cctx, ZSTD_reset_session_and_parameters));
    }
    else {
        ZSTD_freeCCtx(cctx);
    }
}

static void cpkg_give_dctx(ZSTD_DCtx *dctx)
{
    Kept *kept = kept_here();
    if (kept != NULL) {
        give_dctx(kept, dctx, ZSTD_DCtx_reset(dctx, ZSTD_reset_session_and_parameters));
    }
    else {
        ZSTD_freeDCtx(dctx);
    }
}

/*
 * An output of unknown length. It begins in the scratch buffer, so that a short one is copied once into bytes of
 * its size; a long one goes on in bytes that grow by half each time (realloc() moves pages, it does not copy them).
 */
typedef struct {
    ZSTD_outBuffer buffer;
    Kept *kept;
    char *scratch;
    PyObject *bytes;
    size_t limit;
} Output;

static int output_allocate(Output *out, size_t size)
{
    out->bytes = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)size);
    if (out->bytes == NULL) {
        return -1;
    }
    out->buffer.dst = PyBytes_AS_STRING(out->bytes);
    out->buffer.size = size;
    cpkg_advise_huge_pages(out->buffer.dst, size);
    return 0;
}

/* Begin with room for `expected` bytes, or, if that is 0, in the scratch buffer. */
static int output_begin(Output *out, size_t expected, size_t limit)
{
    memset(out, 0, sizeof *out);
    out->kept = kept_here();
    if (out->kept == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    out->limit = limit;
    if (expected > 0) {
        return output_allocate(out, expected < limit ? expected : limit);
    }
    out->scratch = take_scratch(out->kept);
    if (out->scratch == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    out->buffer.dst = out->scratch;
    out->buffer.size = limit < SCRATCH_SIZE ? limit : SCRATCH_SIZE;
    return 0;
}

static void output_abandon(Output *out)
{
    if (out->scratch != NULL) {
        give_scratch(out->kept, out->scratch);
        out->scratch = NULL;
    }
    Py_CLEAR(out->bytes);
}

/* Make room for more. Call only while the size is below the limit; on failure the output is gone. */
static int output_grow(Output *out)
{
    size_t size = out->buffer.size;
    size_t room = size < (size_t)PY_SSIZE_T_MAX / 2 ? size / 2 : 0;
    if (room < 4 * (size_t)BLOCK_MAX) {
        room = 4 * (size_t)BLOCK_MAX;
    }
    if (room > out->limit - size) {
        room = out->limit - size;
    }
    size += room;
    if (out->scratch != NULL) {
        char *scratch = out->scratch;
        if (output_allocate(out, size) < 0) {
            output_abandon(out);
            return -1;
        }
        memcpy(out->buffer.dst, scratch, out->buffer.pos);
        out->scratch = NULL;
        give_scratch(out->kept, scratch);
        return 0;
    }
    if (_PyBytes_Resize(&out->bytes, (Py_ssize_t)size) < 0) {
        return -1;
    }
    out->buffer.dst = PyBytes_AS_STRING(out->bytes);
    out->buffer.size = size;
    cpkg_advise_huge_pages(out->buffer.dst, size);
    return 0;
}

static PyObject *output_finish(Output *out)
{
    if (out->scratch != NULL) {
        PyObject *result = PyBytes_FromStringAndSize(out->scratch, (Py_ssize_t)out->buffer.pos);
        output_abandon(out);
        return result;
    }
    if (out->buffer.pos != out->buffer.size && _PyBytes_Resize(&out->bytes, (Py_ssize_t)out->buffer.pos) < 0) {
        return NULL;
    }
    return out->bytes;
}

/* The input: bytes as they are (the caller holds them), any other contiguous buffer through an export. */
typedef struct {
    const char *start;
    size_t size;
    Py_buffer view;
} Input;

static int input_open(Input *in, PyObject *data)
{
    if (PyBytes_CheckExact(data)) {
        in->start = PyBytes_AS_STRING(data);
        in->size = (size_t)PyBytes_GET_SIZE(data);
        in->view.obj = NULL;
        return 0;
    }
    if (PyObject_GetBuffer(data, &in->view, PyBUF_SIMPLE) < 0) {
        return -1;
    }
    in->start = in->view.buf;
    in->size = (size_t)in->view.len;
    return 0;
}

static void input_close(Input *in)
{
    if (in->view.obj != NULL) {
        PyBuffer_Release(&in->view);
    }
}

static uint64_t little_endian(const unsigned char *bytes, size_t size)
{
    uint64_t value = 0;
    while (size > 0) {
        value = value << 8 | bytes[--size];
    }
    return value;
}

/* The header of a frame that is no skippable one (RFC 8878, 3.1.1.1). */
typedef struct {
    size_t size; /* magic number included */
    uint64_t window;
    uint64_t content;
    int is_declared; /* else `content` is 0 */
    int has_dictionary_id;
    int has_checksum;
} Header;

/* Read a header; return -1 for one that is incomplete, malformed, or that of a skippable frame. */
static inline int read_header(const unsigned char *src, const unsigned char *end, int has_magic, Header *header)
{
    static const unsigned char size_bytes[4] = {0, 2, 4, 8}, id_bytes[4] = {0, 1, 2, 4};
    const unsigned char *start = src;
    if (has_magic) {
        if (end - src < 4 || little_endian(src, 4) != 0xFD2FB528u) {
            return -1;
        }
        src += 4;
    }
    if (end == src) {
        return -1;
    }
    unsigned descriptor = *src++;
    size_t single_segment = descriptor >> 5 & 1;
    size_t id_size = id_bytes[descriptor & 3];
    size_t content_size = size_bytes[descriptor >> 6];
    if (content_size == 0 && single_segment) {
        content_size = 1;
    }
    size_t rest = !single_segment + id_size + content_size;
    if ((descriptor & 8) != 0 || (size_t)(end - src) < rest) {
        return -1;
    }
    header->size = (size_t)(src - start) + rest;
    header->content = little_endian(src + rest - content_size, content_size);
    if (content_size == 2) {
        header->content += 256;
    }
    header->is_declared = content_size != 0;
    header->window = header->content;
    if (!single_segment) {
        uint64_t base = (uint64_t)1 << (10 + (*src >> 3));
        header->window = base + (base >> 3) * (*src & 7);
    }
    header->has_dictionary_id = id_size != 0;
    header->has_checksum = descriptor >> 2 & 1;
    return 0;
}

/* A frame as its header and the headers of its blocks tell it. */
typedef struct {
    size_t size;      /* in the input, checksum included */
    uint64_t content; /* declared, or, if it is not, the most that the blocks can make */
    int is_declared;
} Frame;

/*
 * Walk over the headers of a frame and its blocks (RFC 8878, 3.1.1) without decoding anything.
 *
 * A declared size is believed only as far as the blocks behind it can reach. Return -1 for input that the careful
 * way has to look at: truncated, malformed, with a dictionary, or with a window above the limit.
 */
static int measure_frame(const unsigned char *src, const unsigned char *end, uint64_t window_max, Frame *frame)
{
    const unsigned char *start = src;
    if (end - src < 8) {
        return -1;
    }
    if ((little_endian(src, 4) & 0xFFFFFFF0u) == 0x184D2A50u) {
        uint64_t length = little_endian(src + 4, 4);
        if ((uint64_t)(end - src) - 8 < length) {
            return -1;
        }
        frame->size = 8 + (size_t)length;
        frame->content = 0;
        frame->is_declared = 1;
        return 0;
    }
    Header header;
    if (read_header(src, end, 1, &header) < 0 || header.has_dictionary_id || header.window > window_max) {
        return -1;
    }
    uint64_t block_max = header.window < BLOCK_MAX ? header.window : BLOCK_MAX;
    uint64_t reach = 0;
    int is_last = 0;
    src += header.size;
    while (!is_last) {
        if (end - src < 3) {
            return -1;
        }
        uint64_t block = little_endian(src, 3);
        unsigned type = block >> 1 & 3;
        uint64_t length = block >> 3;
        is_last = block & 1;
        if (type == 3 || length > block_max) { /* libzstd takes longer ones if it decompresses at once, and not in parts */
            return -1;
        }
        reach += type == 2 ? block_max : length;
        if (type == 1) {
            length = 1;
        }
        src += 3;
        if ((uint64_t)(end - src) < length) {
            return -1;
        }
        src += length;
    }
    if (header.has_checksum) {
        if (end - src < 4) {
            return -1;
        }
        src += 4;
    }
    if (header.is_declared && header.content > reach) {
        return -1;
    }
    frame->size = (size_t)(src - start);
    frame->content = header.is_declared ? header.content : reach;
    frame->is_declared = header.is_declared;
    return 0;
}

/* Say whether to allocate for the content at once: what is declared, or bound to be close, is; the rest grows. */
static int is_trusted(uint64_t content, int is_declared, size_t input)
{
    return is_declared ? content <= DECLARED_SIZE_TRUST || content / 64 <= input
                       : content <= UNKNOWN_SIZE_TRUST || content / 32 <= input;
}

/* Measure all frames of an input; return 0 if they can be decompressed at once. */
static int measure_frames(const unsigned char *src, size_t size, uint64_t window_max, uint64_t *total, int *exact)
{
    const unsigned char *end = src + size;
    *total = 0;
    *exact = 1;
    if (size == 0) {
        return -1;
    }
    while (src < end) {
        Frame frame;
        if (measure_frame(src, end, window_max, &frame) < 0) {
            return -1;
        }
        *total += frame.content;
        *exact &= frame.is_declared;
        src += frame.size;
    }
    return is_trusted(*total, *exact, size) ? 0 : -1;
}

/* Sort positional and keyword arguments into `values`, borrowed; return -1, with no error set, if they do not fit. */
static int sort_arguments(const char *const *names, Py_ssize_t names_count, Py_ssize_t positional_max,
                          PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames, PyObject **values)
{
    if (nargs > positional_max) {
        return -1;
    }
    for (Py_ssize_t i = 0; i < names_count; i++) {
        values[i] = i < nargs ? args[i] : NULL;
    }
    Py_ssize_t keywords = kwnames == NULL ? 0 : PyTuple_GET_SIZE(kwnames);
    for (Py_ssize_t k = 0; k < keywords; k++) {
        PyObject *name = PyTuple_GET_ITEM(kwnames, k);
        Py_ssize_t i = 0;
        while (i < names_count && PyUnicode_CompareWithASCIIString(name, names[i]) != 0) {
            i++;
        }
        if (i == names_count || values[i] != NULL) {
            return -1;
        }
        values[i] = args[nargs + k];
    }
    return values[0] == NULL ? -1 : 0;
}

/* Hand the call, as it came, to a Python function of the module that these builtins belong to. */
static PyObject *call_slow(PyObject *module, const char *name, PyObject *const *args, Py_ssize_t nargs,
                           PyObject *kwnames)
{
    PyObject *function = PyObject_GetAttrString(module, name);
    if (function == NULL) {
        return NULL;
    }
    PyObject *result = PyObject_Vectorcall(function, args, (size_t)nargs, kwnames);
    Py_DECREF(function);
    return result;
}

static int is_given(PyObject *argument)
{
    return argument != NULL && argument != Py_None;
}

/* Read a size that may be None; return -1, with no error set, for anything but an int from 0 to PY_SSIZE_T_MAX. */
static int take_size(PyObject *argument, size_t *size)
{
    if (!is_given(argument)) {
        return 0;
    }
    int overflow = 0;
    long long number = PyLong_CheckExact(argument) ? PyLong_AsLongLongAndOverflow(argument, &overflow) : -1;
    if (overflow != 0 || number < 0 || number > PY_SSIZE_T_MAX) {
        return -1;
    }
    *size = (size_t)number;
    return 0;
}

typedef struct {
    int key;
    int value;
} Parameter;

enum { PARAMETERS_MAX = 32 };

/* Say whether an object is an int, or an enum's member, whose value is what __index__() would give. */
static int is_plain_int(PyObject *object)
{
    return PyLong_Check(object) && Py_TYPE(object)->tp_as_number->nb_index == PyLong_Type.tp_as_number->nb_index;
}

/*
 * Read an `options` dict; keys are ints or members of the module's enum `key_type`. Return the number of parameters,
 * or -1, with no error set, for anything that the careful way has to look at.
 */
static int take_options(PyObject *module, const char *key_type, PyObject *options, Parameter *parameters)
{
    if (!is_given(options)) {
        return 0;
    }
    if (!PyDict_CheckExact(options)) {
        return -1;
    }
    PyObject *type = PyObject_GetAttrString(module, key_type);
    if (type == NULL) {
        PyErr_Clear();
        return -1;
    }
    int count = 0;
    Py_BEGIN_CRITICAL_SECTION(options);
    PyObject *key, *value;
    Py_ssize_t position = 0;
    while (count >= 0 && PyDict_Next(options, &position, &key, &value)) {
        int key_overflow = 0, value_overflow = 0;
        if (count == PARAMETERS_MAX || !(PyLong_CheckExact(key) || (PyObject *)Py_TYPE(key) == type)
            || !is_plain_int(key) || !is_plain_int(value)) {
            count = -1;
            break;
        }
        long id = PyLong_AsLongAndOverflow(key, &key_overflow);
        long number = PyLong_AsLongAndOverflow(value, &value_overflow);
        if (key_overflow != 0 || value_overflow != 0 || id != (int)id || number != (int)number) {
            count = -1;
            break;
        }
        parameters[count].key = (int)id;
        parameters[count].value = (int)number;
        count++;
    }
    Py_END_CRITICAL_SECTION();
    Py_DECREF(type);
    return count;
}

/*
 * Say whether a compression parameter is a documented one, within its bounds, that may be set in a kept context; the
 * rest is for the careful way. (libzstd does not look at the bounds of them all.)
 */
static int is_ordinary(Parameter parameter)
{
    int key = parameter.key;
    if (key < ZSTD_c_compressionLevel || key > ZSTD_c_dictIDFlag
        || (key > ZSTD_c_strategy && key < ZSTD_c_enableLongDistanceMatching)) {
        return 0;
    }
    ZSTD_bounds bounds = ZSTD_cParam_getBounds((ZSTD_cParameter)key);
    return !ZSTD_isError(bounds.error)
           && (parameter.value == 0
               || (parameter.value >= bounds.lowerBound && parameter.value <= bounds.upperBound));
}

PyDoc_STRVAR(builtin_compress_doc,
             "compress(data, level=None, options=None, zstd_dict=None)\n--\n\n"
             "Compress a buffer into one frame and return it as bytes.\n\n"
             "level is an int from -131072 to 22, None and 0 standing for 3; options a dict of\n"
             "CompressionParameter, which excludes level; zstd_dict a ZstdDict or one of its as_* pairs.\n"
             "The frame has the content's size. Raises TypeError and ValueError for wrong arguments,\n"
             "ZstdError if libzstd fails. Replaces compression.zstd.compress.");

static PyObject *builtin_compress(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    static const char *const names[] = {"data", "level", "options", "zstd_dict"};
    PyObject *values[4];
    Parameter parameters[PARAMETERS_MAX];
    if (sort_arguments(names, 4, 4, args, nargs, kwnames, values) < 0 || is_given(values[3])) {
        goto slow;
    }
    int count = take_options(module, "CompressionParameter", values[2], parameters);
    if (is_given(values[1])) {
        int overflow = 0;
        if (!PyLong_CheckExact(values[1]) || is_given(values[2])) {
            goto slow;
        }
        long level = PyLong_AsLongAndOverflow(values[1], &overflow);
        if (overflow != 0 || level < ZSTD_minCLevel() || level > ZSTD_maxCLevel()) {
            goto slow;
        }
        parameters[0] = (Parameter){ZSTD_c_compressionLevel, (int)level};
        count = 1;
    }
    if (count < 0) {
        goto slow;
    }
    for (int i = 0; i < count; i++) {
        if (!is_ordinary(parameters[i])) {
            goto slow;
        }
    }

    Input in;
    if (input_open(&in, values[0]) < 0) {
        if (count == 0) {
            return NULL;
        }
        PyErr_Clear(); /* of two bad arguments the parameter is reported */
        goto slow;
    }
    PyObject *result = NULL;
    size_t bound = ZSTD_compressBound(in.size);
    Output out;
    if (ZSTD_isError(bound) || bound > (size_t)PY_SSIZE_T_MAX) {
        PyErr_NoMemory();
        goto done;
    }
    if (output_begin(&out, bound <= SCRATCH_SIZE ? 0 : bound, bound) < 0) {
        goto done;
    }
    ZSTD_CCtx *cctx = take_cctx(out.kept);
    if (cctx == NULL) {
        PyErr_NoMemory();
        output_abandon(&out);
        goto done;
    }
    size_t written = 0;
    Py_BEGIN_ALLOW_THREADS
    for (int i = 0; i < count && !ZSTD_isError(written); i++) {
        written = ZSTD_CCtx_setParameter(cctx, (ZSTD_cParameter)parameters[i].key, parameters[i].value);
    }
    if (!ZSTD_isError(written)) {
        written = ZSTD_compress2(cctx, out.buffer.dst, out.buffer.size, in.start, in.size);
    }
    Py_END_ALLOW_THREADS
    give_cctx(out.kept, cctx, written);
    if (ZSTD_isError(written)) {
        output_abandon(&out);
        input_close(&in);
        goto slow;
    }
    out.buffer.pos = written;
    result = output_finish(&out);
done:
    input_close(&in);
    return result;
slow:
    return call_slow(module, "_slow_compress", args, nargs, kwnames);
}

PyDoc_STRVAR(builtin_decompress_doc,
             "decompress(data, zstd_dict=None, options=None, *, max_output_size=None, size_hint=None)\n--\n\n"
             "Decompress all frames of a buffer and return their content as bytes.\n\n"
             "zstd_dict is a ZstdDict or one of its as_* pairs, options a dict of DecompressionParameter.\n"
             "max_output_size (bytes) holds whatever the frames declare: ZstdLimitError if there would be\n"
             "more. size_hint (bytes) is how much to expect where the frames do not say. Raises ZstdError\n"
             "for data that is truncated, corrupted or followed by anything but a frame. Replaces\n"
             "compression.zstd.decompress.");

static PyObject *builtin_decompress(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    static const char *const names[] = {"data", "zstd_dict", "options", "max_output_size", "size_hint"};
    PyObject *values[5];
    size_t limit = PY_SSIZE_T_MAX;
    size_t hint = 0; /* the frames' headers tell more, where this function can go by them */
    Parameter parameters[PARAMETERS_MAX];
    uint64_t window_max = WINDOW_SIZE_MAX_DEFAULT;
    if (sort_arguments(names, 5, 3, args, nargs, kwnames, values) < 0 || is_given(values[1])
        || take_size(values[3], &limit) < 0 || take_size(values[4], &hint) < 0) {
        goto slow;
    }
    int count = take_options(module, "DecompressionParameter", values[2], parameters);
    if (count < 0) {
        goto slow;
    }
    for (int i = 0; i < count; i++) {
        /* decompressing at once needs no window: it is measure_frame() that holds the limit */
        int window_log = parameters[i].value != 0 ? parameters[i].value : WINDOW_LOG_MAX_DEFAULT;
        ZSTD_bounds bounds = ZSTD_dParam_getBounds(ZSTD_d_windowLogMax);
        if (parameters[i].key != ZSTD_d_windowLogMax || window_log < bounds.lowerBound
            || window_log > bounds.upperBound) {
            goto slow;
        }
        window_max = (uint64_t)1 << window_log;
    }

    Input in;
    if (input_open(&in, values[0]) < 0) {
        return NULL;
    }
    uint64_t total;
    int exact;
    if (measure_frames((const unsigned char *)in.start, in.size, window_max, &total, &exact) < 0
        || (exact && total > limit)) {
        input_close(&in);
        goto slow;
    }
    Output out;
    size_t room = total < limit ? (size_t)total : limit;
    PyObject *result = NULL;
    /* an exact size below a block is allocated as such, an upper bound that small decodes into the scratch buffer */
    if (output_begin(&out, room <= SCRATCH_SIZE && !exact ? 0 : room, room) < 0) {
        goto done;
    }
    ZSTD_DCtx *dctx = take_dctx(out.kept);
    if (dctx == NULL) {
        PyErr_NoMemory();
        output_abandon(&out);
        goto done;
    }
    size_t written;
    Py_BEGIN_ALLOW_THREADS
    written = ZSTD_decompressDCtx(dctx, out.buffer.dst, out.buffer.size, in.start, in.size);
    Py_END_ALLOW_THREADS
    give_dctx(out.kept, dctx, written);
    if (ZSTD_isError(written) || (exact && written != total)) {
        /* say what is wrong, and where */
        output_abandon(&out);
        input_close(&in);
        goto slow;
    }
    out.buffer.pos = written;
    result = output_finish(&out);
done:
    input_close(&in);
    return result;
slow:
    return call_slow(module, "_slow_decompress", args, nargs, kwnames);
}

static int check_count(const char *name, Py_ssize_t nargs, Py_ssize_t wanted)
{
    if (nargs != wanted) {
        PyErr_Format(PyExc_TypeError, "%s() takes %zd arguments, not %zd", name, wanted, nargs);
        return -1;
    }
    return 0;
}

/*
 * stream_compress(address, data, mode) -> bytes, or libzstd's result as an int if that is an error.
 *
 * `address` is a ZSTD_CCtx * that the caller keeps alive and locked.
 */
static PyObject *stream_compress(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    (void)module;
    if (check_count("stream_compress", nargs, 3) < 0) {
        return NULL;
    }
    ZSTD_CCtx *cctx = PyLong_AsVoidPtr(args[0]);
    long mode = PyLong_AsLong(args[2]);
    if (PyErr_Occurred()) {
        return NULL;
    }
    Input data;
    if (input_open(&data, args[1]) < 0) {
        return NULL;
    }
    ZSTD_inBuffer in = {data.start, data.size, 0};
    size_t bound = ZSTD_compressBound(data.size);
    PyObject *result = NULL;
    Output out;
    if (ZSTD_isError(bound)) {
        PyErr_NoMemory();
        goto done;
    }
    /* the end of a frame with room for all of it spares libzstd its own output buffer; elsewhere it spares growing */
    int at_once = bound > (mode == ZSTD_e_end ? (size_t)SCRATCH_SIZE : 4 * (size_t)BLOCK_MAX);
    if (output_begin(&out, at_once ? bound : 0, PY_SSIZE_T_MAX) < 0) {
        goto done;
    }
    for (;;) {
        size_t left;
        Py_BEGIN_ALLOW_THREADS
        left = ZSTD_compressStream2(cctx, &out.buffer, &in, (ZSTD_EndDirective)mode);
        Py_END_ALLOW_THREADS
        if (ZSTD_isError(left)) {
            output_abandon(&out);
            result = PyLong_FromSize_t(left);
            goto done;
        }
        int is_full = out.buffer.pos == out.buffer.size;
        if (mode == ZSTD_e_continue ? in.pos == in.size && !is_full : left == 0) {
            break;
        }
        if (is_full && output_grow(&out) < 0) {
            goto done;
        }
    }
    result = output_finish(&out);
done:
    input_close(&data);
    return result;
}

static PyObject *decoded(PyObject *bytes, size_t position, int is_frame_end)
{
    return bytes == NULL ? NULL : Py_BuildValue("(NnO)", bytes, (Py_ssize_t)position, is_frame_end ? Py_True : Py_False);
}

/* Decompress a frame that lies before us whole; return None, with nothing changed, if that cannot be done at once. */
static PyObject *decompress_whole_frame(ZSTD_DCtx *dctx, const Input *data, size_t start)
{
    const unsigned char *src = (const unsigned char *)data->start;
    Frame frame;
    if (measure_frame(src + start, src + data->size, WINDOW_SIZE_MAX_DEFAULT, &frame) < 0
        || !is_trusted(frame.content, frame.is_declared, frame.size)) {
        Py_RETURN_NONE;
    }
    Output out;
    size_t room = (size_t)frame.content;
    if (output_begin(&out, room <= SCRATCH_SIZE ? 0 : room, room) < 0) {
        return NULL;
    }
    size_t written;
    Py_BEGIN_ALLOW_THREADS
    written = ZSTD_decompressDCtx(dctx, out.buffer.dst, out.buffer.size, src + start, frame.size);
    Py_END_ALLOW_THREADS
    if (ZSTD_isError(written)) {
        /* the careful way says what is wrong */
        ZSTD_DCtx_reset(dctx, ZSTD_reset_session_only);
        output_abandon(&out);
        Py_RETURN_NONE;
    }
    out.buffer.pos = written;
    return decoded(output_finish(&out), start + frame.size, 1);
}

/*
 * Let libzstd look at a frame that begins, before there is room for its content. Given that room, and all of the frame,
 * it would decompress at once, which has two effects that callers must not see:
 * - it asks for no window and so looks at no limit. A window that is too large is refused by whom is fed in parts.
 * - it uses all of the room. `room` is lowered to what the content takes (never raised).
 * Return libzstd's result, an error or not.
 */
static size_t begin_frame(ZSTD_DCtx *dctx, ZSTD_inBuffer *in, uint64_t window_max, int has_magic, size_t *room)
{
    const unsigned char *src = in->src;
    Header header;
    if (read_header(src + in->pos, src + in->size, has_magic, &header) < 0) {
        return 0;
    }
    if (header.window > window_max) {
        char nothing;
        ZSTD_outBuffer out = {&nothing, 0, 0};
        ZSTD_inBuffer part = {in->src, in->pos + 1, in->pos};
        size_t left = ZSTD_decompressStream(dctx, &out, &part);
        in->pos = part.pos;
        return left;
    }
    if (header.is_declared && header.content < *room) {
        *room = (size_t)header.content;
    }
    return 0;
}

/*
 * stream_decompress(address, data, start, max_length, expected, window_max, has_magic)
 * -> (bytes, position, is_frame_end), or libzstd's result as an int if that is an error.
 *
 * Reads `data` from `start`; `position` is where it stopped. `address` is a ZSTD_DCtx * that the caller keeps alive
 * and locked. `expected` is a size to allocate at once, 0 if there is none, or -1 to say that the context has no
 * parameters or dictionary and is between frames: then a frame that lies ahead whole tells. `window_max` is the limit
 * that the context has if a frame begins at `start`, else 0; `has_magic`, whether frames have a magic number.
 */
static PyObject *stream_decompress(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    (void)module;
    if (check_count("stream_decompress", nargs, 7) < 0) {
        return NULL;
    }
    ZSTD_DCtx *dctx = PyLong_AsVoidPtr(args[0]);
    Py_ssize_t start = PyLong_AsSsize_t(args[2]);
    Py_ssize_t max_length = PyLong_AsSsize_t(args[3]);
    Py_ssize_t expected = PyLong_AsSsize_t(args[4]);
    Py_ssize_t window_max = PyLong_AsSsize_t(args[5]);
    int has_magic = args[6] == Py_True;
    if (PyErr_Occurred()) {
        return NULL;
    }
    Input data;
    if (input_open(&data, args[1]) < 0) {
        return NULL;
    }
    PyObject *result = NULL;
    if (start < 0 || (size_t)start > data.size) {
        PyErr_SetString(PyExc_ValueError, "start lies outside of the data");
        goto done;
    }
    if (expected < 0 && max_length < 0) {
        result = decompress_whole_frame(dctx, &data, (size_t)start);
        if (result != Py_None) {
            goto done;
        }
        Py_CLEAR(result);
    }
    ZSTD_inBuffer in = {data.start, data.size, (size_t)start};
    size_t limit = max_length < 0 ? PY_SSIZE_T_MAX : (size_t)max_length;
    if (expected <= 0) {
        expected = max_length > SCRATCH_SIZE && max_length <= BIG_PIECE ? max_length : 0;
    }
    Output out;
    if (output_begin(&out, (size_t)expected, limit) < 0) {
        goto done;
    }
    size_t left = 0;
    if (window_max > 0) {
        size_t room = 0; /* all of the output is ours */
        left = begin_frame(dctx, &in, (uint64_t)window_max, has_magic, &room);
    }
    for (;;) {
        if (!ZSTD_isError(left)) {
            Py_BEGIN_ALLOW_THREADS
            left = ZSTD_decompressStream(dctx, &out.buffer, &in);
            Py_END_ALLOW_THREADS
        }
        if (ZSTD_isError(left)) {
            output_abandon(&out);
            result = PyLong_FromSize_t(left);
            goto done;
        }
        if (left == 0) {
            break;
        }
        if (out.buffer.pos == out.buffer.size) {
            if (out.buffer.size == limit) {
                break;
            }
            if (output_grow(&out) < 0) {
                goto done;
            }
        }
        else if (in.pos == in.size) {
            break;
        }
    }
    result = decoded(output_finish(&out), in.pos, left == 0);
done:
    input_close(&data);
    return result;
}

/*
 * stream_decompress_into(address, data, start, buffer, window_max, has_magic) -> (written, position, is_frame_end), or
 * libzstd's result as an int if that is an error. Fills a writable buffer as far as one frame goes, and changes
 * nothing behind that.
 */
static PyObject *stream_decompress_into(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    (void)module;
    if (check_count("stream_decompress_into", nargs, 6) < 0) {
        return NULL;
    }
    ZSTD_DCtx *dctx = PyLong_AsVoidPtr(args[0]);
    Py_ssize_t start = PyLong_AsSsize_t(args[2]);
    Py_ssize_t window_max = PyLong_AsSsize_t(args[4]);
    int has_magic = args[5] == Py_True;
    if (PyErr_Occurred()) {
        return NULL;
    }
    Input data;
    if (input_open(&data, args[1]) < 0) {
        return NULL;
    }
    PyObject *result = NULL;
    Py_buffer view;
    if (start < 0 || (size_t)start > data.size) {
        PyErr_SetString(PyExc_ValueError, "start lies outside of the data");
        goto done;
    }
    if (PyObject_GetBuffer(args[3], &view, PyBUF_WRITABLE) < 0) {
        goto done;
    }
    ZSTD_inBuffer in = {data.start, data.size, (size_t)start};
    ZSTD_outBuffer out = {view.buf, (size_t)view.len, 0};
    size_t left = 0;
    Py_BEGIN_ALLOW_THREADS
    if (window_max > 0) {
        left = begin_frame(dctx, &in, (uint64_t)window_max, has_magic, &out.size);
    }
    while (!ZSTD_isError(left)) {
        left = ZSTD_decompressStream(dctx, &out, &in);
        out.size = (size_t)view.len; /* from here on libzstd copies what it has decompressed in memory of its own */
        if (left == 0 || out.pos == out.size || in.pos == in.size) {
            break;
        }
    }
    Py_END_ALLOW_THREADS
    PyBuffer_Release(&view);
    if (ZSTD_isError(left)) {
        result = PyLong_FromSize_t(left);
    }
    else {
        result = Py_BuildValue("(nnO)", (Py_ssize_t)out.pos, (Py_ssize_t)in.pos, left == 0 ? Py_True : Py_False);
    }
done:
    input_close(&data);
    return result;
}

/*
 * Take the bytearray that a buffer's one argument is, for the initializer of its type; return 0, or -1 with an exception
 * set. `format` is "O!:" and the type's name.
 */
static int take_memory(Py_buffer *held, PyObject *args, const char *format)
{
    PyObject *memory;
    Py_buffer view;
    if (!PyArg_ParseTuple(args, format, &PyByteArray_Type, &memory)) {
        return -1;
    }
    if (held->obj != NULL) {
        PyErr_Format(PyExc_RuntimeError, "%s has its memory", format + sizeof "O!:" - 1);
        return -1;
    }
    if (PyObject_GetBuffer(memory, &view, PyBUF_WRITABLE) < 0) {
        return -1;
    }
    *held = view;
    return 0;
}

#include "write_buffer.c"
/* Nothing would hold io.TextIOWrapper's own lock while next() takes a line. */
#ifndef Py_GIL_DISABLED
#include "lines.c"
#endif

static PyMethodDef builtins[] = {
    {"compress", (PyCFunction)(void (*)(void))builtin_compress, METH_FASTCALL | METH_KEYWORDS, builtin_compress_doc},
    {"decompress", (PyCFunction)(void (*)(void))builtin_decompress, METH_FASTCALL | METH_KEYWORDS,
     builtin_decompress_doc},
    {"_stream_compress", (PyCFunction)(void (*)(void))stream_compress, METH_FASTCALL, NULL},
    {"_stream_decompress", (PyCFunction)(void (*)(void))stream_decompress, METH_FASTCALL, NULL},
    {"_stream_decompress_into", (PyCFunction)(void (*)(void))stream_decompress_into, METH_FASTCALL, NULL},
#ifndef Py_GIL_DISABLED
    {"_make_text_reader", make_text_reader, METH_VARARGS, NULL},
#endif
    {NULL, NULL, 0, NULL},
};

/* Add a type to a module; return 0, or -1 with an exception set. */
static int add_type(PyObject *module, const char *name, PyType_Spec *spec)
{
    PyObject *type = PyType_FromSpec(spec);
    int result = type == NULL ? -1 : PyObject_SetAttrString(module, name, type);
    Py_XDECREF(type);
    return result;
}

/* Add the builtins to a module, which must have `_slow_compress` and `_slow_decompress`; return 0, or -1 with an
 * exception set. */
static int add_builtins(PyObject *module)
{
    pthread_once(&kept_once, kept_setup);
    if (!kept_ready) {
        PyErr_SetString(PyExc_OSError, "no thread-specific storage is left for the contexts that threads keep");
        return -1;
    }
    PyObject *name = PyModule_GetNameObject(module);
    if (name == NULL) {
        return -1;
    }
    int result = 0;
    for (PyMethodDef *method = builtins; method->ml_name != NULL && result == 0; method++) {
        PyObject *function = PyCFunction_NewEx(method, module, name);
        result = function == NULL ? -1 : PyObject_SetAttrString(module, method->ml_name, function);
        Py_XDECREF(function);
    }
    Py_DECREF(name);
    if (result == 0) {
        result = add_type(module, "_WriteBuffer", &write_buffer_spec);
    }
#ifndef Py_GIL_DISABLED
    if (result == 0) {
        result = add_type(module, "_LineBuffer", &line_buffer_spec);
    }
#endif
    return result;
}

/* The text of the exception that the last cpkg_add_builtins() failed with. */
static char set_up_error[256];

static const char *cpkg_builtins_error(void)
{
    return set_up_error;
}

/* Keep the text of the exception that is set, and clear it: cffi, which calls this, cannot pass one on. */
static void keep_set_up_error(void)
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyObject *text = value != NULL ? PyObject_Str(value) : NULL;
    const char *utf8 = text != NULL ? PyUnicode_AsUTF8(text) : NULL;
    snprintf(set_up_error, sizeof set_up_error, "%s", utf8 != NULL ? utf8 : "an exception without a text");
    PyErr_Clear();
    Py_XDECREF(text);
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(traceback);
}

/* Do what add_builtins() does for cffi, which calls this without the GIL; if it fails cpkg_builtins_error() says why. */
static int cpkg_add_builtins(void *module)
{
    PyGILState_STATE state = PyGILState_Ensure();
    int result = add_builtins(module);
    if (result < 0) {
        keep_set_up_error();
    }
    PyGILState_Release(state);
    return result;
}
