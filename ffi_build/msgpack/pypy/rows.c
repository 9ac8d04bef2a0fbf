/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows: consecutive messages that are maps with the same keys in the same order, like most records. C locates their
 * values and arranges them column by column. PyPy then creates the values of a column in a loop without branches, and
 * all dicts in a loop with the keys as constants (cpkg/_native/msgpack/pypy/rows.py). This code uses no Python objects,
 * so that a C thread can run it in advance (cpkg_rows_after).
 *
 * Rows are arranged in batches. A batch is an array of words: ROWS_HEAD words, the bytes of the keys, then the columns.
 * A column has COLUMN_HEAD words, the words of its cells, the ends of its texts in its pool, the kinds of its cells,
 * and the pool. Each part is padded to whole words. A cell is a kind and a word. The cells of the rows come first, then
 * the items of all arrays among them. The pool is the collection of the column's ASCII texts. Of repeated texts it has
 * only one: many columns have few distinct values.
 *
 * Rows end before a row that is wrong or that this code does not support. The pure codec continues there.
 */
#pragma once

#include <stdlib.h>

#include "../common/numbers.c"
#include "../common/utf8.c"
#include "../common/words.c"
#include "../unpack/starts.c"

enum {
    ROWS_MOST = 64, /* so few that their objects are freed young: with 1024, garbage collection takes 2/3 of the time */
    ROWS_SIZE = 1 << 20, /* after this many bytes no row is added to a batch, to keep the number of objects small */
    ROWS_COLUMNS = 64,
    ROWS_CELLS = 32 * ROWS_MOST, /* the most cells of a column, including items of arrays */
    ROWS_POOL = 1 << 16,
    ROWS_TEXT = 128,         /* the longest text that is searched for among the earlier texts */
    ROWS_UNLIKE = 16,        /* if this many texts of a column are all distinct, stop searching */
    ROWS_SLOTS = 256,        /* size of the hash table of a column's texts; a power of two */
    ROWS_LAID_OUT = 4 << 20, /* the most bytes of batches that are arranged in advance */
};

/* The words at the head of a batch: the number of rows, the end of the last row in the data, the number of columns, and
   the size of the keys in bytes. The words at the head of a column: a mask of the kinds of the rows' cells, a mask of
   the kinds of the arrays' items, the number of cells, the number of texts, and the size of the pool in bytes. */
enum { ROWS_HEAD = 4, COLUMN_HEAD = 5 };

/* The kinds of cells, as bits of a mask, each with the meaning of the cell's word. */
enum {
    ROWS_INT = 1,
    ROWS_FLOAT = 2,    /* the bits of a double */
    ROWS_CONSTANT = 4, /* 0 for nil, 1 for false, 2 for true */
    ROWS_ASCII = 8,    /* the number of the text in the pool, starting at 1 */
    ROWS_TEXT_AT = 16, /* offset in the data << 32 | size in bytes; also in the next two kinds */
    ROWS_BIN_AT = 32,
    ROWS_OTHER_AT = 64, /* any value, with its header */
    ROWS_ARRAY = 128    /* number of items, which are cells after the rows */
};

typedef struct {
    int64_t *batches; /* consecutive batches */
    size_t used, room;
    int64_t rows;   /* number of rows in all batches */
    int64_t fewest; /* the fewest rows of a batch, unless the caller wants fewer */
    /* the current batch */
    int64_t keys[2 * ROWS_COLUMNS]; /* offset and size of each key, with its header, in the first row */
    int64_t columns, end;
    size_t from;
    uint32_t starts[ROWS_COLUMNS][ROWS_MOST]; /* offset of each value from position `from` */
    /* the current column */
    int64_t *words, item_mask;
    int64_t ends[ROWS_CELLS]; /* the ends of the texts in the pool */
    size_t texts, pool_used;
    bool repeats; /* whether a text was repeated */
    unsigned char kinds[ROWS_CELLS];
    uint16_t slots[ROWS_SLOTS];
    char pool[ROWS_POOL + 8];
} cpkg_rows;

/* Return whether the n bytes at p and q are equal; if `roomy`, 8 more bytes may be read at both. */
static ALWAYS_INLINE bool rows_same(const unsigned char *p, const unsigned char *q, size_t n, bool roomy)
{
    if (!roomy)
        return memcmp(p, q, n) == 0;
    for (; n >= 8; p += 8, q += 8, n -= 8)
        if (load8(p) != load8(q))
            return false;
    return ((load8(p) ^ load8(q)) & tail_masks[n]) == 0;
}

/* Store the keys of the row at p; return their number, or 0 if the row is not supported. */
static size_t rows_keys(cpkg_rows *r, const unsigned char *data, const unsigned char *p, const unsigned char *end)
{
    FormatHeader h;
    if (p >= end || !read_header(p, (size_t)(end - p), &h) || h.kind != FORMAT_MAP || h.length > ROWS_COLUMNS)
        return 0;
    p += h.size;
    size_t count = h.length;
    for (size_t c = 0; c < count; c++) {
        if (p >= end || !read_header(p, (size_t)(end - p), &h) || h.kind != FORMAT_STR ||
            h.length + h.size > (size_t)(end - p))
            return 0;
        r->keys[2 * c] = p - data;
        r->keys[2 * c + 1] = (int64_t)(h.size + h.length);
        p = value_pass(p + h.size + h.length, end);
        if (!p)
            return 0;
    }
    return count;
}

/*
 * Find up to `most` rows of data[start..size) with the same keys. Returns their number and sets `end`, `columns` and
 * `keys`.
 */
static int64_t rows_find(cpkg_rows *r, const unsigned char *data, size_t size, size_t start, int64_t most)
{
    const unsigned char *p = data + start, *end = data + size, *begin = p;
    const size_t columns = rows_keys(r, data, p, end);
    r->columns = (int64_t)columns;
    r->end = (int64_t)start;
    r->from = start;
    if (!columns)
        return 0;
    const size_t header = (size_t)r->keys[0] - start;
    if (most > ROWS_MOST)
        most = ROWS_MOST;
    int64_t row = 0;
    for (; row < most && p - begin < ROWS_SIZE; row++) {
        if ((size_t)(end - p) < header || memcmp(p, begin, header) != 0)
            break;
        const unsigned char *at = p + header;
        for (size_t c = 0; c < columns; c++) {
            size_t n = (size_t)r->keys[2 * c + 1], left = (size_t)(end - at);
            if (left < n || !rows_same(at, data + r->keys[2 * c], n, left >= n + 8))
                return row;
            at += n;
            size_t from = (size_t)(at - begin);
            if (from > UINT32_MAX)
                return row;
            r->starts[c][row] = (uint32_t)from;
            if (!(at = value_pass_plain(at, end)) && !(at = value_pass(begin + from, end)))
                return row;
        }
        p = at;
        r->end = p - data;
    }
    return row;
}

/* Set `number` to a text's number in the pool, and add the text if it is new; return false if it is not ASCII or if the
   pool has no room. */
static bool rows_text(cpkg_rows *r, const unsigned char *p, size_t n, size_t spare, int64_t *number)
{
    uint16_t *slot = NULL;
    if (!is_ascii_roomy((const char *)p, n, spare))
        return false;
    if (n <= ROWS_TEXT && r->texts < ROWS_SLOTS / 2 && (r->repeats || r->texts < ROWS_UNLIKE)) {
        uint64_t hash = hash_text((const char *)p, n, spare);
        for (uint32_t i = hash & (ROWS_SLOTS - 1);; i = (i + 1) & (ROWS_SLOTS - 1)) {
            slot = &r->slots[i];
            if (!*slot)
                break;
            int64_t begin = *slot > 1 ? r->ends[*slot - 2] : 0;
            if ((size_t)(r->ends[*slot - 1] - begin) == n &&
                rows_same(p, (const unsigned char *)r->pool + begin, n, spare >= n + 8)) {
                *number = *slot;
                r->repeats = true;
                return true;
            }
        }
    }
    if (n > ROWS_POOL - r->pool_used)
        return false;
    copy_short((unsigned char *)r->pool + r->pool_used, p, n);
    r->pool_used += n;
    r->ends[r->texts++] = (int64_t)r->pool_used;
    *number = (int64_t)r->texts;
    if (slot)
        *slot = (uint16_t)r->texts;
    return true;
}

static ALWAYS_INLINE int64_t rows_place(size_t offset, size_t size)
{
    return (int64_t)((uint64_t)offset << 32 | size);
}

/* Read the number or constant at p into `word`; return its kind, or 0 for an integer above 2**63 - 1. */
static int rows_number(const unsigned char *p, size_t left, int64_t *word)
{
    double number;
    switch (*p) {
    case 0xc0:
        *word = 0;
        return ROWS_CONSTANT;
    case 0xc2:
    case 0xc3:
        *word = *p - 0xc1;
        return ROWS_CONSTANT;
    case 0xca:
        number = read_float(p + 1);
        memcpy(word, &number, sizeof *word);
        return ROWS_FLOAT;
    case 0xcb:
        *word = (int64_t)read64(p + 1);
        return ROWS_FLOAT;
    default:
        *word = read_int(p, left);
        return *p != 0xcf || *word >= 0 ? ROWS_INT : 0;
    }
}

/* Put the complete value at *at into a cell, and move *at after it. An array that is too large or contains containers
   becomes a ROWS_OTHER_AT cell. `items`, the number of cells used so far, is NULL for an item of an array; then return
   false if the item is not a number, constant, text or bytes. */
static bool rows_cell(cpkg_rows *r, const unsigned char *data, const unsigned char **at, const unsigned char *end,
                      size_t cell, size_t *items)
{
    const unsigned char *p = *at;
    int64_t word = 0;
    int kind = 0;
    if (is_fixint(*p)) {
        word = (int8_t)*p;
        kind = ROWS_INT;
        *at = p + 1;
    }
    else {
        FormatHeader h;
        read_header(p, (size_t)(end - p), &h);
        const unsigned char *content = p + h.size;
        size_t offset = (size_t)(content - data);
        switch (h.kind) {
        case FORMAT_NUMBER:
            kind = rows_number(p, (size_t)(end - p), &word);
            break;
        case FORMAT_STR:
            kind = ROWS_ASCII;
            if (!rows_text(r, content, h.length, (size_t)(end - content), &word)) {
                kind = ROWS_TEXT_AT;
                word = rows_place(offset, h.length);
            }
            break;
        case FORMAT_BIN:
            kind = ROWS_BIN_AT;
            word = rows_place(offset, h.length);
            break;
        case FORMAT_ARRAY:
            if (!items)
                return false;
            if (h.length <= ROWS_CELLS - *items) {
                size_t next = *items;
                const unsigned char *item = content;
                while (next < *items + h.length && rows_cell(r, data, &item, end, next, NULL))
                    next++;
                if (next == *items + h.length) {
                    for (; *items < next; ++*items)
                        r->item_mask |= r->kinds[*items];
                    r->kinds[cell] = ROWS_ARRAY;
                    r->words[cell] = (int64_t)h.length;
                    *at = item;
                    return true;
                }
            }
            break;
        default:
            if (!items)
                return false;
        }
        *at = h.kind < FORMAT_EXT ? content + h.length : value_pass(p, end);
        if (!kind) {
            kind = ROWS_OTHER_AT;
            word = rows_place((size_t)(p - data), (size_t)(*at - p));
        }
    }
    r->kinds[cell] = (unsigned char)kind;
    r->words[cell] = word;
    return true;
}

/* Fill the cells of a column from the rows that rows_find() has found; return the number of cells. */
static size_t rows_column(cpkg_rows *r, const unsigned char *data, size_t size, size_t column, size_t rows,
                          int64_t *mask)
{
    const unsigned char *begin = data + r->from, *end = data + size;
    size_t items = rows;
    r->texts = r->pool_used = 0;
    r->repeats = false;
    *mask = r->item_mask = 0;
    memset(r->slots, 0, sizeof r->slots);
    for (size_t row = 0; row < rows; row++) {
        const unsigned char *at = begin + r->starts[column][row];
        rows_cell(r, data, &at, end, row, &items);
        *mask |= r->kinds[row];
    }
    return items;
}

/* Make room for `words` more words; return false if there is no memory. */
static bool rows_reserve(cpkg_rows *r, size_t words)
{
    if (r->room - r->used >= words)
        return true;
    size_t room = r->room + r->room / 2 + words;
    int64_t *batches = realloc(r->batches, room * sizeof *batches);
    if (batches == NULL)
        return false;
    r->batches = batches;
    r->room = room;
    return true;
}

/* Append bytes, padded to whole words, for which rows_reserve() has made room. */
static void rows_put(cpkg_rows *r, const void *bytes, size_t size)
{
    memcpy(r->batches + r->used, bytes, size);
    r->used += (size + 7) / 8;
}

/* Arrange the next batch; return false if there are too few rows, or no memory. */
static bool rows_batch(cpkg_rows *r, const unsigned char *data, size_t size, size_t start, int64_t most)
{
    const size_t rows = (size_t)rows_find(r, data, size, start, most), begun = r->used;
    size_t keys = 0;
    for (int64_t c = 0; rows && c < r->columns; c++)
        keys += (size_t)r->keys[2 * c + 1];
    if (!rows || ((int64_t)rows < r->fewest && (int64_t)rows < most) || !rows_reserve(r, ROWS_HEAD + keys / 8 + 1))
        return false;
    int64_t *head = r->batches + r->used;
    head[0] = (int64_t)rows;
    head[1] = r->end;
    head[2] = r->columns;
    head[3] = (int64_t)keys;
    char *key = (char *)(head + ROWS_HEAD);
    for (int64_t c = 0; c < r->columns; c++) {
        memcpy(key, data + r->keys[2 * c], (size_t)r->keys[2 * c + 1]);
        key += r->keys[2 * c + 1];
    }
    r->used += ROWS_HEAD + (keys + 7) / 8;
    for (int64_t c = 0; c < r->columns; c++) {
        int64_t mask;
        if (!rows_reserve(r, COLUMN_HEAD + ROWS_CELLS + ROWS_CELLS + ROWS_CELLS / 8 + ROWS_POOL / 8)) {
            r->used = begun;
            return false;
        }
        int64_t *column = r->batches + r->used;
        r->words = column + COLUMN_HEAD;
        size_t cells = rows_column(r, data, size, (size_t)c, rows, &mask);
        column[0] = mask;
        column[1] = r->item_mask;
        column[2] = (int64_t)cells;
        column[3] = (int64_t)r->texts;
        column[4] = (int64_t)r->pool_used;
        r->used += COLUMN_HEAD + cells;
        rows_put(r, r->ends, r->texts * sizeof *r->ends);
        rows_put(r, r->kinds, cells);
        rows_put(r, r->pool, r->pool_used);
    }
    r->rows += (int64_t)rows;
    return true;
}

/* Allocate memory for rows, or return NULL. cpkg_job_make() in zstd/frame_queue.c calls this and cpkg_rows_free(). */
static void *cpkg_rows_new(void)
{
    return calloc(1, sizeof(cpkg_rows));
}

static void cpkg_rows_free(void *rows)
{
    if (rows != NULL)
        free(((cpkg_rows *)rows)->batches);
    free(rows);
}

/* Arrange one batch from data[start..size), with at most `most` rows; return the number of rows. */
static int64_t cpkg_rows_next(cpkg_rows *r, const char *data, size_t size, size_t start, int64_t most)
{
    r->rows = 0;
    r->used = 0;
    rows_batch(r, (const unsigned char *)data, size, start, most);
    return r->rows;
}

/* Arrange the rows at the start of the data in batches, up to `most` rows or ROWS_LAID_OUT bytes of batches. */
static void cpkg_rows_after(void *rows, const char *data, size_t size, int64_t most)
{
    cpkg_rows *r = rows;
    size_t start = 0;
    r->rows = 0;
    r->used = 0;
    while (r->rows < most && r->used < ROWS_LAID_OUT / sizeof *r->batches &&
           rows_batch(r, (const unsigned char *)data, size, start, most - r->rows))
        start = (size_t)r->end;
}
