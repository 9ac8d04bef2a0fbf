/* SPDX-License-Identifier: Apache-2.0 */
/* When preloaded, makes the change CHANGE to the file that CHANGED names, just before the program first opens it. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef int (*open_function)(int directory, const char *name, int flags, ...);

static void change(open_function really, int directory, const char *name)
{
    const char *how = getenv("CHANGE");
    if (strcmp(how, "shrinks") == 0 || strcmp(how, "grows") == 0) {
        int fd = really(directory, name, O_WRONLY);
        if (ftruncate(fd, strcmp(how, "grows") == 0 ? 200000 : 1000) != 0)
            abort();
        close(fd);
        return;
    }
    unlinkat(directory, name, 0);
    if (strcmp(how, "link") == 0 && symlinkat("a", directory, name) != 0)
        abort();
    if (strcmp(how, "fifo") == 0 && mkfifoat(directory, name, 0600) != 0)
        abort();
    if (strcmp(how, "directory") == 0 && mkdirat(directory, name, 0700) != 0)
        abort();
}

static int opened(const char *function, int directory, const char *name, int flags, int mode)
{
    static int is_done;
    open_function really = (open_function)dlsym(RTLD_NEXT, function);
    if (!is_done && strcmp(name, getenv("CHANGED")) == 0) {
        is_done = 1;
        change(really, directory, name);
    }
    return really(directory, name, flags, mode);
}

#define OPENED(function) \
    int function(int directory, const char *name, int flags, ...) \
    { \
        va_list rest; \
        va_start(rest, flags); \
        int mode = va_arg(rest, int); \
        va_end(rest); \
        return opened(#function, directory, name, flags, mode); \
    }

OPENED(openat)
OPENED(openat64)
