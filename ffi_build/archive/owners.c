/* SPDX-License-Identifier: Apache-2.0 */
/* Users and groups: numbers of names; results are kept. */
#pragma once

#include "../common/base.h"
#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>

/* What a database of users or groups said: in memory that grows as a group with many members needs. */
typedef struct {
    struct passwd user;
    struct group group;
    char *memory;
} Looked;

enum { LOOKED_MIN = 16 << 10, LOOKED_MAX = 64 << 20 };

/* Look a user or group up, by name, or by number if that is NULL; false if there is none. The memory is freed after. */
static int look_up(Looked *looked, const char *name, int64_t number, int is_user)
{
    struct passwd *user = NULL;
    struct group *group = NULL;
    int error = ERANGE;
    looked->memory = NULL;
    for (size_t size = LOOKED_MIN; (error == ERANGE || error == EINTR) && size <= LOOKED_MAX;) {
        char *memory = realloc(looked->memory, size);
        if (memory == NULL)
            return 0;
        looked->memory = memory;
        if (is_user)
            error = name != NULL ? getpwnam_r(name, &looked->user, memory, size, &user)
                                 : getpwuid_r((uid_t)number, &looked->user, memory, size, &user);
        else
            error = name != NULL ? getgrnam_r(name, &looked->group, memory, size, &group)
                                 : getgrgid_r((gid_t)number, &looked->group, memory, size, &group);
        size <<= error == ERANGE;
    }
    return user != NULL || group != NULL;
}

/* The name that was looked up last, and its number; no name: none is known. */
typedef struct {
    char name[40];
    int64_t number;
} Named;

/* Look up whose a name is; `number` stays as it is if nobody's. False for a name that is too long to be ordinary. */
static int owner_number(Named *last, const char *text, size_t size, int is_user, int64_t *number)
{
    char name[sizeof last->name];
    if (size >= sizeof name)
        return 0;
    memcpy(name, text, size);
    name[size] = '\0';
    if (name[0] == '\0')
        return 1;
    if (strcmp(name, last->name) != 0) {
        Looked looked;
        strcpy(last->name, name);
        last->number = -1;
        if (look_up(&looked, name, 0, is_user))
            last->number = is_user ? (int64_t)looked.user.pw_uid : (int64_t)looked.group.gr_gid;
        free(looked.memory);
    }
    if (last->number >= 0)
        *number = last->number;
    return 1;
}
