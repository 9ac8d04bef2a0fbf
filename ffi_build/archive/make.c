/* SPDX-License-Identifier: Apache-2.0 */
/* Carry out a plan: read files into the content of a frame, and compress it. Called in threads, a plan in each. */
#pragma once

#include <zstd.h>
#include <zstd_errors.h>

#include "read.c"

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

/* Leave out an entry whose file is not there any more. */
static void lose(cpkg_plan *plan, const Item *item)
{
    cpkg_record head;
    plan->entries--;
    if (plan->records.size) {
        char *record = plan->records.data + item->record_at;
        memcpy(&head, record, sizeof head);
        head.is_lost = 1;
        memcpy(record, &head, sizeof head);
    }
}

/* Add an entry to the content, or what a plan has of it; false for want of memory. */
static int add_item(cpkg_plan *plan, const Item *item, Cursor *cursor, Bytes *content)
{
    int fd = item->source != NULL ? item->source->fd : FILE_LOST;
    if (item->folder != NULL) {
        int dir = cursor_reach(cursor, item->folder);
        fd = open_seen(plan, item->name_at, dir, plan->bytes.data + item->base_at, item->inode);
        if (fd == FILE_LOST)
            lose(plan, item);
        if (fd < 0)
            return fd != FILE_NO_MEMORY;
    }
    memcpy(content->data + content->size, plan->bytes.data + item->header_at, item->header_size);
    content->size += item->header_size;
    int is_noted = fd < 0 || read_piece(plan, item, fd, content);
    if (item->folder != NULL)
        close(fd);
    return is_noted;
}

size_t cpkg_plan_make(cpkg_plan *plan, cpkg_maker *maker, void *out, size_t capacity)
{
    Bytes *content = &maker->content;
    Cursor cursor = {0};
    content->size = 0;
    members_sort(&plan->members);
    int is_done = bytes_reserve(content, plan->size);
    for (size_t index = 0; index < plan->count && is_done; index++)
        is_done = add_item(plan, &plan->items[index], &cursor, content);
    cursor_close(&cursor);
    if (!is_done)
        return (size_t)-ZSTD_error_memory_allocation;
    plan->size = content->size;
    return content->size ? cpkg_maker_deflate(maker, out, capacity, content->data, content->size) : 0;
}
