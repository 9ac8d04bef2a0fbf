/* SPDX-License-Identifier: Apache-2.0 */
/* Where entries are extracted to: directories that are open, and the names, modes and owners that entries get. */
#pragma once

#include <sys/xattr.h>

#include "batch.c"
#include "interface.c"
#include "names.c"
#include "owners.c"
#include "parse.c"
#include "patterns.c"
#include "seen.c"

#define UMASK_UNKNOWN 07777

/* What a directory gets when all that is in it is there; `number` is Python's, 0 for none. */
typedef struct {
    size_t path_at, path_size, number;
    const char *path; /* once all are known */
    Attributes attributes;
} Finished;

struct cpkg_tree_s {
    cpkg_tree_options options;
    Patterns included, excluded;
    Naming naming;
    Dir **chain; /* the root, and the directories down to the one that was opened last */
    size_t depth, chain_capacity;
    Bytes carry; /* the begin of an entry that was cut by the end of a chunk */
    Bytes path;  /* of the entry at hand, in components each ended by NUL */
    Finished *finished;
    size_t finished_count, finished_capacity;
    Bytes finished_paths;
    Seen seen;
    int may_come_again, must_wait;
    LargeFile *large;
    Bytes large_path, large_record;
    int64_t entry_at;               /* of the entry at hand in the content */
    uint64_t left, offset, skipped; /* of the large file; bytes to pass over */
    uint64_t entries;
    int is_finishing;
    Named user, group;
};

enum { TREE_NO_MEMORY = -1, TREE_MORE, TREE_FULL, TREE_ODD, TREE_AGAIN };

static void tree_shorten(cpkg_tree *tree, size_t depth)
{
    while (tree->depth > depth) {
        Dir *dir = tree->chain[--tree->depth];
        dir_unuse(dir);
        dir_forget(dir);
    }
}

/* Note a directory that gets its attributes in the end; false for want of memory. */
static int finish_later(cpkg_tree *tree, const char *path, size_t size, const Attributes *attributes, size_t number)
{
    Finished *finished =
        array_next((void **)&tree->finished, tree->finished_count, &tree->finished_capacity, sizeof *tree->finished);
    if (finished == NULL)
        return 0;
    finished->path_at = tree->finished_paths.size;
    finished->path_size = size;
    finished->number = number;
    if (attributes != NULL)
        finished->attributes = *attributes;
    /* a byte more, so that no two begin at the same place */
    if (!bytes_add(&tree->finished_paths, path, size) || !bytes_add(&tree->finished_paths, "", 1))
        return 0;
    tree->finished_count++;
    return 1;
}

/* Open the directory of the first `count` components of the current path; create it if asked to. NULL: odd. */
static Dir *tree_directory(cpkg_tree *tree, size_t count, int is_made)
{
    const char *part = tree->path.data;
    size_t depth = 0;
    while (depth < count && depth + 1 < tree->depth && strcmp(tree->chain[depth + 1]->name, part) == 0) {
        part += strlen(part) + 1;
        depth++;
    }
    tree_shorten(tree, depth + 1);
    for (; depth < count; depth++, part += strlen(part) + 1) {
        Dir *parent = tree->chain[depth];
        int fd = openat(parent->fd, part, DIRECTORY_FLAGS);
        size_t size = (size_t)(part - tree->path.data) + strlen(part) + 1;
        if (fd < 0 && errno == ENOENT && !tree->may_come_again && seen_has(&tree->seen, tree->path.data, size)) {
            tree->must_wait = 1; /* it may be a file that is in a batch */
            return NULL;
        }
        if (fd < 0 && errno == ENOENT && is_made && (mkdirat(parent->fd, part, 0777) == 0 || errno == EEXIST))
            fd = openat(parent->fd, part, DIRECTORY_FLAGS);
        if (fd < 0)
            return NULL;
        Dir *dir = dir_new(fd, NULL, part);
        if (dir != NULL && tree->naming.umask != UMASK_UNKNOWN && !tree->options.is_owning)
            dir->has_default_list = fgetxattr(fd, "system.posix_acl_default", NULL, 0) > 0;
        if (dir == NULL || !array_reserve((void **)&tree->chain, tree->depth, &tree->chain_capacity, sizeof(Dir *))) {
            close(fd);
            free(dir);
            return NULL;
        }
        tree->chain[tree->depth++] = dir;
    }
    return tree->chain[count];
}
static const char *last_part(const cpkg_tree *tree)
{
    size_t at = tree->path.size - 1;
    while (at > 0 && tree->path.data[at - 1] != '\0')
        at--;
    return tree->path.data + at;
}

/* Find out whose an entry will be, by name before number; false if that is not ordinary. */
static int take_owner(cpkg_tree *tree, const Parsed *parsed, Attributes *attributes)
{
    int64_t uid = parsed->uid, gid = parsed->gid;
    attributes->has_owner = tree->options.is_owning;
    if (tree->options.is_owning && !tree->options.is_numeric &&
        (!owner_number(&tree->user, parsed->uname.data, parsed->uname.size, 1, &uid) ||
         !owner_number(&tree->group, parsed->gname.data, parsed->gname.size, 0, &gid)))
        return 0;
    attributes->uid = (uid_t)uid;
    attributes->gid = (gid_t)gid;
    return 1;
}
