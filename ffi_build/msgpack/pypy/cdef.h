/* SPDX-License-Identifier: Apache-2.0 */
/* The C functions that only PyPy calls, through cffi. */

/* Functions for packing (msgpack/pypy/number_lists.c). */
int64_t cpkg_write_ints(const int64_t *values, int64_t n, unsigned char *output);
int64_t cpkg_write_doubles(const double *values, int64_t n, unsigned char *output);
int64_t cpkg_find_surrogate(const unsigned char *data, int64_t size, int64_t *length);

/* Reading lists of numbers (msgpack/pypy/number_lists.c). */
int64_t cpkg_read_numbers(const char *data, size_t size, int64_t *position, int64_t n, int64_t *values);

/* The scanner (msgpack/pypy/scan.c), with which the PyPy backend finds the end of a message that arrives in pieces. */
typedef struct {
    int64_t position, consumed, needed;
    uint64_t frames[...];
    ...;
} cpkg_scan;
void cpkg_scan_configure(cpkg_scan *scan, int strict_keys, int64_t max_depth, int64_t max_str, int64_t max_bin,
                         int64_t max_array, int64_t max_map, int64_t max_ext);
int cpkg_scan_run(cpkg_scan *scan, const char *data, size_t size, size_t start, int fresh);

/* Consecutive maps with the same keys, arranged by columns (msgpack/pypy/rows.c). */
typedef struct {
    int64_t *batches;
    int64_t rows, fewest;
    ...;
} cpkg_rows;
void *cpkg_rows_new(void);
void cpkg_rows_free(void *rows);
int64_t cpkg_rows_next(cpkg_rows *rows, const char *data, size_t size, size_t start, int64_t most);
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
                               int64_t max_bin, int64_t max_array, int64_t max_map, int64_t max_ext);
int64_t cpkg_to_marshal_run(cpkg_to_marshal *state, const char *data, size_t size, size_t start);
typedef struct cpkg_from_marshal cpkg_from_marshal;
cpkg_from_marshal *cpkg_from_marshal_new(void);
void cpkg_from_marshal_free(cpkg_from_marshal *state);
cpkg_marshal_buffer *cpkg_from_marshal_output(cpkg_from_marshal *state);
cpkg_marshal_buffer *cpkg_from_marshal_path(cpkg_from_marshal *state);
int cpkg_from_marshal_run(cpkg_from_marshal *state, const char *data, size_t size, int64_t max_depth);
