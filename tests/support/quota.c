/* SPDX-License-Identifier: Apache-2.0 */
/* When preloaded, stops files from growing beyond LARGEST_FILE bytes, as a used-up quota does. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

typedef ssize_t writer(int, const void *, size_t);
typedef ssize_t writer_at(int, const void *, size_t, off_t);

/* Return how many bytes of a piece still fit; -1 with errno set if none do. */
static ssize_t room(int fd, size_t size, off_t offset)
{
    struct stat status;
    off_t most = (off_t)strtoll(getenv("LARGEST_FILE"), NULL, 10);
    if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode) || offset + (off_t)size <= most)
        return (ssize_t)size;
    if (offset < most)
        return most - offset;
    errno = EDQUOT;
    return -1;
}

ssize_t write(int fd, const void *data, size_t size)
{
    ssize_t most = room(fd, size, lseek(fd, 0, SEEK_CUR));
    return most < 0 ? -1 : ((writer *)dlsym(RTLD_NEXT, "write"))(fd, data, (size_t)most);
}

ssize_t pwrite(int fd, const void *data, size_t size, off_t offset)
{
    ssize_t most = room(fd, size, offset);
    return most < 0 ? -1 : ((writer_at *)dlsym(RTLD_NEXT, "pwrite"))(fd, data, (size_t)most, offset);
}

ssize_t pwrite64(int fd, const void *data, size_t size, off_t offset)
{
    return pwrite(fd, data, size, offset);
}
