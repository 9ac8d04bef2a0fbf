/* SPDX-License-Identifier: Apache-2.0 */
/* Reads runs of ordinary files into the content of a frame (see read_run.c). cffi and C both read this file. */

/* The header of files with this st_mode, st_uid and st_gid; C fills in name, size and time. */
typedef struct {
    uint32_t mode, uid, gid;
    char block[512];
} cpkg_header;

/* A file that was read: the size and time in its headers, and the index of the header in `headers`. */
typedef struct {
    int64_t size, seconds;
    uint32_t nanoseconds, header;
} cpkg_file;

typedef struct {
    char *content; /* where to write the next file */
    int64_t room;  /* the bytes available there */
    size_t header_count;
    cpkg_header headers[16];
    char pax_block[512]; /* the header that precedes a pax record with the time */
    int is_sparse;       /* leave files with holes to Python */
    int has_time;        /* all files get `seconds` and `nanoseconds` as their time */
    int64_t seconds;
    uint32_t nanoseconds;
    size_t own_count; /* the size of `own`: files that are the archive itself, and are left to Python */
    struct {
        uint64_t device, inode;
    } own[2];
    size_t file_count, file_max; /* files read by this call */
    cpkg_file *files;
} cpkg_run;

/*
 * Read files of an open directory into the content. Their names, each ending with NUL, are in names[at..end); in the
 * archive, `path` precedes each name. Return the position of the first name that was not processed. The call ends
 * before a file that is not ordinary or does not fit, or after some time, so that Python handles signals.
 */
size_t cpkg_read_run(cpkg_run *run, int directory, const char *path, size_t path_size, const char *names, size_t at,
                     size_t end);
/* Read `size` bytes of a file, or fewer at its end. Set `done` to the number of bytes read; return 0 or an errno. */
int cpkg_read_at(int file, char *target, size_t size, int64_t offset, size_t *done);
