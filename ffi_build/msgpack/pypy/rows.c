/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows: messages one behind the other that are maps with the same keys in the same order, as records are. C finds where
 * their values stand (cpkg_rows_find), and gives them column by column (cpkg_rows_column), so that PyPy makes the values
 * of a column in loops without decisions and then all dicts by one that has the keys as constants
 * (cpkg/_native/msgpack/pypy_rows.py).
 *
 * A column comes as cells: a kind and a word each. Those of the rows stand first, then the items of all arrays among
 * them. Texts of ASCII characters are gathered in a pool, those that repeat once: many columns have few values.
 *
 * What this does not serve, wrong bytes among it, ends the rows in front of it: the pure codec goes on there.
 */
#ifndef CPKG_MSGPACK_PYPY_ROWS
#define CPKG_MSGPACK_PYPY_ROWS

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "../common/formats.c"
#include "../common/utf8.c"
#include "../common/words.c"

enum {
    ROWS_MOST = 64,      /* so few that they die young: with 1024 the collector takes twice the time of all else */
    ROWS_SIZE = 1 << 20, /* bytes after which no further row is taken, so that objects stay few */
    ROWS_COLUMNS = 64,
    ROWS_CELLS = 32 * ROWS_MOST, /* of a column, items of arrays among them */
    ROWS_POOL = 1 << 16,
    ROWS_TEXT = 128,  /* longest text that is looked for among those before */
    ROWS_SLOTS = 256, /* of the hash table over a column's texts; a power of two */
};

/* One bit each: a column has a mask of the kinds in it. */
enum {
    ROWS_INT = 1,
    ROWS_FLOAT = 2,    /* the word has the bits of a double */
    ROWS_CONSTANT = 4, /* 0 nil, 1 false, 2 true */
    ROWS_ASCII = 8,    /* number of the text in the pool, from 1 on */
    ROWS_TEXT_AT = 16, /* offset in the data << 32 | bytes; so are the next two */
    ROWS_BIN_AT = 32,
    ROWS_OTHER_AT = 64, /* any value, with its header */
    ROWS_ARRAY = 128    /* number of items */
};

typedef struct {
    int64_t words[ROWS_CELLS];
    int64_t ends[ROWS_CELLS];       /* of the texts in the pool */
    int64_t keys[2 * ROWS_COLUMNS]; /* offset and size of each key, with its header, in the first row */
    unsigned char kinds[ROWS_CELLS];
    char pool[ROWS_POOL + 8];
    int64_t columns, position, cells, item_mask;
    size_t texts, pool_used;
    uint16_t slots[ROWS_SLOTS];
    uint32_t starts[ROWS_COLUMNS][ROWS_MOST]; /* of each value, from `from` on */
    size_t from;
} cpkg_rows;

/* Return the end of the value at p, or NULL if it is cut or wrong. */
static const unsigned char *rows_pass(const unsigned char *p, const unsigned char *end)
{
    FormatHeader h;
    for (uint64_t values = 1; values; values--) {
        if (p >= end || !read_header(p, (size_t)(end - p), &h) || h.kind == FORMAT_WRONG)
            return NULL;
        p += h.size;
        if (is_container(h.kind)) {
            /* each value takes a byte at least, so that their number stays far from overflowing */
            if (h.length > (size_t)(end - p))
                return NULL;
            values += h.kind == FORMAT_MAP ? 2 * (uint64_t)h.length : h.length;
            continue;
        }
        size_t length = h.length + (h.kind == FORMAT_EXT);
        if (length > (size_t)(end - p))
            return NULL;
        p += length;
    }
    return p;
}

/* Whether the n bytes at p are those at q; both may be read 8 bytes further if `roomy`. */
static ALWAYS_INLINE bool rows_same(const unsigned char *p, const unsigned char *q, size_t n, bool roomy)
{
    if (!roomy)
        return memcmp(p, q, n) == 0;
    for (; n >= 8; p += 8, q += 8, n -= 8)
        if (load8(p) != load8(q))
            return false;
    return ((load8(p) ^ load8(q)) & tail_masks[n]) == 0;
}

/* Take the keys of the row at p; return how many there are, 0 if it is none that is served. */
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
        p = rows_pass(p + h.size + h.length, end);
        if (!p)
            return 0;
    }
    return count;
}

/*
 * Find the rows of data[start..size) up to `most` of them and no further than the first one that is different.
 * Returns their number, 0 if there is none; `position` is their end, `columns` and `keys` tell what they have in common.
 */
static int64_t cpkg_rows_find(cpkg_rows *r, const char *bytes, size_t size, size_t start, int64_t most)
{
    const unsigned char *data = (const unsigned char *)bytes, *p = data + start, *end = data + size, *begin = p;
    const size_t columns = rows_keys(r, data, p, end);
    r->columns = (int64_t)columns;
    r->position = (int64_t)start;
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
            if (at < end && is_fixint(*at))
                at++;
            else if (!(at = rows_pass(at, end)))
                return row;
        }
        p = at;
        r->position = p - data;
    }
    return row;
}

/* Put a text into the pool, or find it there; false if there is no room for it or if it is not ASCII. */
static bool rows_text(cpkg_rows *r, const unsigned char *p, size_t n, size_t spare, int64_t *number)
{
    uint16_t *slot = NULL;
    if (!is_ascii_roomy((const char *)p, n, spare))
        return false;
    if (n <= ROWS_TEXT && r->texts < ROWS_SLOTS / 2) {
        uint64_t hash = hash_text((const char *)p, n, spare);
        for (uint32_t i = hash & (ROWS_SLOTS - 1);; i = (i + 1) & (ROWS_SLOTS - 1)) {
            slot = &r->slots[i];
            if (!*slot)
                break;
            int64_t begin = *slot > 1 ? r->ends[*slot - 2] : 0;
            if ((size_t)(r->ends[*slot - 1] - begin) == n &&
                rows_same(p, (const unsigned char *)r->pool + begin, n, spare >= n + 8)) {
                *number = *slot;
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

/* A number, by its leading byte; its kind, or 0 for an integer above 2**63 - 1. */
static int rows_number(const unsigned char *p, int64_t *word)
{
    size_t n = formats[*p - 0xc0].length;
    uint64_t value = n ? big_endian(p + 1, n) : 0;
    double number;
    float single;
    uint32_t half = (uint32_t)value;
    switch (*p) {
    case 0xc0:
        *word = 0;
        return ROWS_CONSTANT;
    case 0xc2:
    case 0xc3:
        *word = *p - 0xc1;
        return ROWS_CONSTANT;
    case 0xca:
        memcpy(&single, &half, sizeof single);
        number = single;
        memcpy(word, &number, sizeof *word);
        return ROWS_FLOAT;
    case 0xcb:
        memcpy(word, &value, sizeof *word);
        return ROWS_FLOAT;
    case 0xd0:
        *word = (int8_t)value;
        return ROWS_INT;
    case 0xd1:
        *word = (int16_t)value;
        return ROWS_INT;
    case 0xd2:
        *word = (int32_t)value;
        return ROWS_INT;
    default:
        *word = (int64_t)value;
        return *p != 0xcf || *word >= 0 ? ROWS_INT : 0;
    }
}

/* Put the value at *at, which is whole, into a cell, and move *at behind it; an array too large, or one of containers,
   is a value of any kind unless `items` is NULL: then false. */
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
            kind = rows_number(p, &word);
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
        *at = h.kind < FORMAT_EXT ? content + h.length : rows_pass(p, end);
        if (!kind) {
            kind = ROWS_OTHER_AT;
            word = rows_place((size_t)(p - data), (size_t)(*at - p));
        }
    }
    r->kinds[cell] = (unsigned char)kind;
    r->words[cell] = word;
    return true;
}

/*
 * Give the cells of a column of the rows that cpkg_rows_find() has found in the same data. Returns the mask of the rows'
 * kinds; `cells` is their number with the items, `item_mask` that of the items' kinds.
 */
static int64_t cpkg_rows_column(cpkg_rows *r, const char *bytes, size_t size, int64_t column, int64_t rows)
{
    const unsigned char *data = (const unsigned char *)bytes, *begin = data + r->from, *end = data + size;
    int64_t mask = 0;
    size_t items = (size_t)rows;
    r->texts = r->pool_used = 0;
    r->item_mask = 0;
    memset(r->slots, 0, sizeof r->slots);
    for (int64_t row = 0; row < rows; row++) {
        const unsigned char *at = begin + r->starts[column][row];
        rows_cell(r, data, &at, end, (size_t)row, &items);
        mask |= r->kinds[row];
    }
    r->cells = (int64_t)items;
    return mask;
}

#endif
