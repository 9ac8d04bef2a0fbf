/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Write a run, which is consecutive ordinary files of an archive, into an open directory.
 *
 * A file is ordinary if Python has already extracted one whose header differs only in name, size and time. Any other
 * entry ends the run, and cpkg/archive/_extraction.py extracts that entry.
 */
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../common/clock.c"
#include "fields.h"
#include "write_run_cdef.h"

/* Read 11 octal digits with a NUL or space after them; return false for anything else. */
static bool write_read_octal(const char *field, uint64_t *value)
{
    *value = 0;
    for (size_t at = 0; at < OCTAL_DIGITS; at++) {
        unsigned digit = (unsigned)(unsigned char)field[at] - '0';
        if (digit > 7)
            return false;
        *value = *value << 3 | digit;
    }
    return field[OCTAL_DIGITS] == '\0' || field[OCTAL_DIGITS] == ' ';
}

/* Read `size` decimal digits, at most 12; return false for anything else. */
static bool write_read_decimal(const char *text, size_t size, int64_t *value)
{
    *value = 0;
    for (size_t at = 0; at < size; at++) {
        if (text[at] < '0' || text[at] > '9' || at == 12)
            return false;
        *value = *value * 10 + (text[at] - '0');
    }
    return size > 0;
}

/* Read a pax header that differs from a known one only in size, and its only record, a time; else return false. */
static bool write_read_pax(const cpkg_write_known *known, const char *block, cpkg_write_file *file)
{
    uint64_t size;
    int64_t length, digits;
    size_t index = 0;
    while (index < known->pax_count && memcmp(known->pax[index].block, block, BLOCK) != 0)
        index++;
    if (index == known->pax_count || !write_read_octal(block + SIZE_AT, &size))
        return false;
    const char *record = block + BLOCK, *text = record + strlen("00 mtime=");
    if (size < strlen("00 mtime=0\n") || size > 99 || !write_read_decimal(record, 2, &length) ||
        (uint64_t)length != size || memcmp(record + 2, " mtime=", 7) != 0 || record[size - 1] != '\n')
        return false;
    size_t left = (size_t)(record + size - 1 - text), whole = 0;
    while (whole < left && text[whole] != '.')
        whole++;
    if (!write_read_decimal(text, whole, &file->seconds))
        return false;
    file->nanoseconds = 0;
    for (size_t at = whole + 1, place = 100000000; at < left; at++, place /= 10) {
        if (!write_read_decimal(text + at, 1, &digits))
            return false;
        file->nanoseconds += (uint32_t)digits * (uint32_t)place;
    }
    return true;
}

/* Return whether a header has the right checksum, in the usual notation. */
static bool write_sum_holds(const cpkg_write_kind *kind, const char *block)
{
    unsigned sum = kind->rest_sum + 8 * ' ';
    for (size_t at = 0; at < SUM_AT; at++)
        sum += (unsigned char)block[at];
    for (size_t at = 6; at-- > 0; sum >>= 3)
        if (block[SUM_AT + at] != (char)('0' + (sum & 7)))
            return false;
    return block[SUM_AT + 6] == '\0' && block[SUM_AT + 7] == ' ';
}

/* Read a header of a known kind, trying the kind of the previous file first; return false for any other header. */
static bool write_read_header(const cpkg_write_known *known, const char *block, bool has_time, cpkg_write_file *file)
{
    uint64_t size, seconds;
    size_t tried = 0, index = file->kind;
    const cpkg_write_kind *kind = &known->kinds[index];
    for (; tried < known->kind_count; tried++, index = (index + 1) % known->kind_count) {
        kind = &known->kinds[index];
        if (memcmp(kind->fields, block + NAME_SIZE, sizeof kind->fields) == 0 &&
            memcmp(kind->rest, block + FLAG_AT, sizeof kind->rest) == 0)
            break;
    }
    if (tried == known->kind_count || !write_sum_holds(kind, block) || !write_read_octal(block + SIZE_AT, &size) ||
        !write_read_octal(block + TIME_AT, &seconds))
        return false;
    file->kind = (uint32_t)index;
    file->size = (int64_t)size;
    if (!has_time) {
        file->seconds = (int64_t)seconds;
        file->nanoseconds = 0;
    }
    return true;
}

size_t cpkg_write_run_find(cpkg_write_run *run, size_t at, size_t end)
{
    const char *content = run->content, *first = NULL;
    cpkg_write_file file = {0};
    run->count = run->done = run->names_size = run->path_size = 0;
    while (run->count < COUNT_OF(run->files) && end - at >= BLOCK) {
        size_t header_at = at;
        bool has_pax = content[at + FLAG_AT] == 'x';
        if (has_pax) {
            if (end - at < 3 * BLOCK || !write_read_pax(run->known, content + at, &file))
                break;
            header_at += 2 * BLOCK;
        }
        const char *name = content + header_at;
        if (!write_read_header(run->known, name, has_pax, &file))
            break;
        size_t size = 0, path_size = 0;
        for (; size < NAME_SIZE && name[size] != '\0'; size++)
            if (name[size] == '/')
                path_size = size + 1;
        size_t last_size = size - path_size;
        if (!last_size || (name[path_size] == '.' && (last_size == 1 || (last_size == 2 && name[size - 1] == '.'))))
            break;
        if (first != NULL && (path_size != run->path_size || memcmp(name, first, path_size) != 0))
            break;
        file.entry_at = at;
        file.data_at = header_at + BLOCK;
        uint64_t left = end - file.data_at, stored = ((uint64_t)file.size + BLOCK - 1) / BLOCK * BLOCK;
        if (stored > left)
            break;
        first = name;
        run->path_size = path_size;
        file.name_at = run->names_size;
        memcpy(run->names + run->names_size, name + path_size, last_size);
        run->names_size += last_size;
        run->names[run->names_size++] = '\0';
        run->files[run->count++] = file;
        at = file.data_at + (size_t)stored;
    }
    return at;
}

static int write_data(int fd, const char *data, size_t size)
{
    while (size) {
        ssize_t count = write(fd, data, size);
        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0)
            return count < 0 ? errno : EIO;
        data += count;
        size -= (size_t)count;
    }
    return 0;
}

/* Give a nameless file (O_TMPFILE) a name; return 0 or an errno, which is EEXIST if a file has that name already. */
static int link_nameless(int fd, int directory, const char *name)
{
    char path[32]; /* used if the process is not allowed to use AT_EMPTY_PATH */
    if (linkat(fd, "", directory, name, AT_EMPTY_PATH) == 0)
        return 0;
    if (errno == EEXIST)
        return EEXIST;
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    return linkat(AT_FDCWD, path, directory, name, AT_SYMLINK_FOLLOW) == 0 ? 0 : errno;
}

/*
 * Write a file that has no name or the temporary name, and give it its name when it is complete. Only a file with the
 * temporary name replaces an existing file. Return 0 or an errno; after an error, nothing has changed.
 */
static int write_file(const cpkg_write_run *run, const cpkg_write_file *file, bool is_nameless)
{
    const cpkg_write_kind *kind = &run->known->kinds[file->kind];
    const struct timespec time = {.tv_sec = (time_t)file->seconds, .tv_nsec = (long)file->nanoseconds};
    const char *name = run->names + file->name_at;
    const int directory = run->directory, flags = O_WRONLY | O_CLOEXEC;
    bool has_mode = kind->is_created_with_mode && !run->has_default_list;
    mode_t mode = has_mode ? (mode_t)kind->mode : 0600;
    int fd = is_nameless ? openat(directory, ".", flags | O_TMPFILE, mode)
                         : openat(directory, run->temporary, flags | O_CREAT | O_EXCL | O_NOFOLLOW, mode);
    if (fd < 0)
        return errno;
    int error = write_data(fd, run->content + file->data_at, (size_t)file->size);
    if (!error && kind->has_owner && fchown(fd, (uid_t)kind->uid, (gid_t)kind->gid) != 0)
        error = errno;
    if (!error && !has_mode && fchmod(fd, (mode_t)kind->mode) != 0)
        error = errno;
    if (!error && futimens(fd, (const struct timespec[]){time, time}) != 0)
        error = errno;
    if (!error && is_nameless)
        error = link_nameless(fd, directory, name);
    if (close(fd) != 0 && !error)
        error = errno;
    if (!is_nameless) {
        if (!error && renameat(directory, run->temporary, directory, name) != 0)
            error = errno;
        if (error)
            unlinkat(directory, run->temporary, 0);
    }
    return error;
}

int cpkg_write_run_next(cpkg_write_run *run)
{
    const int64_t begun = clock_ms();
    while (run->done < run->count) {
        const cpkg_write_file *file = &run->files[run->done];
        if (run->is_named || write_file(run, file, true) != 0) {
            run->is_named = 1; /* a file of this name exists, or the file system does not support nameless files */
            int error = write_file(run, file, false);
            if (error)
                return error;
        }
        run->done++;
        if (pause_is_due(begun))
            break;
    }
    return 0;
}
