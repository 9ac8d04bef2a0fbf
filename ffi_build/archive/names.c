/* SPDX-License-Identifier: Apache-2.0 */
/* The name and mode that an entry is extracted with, and which links are safe: as purepy/tar/names.py has it. */
#pragma once

#include "interface.c"
#include "memory.c"

/* Split a name into the components under which it is extracted; how many, -1 for none, -2 for an odd one. */
static int target_path(Bytes *path, Text name, int strip, size_t depth_max)
{
    int count = 0, left_out = 0;
    path->size = 0;
    for (size_t at = 0; at < name.size;) {
        const char *part = name.data + at;
        const char *slash = memchr(part, '/', name.size - at);
        size_t size = slash == NULL ? name.size - at : (size_t)(slash - part);
        at += size + 1;
        if (!size)
            continue;
        if (size == 2 && part[0] == '.' && part[1] == '.')
            return -2;
        if (left_out < strip) {
            left_out++;
            count = -1;
            continue;
        }
        if (count < 0)
            count = 0;
        if (size == 1 && part[0] == '.')
            continue;
        if (!bytes_add(path, part, size) || !bytes_add(path, "", 1))
            return -2;
        if (count++ == (int)depth_max)
            return -2;
    }
    return strip && left_out < strip ? -1 : count;
}

/* Join the components of a path by slashes, in place; the last one keeps its NUL. */
static void path_join(char *path, size_t size)
{
    for (size_t at = 0; at + 1 < size; at++)
        if (path[at] == '\0')
            path[at] = '/';
}

/* Return the permissions that an entry gets. */
static unsigned target_mode(const cpkg_tree_options *options, unsigned mode, int is_directory)
{
    if (options->is_trusted)
        return mode;
    mode &= 0755;
    if (!options->is_data)
        return mode;
    if (is_directory)
        return mode | 0700;
    if (!(mode & 0100))
        mode &= ~0111u;
    return mode | 0600;
}

/* Say whether a link's text is normal and stays inside, from `count` components deep. */
static int link_is_safe(Text link, size_t count)
{
    size_t ups = 0, names = 0;
    if (!link.size || link.data[0] == '/')
        return 0;
    for (size_t at = 0; at < link.size;) {
        const char *slash = memchr(link.data + at, '/', link.size - at);
        size_t size = slash == NULL ? link.size - at : (size_t)(slash - link.data) - at;
        if (size == 2 && link.data[at] == '.' && link.data[at + 1] == '.') {
            if (names)
                return 0;
            ups++;
        }
        else if (size && !(size == 1 && link.data[at] == '.')) {
            names++;
        }
        at += size + 1;
    }
    return ups < count;
}
