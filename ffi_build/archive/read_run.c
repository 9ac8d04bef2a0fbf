/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Read a run, which is consecutive ordinary files of one directory, into the content of an archive: headers, data, and
 * zeros up to the next block.
 *
 * Python makes all decisions. The run ends before a file that is unusual or cannot be read, and Python processes that
 * file itself.
 */
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../common/clock.c"
#include "fields.h"
#include "read_run_cdef.h"

#define OCTAL_11_MAX 077777777777
#define FILE_FLAGS (O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)

int cpkg_read_at(int file, char *target, size_t size, int64_t offset, size_t *done)
{
    *done = 0;
    while (*done < size) {
        ssize_t count = pread(file, target + *done, size - *done, (off_t)(offset + (int64_t)*done));
        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0)
            return count < 0 ? errno : 0;
        *done += (size_t)count;
    }
    return 0;
}

static void put_octal(char *field, size_t digits, uint64_t value)
{
    for (size_t at = digits; at-- > 0; value >>= 3)
        field[at] = (char)('0' + (value & 7));
}

/* Fill in the size and the checksum of a header. */
static void finish_block(char *block, uint64_t size)
{
    put_octal(block + SIZE_AT, OCTAL_DIGITS, size);
    memset(block + SUM_AT, ' ', 8);
    uint32_t sum = 0;
    for (size_t at = 0; at < BLOCK; at++)
        sum += (unsigned char)block[at];
    put_octal(block + SUM_AT, 6, sum);
    block[SUM_AT + 6] = '\0';
}

/* Write a pax header and its record, a time with a fraction of a second. */
static void put_time(char *out, const cpkg_run *run, int64_t seconds, uint32_t nanoseconds)
{
    char text[40];
    int size = snprintf(text, sizeof text, "%lld.%09u", (long long)seconds, (unsigned)nanoseconds);
    while (text[size - 1] == '0')
        size--;
    text[size] = '\0';
    memcpy(out, run->pax_block, BLOCK);
    memset(out + BLOCK, 0, BLOCK);
    /* the record begins with its length, whose own digits, always two, also count */
    size = snprintf(out + BLOCK, BLOCK, "%d mtime=%s\n", size + 10, text);
    finish_block(out, (uint64_t)size);
}

/* Return the header for files with this mode and owner; NULL if Python has not provided one yet. */
static const cpkg_header *header_of(const cpkg_run *run, const struct stat *status)
{
    for (size_t index = 0; index < run->header_count; index++) {
        const cpkg_header *header = &run->headers[index];
        if (header->mode == status->st_mode && header->uid == status->st_uid && header->gid == status->st_gid)
            return header;
    }
    return NULL;
}

static bool is_own_file(const cpkg_run *run, const struct stat *status)
{
    for (size_t index = 0; index < run->own_count; index++)
        if (run->own[index].device == status->st_dev && run->own[index].inode == status->st_ino)
            return true;
    return false;
}

/*
 * Find the part of a path that goes into the header's name field. It is the whole path if that fits, otherwise the part
 * after the first slash that at most NAME_SIZE bytes follow. Return false if the path does not fit into the header.
 */
static bool split_path(const char *path, size_t size, size_t *name_at)
{
    *name_at = 0;
    if (size <= NAME_SIZE)
        return true;
    const char *from = path + (size > NAME_SIZE + 2 ? size - NAME_SIZE - 1 : 1);
    const char *slash = memchr(from, '/', (size_t)(path + size - from));
    if (slash == NULL || slash - path > PREFIX_SIZE)
        return false;
    *name_at = (size_t)(slash - path) + 1;
    return true;
}

/* Read a whole file; return false if that fails, or if the file has changed since its status `seen` was read. */
static bool read_file(int directory, const char *name, const struct stat *seen, char *target)
{
    struct stat now;
    size_t size = (size_t)seen->st_size, done;
    int fd = openat(directory, name, FILE_FLAGS);
    if (fd < 0)
        return false;
    bool is_read = cpkg_read_at(fd, target, size, 0, &done) == 0 && done == size && fstat(fd, &now) == 0;
    close(fd);
    return is_read && S_ISREG(now.st_mode) && now.st_ino == seen->st_ino && now.st_size == seen->st_size &&
           now.st_mtim.tv_sec == seen->st_mtim.tv_sec && now.st_mtim.tv_nsec == seen->st_mtim.tv_nsec;
}

/* Add one file to the content; return false and change nothing if the file is not ordinary. */
static bool add_file(cpkg_run *run, int directory, const char *parent, size_t parent_size, const char *name)
{
    struct stat status;
    char path[PREFIX_SIZE + 1 + NAME_SIZE];
    size_t path_size = parent_size + strlen(name), name_at;
    if (path_size > sizeof path || run->file_count == run->file_max)
        return false;
    memcpy(path, parent, parent_size);
    memcpy(path + parent_size, name, path_size - parent_size);
    if (!split_path(path, path_size, &name_at) || fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) != 0 ||
        !S_ISREG(status.st_mode) || status.st_nlink != 1 || status.st_size > run->room || is_own_file(run, &status))
        return false;
    if (run->is_sparse && (int64_t)status.st_blocks * 512 < (int64_t)status.st_size)
        return false;
    int64_t seconds = run->has_time ? run->seconds : (int64_t)status.st_mtim.tv_sec;
    uint32_t nanoseconds = run->has_time ? run->nanoseconds : (uint32_t)status.st_mtim.tv_nsec;
    const cpkg_header *header = header_of(run, &status);
    if (header == NULL || seconds < 0 || seconds > OCTAL_11_MAX)
        return false;
    size_t before = nanoseconds ? 3 * BLOCK : BLOCK, size = (size_t)status.st_size, fill = -size & (BLOCK - 1);
    if ((int64_t)(before + size + fill) > run->room)
        return false;
    char *block = run->content + before - BLOCK;
    if (size && !read_file(directory, name, &status, block + BLOCK))
        return false;
    if (nanoseconds)
        put_time(run->content, run, seconds, nanoseconds);
    memcpy(block, header->block, BLOCK);
    memcpy(block, path + name_at, path_size - name_at);
    if (name_at)
        memcpy(block + PREFIX_AT, path, name_at - 1);
    put_octal(block + TIME_AT, OCTAL_DIGITS, (uint64_t)seconds);
    finish_block(block, size);
    memset(block + BLOCK + size, 0, fill);
    run->content += before + size + fill;
    run->room -= (int64_t)(before + size + fill);
    run->files[run->file_count++] = (cpkg_file){(int64_t)size, seconds, nanoseconds, (uint32_t)(header - run->headers)};
    return true;
}

size_t cpkg_read_run(cpkg_run *run, int directory, const char *path, size_t path_size, const char *names, size_t at,
                     size_t end)
{
    const int64_t begun = clock_ms();
    run->file_count = 0;
    while (at < end && !pause_is_due(begun) && add_file(run, directory, path, path_size, names + at))
        at += strlen(names + at) + 1;
    return at;
}
