/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When preloaded, acts as an attacker who always wins the race: replaces each new entry whose name begins with
 * "swapped" by a link to the file or directory that VICTIM names. The link is symbolic, or hard if SWAP is "hard".
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef int symlink_maker(const char *, int, const char *);
typedef int maker(int, const char *, mode_t);
typedef int device_maker(int, const char *, mode_t, dev_t);

static int swap(int result, int dir, const char *name)
{
    const char *victim = getenv("VICTIM");
    if (result != 0 || strncmp(name, "swapped", 7) != 0)
        return result;
    if (unlinkat(dir, name, 0) != 0)
        unlinkat(dir, name, AT_REMOVEDIR);
    if (strcmp(getenv("SWAP"), "hard") == 0)
        linkat(AT_FDCWD, victim, dir, name, 0);
    else
        ((symlink_maker *)dlsym(RTLD_NEXT, "symlinkat"))(victim, dir, name);
    return 0;
}

int mkfifoat(int dir, const char *name, mode_t mode)
{
    return swap(((maker *)dlsym(RTLD_NEXT, "mkfifoat"))(dir, name, mode), dir, name);
}

int mknodat(int dir, const char *name, mode_t mode, dev_t device)
{
    return swap(((device_maker *)dlsym(RTLD_NEXT, "mknodat"))(dir, name, mode, device), dir, name);
}

int mkdirat(int dir, const char *name, mode_t mode)
{
    return swap(((maker *)dlsym(RTLD_NEXT, "mkdirat"))(dir, name, mode), dir, name);
}

int symlinkat(const char *text, int dir, const char *name)
{
    return swap(((symlink_maker *)dlsym(RTLD_NEXT, "symlinkat"))(text, dir, name), dir, name);
}
