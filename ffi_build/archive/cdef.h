/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What archives have in C, on Linux: making a tree of content. Names are bytes ended by NUL. Every call may take long and
 * needs no Python.
 */

/* An entry as it is reported to Python; behind it follow its name, its link's text, and the names of its owner. */
typedef struct {
    uint32_t record_size, job; /* with the texts; which file of a batch it is, from 1 on, 0 for none */
    int64_t position, uid, gid, size, seconds;
    uint32_t nanoseconds, mode, type, major, minor;
    uint32_t name_size, link_size, uname_size, gname_size;
    uint32_t is_lost; /* it could not be extracted */
} cpkg_record;

typedef struct {
    int is_data, is_trusted; /* the filter */
    int strip;
    int is_owning, is_numeric;
    int with_attributes, has_records;
    unsigned umask;             /* of the process; 07777 if nobody knows */
    size_t depth_max, held_max; /* open directories, one below the other, and of a batch */
} cpkg_tree_options;

typedef struct cpkg_tree_s cpkg_tree;
typedef struct cpkg_batch_s cpkg_batch;

/* What extracts below the directory `root`, which is an open descriptor; patterns to include come before the others. */
cpkg_tree *cpkg_tree_new(const cpkg_tree_options *options, int root, const char *token, const char *patterns,
                         size_t included, size_t excluded);
void cpkg_tree_free(cpkg_tree *tree);
/*
 * Read content from a position of a chunk on, which begins at `begin` of all, and put its files into a batch. -1: no
 * memory; 0: all of the chunk was read; 1: the batch is full, or signals are to be looked for; 2: Python has to read
 * the entry that begins with the carry, or at the position; 3: a path came before, that of cpkg_tree_path: all batches
 * must be written, and cpkg_tree_go_on called.
 */
int cpkg_tree_parse(cpkg_tree *tree, const char *chunk, size_t size, int64_t begin, size_t *position,
                    cpkg_batch *batch);
void cpkg_tree_go_on(cpkg_tree *tree);
void cpkg_tree_taken(cpkg_tree *tree);
void cpkg_tree_pass(cpkg_tree *tree, uint64_t size);
const char *cpkg_tree_carry(const cpkg_tree *tree, size_t *size);
uint64_t cpkg_tree_missing(const cpkg_tree *tree, uint64_t *skipped);
int cpkg_tree_has_matched(const cpkg_tree *tree, size_t index);
uint64_t cpkg_tree_entries(const cpkg_tree *tree);
/* Paths are in components, each ended by NUL. */
const char *cpkg_tree_path(const cpkg_tree *tree, size_t *size);
int cpkg_tree_note(cpkg_tree *tree, const char *path, size_t size);
int cpkg_tree_has(const cpkg_tree *tree, const char *path, size_t size);
/* Have Python set a directory's attributes in its turn, under a number from 1 on; false for want of memory. */
int cpkg_tree_finish_later(cpkg_tree *tree, const char *path, size_t size, size_t number);
/*
 * Give directories their attributes, the deepest first, as the last entry of each says. 0: all have them; 1: to
 * be called again; 2: those of `path` could not be set; 3: Python has to set those of `number`.
 */
int cpkg_tree_finish(cpkg_tree *tree, const char **path, int *error, size_t *number);

cpkg_batch *cpkg_batch_new(cpkg_tree *tree);
size_t cpkg_batch_count(const cpkg_batch *batch);
/* Write the files of a batch; 0: done; 1: to be called again; 2: the same, there is no descriptor for now. */
int cpkg_batch_write(cpkg_batch *batch, int may_wait);
const char *cpkg_batch_failed(const cpkg_batch *batch, size_t *index, const char **name, int *error);
/* The records of its entries, if they are asked for, once it was written. */
const char *cpkg_batch_records(cpkg_batch *batch, size_t *size);
void cpkg_batch_free(cpkg_batch *batch);
