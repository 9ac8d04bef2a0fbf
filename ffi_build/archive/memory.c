/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that grows, and numbers of what can go wrong. */
#pragma once

#include "../common/base.h"
#include <stdlib.h>

#define TAR_BLOCK 512

typedef struct {
    char *data;
    size_t size;
    size_t capacity;
} Bytes;

/* Text that no NUL ends. */
typedef struct {
    const char *data;
    size_t size;
} Text;

static Text text_of(const char *text)
{
    return (Text){text, strlen(text)};
}

/* Make room for `more` bytes; false for want of memory. */
static int bytes_reserve(Bytes *bytes, size_t more)
{
    if (bytes->capacity - bytes->size < more) {
        size_t capacity = bytes->capacity * 2 + more + 256;
        char *data = realloc(bytes->data, capacity);
        if (data == NULL)
            return 0;
        bytes->data = data;
        bytes->capacity = capacity;
    }
    return 1;
}

/* Add bytes, zeros if there is no source; false for want of memory. */
static int bytes_add(Bytes *bytes, const void *source, size_t size)
{
    if (!size)
        return 1;
    if (!bytes_reserve(bytes, size))
        return 0;
    if (source != NULL)
        memcpy(bytes->data + bytes->size, source, size);
    else
        memset(bytes->data + bytes->size, 0, size);
    bytes->size += size;
    return 1;
}

static void bytes_free(Bytes *bytes)
{
    free(bytes->data);
    memset(bytes, 0, sizeof *bytes);
}

/* Make room for one more item of an array; false for want of memory. */
static int array_reserve(void **items, size_t count, size_t *capacity, size_t size)
{
    if (count == *capacity) {
        size_t larger = *capacity * 2 + 16;
        void *grown = realloc(*items, larger * size);
        if (grown == NULL)
            return 0;
        *items = grown;
        *capacity = larger;
    }
    return 1;
}

/* Return zeroed memory behind the items of an array, for one more; NULL for want of memory. */
static void *array_next(void **items, size_t count, size_t *capacity, size_t size)
{
    return array_reserve(items, count, capacity, size) ? memset((char *)*items + count * size, 0, size) : NULL;
}

static size_t padding_of(uint64_t size)
{
    return (size_t)(-size & (TAR_BLOCK - 1));
}
