/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Walk over trees, relative to handles of directories, make a header of each thing found, and lay out frames.
 *
 * What cpkg/archive/_walk.py and cpkg/archive/_plan.py do without a `select`, attributes and sparse maps; the same
 * order, the same frames.
 */
#ifndef CPKG_ARCHIVE_WALK
#define CPKG_ARCHIVE_WALK

#include <dirent.h>
#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <sys/sysmacros.h>

#include "encode.c"
#include "patterns.c"
#include "plan.c"

typedef struct {
    int64_t frame_size;
    int is_sorted, is_recursive, is_numeric;
    unsigned mode_mask;
    int has_time;
    int64_t seconds;
    long nanoseconds;
    int has_owner;
    int64_t uid, gid;
    int has_own_file;
    uint64_t own_device, own_inode;
} cpkg_walk_options;

/* A directory that is walked: the names in it, or at the bottom the paths that the caller gave. */
typedef struct {
    Dir *dir;
    Bytes texts;
    char **names;
    size_t count, at;
    size_t path_size; /* of the directory's own name in the archive */
} Level;

/* The first name of a file that has several. */
typedef struct {
    uint64_t device, inode;
    size_t name_at; /* in `link_names`, from 1 */
} Link;

typedef struct {
    int is_known;
    int64_t number;
    char name[256];
} Owner;

enum { OWNERS = 64 };

typedef struct cpkg_walk_s {
    cpkg_walk_options options;
    Patterns excluded;
    Dir *root;
    Bytes given; /* paths and names of the caller's, each with its NUL */
    size_t given_at;
    Level *levels;
    size_t level_count, level_capacity;
    Bytes path;   /* the name of the entry at hand */
    char *base;   /* its file, relative to its directory */
    Bytes target; /* of a symbolic link */
    Bytes pax;
    Link *links;
    size_t link_count, link_slots;
    Bytes link_names;
    Owner users[OWNERS], groups[OWNERS];
    cpkg_plan *plan;
    /* a file of which only a part is planned */
    Source *source;
    size_t rest_name_at;
    uint64_t rest_offset, rest_size;
    struct stat rest_status;
    Bytes rest_name;
} cpkg_walk;

static int compare_names(const void *left, const void *right)
{
    return strcmp(*(char *const *)left, *(char *const *)right);
}

static void level_free(Level *level)
{
    if (level->dir != NULL) {
        dir_unuse(level->dir);
        dir_forget(level->dir);
    }
    free(level->names);
    bytes_free(&level->texts);
}

/* Read the names in an open directory; 0, or errno. */
static int level_read(Level *level, int is_sorted)
{
    int fd = fcntl(level->dir->fd, F_DUPFD_CLOEXEC, 0);
    DIR *stream = fd < 0 ? NULL : fdopendir(fd);
    if (stream == NULL) {
        int error = errno;
        if (fd >= 0)
            close(fd);
        return error;
    }
    int error = 0;
    for (;;) {
        errno = 0;
        const struct dirent *entry = readdir(stream);
        if (entry == NULL) {
            error = errno;
            break;
        }
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        if (!bytes_add(&level->texts, entry->d_name, strlen(entry->d_name) + 1)) {
            error = ENOMEM;
            break;
        }
        level->count++;
    }
    closedir(stream);
    if (error)
        level->count = 0;
    level->names = malloc((level->count + 1) * sizeof *level->names);
    if (level->names == NULL)
        return ENOMEM;
    char *text = level->texts.data;
    for (size_t index = 0; index < level->count; index++, text += strlen(text) + 1)
        level->names[index] = text;
    if (is_sorted)
        qsort(level->names, level->count, sizeof *level->names, compare_names);
    return error;
}

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

static size_t link_slot(const cpkg_walk *walk, uint64_t device, uint64_t inode)
{
    size_t slot = (size_t)((inode * 0x9E3779B97F4A7C15u) ^ device) & (walk->link_slots - 1);
    while (walk->links[slot].name_at && (walk->links[slot].inode != inode || walk->links[slot].device != device))
        slot = (slot + 1) & (walk->link_slots - 1);
    return slot;
}

/* Find the first name of a file with several, or NULL if this is it, which is noted; false for want of memory. */
static int first_name(cpkg_walk *walk, const struct stat *status, const char **found)
{
    if (2 * walk->link_count >= walk->link_slots) {
        size_t slots = walk->link_slots ? 2 * walk->link_slots : 256, old_slots = walk->link_slots;
        Link *old = walk->links, *links = calloc(slots, sizeof *links);
        if (links == NULL)
            return 0;
        walk->links = links;
        walk->link_slots = slots;
        for (size_t slot = 0; slot < old_slots; slot++)
            if (old[slot].name_at)
                links[link_slot(walk, old[slot].device, old[slot].inode)] = old[slot];
        free(old);
    }
    Link *link = &walk->links[link_slot(walk, status->st_dev, status->st_ino)];
    *found = NULL;
    if (link->name_at) {
        *found = walk->link_names.data + link->name_at - 1;
        return 1;
    }
    *link = (Link){status->st_dev, status->st_ino, walk->link_names.size + 1};
    walk->link_count++;
    return bytes_add(&walk->link_names, walk->path.data, strlen(walk->path.data) + 1);
}

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

enum { WALK_NO_MEMORY = -1, WALK_ON, WALK_PLAN_FULL };

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

/* Make the header of the entry at hand and plan what follows it, for which there is room if `is_first`. */
static int plan_entry(cpkg_walk *walk, Dir *dir, const struct stat *status, int *is_taken)
{
    const cpkg_walk_options *options = &walk->options;
    cpkg_plan *plan = walk->plan;
    int is_directory = S_ISDIR(status->st_mode);
    TarHeader header = {.link = "", .uname = "", .gname = "", .mode = (unsigned)status->st_mode & 07777};
    const char *first = NULL;
    if (!is_directory && !S_ISLNK(status->st_mode) && status->st_nlink > 1 && !first_name(walk, status, &first))
        return WALK_NO_MEMORY;
    if (first != NULL && strcmp(first, walk->path.data) == 0)
        first = NULL; /* it is planned a second time, for the next frame */
    size_t path_size = strlen(walk->path.data);
    walk->path.size = path_size;
    if (first != NULL) {
        header.type = '1';
        header.link = first;
        header.link_size = strlen(first);
    }
    else if (S_ISREG(status->st_mode)) {
        header.type = '0';
        header.size = (uint64_t)status->st_size;
    }
    else if (S_ISLNK(status->st_mode)) {
        int error = read_target(walk, dir->fd);
        if (error)
            return walk_trouble(walk, STAT_FAILED, error) ? WALK_ON : WALK_NO_MEMORY;
        header.type = '2';
        header.link = walk->target.data;
        header.link_size = walk->target.size;
    }
    else if (is_directory) {
        header.type = '5';
    }
    else if (S_ISFIFO(status->st_mode)) {
        header.type = '6';
    }
    else {
        header.type = S_ISCHR(status->st_mode) ? '3' : '4';
        header.major = major(status->st_rdev);
        header.minor = minor(status->st_rdev);
    }
    header.mode &= options->mode_mask;
    header.uid = options->has_owner ? options->uid : (int64_t)status->st_uid;
    header.gid = options->has_owner ? options->gid : (int64_t)status->st_gid;
    if (!options->has_owner && !options->is_numeric) {
        header.uname = owner_name(walk->users, header.uid, 1);
        header.gname = owner_name(walk->groups, header.gid, 0);
    }
    header.seconds = options->has_time ? options->seconds : (int64_t)status->st_mtim.tv_sec;
    header.nanoseconds = options->has_time ? options->nanoseconds : status->st_mtim.tv_nsec;
    if (is_directory && !bytes_add(&walk->path, "/", 2))
        return WALK_NO_MEMORY;
    header.name = walk->path.data;
    header.name_size = path_size + (size_t)is_directory;

    size_t header_at = plan->bytes.size;
    int is_done = add_header(&plan->bytes, &header, &walk->pax);
    walk->path.data[path_size] = '\0';
    if (!is_done)
        return WALK_NO_MEMORY;
    uint64_t size = header.size, header_size = plan->bytes.size - header_at, fill = padding_of(size);
    if (plan->count && plan->size + header_size + size + fill > (uint64_t)options->frame_size) {
        plan->bytes.size = header_at; /* comes again, in the next frame */
        *is_taken = 1;
        return WALK_PLAN_FULL;
    }
    Item *item = plan_item(plan);
    if (item == NULL)
        return WALK_NO_MEMORY;
    item->header_at = header_at;
    item->header_size = header_size;
    item->inode = status->st_ino;
    if (!size) {
        plan->size += header_size;
        plan->count++;
        plan->entries++;
        return WALK_ON;
    }
    if (header_size + size + fill > (uint64_t)options->frame_size) {
        int fd = openat(dir->fd, walk->base, OPEN_FLAGS);
        if (fd < 0) {
            plan->bytes.size = header_at;
            return walk_trouble(walk, OPEN_FAILED, errno) ? WALK_ON : WALK_NO_MEMORY;
        }
        walk->source = malloc(sizeof *walk->source);
        if (walk->source == NULL) {
            close(fd);
            return WALK_NO_MEMORY;
        }
        atomic_init(&walk->source->references, 1);
        walk->source->fd = fd;
        walk->rest_offset = 0;
        walk->rest_size = size;
        walk->rest_status = *status;
        walk->rest_name.size = 0;
        plan->size += header_size;
        plan->count++;
        plan->entries++;
        return bytes_add(&walk->rest_name, walk->path.data, path_size + 1) ? plan_rest(walk) : WALK_NO_MEMORY;
    }
    item->is_held = plan_holds(plan, dir);
    item->dir = dir;
    item->size = size;
    item->fill = (unsigned)fill;
    item->file_size = size;
    item->mtime = status->st_mtim;
    if (!plan_text(plan, walk->path.data, &item->name_at) || !plan_text(plan, walk->base, &item->base_at))
        return WALK_NO_MEMORY;
    atomic_fetch_add(&dir->references, 1);
    plan->count++;
    plan->entries++;
    plan->size += header_size + size + fill;
    return WALK_ON;
}

/* Begin to walk the directory at hand; false for want of memory. */
static int walk_enter(cpkg_walk *walk, Dir *dir)
{
    int fd = openat(dir->fd, walk->base, DIRECTORY_FLAGS);
    if (fd < 0)
        return walk_trouble(walk, DIRECTORY_FAILED, errno);
    if (!array_reserve((void **)&walk->levels, walk->level_count, &walk->level_capacity, sizeof *walk->levels)) {
        close(fd);
        return 0;
    }
    Level *level = &walk->levels[walk->level_count];
    memset(level, 0, sizeof *level);
    level->dir = dir_new(fd, dir, walk->base);
    if (level->dir == NULL) {
        close(fd);
        return 0;
    }
    level->path_size = strlen(walk->path.data);
    walk->level_count++;
    int error = level_read(level, walk->options.is_sorted);
    return error == ENOMEM ? 0 : error ? walk_trouble(walk, STAT_FAILED, error) : 1;
}

/* Take the next name of the innermost directory, or the next path of the caller's; false at the end. */
static int walk_name(cpkg_walk *walk, Dir **dir, int *is_enough)
{
    *is_enough = 1;
    while (walk->level_count) {
        Level *level = &walk->levels[walk->level_count - 1];
        if (level->at == level->count) {
            level_free(level);
            walk->level_count--;
            continue;
        }
        walk->base = level->names[level->at++];
        walk->path.size = level->path_size;
        *dir = level->dir;
        *is_enough = bytes_add(&walk->path, "/", 1) && bytes_add(&walk->path, walk->base, strlen(walk->base) + 1);
        return *is_enough;
    }
    if (walk->given_at == walk->given.size)
        return 0;
    walk->base = walk->given.data + walk->given_at;
    walk->given_at += strlen(walk->base) + 1;
    const char *name = walk->given.data + walk->given_at;
    walk->given_at += strlen(name) + 1;
    walk->path.size = 0;
    *dir = walk->root;
    *is_enough = bytes_add(&walk->path, name, strlen(name) + 1);
    return *is_enough;
}

/* Take up one name: leave it out, or plan its entry. */
static int walk_one(cpkg_walk *walk, Dir *dir, cpkg_plan **full)
{
    struct stat status;
    int is_given = walk->level_count == 0;
    if (patterns_match(&walk->excluded, walk->path.data, 0))
        return WALK_ON;
    if (fstatat(dir->fd, walk->base, &status, AT_SYMLINK_NOFOLLOW) != 0) {
        int what = errno == ENOENT && !is_given ? VANISHED : STAT_FAILED;
        return walk_trouble(walk, what, errno) ? WALK_ON : WALK_NO_MEMORY;
    }
    int what = 0;
    if (S_ISSOCK(status.st_mode))
        what = IS_SOCKET;
    else if (!S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode) && !S_ISLNK(status.st_mode) &&
             !S_ISFIFO(status.st_mode) && !S_ISCHR(status.st_mode) && !S_ISBLK(status.st_mode))
        what = UNKNOWN_TYPE;
    else if (walk->options.has_own_file && status.st_dev == walk->options.own_device &&
             status.st_ino == walk->options.own_inode)
        what = IS_ARCHIVE;
    if (what)
        return walk_trouble(walk, what, 0) ? WALK_ON : WALK_NO_MEMORY;
    int is_taken = 0;
    int result = plan_entry(walk, dir, &status, &is_taken);
    if (is_taken) { /* the frame was full before it: now it goes into the next */
        *full = walk_take(walk);
        is_taken = 0;
        result = walk->plan == NULL ? WALK_NO_MEMORY : plan_entry(walk, dir, &status, &is_taken);
        if (result == WALK_PLAN_FULL)
            result = WALK_ON; /* with a part of a large file, which goes on at the next call */
    }
    if (result != WALK_NO_MEMORY && S_ISDIR(status.st_mode) && walk->options.is_recursive && !walk_enter(walk, dir))
        return WALK_NO_MEMORY;
    return result;
}

cpkg_plan *cpkg_walk_next(cpkg_walk *walk, int *is_at_end)
{
    cpkg_plan *full = NULL;
    int result = WALK_ON;
    *is_at_end = 0;
    while (walk->plan != NULL) {
        if (walk->source != NULL) {
            result = plan_rest(walk);
        }
        else {
            Dir *dir;
            int is_enough;
            if (!walk_name(walk, &dir, &is_enough)) {
                if (!is_enough)
                    return NULL;
                *is_at_end = 1;
                return walk->plan->count || walk->plan->trouble_count ? walk_take(walk) : NULL;
            }
            result = walk_one(walk, dir, &full);
        }
        if (result == WALK_NO_MEMORY)
            break;
        if (full != NULL)
            return full;
        if (result == WALK_PLAN_FULL)
            return walk_take(walk);
    }
    if (full != NULL)
        cpkg_plan_free(full);
    return NULL;
}

int cpkg_walk_add(cpkg_walk *walk, const char *path, const char *name)
{
    return bytes_add(&walk->given, path, strlen(path) + 1) && bytes_add(&walk->given, name, strlen(name) + 1);
}

void cpkg_walk_free(cpkg_walk *walk)
{
    while (walk->level_count)
        level_free(&walk->levels[--walk->level_count]);
    if (walk->source != NULL)
        source_release(walk->source);
    if (walk->plan != NULL)
        cpkg_plan_free(walk->plan);
    if (walk->root != NULL) {
        dir_unuse(walk->root);
        dir_forget(walk->root);
    }
    Bytes *bytes[] = {&walk->given, &walk->path, &walk->target, &walk->pax, &walk->link_names, &walk->rest_name};
    for (size_t index = 0; index < sizeof bytes / sizeof *bytes; index++)
        bytes_free(bytes[index]);
    patterns_free(&walk->excluded);
    free(walk->levels);
    free(walk->links);
    free(walk);
}

cpkg_walk *cpkg_walk_new(const cpkg_walk_options *options, const char *base, const char *patterns, size_t count)
{
    cpkg_walk *walk = calloc(1, sizeof *walk);
    if (walk == NULL)
        return NULL;
    walk->options = *options;
    walk->plan = calloc(1, sizeof *walk->plan);
    int fd = open(base, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int error = errno;
    if (fd >= 0) {
        walk->root = dir_new(fd, NULL, "");
        error = ENOMEM;
        if (walk->root == NULL)
            close(fd);
    }
    if (walk->root == NULL || walk->plan == NULL || !patterns_copy(&walk->excluded, patterns, count)) {
        cpkg_walk_free(walk);
        errno = error;
        return NULL;
    }
    return walk;
}

#endif
