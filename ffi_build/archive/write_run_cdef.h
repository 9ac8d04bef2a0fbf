/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writing runs of ordinary files, for cffi and for C: Python has decided everything, C repeats it for each file, and
 * stops in front of anything else.
 */

/* What the headers of files of one mode and owner have in common, and what such files get. */
typedef struct {
    char fields[24], rest[356]; /* behind the name: mode and owner; behind the checksum: all */
    uint32_t rest_sum;          /* of the bytes of `rest` */
    uint32_t mode, is_created_with_mode, has_owner, uid, gid;
} cpkg_write_kind;

typedef struct {
    size_t kind_count, pax_count;
    cpkg_write_kind kinds[16];
    struct {
        char block[512];
    } pax[16]; /* headers of pax headers */
} cpkg_write_known;

typedef struct {
    size_t entry_at, data_at, name_at; /* in the content; in the names of the run */
    int64_t size, seconds;
    uint32_t nanoseconds, kind;
} cpkg_write_file;

/* Files that follow each other in the content, all of one directory. */
typedef struct {
    const cpkg_write_known *known;
    const char *content;
    size_t count, done;              /* files that were found, and written */
    size_t names_size, path_size;    /* of all names; of what comes before the last slash of each, with that */
    int directory, has_default_list; /* its descriptor; new files get an access control list of it */
    char temporary[64];              /* the name of a file that is not whole */
    int is_named;                    /* files have that name, or none, until they are whole */
    cpkg_write_file files[256];
    char names[256 * 101]; /* each ended by NUL */
} cpkg_write_run;

/* Find the files of a run from `at` on, in front of `end`; where the run ends, which is `at` if it has no files. */
size_t cpkg_write_run_find(cpkg_write_run *run, size_t at, size_t end);
/* Write the next files; errno of the one that could not be written, or 0: all are written or some time has passed. */
int cpkg_write_run_next(cpkg_write_run *run);
