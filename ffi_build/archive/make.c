/* SPDX-License-Identifier: Apache-2.0 */
/* Carry out a plan: read files into the content of a frame, and compress it. Called in threads, a plan in each. */
#ifndef CPKG_ARCHIVE_MAKE
#define CPKG_ARCHIVE_MAKE

#include <zstd.h>
#include <zstd_errors.h>

#include "interface.c"
#include "plan.c"

struct cpkg_maker_s {
    ZSTD_CCtx *cctx;
    Bytes content;
};

void cpkg_maker_free(cpkg_maker *maker)
{
    ZSTD_freeCCtx(maker->cctx);
    bytes_free(&maker->content);
    free(maker);
}

cpkg_maker *cpkg_maker_new(int level)
{
    cpkg_maker *maker = calloc(1, sizeof *maker);
    if (maker == NULL)
        return NULL;
    maker->cctx = ZSTD_createCCtx();
    if (maker->cctx == NULL || ZSTD_isError(ZSTD_CCtx_setParameter(maker->cctx, ZSTD_c_compressionLevel, level)) ||
        ZSTD_isError(ZSTD_CCtx_setParameter(maker->cctx, ZSTD_c_checksumFlag, 1))) {
        cpkg_maker_free(maker);
        return NULL;
    }
    return maker;
}

/* Compress content that is at hand; the frame's size, or libzstd's error. */
size_t cpkg_maker_deflate(cpkg_maker *maker, void *out, size_t capacity, const void *content, size_t size)
{
    return ZSTD_compress2(maker->cctx, out, capacity, content, size);
}

/* Open a directory that nobody keeps open, from the root on, which its parents lead to; -1 with errno set. */
static int dir_open_again(const Dir *dir)
{
    if (dir->parent == NULL)
        return fcntl(dir->fd, F_DUPFD_CLOEXEC, 0); /* the root stays open */
    int parent = dir_open_again(dir->parent);
    if (parent < 0)
        return -1;
    int fd = openat(parent, dir->name, DIRECTORY_FLAGS);
    int error = errno;
    close(parent);
    errno = error;
    return fd;
}

/* Read a piece of a file to the end of the content, which has room for it, and fill up with zeros what is missing. */
static int read_piece(cpkg_plan *plan, const Item *item, int fd, Bytes *content)
{
    char *target = content->data + content->size;
    uint64_t done = 0;
    int is_noted = 1;
    while (done < item->size) {
        ssize_t count = pread(fd, target + done, item->size - done, (off_t)(item->offset + done));
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            is_noted = plan_trouble(plan, item->name_at, READ_FAILED, 0, errno);
        if (count <= 0)
            break;
        done += (uint64_t)count;
    }
    size_t left = item->size - done;
    struct stat status;
    if (left) {
        memset(target + done, 0, left);
        if (!plan->trouble_count || plan->troubles[plan->trouble_count - 1].name_at != item->name_at ||
            plan->troubles[plan->trouble_count - 1].what != READ_FAILED)
            is_noted = plan_trouble(plan, item->name_at, SHRANK, (int64_t)left, 0);
    }
    else if (item->offset + item->size >= item->file_size && fstat(fd, &status) == 0) {
        if ((uint64_t)status.st_size != item->file_size || status.st_mtim.tv_sec != item->mtime.tv_sec ||
            status.st_mtim.tv_nsec != item->mtime.tv_nsec)
            is_noted = plan_trouble(plan, item->name_at, CHANGED, 0, 0);
    }
    content->size += item->size;
    memset(content->data + content->size, 0, item->fill);
    content->size += item->fill;
    return is_noted;
}

/* Open the file of an item; -1 if that cannot be, which is noted unless memory is short (then -2). */
static int open_item(cpkg_plan *plan, const Item *item, int *again, const Dir **again_dir)
{
    int dir = item->dir->fd;
    if (!item->is_held) {
        if (*again_dir != item->dir) {
            if (*again >= 0)
                close(*again);
            *again = dir_open_again(item->dir);
            *again_dir = item->dir;
        }
        dir = *again;
    }
    int fd = dir < 0 ? -1 : openat(dir, plan->bytes.data + item->base_at, OPEN_FLAGS);
    int is_noted = 1;
    struct stat status;
    if (fd < 0) {
        is_noted = plan_trouble(plan, item->name_at, OPEN_FAILED, 0, errno);
    }
    else if (fstat(fd, &status) != 0 || status.st_ino != item->inode || !S_ISREG(status.st_mode)) {
        is_noted = plan_trouble(plan, item->name_at, REPLACED, 0, 0);
        close(fd);
        fd = -1;
    }
    return is_noted ? fd : -2;
}

size_t cpkg_plan_make(cpkg_plan *plan, cpkg_maker *maker, void *out, size_t capacity)
{
    const size_t no_memory = (size_t)-ZSTD_error_memory_allocation;
    Bytes *content = &maker->content;
    int again = -1, is_noted = 1;
    const Dir *again_dir = NULL;
    content->size = 0;
    members_sort(&plan->members);
    if (!bytes_reserve(content, plan->size))
        return no_memory;
    for (size_t index = 0; index < plan->count && is_noted; index++) {
        const Item *item = &plan->items[index];
        int fd = item->source != NULL ? item->source->fd : -1;
        if (item->dir != NULL) {
            fd = open_item(plan, item, &again, &again_dir);
            is_noted = fd != -2;
            if (fd < 0)
                continue;
        }
        memcpy(content->data + content->size, plan->bytes.data + item->header_at, item->header_size);
        content->size += item->header_size;
        if (fd >= 0)
            is_noted = read_piece(plan, item, fd, content);
        if (item->dir != NULL)
            close(fd);
    }
    if (again >= 0)
        close(again);
    if (!is_noted)
        return no_memory;
    plan->size = content->size;
    return content->size ? cpkg_maker_deflate(maker, out, capacity, content->data, content->size) : 0;
}

#endif
