/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Make the entries: directories and symbolic links at once, files by putting them into a batch.
 *
 * Nothing is done that could fail in more than one way: an entry that is not ordinary, or whose directory or link
 * cannot be made at the first attempt, is left to cpkg/archive/in_python/disk.py with nothing done yet.
 */
#pragma once

#include "tree.c"

static int tree_make_directory(cpkg_tree *tree, size_t count, const Attributes *attributes)
{
    if (count) {
        Dir *parent = tree_directory(tree, count - 1, 1);
        struct stat status;
        if (parent == NULL)
            return TREE_ODD;
        if (mkdirat(parent->fd, last_part(tree), 0700) != 0) {
            if (errno != EEXIST || fstatat(parent->fd, last_part(tree), &status, AT_SYMLINK_NOFOLLOW) != 0 ||
                !S_ISDIR(status.st_mode) || ((status.st_mode & 0700) != 0700 && geteuid() != 0))
                return TREE_ODD;
        }
    }
    return finish_later(tree, tree->path.data, tree->path.size, attributes, 0) ? TREE_MORE : TREE_NO_MEMORY;
}

/* Set the owner of a new link by its descriptor: its name may be another file's; false for an error. */
static int link_own(int parent, const char *name, const Attributes *attributes)
{
    struct stat status;
    int fd = openat(parent, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return 0;
    int is_own = fstat(fd, &status) == 0 && S_ISLNK(status.st_mode) && status.st_nlink == 1 &&
                 status.st_uid == geteuid() && fchownat(fd, "", attributes->uid, attributes->gid, AT_EMPTY_PATH) == 0;
    close(fd);
    return is_own;
}

static int tree_make_link(cpkg_tree *tree, size_t count, const Parsed *parsed, const Attributes *attributes)
{
    char text[4096];
    if (parsed->link.size >= sizeof text || (tree->options.is_data && !link_is_safe(parsed->link, count)))
        return TREE_ODD;
    memcpy(text, parsed->link.data, parsed->link.size);
    text[parsed->link.size] = '\0';
    Dir *parent = tree_directory(tree, count - 1, 1);
    struct timespec times[2] = {attributes->mtime, attributes->mtime};
    if (parent == NULL || symlinkat(text, parent->fd, last_part(tree)) != 0)
        return TREE_ODD;
    if (attributes->has_owner && !link_own(parent->fd, last_part(tree), attributes))
        return TREE_ODD;
    return utimensat(parent->fd, last_part(tree), times, AT_SYMLINK_NOFOLLOW) != 0 ? TREE_ODD : TREE_MORE;
}

/* Add the path at hand to a batch's texts, its components joined by slashes, and the entry's name; false: no memory. */
static int batch_path(const cpkg_tree *tree, cpkg_batch *batch, Text name, size_t *at)
{
    *at = batch->texts.size;
    if (!bytes_add(&batch->texts, tree->path.data, tree->path.size))
        return 0;
    path_join(batch->texts.data + *at, tree->path.size);
    return bytes_add(&batch->texts, name.data, name.size) && bytes_add(&batch->texts, "", 1);
}

/* Report an entry that is extracted or in the batch; a large file with its last piece. False for want of memory. */
static int tree_report(cpkg_tree *tree, const Parsed *parsed, cpkg_batch *batch)
{
    int is_file = parsed->type == '0';
    cpkg_record head = {
        .job = is_file && tree->large == NULL ? (uint32_t)batch->count : 0,
        .position = tree->entry_at,
        .uid = parsed->uid,
        .gid = parsed->gid,
        .size = (int64_t)parsed->size,
        .seconds = (int64_t)parsed->mtime.tv_sec,
        .nanoseconds = (uint32_t)parsed->mtime.tv_nsec,
        .mode = parsed->mode,
        .type = (unsigned char)parsed->type,
    };
    tree->large_record.size = 0;
    return record_add(tree->large == NULL ? &batch->records : &tree->large_record, head, parsed->name,
                      parsed->type == '2' ? parsed->link : (Text){"", 0}, parsed->uname, parsed->gname);
}

/* Report the large file whose last piece is in the batch; false for want of memory. */
static int tree_report_large(cpkg_tree *tree, cpkg_batch *batch)
{
    cpkg_record head;
    if (!tree->large_record.size)
        return 1;
    memcpy(&head, tree->large_record.data, sizeof head);
    head.job = (uint32_t)batch->count;
    memcpy(tree->large_record.data, &head, sizeof head);
    return bytes_add(&batch->records, tree->large_record.data, tree->large_record.size);
}

/* Put as much of the large file at hand as there is into the batch; false for want of memory. */
static int tree_large_piece(cpkg_tree *tree, const char *data, size_t size, cpkg_batch *batch)
{
    Job *job = batch_job(batch);
    if (job == NULL)
        return 0;
    job->path_at = batch->texts.size;
    if (!bytes_add(&batch->texts, tree->large_path.data, tree->large_path.size))
        return 0;
    job->large = tree->large;
    atomic_fetch_add(&tree->large->references, 1);
    job->data = data;
    job->size = size;
    job->offset = tree->offset;
    batch->count++;
    tree->offset += size;
    tree->left -= size;
    if (!tree->left) {
        large_release(tree->large);
        tree->large = NULL;
        return !tree->options.has_records || tree_report_large(tree, batch);
    }
    return 1;
}

/* Put a file into the batch: whole, if all of it is at hand, else what there is. */
static int tree_make_file(cpkg_tree *tree, size_t count, const Parsed *parsed, const Attributes *attributes,
                          const char *data, size_t size, cpkg_batch *batch)
{
    Dir *dir = tree_directory(tree, count - 1, 1);
    const char *name = last_part(tree);
    if (dir == NULL)
        return TREE_ODD;
    if (parsed->size > size) {
        LargeFile *large = malloc(sizeof *large + strlen(name) + 1);
        if (large == NULL)
            return TREE_NO_MEMORY;
        large->fd = file_create(&tree->naming, dir, attributes, large->temporary);
        if (large->fd < 0) {
            free(large);
            return TREE_ODD;
        }
        atomic_init(&large->references, 1);
        atomic_init(&large->error, 0);
        atomic_init(&large->missing, parsed->size);
        large->naming = &tree->naming;
        large->dir = dir;
        atomic_fetch_add(&dir->users, 1);
        atomic_fetch_add(&dir->references, 1);
        large->attributes = *attributes;
        strcpy(large->name, name);
        tree->large = large;
        tree->left = parsed->size;
        tree->offset = 0;
        size_t at;
        tree->large_path.size = 0;
        cpkg_batch scratch = {.texts = tree->large_path};
        int is_done = batch_path(tree, &scratch, parsed->name, &at);
        tree->large_path = scratch.texts;
        return is_done && (!size || tree_large_piece(tree, data, size, batch)) ? TREE_MORE : TREE_NO_MEMORY;
    }
    Job *job = batch_job(batch);
    if (job == NULL || !batch_path(tree, batch, parsed->name, &job->path_at))
        return TREE_NO_MEMORY;
    job->name_at = job->path_at + (size_t)(name - tree->path.data);
    job->dir = dir;
    job->data = data;
    job->size = parsed->size;
    job->attributes = *attributes;
    batch->count++;
    return TREE_MORE;
}

static int is_wanted(const cpkg_tree *tree, Text name, Bytes *scratch)
{
    if (!tree->included.count && !tree->excluded.count)
        return 1;
    while (name.size > 1 && name.data[name.size - 1] == '/')
        name.size--;
    scratch->size = 0;
    if (!bytes_add(scratch, name.data, name.size) || !bytes_add(scratch, "", 1))
        return 0;
    return (!tree->included.count || patterns_match(&tree->included, scratch->data, 1)) &&
           !patterns_match(&tree->excluded, scratch->data, 0);
}

/* Extract an entry whose data begins with the `size` bytes at `data`; take all that belong to it. */
static int tree_entry(cpkg_tree *tree, const Parsed *parsed, const char *data, size_t size, cpkg_batch *batch)
{
    Attributes attributes = {.mtime = parsed->mtime};
    int count = is_wanted(tree, parsed->name, &tree->path)
                    ? target_path(&tree->path, parsed->name, tree->options.strip, tree->options.depth_max)
                    : -1;
    if (count == -2 || (count == 0 && parsed->type != '5') || !take_owner(tree, parsed, &attributes))
        return TREE_ODD;
    if (count == -1) {
        tree->skipped = parsed->size + padding_of(parsed->size);
        return TREE_MORE;
    }
    attributes.mode = target_mode(&tree->options, parsed->mode, parsed->type == '5');
    if (batch->held.count >= tree->options.held_max)
        return TREE_FULL;
    if (count && !tree->may_come_again) {
        int came_before = seen_note(&tree->seen, tree->path.data, tree->path.size);
        if (came_before)
            return came_before < 0 ? TREE_NO_MEMORY : TREE_AGAIN;
    }
    size_t here = parsed->size < size ? (size_t)parsed->size : size;
    int result = parsed->type == '5'   ? tree_make_directory(tree, (size_t)count, &attributes)
                 : parsed->type == '2' ? tree_make_link(tree, (size_t)count, parsed, &attributes)
                                       : tree_make_file(tree, (size_t)count, parsed, &attributes, data, here, batch);
    tree->may_come_again = 0;
    if (result == TREE_ODD && tree->must_wait) {
        tree->must_wait = 0;
        return TREE_AGAIN;
    }
    if (result != TREE_MORE)
        return result;
    if (tree->options.has_records && !tree_report(tree, parsed, batch))
        return TREE_NO_MEMORY;
    if (parsed->type == '0' && parsed->size <= size && !held_add(&batch->held, tree->chain[count - 1]))
        return TREE_NO_MEMORY;
    tree->entries++;
    tree->skipped = padding_of(parsed->size) + (tree->large == NULL ? here : 0);
    return TREE_MORE;
}
