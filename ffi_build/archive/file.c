/* SPDX-License-Identifier: Apache-2.0 */
/* Make a file without its name, or under a temporary one, and give it its name when it is whole. */
#pragma once

#include <stdio.h>

#include "dir.c"

typedef struct {
    unsigned mode;
    int has_owner;
    uid_t uid;
    gid_t gid;
    struct timespec mtime;
} Attributes;

/* What all files of an extraction share. */
typedef struct {
    char token[64]; /* of temporary names */
    atomic_ullong count;
    atomic_int has_nameless; /* whether the file system has O_TMPFILE, and its files can be linked */
    unsigned umask;
} Naming;

enum { TEMPORARY_SIZE = 96 };

/* Say whether a nameless file of this directory gets its mode when it is opened: nobody sees it before it is whole. */
static int gets_mode(const Naming *naming, const Dir *dir, const Attributes *attributes)
{
    return !dir->has_default_list && !attributes->has_owner && !(attributes->mode & (naming->umask | ~0777u));
}

static void temporary_name(Naming *naming, char *name)
{
    snprintf(name, TEMPORARY_SIZE, "%s-c%llx.tmp", naming->token,
             (unsigned long long)atomic_fetch_add(&naming->count, 1));
}

/*
 * Open a new file in a directory; `temporary` gets its name, "" if it has none: then it has its mode, too, where the
 * system gives it. -1 with errno set if it cannot be.
 */
static int file_create(Naming *naming, const Dir *dir, const Attributes *attributes, char *temporary)
{
    temporary[0] = '\0';
#ifdef O_TMPFILE
    if (atomic_load(&naming->has_nameless)) {
        int fd = openat(dir->fd, ".", O_WRONLY | O_TMPFILE | O_CLOEXEC,
                        gets_mode(naming, dir, attributes) ? attributes->mode : 0600);
        if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL && errno != ENOENT))
            return fd;
        atomic_store(&naming->has_nameless, 0);
    }
#endif
    temporary_name(naming, temporary);
    return openat(dir->fd, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
}

static int set_attributes(int fd, const Attributes *attributes, int has_mode)
{
    struct timespec times[2] = {attributes->mtime, attributes->mtime};
    if (attributes->has_owner && fchown(fd, attributes->uid, attributes->gid) != 0)
        return errno;
    return (!has_mode && fchmod(fd, attributes->mode) != 0) || futimens(fd, times) != 0 ? errno : 0;
}

static int link_nameless(int fd, int dir, const char *name)
{
    if (linkat(fd, "", dir, name, AT_EMPTY_PATH) == 0)
        return 0;
    if (errno == EEXIST)
        return EEXIST;
    char path[40]; /* the way without the right to the other one */
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    return linkat(AT_FDCWD, path, dir, name, AT_SYMLINK_FOLLOW) == 0 ? 0 : errno;
}

/* Give a complete file its attributes and its name, replacing any other file; close it. 0 or errno. */
static int file_finish(Naming *naming, int fd, const Dir *parent, char *temporary, const char *name,
                       const Attributes *attributes)
{
    int dir = parent->fd, has_mode = temporary[0] == '\0' && gets_mode(naming, parent, attributes);
    int error = set_attributes(fd, attributes, has_mode);
    if (!error && temporary[0] == '\0') {
        error = link_nameless(fd, dir, name);
        if (error == EEXIST) {
            temporary_name(naming, temporary);
            error = link_nameless(fd, dir, temporary);
            if (error)
                temporary[0] = '\0';
        }
    }
    if (close(fd) != 0 && !error)
        error = errno;
    if (!error && temporary[0] != '\0' && renameat(dir, temporary, dir, name) != 0) {
        error = errno;
        if (error == EISDIR && unlinkat(dir, name, AT_REMOVEDIR) == 0) /* one with nothing in it gives way */
            error = renameat(dir, temporary, dir, name) != 0 ? errno : 0;
    }
    if (error && temporary[0] != '\0')
        unlinkat(dir, temporary, 0);
    return error;
}

static int write_all_at(int fd, const char *data, size_t size, uint64_t offset)
{
    while (size) {
        ssize_t count = pwrite(fd, data, size, (off_t)offset);
        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0)
            return count < 0 ? errno : EIO;
        data += count;
        size -= (size_t)count;
        offset += (uint64_t)count;
    }
    return 0;
}
