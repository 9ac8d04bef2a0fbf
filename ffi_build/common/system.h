/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of POSIX that the native modules need and that have other names on Windows. */
#pragma once

#include "base.h"
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#ifdef _WIN32
#define WIN32_LEAN_AND_MEAN
#include <io.h>
#include <windows.h>

/* Read at an offset in a file; on Windows, this moves the file's position to the end of the bytes read. */
static ssize_t system_read_at(int descriptor, void *data, size_t size, int64_t offset)
{
    OVERLAPPED where = {.Offset = (DWORD)offset, .OffsetHigh = (DWORD)((uint64_t)offset >> 32)};
    DWORD got = 0, most = size < (1u << 30) ? (DWORD)size : 1u << 30;
    if (ReadFile((HANDLE)_get_osfhandle(descriptor), data, most, &got, &where))
        return (ssize_t)got;
    errno = EIO;
    return GetLastError() == ERROR_HANDLE_EOF ? 0 : -1;
}

/* Return a duplicate of a descriptor that child processes do not inherit, or -1. */
static int system_duplicate(int descriptor)
{
    int made = _dup(descriptor);
    if (made >= 0)
        SetHandleInformation((HANDLE)_get_osfhandle(made), HANDLE_FLAG_INHERIT, 0);
    return made;
}
#else
static ssize_t system_read_at(int descriptor, void *data, size_t size, int64_t offset)
{
    return pread(descriptor, data, size, (off_t)offset);
}

static int system_duplicate(int descriptor)
{
    return fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
}
#endif
