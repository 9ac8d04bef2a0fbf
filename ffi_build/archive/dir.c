/* SPDX-License-Identifier: Apache-2.0 */
/* Open directories that several parts use. */
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <unistd.h>

#include "memory.c"

#define OPEN_FLAGS (O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
#define DIRECTORY_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

enum { HELD_MAX = 64 }; /* directories that a plan or batch keeps open */

/* A directory: it is open while it has users, and known while it has references. */
typedef struct Dir {
    atomic_int references, users;
    int fd;
    int has_default_list; /* an access control list that new files get; 1 also while nobody has looked */
    struct Dir *parent;
    char name[];
} Dir;

/* Directories that are kept open. */
typedef struct {
    Dir *dirs[HELD_MAX];
    size_t count;
} Held;

static Dir *dir_new(int fd, Dir *parent, const char *name)
{
    Dir *dir = malloc(sizeof *dir + strlen(name) + 1);
    if (dir == NULL)
        return NULL;
    atomic_init(&dir->references, 1);
    atomic_init(&dir->users, 1);
    dir->fd = fd;
    dir->has_default_list = 1;
    dir->parent = parent;
    if (parent != NULL)
        atomic_fetch_add(&parent->references, 1);
    strcpy(dir->name, name);
    return dir;
}

static void dir_unuse(Dir *dir)
{
    if (atomic_fetch_sub(&dir->users, 1) == 1)
        close(dir->fd);
}

static void dir_forget(Dir *dir)
{
    while (dir != NULL && atomic_fetch_sub(&dir->references, 1) == 1) {
        Dir *parent = dir->parent;
        free(dir);
        dir = parent;
    }
}

/* Keep a directory open; false if enough of them are. */
static int held_add(Held *held, Dir *dir)
{
    if (held->count && held->dirs[held->count - 1] == dir)
        return 1;
    if (held->count == HELD_MAX)
        return 0;
    atomic_fetch_add(&dir->users, 1);
    atomic_fetch_add(&dir->references, 1);
    held->dirs[held->count++] = dir;
    return 1;
}

static void held_release(Held *held)
{
    while (held->count) {
        Dir *dir = held->dirs[--held->count];
        dir_unuse(dir);
        dir_forget(dir);
    }
}
