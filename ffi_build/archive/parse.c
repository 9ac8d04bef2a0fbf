/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Read the headers of ordinary entries: files, directories and symbolic links in ustar, pax and GNU headers.
 *
 * Rare and wrong entries are left to purepy/tar/reader.py, so that each rule and each error has one
 * place; nothing here may accept what is refused there.
 */
#pragma once

#include <time.h>

#include "memory.c"

enum { META_MAX = 1 << 20, PARSE_ODD = -1, PARSE_MORE = 0, PARSE_DONE = 1 };

/* An entry, with all blocks in front of its data; texts lie in those, or in `joined`. */
typedef struct {
    size_t meta_size; /* of those blocks; while there are not enough, how many bytes are needed */
    char type;
    Text name, link, uname, gname;
    unsigned mode;
    int64_t uid, gid;
    uint64_t size;
    struct timespec mtime;
    char joined[260];
} Parsed;

/* Say whether the checksum is the sum of the unsigned bytes; what else may be right is not ordinary. */
static int checksum_holds(const char *block, uint64_t stored)
{
    unsigned sum = 0;
    for (size_t at = 0; at < TAR_BLOCK; at++)
        sum += (unsigned char)block[at];
    for (size_t at = 148; at < 156; at++)
        sum -= (unsigned char)block[at];
    return sum + 8 * ' ' == stored;
}

/* Read octal digits between spaces and up to a NUL; false for anything else. */
static int read_octal(const char *field, size_t size, uint64_t *value)
{
    size_t at = 0;
    uint64_t found = 0;
    while (at < size && field[at] == ' ')
        at++;
    for (; at < size && field[at] >= '0' && field[at] <= '7'; at++)
        found = found << 3 | (uint64_t)(field[at] - '0');
    while (at < size && field[at] == ' ')
        at++;
    *value = found;
    return at == size || field[at] == '\0';
}

/* Read decimal digits, at most `most`; false for anything else. */
static int read_decimal(const char *text, size_t size, size_t most, uint64_t *value)
{
    uint64_t found = 0;
    if (!size || size > most)
        return 0;
    for (size_t at = 0; at < size; at++) {
        if (text[at] < '0' || text[at] > '9')
            return 0;
        found = found * 10 + (uint64_t)(text[at] - '0');
    }
    *value = found;
    return 1;
}

static int read_time(const char *text, size_t size, struct timespec *time)
{
    const char *point = memchr(text, '.', size);
    size_t whole = point == NULL ? size : (size_t)(point - text);
    uint64_t seconds, nanoseconds = 0;
    if (!read_decimal(text, whole, 15, &seconds))
        return 0;
    if (point != NULL) {
        size_t digits = size - whole - 1;
        for (size_t at = 0; at < 9; at++)
            nanoseconds = nanoseconds * 10 + (at < digits ? (uint64_t)(point[1 + at] - '0') : 0);
        for (size_t at = 0; at < digits; at++)
            if (point[1 + at] < '0' || point[1 + at] > '9')
                return 0;
    }
    time->tv_sec = (time_t)seconds;
    time->tv_nsec = (long)nanoseconds;
    return 1;
}

static int is_key(Text key, const char *name)
{
    return key.size == strlen(name) && memcmp(key.data, name, key.size) == 0;
}

static int starts_with(Text key, const char *prefix)
{
    return key.size >= strlen(prefix) && memcmp(key.data, prefix, strlen(prefix)) == 0;
}

/* What pax headers and GNU's long names say; a text without data, and a flag that is not set: nothing. */
typedef struct {
    Text path, link, uname, gname;
    int has_size, has_uid, has_gid, has_time;
    uint64_t size, uid, gid;
    struct timespec mtime;
} Override;

/* Take in one record; false if it is not ordinary. */
static int take_record(Override *over, Text key, Text value, int with_attributes)
{
    if (starts_with(key, "GNU.sparse.") || starts_with(key, "SCHILY.acl.") || starts_with(key, "LIBARCHIVE.xattr.") ||
        is_key(key, "SCHILY.filetype"))
        return 0;
    if (starts_with(key, "SCHILY.xattr."))
        return !with_attributes;
    enum { PATH, LINKPATH, UNAME, GNAME, SIZE, UID, GID, MTIME, KEYS };
    static const char *const keys[KEYS] = {"path", "linkpath", "uname", "gname", "size", "uid", "gid", "mtime"};
    int which = 0;
    while (which < KEYS && !is_key(key, keys[which]))
        which++;
    if (which == KEYS)
        return 1;
    if (!value.size || memchr(value.data, '\0', value.size) != NULL)
        return 0;
    switch (which) {
    case SIZE:
        return over->has_size = read_decimal(value.data, value.size, 18, &over->size);
    case UID:
        return over->has_uid = read_decimal(value.data, value.size, 9, &over->uid);
    case GID:
        return over->has_gid = read_decimal(value.data, value.size, 9, &over->gid);
    case MTIME:
        return over->has_time = read_time(value.data, value.size, &over->mtime);
    default:
        *(which == PATH       ? &over->path
          : which == LINKPATH ? &over->link
          : which == UNAME    ? &over->uname
                              : &over->gname) = value;
        return 1;
    }
}

static int take_pax(Override *over, const char *data, size_t size, int with_attributes)
{
    for (size_t at = 0; at < size;) {
        const char *space = memchr(data + at, ' ', size - at < 20 ? size - at : 20);
        uint64_t length;
        if (space == NULL || !read_decimal(data + at, (size_t)(space - data) - at, 8, &length))
            return 0;
        size_t start = (size_t)(space - data) + 1, end = at + (size_t)length;
        if (end > size || end <= start || data[end - 1] != '\n')
            return 0;
        const char *equals = memchr(data + start, '=', end - start);
        if (equals == NULL)
            return 0;
        size_t value = (size_t)(equals - data) + 1;
        if (!take_record(over, (Text){data + start, value - 1 - start}, (Text){data + value, end - 1 - value},
                         with_attributes))
            return 0;
        at = end;
    }
    return 1;
}

static Text field_text(const char *field, size_t size)
{
    return (Text){field, strnlen(field, size)};
}

/* Read the header of an entry itself, whose checksum holds. */
static int parse_entry(const char *block, const Override *over, Parsed *parsed)
{
    int is_ustar = memcmp(block + 257, "ustar", 6) == 0;
    uint64_t mode, uid, gid, size, seconds;
    if ((!is_ustar && memcmp(block + 257, "ustar  ", 8) != 0) || memcmp(block + 508, "tar", 4) == 0)
        return 0;
    if (!read_octal(block + 100, 8, &mode) || !read_octal(block + 108, 8, &uid) || !read_octal(block + 116, 8, &gid) ||
        !read_octal(block + 124, 12, &size) || !read_octal(block + 136, 12, &seconds))
        return 0;
    parsed->type = block[156] == '\0' || block[156] == '7' ? '0' : block[156];
    if (parsed->type != '0' && parsed->type != '5' && parsed->type != '2')
        return 0;
    if (!is_ustar && block[345] != '\0' && memchr("01234567 ", block[345], 9) == NULL)
        return 0; /* no time, but a prefix, of an old writer */
    parsed->name = field_text(block, 100);
    Text prefix = field_text(block + 345, 155);
    if (over->path.data != NULL) {
        parsed->name = over->path;
    }
    else if (is_ustar && prefix.size) {
        memcpy(parsed->joined, prefix.data, prefix.size);
        parsed->joined[prefix.size] = '/';
        memcpy(parsed->joined + prefix.size + 1, parsed->name.data, parsed->name.size);
        parsed->name = (Text){parsed->joined, prefix.size + 1 + parsed->name.size};
    }
    if (!parsed->name.size || (block[156] == '\0' && parsed->name.data[parsed->name.size - 1] == '/'))
        return 0;
    parsed->link = over->link.data != NULL ? over->link : field_text(block + 157, 100);
    parsed->uname = over->uname.data != NULL ? over->uname : field_text(block + 265, 32);
    parsed->gname = over->gname.data != NULL ? over->gname : field_text(block + 297, 32);
    parsed->mode = (unsigned)mode & 07777;
    parsed->uid = (int64_t)(over->has_uid ? over->uid : uid);
    parsed->gid = (int64_t)(over->has_gid ? over->gid : gid);
    parsed->size = parsed->type != '0' ? 0 : over->has_size ? over->size : size;
    parsed->mtime = (struct timespec){.tv_sec = (time_t)seconds};
    if (over->has_time)
        parsed->mtime = over->mtime;
    return 1;
}

/* Read an entry from its first block on: PARSE_DONE, PARSE_MORE with the size that it needs in `meta_size`, or PARSE_ODD. */
static int parse_group(const char *data, size_t size, int with_attributes, Parsed *parsed)
{
    Override over = {0};
    int has_pax = 0;
    size_t at = 0;
    for (;;) {
        uint64_t stored, length;
        const char *block = data + at;
        parsed->meta_size = at + TAR_BLOCK;
        if (size < parsed->meta_size)
            return PARSE_MORE;
        if (!read_octal(block + 148, 8, &stored) || !checksum_holds(block, stored))
            return PARSE_ODD;
        char type = block[156];
        if (type != 'x' && type != 'L' && type != 'K')
            return parse_entry(block, &over, parsed) ? PARSE_DONE : PARSE_ODD;
        if (!read_octal(block + 124, 12, &length) || length > META_MAX || at > 4 * META_MAX)
            return PARSE_ODD;
        parsed->meta_size += (size_t)length + padding_of(length);
        if (size < parsed->meta_size)
            return PARSE_MORE;
        const char *body = block + TAR_BLOCK;
        if (type == 'x') {
            if (has_pax++) /* which of two counts is for the other reader to say */
                return PARSE_ODD;
            if (!take_pax(&over, body, (size_t)length, with_attributes))
                return PARSE_ODD;
        }
        else {
            Text text = field_text(body, (size_t)length);
            Text *target = type == 'L' ? &over.path : &over.link;
            if (target->data != NULL || !text.size) /* which of two it is, is for the other reader to say */
                return PARSE_ODD;
            *target = text;
        }
        at = parsed->meta_size;
    }
}
