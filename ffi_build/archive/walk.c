/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Walk over trees, relative to handles of directories, and plan the frames of what is found.
 *
 * What cpkg/archive/_walk.py and cpkg/archive/_plan.py do without a `select`, attributes and sparse maps; the same
 * order, the same frames.
 */
#ifndef CPKG_ARCHIVE_WALK
#define CPKG_ARCHIVE_WALK

#include "layout.c"

/* Begin to walk the directory at hand; false for want of memory. */
static int walk_enter(cpkg_walk *walk, Dir *dir)
{
    int fd = openat(dir->fd, walk->base, DIRECTORY_FLAGS);
    if (fd < 0)
        return walk_trouble(walk, DIRECTORY_FAILED, errno);
    if (!array_reserve((void **)&walk->levels, walk->level_count, &walk->level_capacity, sizeof *walk->levels)) {
        close(fd);
        return 0;
    }
    Level *level = &walk->levels[walk->level_count];
    memset(level, 0, sizeof *level);
    level->dir = dir_new(fd, dir, walk->base);
    if (level->dir == NULL) {
        close(fd);
        return 0;
    }
    level->path_size = strlen(walk->path.data);
    walk->level_count++;
    int error = level_read(level, walk->options.is_sorted);
    return error == ENOMEM ? 0 : error ? walk_trouble(walk, STAT_FAILED, error) : 1;
}

/* Take the next name of the innermost directory, or the next path of the caller's; false at the end. */
static int walk_name(cpkg_walk *walk, Dir **dir, int *is_enough)
{
    *is_enough = 1;
    while (walk->level_count) {
        Level *level = &walk->levels[walk->level_count - 1];
        if (level->at == level->count) {
            level_free(level);
            walk->level_count--;
            continue;
        }
        walk->base = level->names[level->at++];
        walk->path.size = level->path_size;
        *dir = level->dir;
        *is_enough = bytes_add(&walk->path, "/", 1) && bytes_add(&walk->path, walk->base, strlen(walk->base) + 1);
        return *is_enough;
    }
    if (walk->given_at == walk->given.size)
        return 0;
    walk->base = walk->given.data + walk->given_at;
    walk->given_at += strlen(walk->base) + 1;
    const char *name = walk->given.data + walk->given_at;
    walk->given_at += strlen(name) + 1;
    walk->path.size = 0;
    *dir = walk->root;
    *is_enough = bytes_add(&walk->path, name, strlen(name) + 1);
    return *is_enough;
}

/* Take up one name: leave it out, or plan its entry. */
static int walk_one(cpkg_walk *walk, Dir *dir, cpkg_plan **full)
{
    struct stat status;
    int is_given = walk->level_count == 0;
    if (patterns_match(&walk->excluded, walk->path.data, 0))
        return WALK_ON;
    if (fstatat(dir->fd, walk->base, &status, AT_SYMLINK_NOFOLLOW) != 0) {
        int what = errno == ENOENT && !is_given ? VANISHED : STAT_FAILED;
        return walk_trouble(walk, what, errno) ? WALK_ON : WALK_NO_MEMORY;
    }
    int what = 0;
    if (S_ISSOCK(status.st_mode))
        what = IS_SOCKET;
    else if (!S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode) && !S_ISLNK(status.st_mode) &&
             !S_ISFIFO(status.st_mode) && !S_ISCHR(status.st_mode) && !S_ISBLK(status.st_mode))
        what = UNKNOWN_TYPE;
    else if (walk->options.has_own_file && status.st_dev == walk->options.own_device &&
             status.st_ino == walk->options.own_inode)
        what = IS_ARCHIVE;
    if (what)
        return walk_trouble(walk, what, 0) ? WALK_ON : WALK_NO_MEMORY;
    if (!S_ISDIR(status.st_mode) && walk->included.count && !patterns_match(&walk->included, walk->path.data, 0))
        return WALK_ON;
    int result = plan_entry(walk, dir, &status);
    if (result == WALK_AGAIN) {
        *full = walk_take(walk);
        result = walk->plan == NULL ? WALK_NO_MEMORY : plan_entry(walk, dir, &status);
        if (result == WALK_PLAN_FULL)
            result = WALK_ON; /* with a part of a large file, which goes on at the next call */
    }
    if (result != WALK_NO_MEMORY && S_ISDIR(status.st_mode) && walk->options.is_recursive && !walk_enter(walk, dir))
        return WALK_NO_MEMORY;
    return result;
}

cpkg_plan *cpkg_walk_next(cpkg_walk *walk, int *is_at_end)
{
    cpkg_plan *full = NULL;
    int result = WALK_ON;
    *is_at_end = 0;
    while (walk->plan != NULL) {
        if (walk->source != NULL) {
            result = plan_rest(walk);
        }
        else {
            Dir *dir;
            int is_enough;
            if (!walk_name(walk, &dir, &is_enough)) {
                if (!is_enough)
                    return NULL;
                *is_at_end = 1;
                return walk->plan->count || walk->plan->trouble_count ? walk_take(walk) : NULL;
            }
            result = walk_one(walk, dir, &full);
        }
        if (result == WALK_NO_MEMORY)
            break;
        if (full != NULL)
            return full;
        if (result == WALK_PLAN_FULL)
            return walk_take(walk);
    }
    if (full != NULL)
        cpkg_plan_free(full);
    return NULL;
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
        source_release(walk->source);
    if (walk->plan != NULL)
        cpkg_plan_free(walk->plan);
    if (walk->root != NULL) {
        dir_unuse(walk->root);
        dir_forget(walk->root);
    }
    Bytes *bytes[] = {&walk->given, &walk->path, &walk->target, &walk->pax, &walk->rest_name};
    for (size_t index = 0; index < sizeof bytes / sizeof *bytes; index++)
        bytes_free(bytes[index]);
    patterns_free(&walk->included);
    patterns_free(&walk->excluded);
    free(walk->levels);
    first_names_free(&walk->first_names);
    free(walk);
}

cpkg_walk *cpkg_walk_new(const cpkg_walk_options *options, const char *base, const char *patterns, size_t included,
                         size_t excluded)
{
    cpkg_walk *walk = calloc(1, sizeof *walk);
    if (walk == NULL)
        return NULL;
    walk->options = *options;
    walk->plan = calloc(1, sizeof *walk->plan);
    int fd = open(base, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int error = errno;
    if (fd >= 0) {
        walk->root = dir_new(fd, NULL, "");
        error = ENOMEM;
        if (walk->root == NULL)
            close(fd);
    }
    if (walk->root == NULL || walk->plan == NULL ||
        !patterns_split(&walk->included, &walk->excluded, patterns, included, excluded)) {
        cpkg_walk_free(walk);
        errno = error;
        return NULL;
    }
    return walk;
}

#endif
