/* SPDX-License-Identifier: Apache-2.0 */
/* Files that have several names: the first is archived, the others are links to it. */
#pragma once

#include <sys/stat.h>

#include "memory.c"

/* The first name of a file that has several. */
typedef struct {
    uint64_t device, inode;
    size_t name_at; /* in `names`, from 1 */
} Link;

/* The first names of all files with several, as a hash table. */
typedef struct {
    Link *links;
    size_t count, slots;
    Bytes names;
} FirstNames;

static size_t link_slot(const FirstNames *first, uint64_t device, uint64_t inode)
{
    size_t slot = (size_t)((inode * 0x9E3779B97F4A7C15u) ^ device) & (first->slots - 1);
    while (first->links[slot].name_at && (first->links[slot].inode != inode || first->links[slot].device != device))
        slot = (slot + 1) & (first->slots - 1);
    return slot;
}

/* Return the first name of a file with several, NULL if none is in the archive yet. */
static const char *first_name(const FirstNames *first, const struct stat *status)
{
    size_t name_at = first->slots ? first->links[link_slot(first, status->st_dev, status->st_ino)].name_at : 0;
    return name_at ? first->names.data + name_at - 1 : NULL;
}

/* Note the first name of a file with several, which is in the archive now; false for want of memory. */
static int first_name_note(FirstNames *first, const struct stat *status, const char *name)
{
    if (2 * first->count >= first->slots) {
        size_t slots = first->slots ? 2 * first->slots : 256, old_slots = first->slots;
        Link *old = first->links, *links = calloc(slots, sizeof *links);
        if (links == NULL)
            return 0;
        first->links = links;
        first->slots = slots;
        for (size_t slot = 0; slot < old_slots; slot++)
            if (old[slot].name_at)
                links[link_slot(first, old[slot].device, old[slot].inode)] = old[slot];
        free(old);
    }
    size_t name_at = first->names.size + 1;
    if (!bytes_add(&first->names, name, strlen(name) + 1))
        return 0;
    first->links[link_slot(first, status->st_dev, status->st_ino)] = (Link){status->st_dev, status->st_ino, name_at};
    first->count++;
    return 1;
}

static void first_names_free(FirstNames *first)
{
    bytes_free(&first->names);
    free(first->links);
}
