/* SPDX-License-Identifier: Apache-2.0 */
/* Lay out frames: the header of each entry, and which pieces of its file follow it. */
#pragma once

#include <sys/sysmacros.h>

#include "encode.c"
#include "first_names.c"
#include "listing.c"
#include "owners.c"
#include "patterns.c"
#include "read.c"

struct cpkg_walk_s {
    cpkg_walk_options options;
    Patterns included, excluded;
    Folder *root;
    Cursor cursor;
    Bytes given; /* paths and names of the caller's, each with its NUL */
    size_t given_at;
    Level *levels;
    size_t level_count, level_capacity;
    Bytes path; /* the name of the entry at hand */
    char *base; /* its file, relative to its directory; NULL before the first */
    Folder *folder;
    int is_waiting; /* it has no room in the plan that is full */
    Bytes target;   /* of a symbolic link */
    Bytes pax;
    FirstNames first_names;
    Owner users[OWNERS], groups[OWNERS];
    cpkg_plan *plan; /* the one that is being filled */
    /* a file with only a part in plans so far */
    SharedFile *source;
    uint64_t rest_offset, rest_size;
    struct stat rest_status;
    Bytes rest_name;
};

/* Note what went wrong with the entry at hand; false for want of memory. */
static int walk_trouble(cpkg_walk *walk, int what, int error)
{
    size_t name_at;
    return plan_text(walk->plan, walk->path.data, &name_at) && plan_trouble(walk->plan, name_at, what, 0, error);
}

/* Read the target of the symbolic link at hand; 0 or errno. */
static int read_target(cpkg_walk *walk, int dir)
{
    walk->target.size = 0;
    for (size_t size = 256;; size *= 2) {
        if (!bytes_reserve(&walk->target, size))
            return ENOMEM;
        ssize_t count = readlinkat(dir, walk->base, walk->target.data, size);
        if (count < 0)
            return errno;
        if ((size_t)count < size) {
            walk->target.data[count] = '\0';
            walk->target.size = (size_t)count;
            return 0;
        }
    }
}

enum { WALK_NO_MEMORY = -1, WALK_END, WALK_PLAN_FULL, WALK_ON };

/* Plan as much of a large file as fits in the frame; WALK_PLAN_FULL if the frame ends here. */
static int plan_rest(cpkg_walk *walk)
{
    cpkg_plan *plan = walk->plan;
    uint64_t frame_size = (uint64_t)walk->options.frame_size;
    uint64_t room = plan->size < frame_size ? frame_size - plan->size : 0;
    uint64_t here = walk->rest_size < room ? walk->rest_size : room;
    if (here) {
        plan->members.is_continued |= !plan->count;
        Item *item = plan_item(plan);
        size_t name_at;
        if (item == NULL || !plan_text(plan, walk->rest_name.data, &name_at))
            return WALK_NO_MEMORY;
        plan->count++;
        item->name_at = name_at;
        item->source = walk->source;
        atomic_fetch_add(&walk->source->references, 1);
        item->offset = walk->rest_offset;
        item->size = here;
        item->file_size = (uint64_t)walk->rest_status.st_size;
        item->mtime = walk->rest_status.st_mtim;
        walk->rest_offset += here;
        walk->rest_size -= here;
        plan->size += here;
        if (!walk->rest_size) {
            item->fill = (unsigned)padding_of(item->file_size);
            plan->size += item->fill;
        }
    }
    if (!walk->rest_size) {
        shared_file_release(walk->source);
        walk->source = NULL;
    }
    return WALK_PLAN_FULL;
}

/* Fill in what the header of the entry at hand says but for its name; 0, or errno of reading a link. */
static int fill_header(cpkg_walk *walk, TarHeader *header, int dir, const struct stat *status, const char *first)
{
    const cpkg_walk_options *options = &walk->options;
    int is_directory = S_ISDIR(status->st_mode);
    *header = (TarHeader){.link = "", .uname = "", .gname = "", .mode = (unsigned)status->st_mode & 07777};
    if (first != NULL) {
        header->type = '1';
        header->link = first;
        header->link_size = strlen(first);
    }
    else if (S_ISREG(status->st_mode)) {
        header->type = '0';
        header->size = (uint64_t)status->st_size;
    }
    else if (S_ISLNK(status->st_mode)) {
        int error = read_target(walk, dir);
        if (error)
            return error;
        header->type = '2';
        header->link = walk->target.data;
        header->link_size = walk->target.size;
    }
    else if (is_directory) {
        header->type = '5';
    }
    else if (S_ISFIFO(status->st_mode)) {
        header->type = '6';
    }
    else {
        header->type = S_ISCHR(status->st_mode) ? '3' : '4';
        header->major = major(status->st_rdev);
        header->minor = minor(status->st_rdev);
    }
    header->mode &= options->mode_mask;
    header->uid = options->has_owner ? options->uid : (int64_t)status->st_uid;
    header->gid = options->has_owner ? options->gid : (int64_t)status->st_gid;
    if (!options->has_owner && !options->is_numeric) {
        header->uname = owner_name(walk->users, header->uid, 1);
        header->gname = owner_name(walk->groups, header->gid, 0);
    }
    header->seconds = options->has_time ? options->seconds : (int64_t)status->st_mtim.tv_sec;
    header->nanoseconds = options->has_time ? options->nanoseconds : status->st_mtim.tv_nsec;
    return 0;
}

/* Add the header of the entry at hand to the plan's bytes; a directory's name ends with a slash. */
static int put_header(cpkg_walk *walk, TarHeader *header)
{
    size_t size = walk->path.size = strlen(walk->path.data);
    int is_directory = header->type == '5';
    if (is_directory && !bytes_add(&walk->path, "/", 2))
        return 0;
    header->name = walk->path.data;
    header->name_size = size + (size_t)is_directory;
    int is_done = add_header(&walk->plan->bytes, header, &walk->pax);
    walk->path.data[size] = '\0';
    return is_done;
}

/* Add the record of the entry at hand; false for want of memory. */
static int put_record(cpkg_walk *walk, const TarHeader *header)
{
    cpkg_record head = {
        .position = -1,
        .uid = header->uid,
        .gid = header->gid,
        .size = (int64_t)header->size,
        .seconds = header->seconds,
        .nanoseconds = (uint32_t)header->nanoseconds,
        .mode = header->mode,
        .type = (unsigned char)header->type,
        .major = header->major,
        .minor = header->minor,
    };
    return record_add(&walk->plan->records, head, text_of(walk->path.data), (Text){header->link, header->link_size},
                      text_of(header->uname), text_of(header->gname));
}

/* Keep a file open that does not fit in any frame, for all plans that have pieces of it. */
static int keep_source(cpkg_walk *walk, int fd, const struct stat *status)
{
    walk->source = malloc(sizeof *walk->source);
    if (walk->source == NULL) {
        close(fd);
        return 0;
    }
    atomic_init(&walk->source->references, 1);
    atomic_init(&walk->source->has_failed, 0);
    walk->source->fd = fd;
    walk->rest_offset = 0;
    walk->rest_size = (uint64_t)status->st_size;
    walk->rest_status = *status;
    walk->rest_name.size = 0;
    return bytes_add(&walk->rest_name, walk->path.data, strlen(walk->path.data) + 1);
}

/* Read a small file at once and add its data behind its header. FILE_LOST if it cannot be read; 0. */
static int read_now(cpkg_walk *walk, Item *item, int fd)
{
    Bytes *bytes = &walk->plan->bytes;
    if (!bytes_reserve(bytes, item->size + item->fill) || !read_piece(walk->plan, item, fd, bytes))
        return 0;
    item->header_size += item->size + item->fill;
    item->size = item->fill = 0;
    return 1;
}

/*
 * Plan the entry at hand: its header, and what follows it.
 *
 * The data of a file with several names is read at once, since other entries will be links to this one: it must not
 * be lost any more.
 */
static int plan_entry(cpkg_walk *walk, int dir, const struct stat *status)
{
    uint64_t frame_size = (uint64_t)walk->options.frame_size;
    cpkg_plan *plan = walk->plan;
    TarHeader header;
    int has_names = !S_ISDIR(status->st_mode) && status->st_nlink > 1;
    const char *first = has_names ? first_name(&walk->first_names, status) : NULL;
    if (first != NULL && strcmp(first, walk->path.data) == 0)
        first = NULL; /* it was given twice */
    int error = fill_header(walk, &header, dir, status, first);
    if (error)
        return walk_trouble(walk, error == ENOENT && walk->level_count ? VANISHED : STAT_FAILED, error)
                   ? WALK_ON
                   : WALK_NO_MEMORY;
    Item entry = {.inode = status->st_ino, .size = header.size, .file_size = header.size, .mtime = status->st_mtim};
    entry.fill = (unsigned)padding_of(entry.size);
    if (!plan_text(plan, walk->path.data, &entry.name_at))
        return WALK_NO_MEMORY;
    entry.header_at = plan->bytes.size;
    entry.record_at = plan->records.size;
    if (!put_header(walk, &header))
        return WALK_NO_MEMORY;
    entry.header_size = plan->bytes.size - entry.header_at;
    uint64_t size = entry.header_size + entry.size + entry.fill;
    if (plan->count && plan->size + size > frame_size) {
        plan->bytes.size = entry.name_at;
        walk->is_waiting = 1;
        return WALK_PLAN_FULL;
    }
    int is_large = size > frame_size && entry.size;
    if (entry.size && (is_large || has_names)) {
        int fd = open_seen(plan, entry.name_at, dir, walk->base, status->st_ino);
        if (fd < 0)
            return fd == FILE_LOST ? WALK_ON : WALK_NO_MEMORY;
        if (is_large && !keep_source(walk, fd, status))
            return WALK_NO_MEMORY;
        int is_read = is_large || read_now(walk, &entry, fd);
        if (!is_large)
            close(fd);
        if (!is_read)
            return WALK_NO_MEMORY;
        if (is_large)
            size = entry.header_size;
        entry.size = entry.fill = 0;
    }
    else if (entry.size) {
        if (!plan_text(plan, walk->base, &entry.base_at))
            return WALK_NO_MEMORY;
        entry.folder = walk->folder;
    }
    Item *item = plan_item(plan);
    if (item == NULL || !members_add(&plan->members, walk->path.data) ||
        (walk->options.has_records && !put_record(walk, &header)) ||
        (has_names && first == NULL && !first_name_note(&walk->first_names, status, walk->path.data)))
        return WALK_NO_MEMORY;
    *item = entry;
    if (entry.folder != NULL)
        folder_retain(entry.folder);
    plan->size += size;
    plan->count++;
    plan->entries++;
    return is_large ? plan_rest(walk) : WALK_ON;
}
