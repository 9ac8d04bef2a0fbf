/* SPDX-License-Identifier: Apache-2.0 */
/* Reads runs of ordinary files into the content of a frame. cffi and C both read this file. */

/* The header of files with this st_mode, st_uid and st_gid: a block without name, size and time. */
typedef struct {
    uint32_t mode, uid, gid;
    char block[512];
} cpkg_header;

/* A file that was read: the values in its headers, and the index in `headers` that was used. */
typedef struct {
    int64_t size, seconds;
    uint32_t nanoseconds, header;
} cpkg_file;

typedef struct {
    char *content; /* where to write the next file */
    int64_t room;
    size_t header_count;
    cpkg_header headers[16];
    char pax_block[512]; /* precedes a record with the time */
    int is_sparse;       /* leave files with holes to Python */
    int has_time;        /* all files get `seconds` and `nanoseconds` as their time */
    int64_t seconds;
    uint32_t nanoseconds;
    size_t own_count; /* number of files that are the archive itself */
    struct {
        uint64_t device, inode;
    } own[2];
    size_t file_count, file_max; /* files read by this call */
    cpkg_file *files;
} cpkg_run;

/*
 * Read files of an open directory into the content. Their NUL-terminated names are at `at` to `end` of `names`; in the
 * archive, `path` precedes them. Return the position of the first name that was not processed: the call ends before a
 * file that is not ordinary or does not fit, or after some time.
 */
size_t cpkg_read_run(cpkg_run *run, int directory, const char *path, size_t path_size, const char *names, size_t at,
                     size_t end);
/* Read a piece of a file, or less at its end; return 0, or the errno of an error after `done` bytes. */
int cpkg_read_at(int file, char *target, size_t size, int64_t offset, size_t *done);
