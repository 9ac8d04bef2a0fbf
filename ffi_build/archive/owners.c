/* SPDX-License-Identifier: Apache-2.0 */
/* Users and groups: names of numbers, and numbers of names; what was looked up is kept. */
#ifndef CPKG_ARCHIVE_OWNERS
#define CPKG_ARCHIVE_OWNERS

#include <grp.h>
#include <pwd.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>

typedef struct {
    int is_known;
    int64_t number;
    char name[256];
} Owner;

enum { OWNERS = 64 };

/* Return the name of a user or group, "" if the number has none. */
static const char *owner_name(Owner *owners, int64_t number, int is_user)
{
    Owner *owner = &owners[(uint64_t)number % OWNERS];
    if (owner->is_known && owner->number == number)
        return owner->name;
    char memory[16384];
    const char *name = "";
    struct passwd user, *user_found = NULL;
    struct group group, *group_found = NULL;
    if (is_user && getpwuid_r((uid_t)number, &user, memory, sizeof memory, &user_found) == 0 && user_found != NULL)
        name = user.pw_name;
    if (!is_user && getgrgid_r((gid_t)number, &group, memory, sizeof memory, &group_found) == 0 && group_found != NULL)
        name = group.gr_name;
    owner->is_known = 1;
    owner->number = number;
    snprintf(owner->name, sizeof owner->name, "%s", name);
    return owner->name;
}

/* The name that was looked up last, and its number; no name: none is known. */
typedef struct {
    char name[40];
    int64_t number;
} Named;

/* Look up whose a name is; `number` stays as it is if nobody's. False for a name that is too long to be ordinary. */
static int owner_number(Named *last, const char *text, size_t size, int is_user, int64_t *number)
{
    char name[sizeof last->name], memory[16384];
    if (size >= sizeof name)
        return 0;
    memcpy(name, text, size);
    name[size] = '\0';
    if (name[0] == '\0')
        return 1;
    if (strcmp(name, last->name) != 0) {
        struct passwd user, *user_found = NULL;
        struct group group, *group_found = NULL;
        strcpy(last->name, name);
        last->number = -1;
        if (is_user && getpwnam_r(name, &user, memory, sizeof memory, &user_found) == 0 && user_found != NULL)
            last->number = user.pw_uid;
        if (!is_user && getgrnam_r(name, &group, memory, sizeof memory, &group_found) == 0 && group_found != NULL)
            last->number = group.gr_gid;
    }
    if (last->number >= 0)
        *number = last->number;
    return 1;
}

#endif
