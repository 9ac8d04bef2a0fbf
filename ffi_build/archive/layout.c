/* SPDX-License-Identifier: Apache-2.0 */
/* Lay out frames: the header of each entry, and which pieces of its file follow it. */
#ifndef CPKG_ARCHIVE_LAYOUT
#define CPKG_ARCHIVE_LAYOUT

#include <sys/sysmacros.h>

#include "encode.c"
#include "first_names.c"
#include "interface.c"
#include "listing.c"
#include "owners.c"
#include "patterns.c"
#include "plan.c"

struct cpkg_walk_s {
    cpkg_walk_options options;
    Patterns included, excluded;
    Dir *root;
    Bytes given; /* paths and names of the caller's, each with its NUL */
    size_t given_at;
    Level *levels;
    size_t level_count, level_capacity;
    Bytes path;   /* the name of the entry at hand */
    char *base;   /* its file, relative to its directory */
    Bytes target; /* of a symbolic link */
    Bytes pax;
    FirstNames first_names;
    Owner users[OWNERS], groups[OWNERS];
    cpkg_plan *plan;
    /* a file of which only a part is planned */
    Source *source;
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

enum { WALK_NO_MEMORY = -1, WALK_ON, WALK_PLAN_FULL, WALK_AGAIN };

/* Give away the plan that is full, and begin the next. */
static cpkg_plan *walk_take(cpkg_walk *walk)
{
    cpkg_plan *plan = walk->plan;
    walk->plan = calloc(1, sizeof *walk->plan);
    return plan;
}

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
        source_release(walk->source);
        walk->source = NULL;
    }
    return WALK_PLAN_FULL;
}

/* Fill in what the header of the entry at hand says but for its name; 0, or errno of reading a link. */
static int fill_header(cpkg_walk *walk, TarHeader *header, const Dir *dir, const struct stat *status, const char *first)
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
        int error = read_target(walk, dir->fd);
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

/* Tell of the entry at hand; false for want of memory. */
static int plan_tell(cpkg_walk *walk, const TarHeader *header)
{
    cpkg_told head = {
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
    return told_add(&walk->plan->told, head, text_of(walk->path.data), (Text){header->link, header->link_size},
                    text_of(header->uname), text_of(header->gname));
}

/* Begin a file that does not fit in what is left of the frame, or in any; its header is in the plan. */
static int plan_large(cpkg_walk *walk, const Dir *dir, const struct stat *status)
{
    int fd = openat(dir->fd, walk->base, OPEN_FLAGS);
    if (fd < 0)
        return walk_trouble(walk, OPEN_FAILED, errno) ? WALK_ON : WALK_NO_MEMORY;
    walk->source = malloc(sizeof *walk->source);
    if (walk->source == NULL) {
        close(fd);
        return WALK_NO_MEMORY;
    }
    atomic_init(&walk->source->references, 1);
    walk->source->fd = fd;
    walk->rest_offset = 0;
    walk->rest_size = (uint64_t)status->st_size;
    walk->rest_status = *status;
    walk->rest_name.size = 0;
    return bytes_add(&walk->rest_name, walk->path.data, strlen(walk->path.data) + 1) ? WALK_PLAN_FULL : WALK_NO_MEMORY;
}

/* Make the header of the entry at hand and plan what follows it; WALK_AGAIN if the frame is too full for it. */
static int plan_entry(cpkg_walk *walk, Dir *dir, const struct stat *status)
{
    uint64_t frame_size = (uint64_t)walk->options.frame_size;
    cpkg_plan *plan = walk->plan;
    TarHeader header;
    const char *first = NULL;
    if (!S_ISDIR(status->st_mode) && !S_ISLNK(status->st_mode) && status->st_nlink > 1 &&
        !first_name(&walk->first_names, status, walk->path.data, &first))
        return WALK_NO_MEMORY;
    if (first != NULL && strcmp(first, walk->path.data) == 0)
        first = NULL; /* it is planned a second time, for the next frame */
    int error = fill_header(walk, &header, dir, status, first);
    if (error)
        return walk_trouble(walk, STAT_FAILED, error) ? WALK_ON : WALK_NO_MEMORY;
    size_t header_at = plan->bytes.size;
    if (!put_header(walk, &header))
        return WALK_NO_MEMORY;
    uint64_t size = header.size, header_size = plan->bytes.size - header_at, fill = padding_of(size);
    if (plan->count && plan->size + header_size + size + fill > frame_size) {
        plan->bytes.size = header_at;
        return WALK_AGAIN;
    }
    int result = WALK_ON, is_large = header_size + size + fill > frame_size && size;
    if (is_large) {
        result = plan_large(walk, dir, status);
        if (result == WALK_ON)
            plan->bytes.size = header_at; /* it cannot be opened */
        if (result != WALK_PLAN_FULL)
            return result;
    }
    Item *item = plan_item(plan);
    if (item == NULL || !members_add(&plan->members, walk->path.data) ||
        (walk->options.is_told && !plan_tell(walk, &header)))
        return WALK_NO_MEMORY;
    item->header_at = header_at;
    item->header_size = header_size;
    item->inode = status->st_ino;
    if (size && !is_large) {
        item->is_held = held_add(&plan->held, dir);
        item->size = size;
        item->fill = (unsigned)fill;
        item->file_size = size;
        item->mtime = status->st_mtim;
        if (!plan_text(plan, walk->path.data, &item->name_at) || !plan_text(plan, walk->base, &item->base_at))
            return WALK_NO_MEMORY;
        item->dir = dir;
        atomic_fetch_add(&dir->references, 1);
        plan->size += size + fill;
    }
    plan->size += header_size;
    plan->count++;
    plan->entries++;
    return is_large ? plan_rest(walk) : WALK_ON;
}

#endif
