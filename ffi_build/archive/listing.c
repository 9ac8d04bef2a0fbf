/* SPDX-License-Identifier: Apache-2.0 */
/* The names in a directory. */
#pragma once

#include <dirent.h>

#include "folder.c"

/* A directory that is walked: the names in it, or at the bottom the paths that the caller gave. */
typedef struct {
    Folder *folder;
    Bytes texts;
    char **names;
    size_t count, at;
    size_t path_size; /* of the directory's own name in the archive */
} Level;

static int compare_names(const void *left, const void *right)
{
    return strcmp(*(char *const *)left, *(char *const *)right);
}

static void level_free(Level *level)
{
    folder_release(level->folder);
    free(level->names);
    bytes_free(&level->texts);
}

/* Read the names in a directory that is open; 0, or errno. */
static int level_read(Level *level, int open_fd, int is_sorted)
{
    int fd = fcntl(open_fd, F_DUPFD_CLOEXEC, 0);
    DIR *stream = fd < 0 ? NULL : fdopendir(fd);
    if (stream == NULL) {
        int error = errno;
        if (fd >= 0)
            close(fd);
        return error;
    }
    int error = 0;
    for (;;) {
        errno = 0;
        const struct dirent *entry = readdir(stream);
        if (entry == NULL) {
            error = errno;
            break;
        }
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        if (!bytes_add(&level->texts, entry->d_name, strlen(entry->d_name) + 1)) {
            error = ENOMEM;
            break;
        }
        level->count++;
    }
    closedir(stream);
    if (error)
        level->count = 0;
    level->names = malloc((level->count + 1) * sizeof *level->names);
    if (level->names == NULL)
        return ENOMEM;
    char *text = level->texts.data;
    for (size_t index = 0; index < level->count; index++, text += strlen(text) + 1)
        level->names[index] = text;
    if (is_sorted)
        qsort(level->names, level->count, sizeof *level->names, compare_names);
    return error;
}
