/* SPDX-License-Identifier: Apache-2.0 */
/* The directories of a tree that is archived, and a cursor that keeps one of them open at a time. */
#pragma once

#include "dir.c"

/* A directory: how to get there from its parent, and which one it is. Only the root is open by itself. */
typedef struct Folder {
    atomic_int references;
    int fd; /* of the root, -1 of others */
    size_t depth;
    dev_t device;
    ino_t inode;
    struct Folder *parent;
    char name[];
} Folder;

/* A directory that is open; the descriptor is its own unless it is the root's. */
typedef struct {
    Folder *folder; /* NULL: none is */
    int fd;
} Opened;

/* The directory that is in use, and the one above it, unless that has been closed. */
typedef struct {
    Opened here, above;
} Cursor;

static Folder *folder_retain(Folder *folder)
{
    atomic_fetch_add(&folder->references, 1);
    return folder;
}

/* Make the node of a directory with this status below another one, or of the root, which is open; NULL: no memory. */
static Folder *folder_new(int fd, Folder *parent, const char *name, const struct stat *status)
{
    Folder *folder = calloc(1, sizeof *folder + strlen(name) + 1);
    if (folder == NULL)
        return NULL;
    atomic_init(&folder->references, 1);
    folder->fd = fd;
    if (parent != NULL) {
        folder->depth = parent->depth + 1;
        folder->device = status->st_dev;
        folder->inode = status->st_ino;
        folder->parent = folder_retain(parent);
    }
    strcpy(folder->name, name);
    return folder;
}

static void folder_release(Folder *folder)
{
    while (folder != NULL && atomic_fetch_sub(&folder->references, 1) == 1) {
        Folder *parent = folder->parent;
        if (parent == NULL)
            close(folder->fd);
        free(folder);
        folder = parent;
    }
}

static void opened_close(Opened *opened)
{
    if (opened->folder != NULL && opened->folder->parent != NULL)
        close(opened->fd);
    folder_release(opened->folder);
    *opened = (Opened){NULL, -1};
}

static void cursor_close(Cursor *cursor)
{
    opened_close(&cursor->here);
    opened_close(&cursor->above);
}

/* Replace the current directory by another open one. */
static void cursor_put(Cursor *cursor, Folder *folder, int fd)
{
    folder_retain(folder);
    opened_close(&cursor->here);
    cursor->here = (Opened){folder, fd};
}

/* Take over an open directory that is below the one that is in use. */
static void cursor_below(Cursor *cursor, Folder *folder, int fd)
{
    opened_close(&cursor->above);
    cursor->above = cursor->here;
    cursor->here = (Opened){folder_retain(folder), fd};
}

/* Go up to a directory above the one that is in use, which may have been moved away from it: false then. */
static int cursor_climb(Cursor *cursor, Folder *above)
{
    struct stat status;
    int fd = cursor->here.fd;
    for (size_t depth = cursor->here.folder->depth; depth > above->depth && fd >= 0; depth--) {
        int next = openat(fd, "..", DIRECTORY_FLAGS);
        if (fd != cursor->here.fd)
            close(fd);
        fd = next;
    }
    if (fd < 0)
        return 0;
    if (fstat(fd, &status) != 0 || status.st_dev != above->device || status.st_ino != above->inode) {
        close(fd);
        return 0;
    }
    opened_close(&cursor->above);
    cursor_put(cursor, above, fd);
    return 1;
}

/* Return the lowest directory that is above both of two, or one of them. */
static Folder *common_folder(Folder *one, Folder *other)
{
    while (one != other)
        if (one->depth >= other->depth)
            one = one->parent;
        else
            other = other->parent;
    return one;
}

/* Go down from the directory that is in use; false with errno set. */
static int cursor_descend(Cursor *cursor, Folder *folder)
{
    size_t count = folder->depth - cursor->here.folder->depth, at = count;
    Folder **way = count ? malloc(count * sizeof *way) : NULL;
    if (count && way == NULL) {
        errno = ENOMEM;
        return 0;
    }
    for (; at > 0; folder = folder->parent)
        way[--at] = folder;
    int fd = 0, error = 0;
    for (; at < count && fd >= 0; at++) {
        fd = openat(cursor->here.fd, way[at]->name, DIRECTORY_FLAGS);
        error = errno;
        if (fd >= 0)
            cursor_below(cursor, way[at], fd);
    }
    free(way);
    errno = error;
    return fd >= 0;
}

/* Open a directory: from those that are open by names and `..`, or from the root; its descriptor, -1 with errno set. */
static int cursor_reach(Cursor *cursor, Folder *folder)
{
    if (cursor->here.folder == folder)
        return cursor->here.fd;
    Folder *above = cursor->above.folder;
    if (above != NULL && (above == folder || above == folder->parent)) {
        opened_close(&cursor->here);
        cursor->here = cursor->above;
        cursor->above = (Opened){NULL, -1};
    }
    Folder *common = cursor->here.folder == NULL ? NULL : common_folder(cursor->here.folder, folder);
    if (common != cursor->here.folder || common == NULL) {
        size_t up = common == NULL ? 0 : cursor->here.folder->depth - common->depth;
        if (common == NULL || common->depth <= up || !cursor_climb(cursor, common)) {
            Folder *root = folder;
            while (root->parent != NULL)
                root = root->parent;
            opened_close(&cursor->above);
            cursor_put(cursor, root, root->fd);
        }
    }
    return cursor_descend(cursor, folder) ? cursor->here.fd : -1;
}
