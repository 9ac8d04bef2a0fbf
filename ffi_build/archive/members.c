/* SPDX-License-Identifier: Apache-2.0 */
/* The numbers of names by which a member of an archive is found, as purepy/tar/members.py has them. */
#pragma once

#include "memory.c"

typedef struct {
    Bytes numbers;    /* of 16 bits */
    uint32_t parent;  /* CRC-32 of the directory of the name that came last */
    int is_continued; /* the frame begins within an entry */
} Members;

/* CRC-32 (ISO 3309, as zlib has it) of four bits. */
static const uint32_t crc_table[16] = {
    0x00000000, 0x1DB71064, 0x3B6E20C8, 0x26D930AC, 0x76DC4190, 0x6B6B51F4, 0x4DB26158, 0x5005713C,
    0xEDB88320, 0xF00F9344, 0xD6D6A3E8, 0xCB61B38C, 0x9B64C2B0, 0x86D3D2D4, 0xA00AE278, 0xBDBDF21C,
};

static int members_put(Members *members, uint32_t crc)
{
    uint16_t number = (uint16_t)~crc;
    return bytes_add(&members->numbers, &number, sizeof number);
}

/* Take in a name, and the directories that lead to it; false for want of memory. */
static int members_add(Members *members, const char *name)
{
    const char *last = strrchr(name, '/');
    size_t before = members->numbers.size;
    uint32_t crc = 0xFFFFFFFFu;
    for (const char *at = name; *at != '\0'; at++) {
        if (*at == '/' && at != name && !members_put(members, crc))
            return 0;
        if (at == last) {
            if (before && members->parent == crc) /* those of its directories are there */
                members->numbers.size = before;
            members->parent = crc;
        }
        crc ^= (unsigned char)*at;
        crc = crc >> 4 ^ crc_table[crc & 15];
        crc = crc >> 4 ^ crc_table[crc & 15];
    }
    return members_put(members, crc);
}

static int compare_numbers(const void *left, const void *right)
{
    return (int)*(const uint16_t *)left - (int)*(const uint16_t *)right;
}

/* Put the numbers in order, each once. */
static void members_sort(Members *members)
{
    uint16_t *numbers = (uint16_t *)members->numbers.data;
    size_t count = members->numbers.size / sizeof *numbers, kept = 0;
    if (!count)
        return;
    qsort(numbers, count, sizeof *numbers, compare_numbers);
    for (size_t index = 0; index < count; index++)
        if (!kept || numbers[kept - 1] != numbers[index])
            numbers[kept++] = numbers[index];
    members->numbers.size = kept * sizeof *numbers;
}
