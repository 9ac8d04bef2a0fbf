/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes runs of ordinary files (see write_run.c). Python makes all decisions. C repeats them for each file of the same
 * kind, and stops before any other entry. cffi and C both read this file.
 */

/* What the files of one kind, with the same mode and owner, share: parts of their headers, and attributes. */
typedef struct {
    char fields[24], rest[356]; /* mode and owner, which follow the name; everything after the checksum */
    uint32_t rest_sum;          /* the sum of the bytes of `rest` */
    uint32_t mode, is_created_with_mode, has_owner, uid, gid;
} cpkg_write_kind;

typedef struct {
    size_t kind_count, pax_count;
    cpkg_write_kind kinds[16];
    struct {
        char block[512];
    } pax[16]; /* the headers of pax records */
} cpkg_write_known;

typedef struct {
    size_t entry_at, data_at, name_at; /* positions of entry and data in the content, of the name in `names` */
    int64_t size, seconds;
    uint32_t nanoseconds, kind;
} cpkg_write_file;

/* Consecutive files in the content, all in one directory. */
typedef struct {
    const cpkg_write_known *known;
    const char *content;
    size_t count, done;              /* number of files that were found; how many of them are written */
    size_t names_size, path_size;    /* used bytes of `names`; size of each path up to its last slash */
    int directory, has_default_list; /* descriptor; whether new files inherit an access control list */
    char temporary[64];              /* the temporary name of an incomplete file */
    int is_named;                    /* whether an incomplete file has the temporary name; otherwise it has no name */
    cpkg_write_file files[256];
    char names[256 * 101]; /* each name ends with NUL */
} cpkg_write_run;

/* Find a run at the start of content[at..end); return where the run ends, which is `at` if it has no files. */
size_t cpkg_write_run_find(cpkg_write_run *run, size_t at, size_t end);
/* Write the next files. Return the errno of a file that failed, or 0 at the end or after some time, for signals. */
int cpkg_write_run_next(cpkg_write_run *run);
