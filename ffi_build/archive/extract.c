/* SPDX-License-Identifier: Apache-2.0 */
/* Extract: read the headers of an archive's content in order, and make what they describe. */
#pragma once

#include "entry.c"

/* Note a path, in components each ended by NUL; 1 if it was there before, 0 if not, -1 for want of memory. */
int cpkg_tree_note(cpkg_tree *tree, const char *path, size_t size)
{
    return seen_note(&tree->seen, path, size);
}

/* Say whether a path was noted; in components each ended by NUL. */
int cpkg_tree_has(const cpkg_tree *tree, const char *path, size_t size)
{
    return seen_has(&tree->seen, path, size);
}

/* Return the path of the entry at hand, in components each ended by NUL. */
const char *cpkg_tree_path(const cpkg_tree *tree, size_t *size)
{
    *size = tree->path.size;
    return tree->path.data;
}

/* Extract the path that came again, now that all files before it are written. */
void cpkg_tree_go_on(cpkg_tree *tree)
{
    tree->may_come_again = 1;
}

/* Pass over bytes of what has to be skipped, which are not in the chunks that follow. */
void cpkg_tree_pass(cpkg_tree *tree, uint64_t size)
{
    tree->skipped -= size;
}

/* Forget the begin of the entry that Python has taken over. */
void cpkg_tree_taken(cpkg_tree *tree)
{
    tree->carry.size = 0;
    tree->may_come_again = 0;
}

const char *cpkg_tree_carry(const cpkg_tree *tree, size_t *size)
{
    *size = tree->carry.size;
    return tree->carry.data;
}

/* How many bytes of a file's data are still to come, and how many that are skipped. */
uint64_t cpkg_tree_missing(const cpkg_tree *tree, uint64_t *skipped)
{
    *skipped = tree->skipped;
    return tree->left;
}

/* Whether a name was matched by the pattern `index` of those to include. */
int cpkg_tree_has_matched(const cpkg_tree *tree, size_t index)
{
    return tree->included.has_matched[index];
}

uint64_t cpkg_tree_entries(const cpkg_tree *tree)
{
    return tree->entries;
}

int cpkg_tree_parse(cpkg_tree *tree, const char *chunk, size_t size, int64_t begin, size_t *position, cpkg_batch *batch)
{
    const int64_t begun = clock_ms();
    size_t at = *position;
    int result = TREE_MORE;
    while (result == TREE_MORE) {
        if (tree->large != NULL && tree->left) {
            size_t here = tree->left < size - at ? (size_t)tree->left : size - at;
            if (here && !tree_large_piece(tree, chunk + at, here, batch))
                result = TREE_NO_MEMORY;
            at += here;
        }
        size_t passed = tree->left ? 0 : tree->skipped < size - at ? (size_t)tree->skipped : size - at;
        tree->skipped -= passed;
        at += passed;
        *position = at;
        if (result != TREE_MORE || (at == size && (tree->left || tree->skipped || !tree->carry.size)))
            break;
        Parsed parsed;
        size_t carried = tree->carry.size;
        const char *group = carried ? tree->carry.data : chunk + at;
        int state = parse_group(group, carried ? carried : size - at, tree->options.with_attributes, &parsed);
        if (state == PARSE_MORE) { /* `carry` joins what the end of a chunk cuts */
            size_t missing = carried ? parsed.meta_size - carried : size - at;
            size_t here = missing < size - at ? missing : size - at;
            if (!here)
                break;
            if (!bytes_add(&tree->carry, chunk + at, here))
                result = TREE_NO_MEMORY;
            *position = at += here;
            continue;
        }
        if (state == PARSE_ODD) {
            result = TREE_ODD;
            break;
        }
        tree->entry_at = begin + (int64_t)at - (int64_t)carried;
        size_t data_at = carried ? at : at + parsed.meta_size;
        result = tree_entry(tree, &parsed, chunk + data_at, size - data_at, batch);
        if (result != TREE_MORE)
            break;
        tree->carry.size = 0;
        at = data_at;
        if (tree->large != NULL)
            at = size; /* its begin is in the batch */
        *position = at;
        if (pause_is_due(begun))
            return TREE_FULL;
    }
    return result;
}

cpkg_batch *cpkg_batch_new(cpkg_tree *tree)
{
    cpkg_batch *batch = calloc(1, sizeof *batch);
    if (batch != NULL)
        batch->naming = &tree->naming;
    return batch;
}

size_t cpkg_batch_count(const cpkg_batch *batch)
{
    return batch->count;
}

enum { FINISH_DONE, FINISH_PAUSE, FINISH_FAILED, FINISH_IN_PYTHON };

/* Order directories by their paths, and by their entries those of the same path. */
static int compare_finished(const void *left, const void *right)
{
    const Finished *one = left, *other = right;
    size_t size = one->path_size < other->path_size ? one->path_size : other->path_size;
    int order = size ? memcmp(one->path, other->path, size) : 0;
    if (order)
        return order;
    if (one->path_size != other->path_size)
        return one->path_size < other->path_size ? -1 : 1;
    return one->path_at < other->path_at ? -1 : 1;
}

static void finish_begin(cpkg_tree *tree)
{
    tree->is_finishing = 1;
    for (size_t index = 0; index < tree->finished_count; index++)
        tree->finished[index].path = tree->finished_paths.data + tree->finished[index].path_at;
    if (tree->finished_count)
        qsort(tree->finished, tree->finished_count, sizeof *tree->finished, compare_finished);
    /* of several entries the last one counts */
    size_t kept = 0;
    for (size_t index = 0; index < tree->finished_count; index++) {
        const Finished *next = index + 1 < tree->finished_count ? &tree->finished[index + 1] : NULL;
        if (next == NULL || next->path_size != tree->finished[index].path_size ||
            memcmp(next->path, tree->finished[index].path, next->path_size) != 0)
            tree->finished[kept++] = tree->finished[index];
    }
    tree->finished_count = kept;
}

int cpkg_tree_finish_later(cpkg_tree *tree, const char *path, size_t size, size_t number)
{
    return finish_later(tree, path, size, NULL, number);
}

int cpkg_tree_finish(cpkg_tree *tree, const char **path, int *error, size_t *number)
{
    const int64_t begun = clock_ms();
    if (!tree->is_finishing)
        finish_begin(tree);
    while (tree->finished_count) {
        const Finished *finished = &tree->finished[--tree->finished_count];
        *number = finished->number;
        if (*number)
            return FINISH_IN_PYTHON;
        tree->path.size = 0;
        if (!bytes_add(&tree->path, finished->path, finished->path_size))
            continue;
        size_t count = 0;
        for (size_t at = 0; at < tree->path.size; at++)
            count += tree->path.data[at] == '\0';
        const Dir *dir = tree_directory(tree, count, 0);
        *error = dir == NULL ? 0 : set_attributes(dir->fd, &finished->attributes, 0);
        if (*error) {
            path_join(tree->path.data, tree->path.size);
            *path = count ? tree->path.data : ".";
            return FINISH_FAILED;
        }
        if (pause_is_due(begun))
            return FINISH_PAUSE;
    }
    return FINISH_DONE;
}

void cpkg_tree_free(cpkg_tree *tree)
{
    if (tree == NULL)
        return;
    if (tree->large != NULL)
        large_release(tree->large);
    tree_shorten(tree, 0);
    Bytes *bytes[] = {&tree->carry, &tree->path, &tree->finished_paths, &tree->large_path, &tree->large_record};
    for (size_t index = 0; index < sizeof bytes / sizeof *bytes; index++)
        bytes_free(bytes[index]);
    patterns_free(&tree->included);
    patterns_free(&tree->excluded);
    free(tree->chain);
    free(tree->finished);
    seen_free(&tree->seen);
    free(tree);
}

cpkg_tree *cpkg_tree_new(const cpkg_tree_options *options, int root, const char *token, const char *patterns,
                         size_t included, size_t excluded)
{
    cpkg_tree *tree = calloc(1, sizeof *tree);
    if (tree == NULL)
        return NULL;
    tree->options = *options;
    snprintf(tree->naming.token, sizeof tree->naming.token, "%s", token);
    atomic_init(&tree->naming.count, 0);
    atomic_init(&tree->naming.has_nameless, 1);
    tree->naming.umask = options->umask;
    int fd = fcntl(root, F_DUPFD_CLOEXEC, 0);
    Dir *dir = fd < 0 ? NULL : dir_new(fd, NULL, "");
    if (dir == NULL && fd >= 0)
        close(fd);
    if (dir != NULL && array_reserve((void **)&tree->chain, 0, &tree->chain_capacity, sizeof(Dir *)))
        tree->chain[tree->depth++] = dir;
    if (!tree->depth || !patterns_split(&tree->included, &tree->excluded, patterns, included, excluded)) {
        cpkg_tree_free(tree);
        return NULL;
    }
    return tree;
}
