/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When preloaded, acts as an attacker who always wins the race: replaces what was just created by a link to the file
 * or directory VICTIM. The link is symbolic, or hard if SWAP is "hard".
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int is_victim(const char *name)
{
    return strncmp(name, "swapped", 7) == 0;
}

static int swap(int result, int dir, const char *name)
{
    int (*symlink_at)(const char *, int, const char *) =
        (int (*)(const char *, int, const char *))dlsym(RTLD_NEXT, "symlinkat");
    const char *victim = getenv("VICTIM");
    if (result != 0 || !is_victim(name))
        return result;
    if (unlinkat(dir, name, 0) != 0)
        unlinkat(dir, name, AT_REMOVEDIR);
    if (strcmp(getenv("SWAP"), "hard") == 0)
        linkat(AT_FDCWD, victim, dir, name, 0);
    else
        symlink_at(victim, dir, name);
    return 0;
}

int mkfifoat(int dir, const char *name, mode_t mode)
{
    int (*real)(int, const char *, mode_t) = (int (*)(int, const char *, mode_t))dlsym(RTLD_NEXT, "mkfifoat");
    return swap(real(dir, name, mode), dir, name);
}

int mknodat(int dir, const char *name, mode_t mode, dev_t device)
{
    int (*real)(int, const char *, mode_t, dev_t) =
        (int (*)(int, const char *, mode_t, dev_t))dlsym(RTLD_NEXT, "mknodat");
    return swap(real(dir, name, mode, device), dir, name);
}

int mkdirat(int dir, const char *name, mode_t mode)
{
    int (*real)(int, const char *, mode_t) = (int (*)(int, const char *, mode_t))dlsym(RTLD_NEXT, "mkdirat");
    return swap(real(dir, name, mode), dir, name);
}

int symlinkat(const char *text, int dir, const char *name)
{
    int (*real)(const char *, int, const char *) =
        (int (*)(const char *, int, const char *))dlsym(RTLD_NEXT, "symlinkat");
    return swap(real(text, dir, name), dir, name);
}
