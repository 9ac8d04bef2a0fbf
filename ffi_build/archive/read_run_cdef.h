/* SPDX-License-Identifier: Apache-2.0 */
/* Reading runs of ordinary files into the content of a frame, for cffi and for C. */

/*
 * What the header of files of this mode and owner has in common, as the system has these: a block without name, size
 * and time.
 */
typedef struct {
    uint32_t mode, uid, gid;
    char block[512];
} cpkg_header;

/* A file that was read: what its headers hold, and the index of the one that was used. */
typedef struct {
    int64_t size, seconds;
    uint32_t nanoseconds, header;
} cpkg_file;

typedef struct {
    char *content; /* where the next file goes */
    int64_t room;
    size_t header_count;
    cpkg_header headers[16];
    char pax_block[512]; /* in front of a record with the time */
    int is_sparse;       /* files with holes are out of the ordinary */
    int has_time;        /* all files get this one */
    int64_t seconds;
    uint32_t nanoseconds;
    size_t own_count; /* files that are the archive itself */
    struct {
        uint64_t device, inode;
    } own[2];
    size_t file_count, file_max; /* the files of this call */
    cpkg_file *files;
} cpkg_run;

/*
 * Read files of an open directory into the content. Their names, each ended by NUL, are those from `at` to `end`, and
 * `path` comes before them in the archive. Return where the names begin that are left: the call has ended in front of a
 * file that is out of the ordinary or has no room, or some time has passed.
 */
size_t cpkg_read_run(cpkg_run *run, int directory, const char *path, size_t path_size, const char *names, size_t at,
                     size_t end);
/* Read as much of a piece of a file as the system has; 0, or errno of an error that came after `done` bytes. */
int cpkg_read_at(int file, char *target, size_t size, int64_t offset, size_t *done);
