/* SPDX-License-Identifier: Apache-2.0 */
/* What cffi exposes of the native MessagePack module; read by msgpack_build.py. */

/* The version of msgpack-c whose headers the module was compiled with, "major.minor.revision". */
const char *cpkg_msgpack_version(void);

/* CPython: put the codec's builtins into the module at the address `module`, which must hold the shared types that
   they return (see cpkg/_native/msgpack/cpython.py). Returns 0, or -1 with the error's text in cpkg_msgpack_error(). */
int cpkg_msgpack_install(void *module);
const char *cpkg_msgpack_error(void);

/* The signatures of the two types as text, "(file_like=None, *, ...)". */
const char *cpkg_msgpack_packer_signature(void);
const char *cpkg_msgpack_unpacker_signature(void);

/* The token tape (msgpack/pypy/tape.c), which the PyPy backend reads; the meaning of its words stands there. */
typedef struct cpkg_tape cpkg_tape;
cpkg_tape *cpkg_tape_new(void);
void cpkg_tape_free(cpkg_tape *tape);
int64_t *cpkg_tape_words(cpkg_tape *tape);
int64_t *cpkg_tape_new_names(cpkg_tape *tape);
char *cpkg_tape_pool(cpkg_tape *tape);
void cpkg_tape_configure(cpkg_tape *tape, int strict_keys, int64_t max_depth, int64_t max_str, int64_t max_bin,
                         int64_t max_array, int64_t max_map, int64_t max_ext, int exts);
int64_t cpkg_tape_next(cpkg_tape *tape, const char *data, size_t size, int64_t start);
int64_t cpkg_tape_write_ints(const int64_t *values, int64_t n, unsigned char *output);
int64_t cpkg_tape_write_doubles(const double *values, int64_t n, unsigned char *output);
int64_t cpkg_tape_find_surrogate(const unsigned char *data, int64_t size, int64_t *length);
size_t cpkg_tape_size(void);

/* The scanner (msgpack/pypy/scan.c), with which the PyPy backend finds the end of a message that comes in pieces. */
typedef struct {
    int64_t position, consumed, needed;
    uint64_t frames[...];
    ...;
} cpkg_scan;
void cpkg_scan_configure(cpkg_scan *scan, int strict_keys, int64_t max_depth, int64_t max_str, int64_t max_bin,
                         int64_t max_array, int64_t max_map, int64_t max_ext, int exts);
int cpkg_scan_run(cpkg_scan *scan, const char *data, size_t size, size_t start, int fresh);

/* Maps with the same keys, one behind the other, by columns (msgpack/pypy/rows.c). */
typedef struct {
    int64_t *batches;
    int64_t rows, fewest;
    ...;
} cpkg_rows;
cpkg_rows *cpkg_rows_new(void);
void cpkg_rows_free(cpkg_rows *rows);
int64_t cpkg_rows_next(cpkg_rows *rows, const char *data, size_t size, size_t start, int64_t most);
int64_t cpkg_rows_starts(const char *data, size_t size, int64_t *starts, int64_t count);
void cpkg_rows_after(void *rows, const char *data, size_t size, int64_t most);

/* Messages to marshal's bytes and back (msgpack/pypy/to_marshal.c, from_marshal.c, marshal_buffer.c). */
typedef struct {
    unsigned char *bytes;
    size_t used;
    ...;
} cpkg_marshal_buffer;
void cpkg_marshal_trim(cpkg_marshal_buffer *buffer);
int cpkg_marshal_stack(void);
typedef struct cpkg_to_marshal cpkg_to_marshal;
cpkg_to_marshal *cpkg_to_marshal_new(void);
void cpkg_to_marshal_free(cpkg_to_marshal *state);
cpkg_marshal_buffer *cpkg_to_marshal_output(cpkg_to_marshal *state);
void cpkg_to_marshal_configure(cpkg_to_marshal *state, int strict_keys, int64_t max_depth, int64_t max_str,
                               int64_t max_bin, int64_t max_array, int64_t max_map, int64_t max_ext, int exts);
int64_t cpkg_to_marshal_run(cpkg_to_marshal *state, const char *data, size_t size, size_t start);
typedef struct cpkg_from_marshal cpkg_from_marshal;
cpkg_from_marshal *cpkg_from_marshal_new(void);
void cpkg_from_marshal_free(cpkg_from_marshal *state);
cpkg_marshal_buffer *cpkg_from_marshal_output(cpkg_from_marshal *state);
cpkg_marshal_buffer *cpkg_from_marshal_path(cpkg_from_marshal *state);
int cpkg_from_marshal_run(cpkg_from_marshal *state, const char *data, size_t size, int64_t max_depth);

/* Both: where the objects of a message begin to take more memory than `limit` (unpack/weigh.c). */
int64_t cpkg_weigh(const char *data, size_t size, int64_t limit, int64_t max_depth);
