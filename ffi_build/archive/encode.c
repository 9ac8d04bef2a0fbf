/* SPDX-License-Identifier: Apache-2.0 */
/* Headers of entries: the bytes that purepy/tar/encode.py writes, for entries without attributes and sparse maps. */
#pragma once

#include <stdio.h>

#include "../common/is_utf8.c"
#include "memory.c"

#define TAR_NAME 100
#define TAR_PREFIX 155
#define TAR_OWNER 32
#define OCTAL_7_MAX 07777777
#define OCTAL_11_MAX 077777777777

typedef struct {
    const char *name; /* with a slash at the end of a directory's */
    size_t name_size;
    const char *link;
    size_t link_size;
    const char *uname, *gname;
    char type;
    unsigned mode;
    int64_t uid, gid;
    uint64_t size;
    int64_t seconds;
    long nanoseconds;
    unsigned major, minor;
} TarHeader;

static void put_octal(char *field, size_t digits, uint64_t value)
{
    for (size_t at = digits; at-- > 0; value >>= 3)
        field[at] = (char)('0' + (value & 7));
}

static void put_block(char *block, const TarHeader *header, const char *prefix, size_t prefix_size)
{
    memset(block, 0, TAR_BLOCK);
    memcpy(block, header->name, header->name_size);
    put_octal(block + 100, 7, header->mode);
    put_octal(block + 108, 7, (uint64_t)header->uid);
    put_octal(block + 116, 7, (uint64_t)header->gid);
    put_octal(block + 124, 11, header->size);
    put_octal(block + 136, 11, (uint64_t)header->seconds);
    memset(block + 148, ' ', 8);
    block[156] = header->type;
    memcpy(block + 157, header->link, header->link_size);
    memcpy(block + 257, "ustar\00000", 8);
    memcpy(block + 265, header->uname, strnlen(header->uname, TAR_OWNER));
    memcpy(block + 297, header->gname, strnlen(header->gname, TAR_OWNER));
    put_octal(block + 329, 7, header->major);
    put_octal(block + 337, 7, header->minor);
    memcpy(block + 345, prefix, prefix_size);
    uint64_t sum = 0;
    for (size_t at = 0; at < TAR_BLOCK; at++)
        sum += (unsigned char)block[at];
    put_octal(block + 148, 6, sum);
    block[154] = '\0';
}

/* Add a record of a pax header, its length in front; false for want of memory. */
static int pax_record(Bytes *body, const char *key, const char *value, size_t size)
{
    size_t rest = strlen(key) + size + 3, total = rest;
    char length[24];
    for (int round = 0; round < 3; round++) /* the length counts its own digits */
        total = rest + (size_t)snprintf(length, sizeof length, "%zu", total);
    snprintf(length, sizeof length, "%zu ", total);
    return bytes_add(body, length, strlen(length)) && bytes_add(body, key, strlen(key)) && bytes_add(body, "=", 1) &&
           bytes_add(body, value, size) && bytes_add(body, "\n", 1);
}

static int pax_number(Bytes *body, const char *key, int64_t value)
{
    char text[24];
    return pax_record(body, key, text, (size_t)snprintf(text, sizeof text, "%lld", (long long)value));
}

static int pax_time(Bytes *body, int64_t seconds, long nanoseconds)
{
    char text[40];
    int is_negative = seconds < 0;
    if (is_negative && nanoseconds > 0) {
        seconds++;
        nanoseconds = 1000000000 - nanoseconds;
    }
    uint64_t magnitude = is_negative ? -(uint64_t)seconds : (uint64_t)seconds;
    int size = snprintf(text, sizeof text, "%s%llu", is_negative ? "-" : "", (unsigned long long)magnitude);
    if (nanoseconds) {
        size += snprintf(text + size, sizeof text - (size_t)size, ".%09ld", nanoseconds);
        while (text[size - 1] == '0')
            size--;
    }
    return pax_record(body, "mtime", text, (size_t)size);
}

/* Add a pax header with this body; false for want of memory. */
static int add_pax_header(Bytes *out, Bytes *body)
{
    if (!is_utf8((const unsigned char *)body->data, body->size)) {
        Bytes marked = {0};
        int is_done = pax_record(&marked, "hdrcharset", "BINARY", 6) && bytes_add(&marked, body->data, body->size);
        bytes_free(body);
        *body = marked;
        if (!is_done)
            return 0;
    }
    TarHeader header = {.name = "././@PaxHeader", .name_size = 14, .link = "", .uname = "", .gname = "", .type = 'x'};
    header.size = body->size;
    if (!bytes_reserve(out, TAR_BLOCK))
        return 0;
    put_block(out->data + out->size, &header, "", 0);
    out->size += TAR_BLOCK;
    return bytes_add(out, body->data, body->size) && bytes_add(out, NULL, padding_of(body->size));
}

/* Find the slash at which a long name is split into prefix and name; 0 if it does not fit. */
static size_t name_split(const char *name, size_t size)
{
    if (size > TAR_PREFIX + 1 + TAR_NAME)
        return 0;
    size_t at = size > TAR_NAME + 2 ? size - TAR_NAME - 1 : 1;
    while (at + 1 < size && name[at] != '/')
        at++;
    return at + 1 < size && at <= TAR_PREFIX ? at : 0;
}

/* Add all blocks in front of an entry's data, with `body` for scratch; false for want of memory. */
static int add_header(Bytes *out, const TarHeader *entry, Bytes *body)
{
    TarHeader header = *entry;
    const char *prefix = "";
    size_t prefix_size = 0;
    int is_done = 1;
    body->size = 0;
    if (header.name_size > TAR_NAME) {
        prefix_size = name_split(header.name, header.name_size);
        if (prefix_size) {
            prefix = header.name;
            header.name += prefix_size + 1;
            header.name_size -= prefix_size + 1;
        }
        else {
            is_done &= pax_record(body, "path", header.name, header.name_size);
            header.name_size = TAR_NAME;
        }
    }
    if (header.link_size > TAR_NAME) {
        is_done &= pax_record(body, "linkpath", header.link, header.link_size);
        header.link_size = TAR_NAME;
    }
    if (header.size > OCTAL_11_MAX) {
        is_done &= pax_number(body, "size", (int64_t)header.size);
        header.size = 0;
    }
    if (header.uid < 0 || header.uid > OCTAL_7_MAX) {
        is_done &= pax_number(body, "uid", header.uid);
        header.uid = 0;
    }
    if (header.gid < 0 || header.gid > OCTAL_7_MAX) {
        is_done &= pax_number(body, "gid", header.gid);
        header.gid = 0;
    }
    if (strlen(header.uname) > TAR_OWNER)
        is_done &= pax_record(body, "uname", header.uname, strlen(header.uname));
    if (strlen(header.gname) > TAR_OWNER)
        is_done &= pax_record(body, "gname", header.gname, strlen(header.gname));
    int is_in_range = header.seconds >= 0 && header.seconds <= OCTAL_11_MAX;
    if (header.nanoseconds || !is_in_range) {
        is_done &= pax_time(body, header.seconds, header.nanoseconds);
        if (!is_in_range)
            header.seconds = 0;
    }
    if (body->size)
        is_done &= add_pax_header(out, body);
    if (!is_done || !bytes_reserve(out, TAR_BLOCK))
        return 0;
    put_block(out->data + out->size, &header, prefix, prefix_size);
    out->size += TAR_BLOCK;
    return 1;
}
