/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What archives have in C, on Linux: making frames of a tree, and making a tree of content. Names are bytes ended by
 * NUL. Every call may take long and needs no Python.
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
    int64_t frame_size;
    int is_sorted, is_recursive, is_numeric, has_records;
    unsigned mode_mask;
    int has_time;
    int64_t seconds;
    long nanoseconds;
    int has_owner;
    int64_t uid, gid;
    int own_count; /* files that are the archive itself, which are left out */
    uint64_t own_device[2], own_inode[2];
} cpkg_walk_options;

typedef struct cpkg_walk_s cpkg_walk;
typedef struct cpkg_plan_s cpkg_plan;
typedef struct cpkg_maker_s cpkg_maker;

/* A walk, or NULL for want of memory; patterns to include come before the others, each with its NUL. */
cpkg_walk *cpkg_walk_new(const cpkg_walk_options *options, const char *patterns, size_t included, size_t excluded);
/* Begin below a directory; 0 or errno. */
int cpkg_walk_open(cpkg_walk *walk, const char *base);
int cpkg_walk_add(cpkg_walk *walk, const char *path, const char *name);
void cpkg_walk_free(cpkg_walk *walk);
/* A plan of a frame, empty at first; NULL for want of memory. */
cpkg_plan *cpkg_plan_new(void);
/* Go on filling a plan. -1: no memory; 0: that was the last; 1: it is full; 2: it is not, but some time has passed. */
int cpkg_walk_fill(cpkg_walk *walk, cpkg_plan *plan);

/* What makes frames: a context, and memory for the content. */
cpkg_maker *cpkg_maker_new(int level);
void cpkg_maker_free(cpkg_maker *maker);
size_t cpkg_maker_deflate(cpkg_maker *maker, void *out, size_t capacity, const void *content, size_t size);
/* Read what a plan says and compress it; the frame's size, 0 for an empty one, or libzstd's error. */
size_t cpkg_plan_make(cpkg_plan *plan, cpkg_maker *maker, void *out, size_t capacity);
int64_t cpkg_plan_size(const cpkg_plan *plan);
int64_t cpkg_plan_entries(const cpkg_plan *plan);
/* The numbers of its names, after it was compressed, and whether it begins within an entry. */
const uint16_t *cpkg_plan_members(const cpkg_plan *plan, size_t *count, int *is_continued);
size_t cpkg_plan_problem_count(const cpkg_plan *plan);
const char *cpkg_plan_problem(const cpkg_plan *plan, size_t index, int *what, int64_t *amount, int *error);
/* The records of its entries, if they are asked for, after it was compressed. */
const char *cpkg_plan_records(const cpkg_plan *plan, size_t *size);
void cpkg_plan_free(cpkg_plan *plan);

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
