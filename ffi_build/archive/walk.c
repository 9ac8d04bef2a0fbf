/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Walk over trees, relative to handles of directories, and plan the frames of the entries.
 *
 * What cpkg/archive/in_python/walk.py and cpkg/archive/in_python/frame_plan.py do without a `select`, attributes and sparse
 * maps; the same order, the same frames.
 */
#pragma once

#include "../common/clock.c"
#include "layout.c"

/* Begin to walk the directory at hand; false for want of memory. */
static int walk_enter(cpkg_walk *walk, int dir, const struct stat *status)
{
    int fd = openat(dir, walk->base, DIRECTORY_FLAGS);
    if (fd < 0)
        return walk_trouble(walk, DIRECTORY_FAILED, errno);
    Folder *folder = folder_new(-1, walk->folder, walk->base, status);
    if (folder == NULL ||
        !array_reserve((void **)&walk->levels, walk->level_count, &walk->level_capacity, sizeof *walk->levels)) {
        folder_release(folder);
        close(fd);
        return 0;
    }
    Level *level = &walk->levels[walk->level_count++];
    *level = (Level){.folder = folder, .path_size = strlen(walk->path.data)};
    cursor_below(&walk->cursor, folder, fd);
    int error = level_read(level, fd, walk->options.is_sorted);
    return error == ENOMEM ? 0 : error ? walk_trouble(walk, STAT_FAILED, error) : 1;
}

/* Take the next name of the innermost directory, or the next path of the caller's; WALK_END if there is none. */
static int walk_name(cpkg_walk *walk)
{
    while (walk->level_count) {
        Level *level = &walk->levels[walk->level_count - 1];
        if (level->at == level->count) {
            level_free(level);
            walk->level_count--;
            continue;
        }
        walk->base = level->names[level->at++];
        walk->folder = level->folder;
        walk->path.size = level->path_size;
        int is_done = bytes_add(&walk->path, "/", 1) && bytes_add(&walk->path, walk->base, strlen(walk->base) + 1);
        return is_done ? WALK_ON : WALK_NO_MEMORY;
    }
    if (walk->given_at == walk->given.size)
        return WALK_END;
    walk->base = walk->given.data + walk->given_at;
    walk->given_at += strlen(walk->base) + 1;
    const char *name = walk->given.data + walk->given_at;
    walk->given_at += strlen(name) + 1;
    walk->folder = walk->root;
    walk->path.size = 0;
    return bytes_add(&walk->path, name, strlen(name) + 1) ? WALK_ON : WALK_NO_MEMORY;
}

static int is_own_file(const cpkg_walk_options *options, const struct stat *status)
{
    for (int index = 0; index < options->own_count; index++)
        if (status->st_dev == options->own_device[index] && status->st_ino == options->own_inode[index])
            return 1;
    return 0;
}

/* Take up one name: leave it out, or plan its entry. */
static int walk_one(cpkg_walk *walk)
{
    struct stat status;
    int is_given = walk->level_count == 0;
    if (patterns_match(&walk->excluded, walk->path.data, 0))
        return WALK_ON;
    int dir = cursor_reach(&walk->cursor, walk->folder);
    if (dir < 0 || fstatat(dir, walk->base, &status, AT_SYMLINK_NOFOLLOW) != 0) {
        int what = errno == ENOENT && !is_given ? VANISHED : STAT_FAILED;
        return walk_trouble(walk, what, errno) ? WALK_ON : WALK_NO_MEMORY;
    }
    if (is_own_file(&walk->options, &status))
        return WALK_ON;
    int what = 0;
    if (S_ISSOCK(status.st_mode))
        what = IS_SOCKET;
    else if (!S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode) && !S_ISLNK(status.st_mode) &&
             !S_ISFIFO(status.st_mode) && !S_ISCHR(status.st_mode) && !S_ISBLK(status.st_mode))
        what = UNKNOWN_TYPE;
    if (what)
        return walk_trouble(walk, what, 0) ? WALK_ON : WALK_NO_MEMORY;
    if (!S_ISDIR(status.st_mode) && walk->included.count && !patterns_match(&walk->included, walk->path.data, 0))
        return WALK_ON;
    int result = plan_entry(walk, dir, &status);
    if (result == WALK_ON && S_ISDIR(status.st_mode) && walk->options.is_recursive && !walk_enter(walk, dir, &status))
        return WALK_NO_MEMORY;
    return result;
}

int cpkg_walk_fill(cpkg_walk *walk, cpkg_plan *plan)
{
    const int64_t begun = clock_ms();
    walk->plan = plan;
    do {
        int result = WALK_ON;
        if (walk->source != NULL) {
            result = plan_rest(walk);
        }
        else {
            if (!walk->is_waiting)
                result = walk_name(walk);
            walk->is_waiting = 0;
            if (result == WALK_ON)
                result = walk_one(walk);
        }
        if (result != WALK_ON)
            return result;
    } while (!pause_is_due(begun));
    return WALK_ON;
}

int cpkg_walk_add(cpkg_walk *walk, const char *path, const char *name)
{
    return bytes_add(&walk->given, path, strlen(path) + 1) && bytes_add(&walk->given, name, strlen(name) + 1);
}

void cpkg_walk_free(cpkg_walk *walk)
{
    while (walk->level_count)
        level_free(&walk->levels[--walk->level_count]);
    if (walk->source != NULL)
        shared_file_release(walk->source);
    cursor_close(&walk->cursor);
    folder_release(walk->root);
    Bytes *bytes[] = {&walk->given, &walk->path, &walk->target, &walk->pax, &walk->rest_name};
    for (size_t index = 0; index < sizeof bytes / sizeof *bytes; index++)
        bytes_free(bytes[index]);
    patterns_free(&walk->included);
    patterns_free(&walk->excluded);
    free(walk->levels);
    first_names_free(&walk->first_names);
    free(walk);
}

cpkg_walk *cpkg_walk_new(const cpkg_walk_options *options, const char *patterns, size_t included, size_t excluded)
{
    cpkg_walk *walk = calloc(1, sizeof *walk);
    if (walk == NULL)
        return NULL;
    walk->options = *options;
    if (!patterns_split(&walk->included, &walk->excluded, patterns, included, excluded)) {
        cpkg_walk_free(walk);
        return NULL;
    }
    return walk;
}

int cpkg_walk_open(cpkg_walk *walk, const char *base)
{
    int fd = open(base, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return errno;
    walk->root = folder_new(fd, NULL, "", NULL);
    if (walk->root == NULL)
        close(fd);
    return walk->root == NULL ? ENOMEM : 0;
}
