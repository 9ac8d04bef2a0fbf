/* SPDX-License-Identifier: Apache-2.0 */
/* Read the files of an archive, and note what happens to them meanwhile. */
#pragma once

#include "frame_plan.c"

enum { FILE_LOST = -1, FILE_NO_MEMORY = -2 };

/* Open a file that was seen in a directory; FILE_LOST, which is noted, if that cannot be or it is another one. */
static int open_seen(cpkg_plan *plan, size_t name_at, int dir, const char *base, uint64_t inode)
{
    struct stat status;
    int fd = dir < 0 ? -1 : openat(dir, base, OPEN_FLAGS), what = 0, error = fd < 0 ? errno : 0;
    if (fd < 0)
        what = OPEN_FAILED;
    else if (fstat(fd, &status) != 0 || status.st_ino != inode || !S_ISREG(status.st_mode))
        what = REPLACED;
    if (!what)
        return fd;
    if (fd >= 0)
        close(fd);
    return plan_trouble(plan, name_at, what, 0, error) ? FILE_LOST : FILE_NO_MEMORY;
}

/* Append a piece of a file to a content with room for it; zeros replace missing bytes. */
static int read_piece(cpkg_plan *plan, const Item *item, int fd, Bytes *content)
{
    char *target = content->data + content->size;
    uint64_t left = item->size;
    int error = 0;
    while (left) {
        ssize_t count = pread(fd, target + item->size - left, left, (off_t)(item->offset + item->size - left));
        if (count < 0 && errno == EINTR)
            continue;
        error = count < 0 ? errno : 0;
        if (count <= 0)
            break;
        left -= (uint64_t)count;
    }
    memset(target + item->size - left, 0, left + item->fill);
    content->size += item->size + item->fill;
    if (error) {
        int is_noted = item->source != NULL && atomic_exchange(&item->source->has_failed, 1);
        return is_noted || plan_trouble(plan, item->name_at, READ_FAILED, 0, error);
    }
    struct stat status;
    int is_last = item->offset + item->size >= item->file_size;
    if (!is_last || (item->source != NULL && atomic_load(&item->source->has_failed)) || fstat(fd, &status) != 0)
        return 1;
    uint64_t now = (uint64_t)status.st_size, missing = now < item->file_size ? item->file_size - now : 0;
    if (left)
        return plan_trouble(plan, item->name_at, SHRANK, (int64_t)(missing > left ? missing : left), 0);
    if (now != item->file_size || status.st_mtim.tv_sec != item->mtime.tv_sec ||
        status.st_mtim.tv_nsec != item->mtime.tv_nsec)
        return plan_trouble(plan, item->name_at, CHANGED, 0, 0);
    return 1;
}
