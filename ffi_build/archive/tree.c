/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Extract: read entries in order, make directories and symbolic links at once, and put files into batches.
 *
 * Nothing is done that could fail in more than one way: an entry that is not ordinary, or whose directory or link
 * cannot be made at the first attempt, is left to cpkg/archive/_disk.py with nothing done yet.
 */
#ifndef CPKG_ARCHIVE_TREE
#define CPKG_ARCHIVE_TREE

#include <grp.h>
#include <pwd.h>

#include "batch.c"
#include "parse.c"
#include "patterns.c"

typedef struct {
    int is_data, is_trusted; /* the filter */
    int strip;
    int is_owning, is_numeric;
    int with_attributes;
} cpkg_tree_options;

typedef struct {
    size_t path_at;
    Attributes attributes;
} Finished;

typedef struct cpkg_tree_s {
    cpkg_tree_options options;
    Patterns included, excluded;
    Naming naming;
    Dir **chain; /* the root, and the directories down to the one that was opened last */
    size_t depth, chain_capacity;
    Bytes carry; /* the begin of an entry that was cut by the end of a chunk */
    Bytes path;  /* of the entry at hand, in components each ended by NUL */
    Finished *finished;
    size_t finished_count, finished_capacity;
    Bytes finished_paths;
    uint64_t *seen; /* hashes of paths; 0 is none */
    size_t seen_count, seen_slots;
    int may_come_again, must_wait;
    LargeFile *large;
    size_t large_path_at;
    Bytes large_path;
    uint64_t left, offset, skipped; /* of the large file; of what is passed over */
    uint64_t entries;
    int is_finishing;
    char user_name[40], group_name[40]; /* looked up last */
    uid_t user;
    gid_t group;
} cpkg_tree;

enum { TREE_NO_MEMORY = -1, TREE_MORE, TREE_FULL, TREE_ODD, TREE_AGAIN };

static void tree_shorten(cpkg_tree *tree, size_t depth)
{
    while (tree->depth > depth) {
        Dir *dir = tree->chain[--tree->depth];
        dir_unuse(dir);
        dir_forget(dir);
    }
}

static uint64_t path_hash(const char *path, size_t size)
{
    uint64_t hash = 0xCBF29CE484222325u;
    for (size_t at = 0; at < size; at++)
        hash = (hash ^ (unsigned char)path[at]) * 0x100000001B3u;
    hash ^= hash >> 32;
    return hash ? hash : 1;
}

static int is_seen(const cpkg_tree *tree, const char *path, size_t size)
{
    uint64_t hash = path_hash(path, size);
    for (size_t slot = (size_t)hash; tree->seen_slots; slot++) {
        uint64_t there = tree->seen[slot & (tree->seen_slots - 1)];
        if (!there || there == hash)
            return there != 0;
    }
    return 0;
}

/* Open the directory of the path at hand, of which `count` components count, and make it if asked to. NULL: odd. */
static Dir *tree_directory(cpkg_tree *tree, size_t count, int is_made)
{
    const char *part = tree->path.data;
    size_t depth = 0;
    while (depth < count && depth + 1 < tree->depth && strcmp(tree->chain[depth + 1]->name, part) == 0) {
        part += strlen(part) + 1;
        depth++;
    }
    tree_shorten(tree, depth + 1);
    for (; depth < count; depth++, part += strlen(part) + 1) {
        Dir *parent = tree->chain[depth];
        int fd = openat(parent->fd, part, DIRECTORY_FLAGS);
        size_t size = (size_t)(part - tree->path.data) + strlen(part) + 1;
        if (fd < 0 && errno == ENOENT && !tree->may_come_again && is_seen(tree, tree->path.data, size)) {
            tree->must_wait = 1; /* it may be a file that is in a batch */
            return NULL;
        }
        if (fd < 0 && errno == ENOENT && is_made && (mkdirat(parent->fd, part, 0777) == 0 || errno == EEXIST))
            fd = openat(parent->fd, part, DIRECTORY_FLAGS);
        if (fd < 0)
            return NULL;
        Dir *dir = dir_new(fd, NULL, part);
        if (dir == NULL || !array_reserve((void **)&tree->chain, tree->depth, &tree->chain_capacity, sizeof(Dir *))) {
            close(fd);
            free(dir);
            return NULL;
        }
        tree->chain[tree->depth++] = dir;
    }
    return tree->chain[count];
}

/* Note a path, in components each ended by NUL; 1 if it was there before, 0 if not, -1 for want of memory. */
int cpkg_tree_note(cpkg_tree *tree, const char *path, size_t size)
{
    if (2 * tree->seen_count >= tree->seen_slots) {
        size_t slots = tree->seen_slots ? 2 * tree->seen_slots : 4096;
        uint64_t *seen = calloc(slots, sizeof *seen);
        if (seen == NULL)
            return -1;
        for (size_t old = 0; old < tree->seen_slots; old++) {
            size_t slot = (size_t)tree->seen[old] & (slots - 1);
            while (tree->seen[old] && seen[slot])
                slot = (slot + 1) & (slots - 1);
            if (tree->seen[old])
                seen[slot] = tree->seen[old];
        }
        free(tree->seen);
        tree->seen = seen;
        tree->seen_slots = slots;
    }
    uint64_t hash = path_hash(path, size);
    size_t slot = (size_t)hash & (tree->seen_slots - 1);
    for (; tree->seen[slot]; slot = (slot + 1) & (tree->seen_slots - 1))
        if (tree->seen[slot] == hash)
            return 1;
    tree->seen[slot] = hash;
    tree->seen_count++;
    return 0;
}

/* Split a name into the components under which it is extracted; how many, -1 for none, -2 for an odd one. */
static int tree_path(cpkg_tree *tree, Text name)
{
    int count = 0, left_out = 0;
    tree->path.size = 0;
    for (size_t at = 0; at < name.size;) {
        const char *part = name.data + at;
        const char *slash = memchr(part, '/', name.size - at);
        size_t size = slash == NULL ? name.size - at : (size_t)(slash - part);
        at += size + 1;
        if (!size)
            continue;
        if (size == 2 && part[0] == '.' && part[1] == '.')
            return -2;
        if (left_out < tree->options.strip) {
            left_out++;
            count = -1;
            continue;
        }
        if (count < 0)
            count = 0;
        if (size == 1 && part[0] == '.')
            continue;
        if (!bytes_add(&tree->path, part, size) || !bytes_add(&tree->path, "", 1))
            return -2;
        count++;
    }
    return tree->options.strip && left_out < tree->options.strip ? -1 : count;
}

static const char *last_part(const cpkg_tree *tree)
{
    size_t at = tree->path.size - 1;
    while (at > 0 && tree->path.data[at - 1] != '\0')
        at--;
    return tree->path.data + at;
}

static unsigned target_mode(const cpkg_tree *tree, unsigned mode, int is_directory)
{
    if (tree->options.is_trusted)
        return mode;
    mode &= 0755;
    if (!tree->options.is_data)
        return mode;
    if (is_directory)
        return mode | 0700;
    if (!(mode & 0100))
        mode &= ~0111u;
    return mode | 0600;
}

/* Find out whose an entry will be, by name before number; false if that is not ordinary. */
static int take_owner(cpkg_tree *tree, const Parsed *parsed, Attributes *attributes)
{
    char name[40], memory[16384];
    attributes->has_owner = tree->options.is_owning;
    attributes->uid = (uid_t)parsed->uid;
    attributes->gid = (gid_t)parsed->gid;
    if (!tree->options.is_owning || tree->options.is_numeric)
        return 1;
    if (parsed->uname.size >= sizeof name || parsed->gname.size >= sizeof name)
        return 0;
    memcpy(name, parsed->uname.data, parsed->uname.size);
    name[parsed->uname.size] = '\0';
    if (name[0] != '\0' && strcmp(name, tree->user_name) != 0) {
        struct passwd entry, *found = NULL;
        int is_known = getpwnam_r(name, &entry, memory, sizeof memory, &found) == 0 && found != NULL;
        strcpy(tree->user_name, is_known ? name : "");
        tree->user = is_known ? entry.pw_uid : 0;
    }
    if (name[0] != '\0' && tree->user_name[0] != '\0')
        attributes->uid = tree->user;
    memcpy(name, parsed->gname.data, parsed->gname.size);
    name[parsed->gname.size] = '\0';
    if (name[0] != '\0' && strcmp(name, tree->group_name) != 0) {
        struct group entry, *found = NULL;
        int is_known = getgrnam_r(name, &entry, memory, sizeof memory, &found) == 0 && found != NULL;
        strcpy(tree->group_name, is_known ? name : "");
        tree->group = is_known ? entry.gr_gid : 0;
    }
    if (name[0] != '\0' && tree->group_name[0] != '\0')
        attributes->gid = tree->group;
    return 1;
}

static int tree_make_directory(cpkg_tree *tree, size_t count, const Attributes *attributes)
{
    if (count) {
        Dir *parent = tree_directory(tree, count - 1, 1);
        struct stat status;
        if (parent == NULL)
            return TREE_ODD;
        if (mkdirat(parent->fd, last_part(tree), 0700) != 0) {
            if (errno != EEXIST || fstatat(parent->fd, last_part(tree), &status, AT_SYMLINK_NOFOLLOW) != 0 ||
                !S_ISDIR(status.st_mode) || ((status.st_mode & 0700) != 0700 && geteuid() != 0))
                return TREE_ODD;
        }
    }
    if (!array_reserve((void **)&tree->finished, tree->finished_count, &tree->finished_capacity, sizeof(Finished)))
        return TREE_NO_MEMORY;
    Finished *finished = &tree->finished[tree->finished_count];
    finished->path_at = tree->finished_paths.size;
    finished->attributes = *attributes;
    /* an empty component ends the path */
    if (!bytes_add(&tree->finished_paths, tree->path.data, tree->path.size) || !bytes_add(&tree->finished_paths, "", 1))
        return TREE_NO_MEMORY;
    tree->finished_count++;
    return TREE_MORE;
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

static int tree_make_link(cpkg_tree *tree, size_t count, const Parsed *parsed, const Attributes *attributes)
{
    char text[4096];
    if (parsed->link.size >= sizeof text || (tree->options.is_data && !link_is_safe(parsed->link, count)))
        return TREE_ODD;
    memcpy(text, parsed->link.data, parsed->link.size);
    text[parsed->link.size] = '\0';
    Dir *parent = tree_directory(tree, count - 1, 1);
    struct timespec times[2] = {attributes->mtime, attributes->mtime};
    if (parent == NULL || symlinkat(text, parent->fd, last_part(tree)) != 0)
        return TREE_ODD;
    if (attributes->has_owner &&
        fchownat(parent->fd, last_part(tree), attributes->uid, attributes->gid, AT_SYMLINK_NOFOLLOW) != 0)
        return TREE_ODD;
    return utimensat(parent->fd, last_part(tree), times, AT_SYMLINK_NOFOLLOW) != 0 ? TREE_ODD : TREE_MORE;
}

/* Add the path at hand to a batch's texts, its components joined by slashes; false for want of memory. */
static int batch_path(const cpkg_tree *tree, cpkg_batch *batch, size_t *at)
{
    *at = batch->texts.size;
    if (!bytes_add(&batch->texts, tree->path.data, tree->path.size))
        return 0;
    for (size_t index = *at; index + 1 < batch->texts.size; index++)
        if (batch->texts.data[index] == '\0')
            batch->texts.data[index] = '/';
    return 1;
}

/* Put as much of the large file at hand as there is into the batch; false for want of memory. */
static int tree_large_piece(cpkg_tree *tree, const char *data, size_t size, cpkg_batch *batch)
{
    Job *job = batch_job(batch);
    if (job == NULL)
        return 0;
    job->path_at = batch->texts.size;
    if (!bytes_add(&batch->texts, tree->large_path.data, tree->large_path.size))
        return 0;
    job->large = tree->large;
    atomic_fetch_add(&tree->large->references, 1);
    job->data = data;
    job->size = size;
    job->offset = tree->offset;
    batch->count++;
    tree->offset += size;
    tree->left -= size;
    if (!tree->left) {
        large_release(tree->large);
        tree->large = NULL;
    }
    return 1;
}

/* Put a file into the batch: whole, if all of it is at hand, else what there is. */
static int tree_make_file(cpkg_tree *tree, size_t count, const Parsed *parsed, const Attributes *attributes,
                          const char *data, size_t size, cpkg_batch *batch)
{
    Dir *dir = tree_directory(tree, count - 1, 1);
    const char *name = last_part(tree);
    if (dir == NULL)
        return TREE_ODD;
    if (parsed->size > size) {
        LargeFile *large = malloc(sizeof *large + strlen(name) + 1);
        if (large == NULL)
            return TREE_NO_MEMORY;
        large->fd = file_create(&tree->naming, dir->fd, large->temporary);
        if (large->fd < 0) {
            free(large);
            return TREE_ODD;
        }
        atomic_init(&large->references, 1);
        atomic_init(&large->error, 0);
        atomic_init(&large->missing, parsed->size);
        large->naming = &tree->naming;
        large->dir = dir;
        atomic_fetch_add(&dir->users, 1);
        atomic_fetch_add(&dir->references, 1);
        large->attributes = *attributes;
        strcpy(large->name, name);
        tree->large = large;
        tree->left = parsed->size;
        tree->offset = 0;
        size_t at;
        tree->large_path.size = 0;
        cpkg_batch scratch = {.texts = tree->large_path};
        int is_done = batch_path(tree, &scratch, &at);
        tree->large_path = scratch.texts;
        return is_done && (!size || tree_large_piece(tree, data, size, batch)) ? TREE_MORE : TREE_NO_MEMORY;
    }
    Job *job = batch_job(batch);
    if (job == NULL || !batch_path(tree, batch, &job->path_at))
        return TREE_NO_MEMORY;
    job->name_at = job->path_at + (size_t)(name - tree->path.data);
    job->dir = dir;
    job->data = data;
    job->size = parsed->size;
    job->attributes = *attributes;
    batch->count++;
    return TREE_MORE;
}

static int is_wanted(const cpkg_tree *tree, Text name, Bytes *scratch)
{
    if (!tree->included.count && !tree->excluded.count)
        return 1;
    while (name.size > 1 && name.data[name.size - 1] == '/')
        name.size--;
    scratch->size = 0;
    if (!bytes_add(scratch, name.data, name.size) || !bytes_add(scratch, "", 1))
        return 0;
    return (!tree->included.count || patterns_match(&tree->included, scratch->data, 1)) &&
           !patterns_match(&tree->excluded, scratch->data, 0);
}

/* Make an entry whose data begins with the `size` bytes at `data`, of which all that belong to it are taken. */
static int tree_entry(cpkg_tree *tree, const Parsed *parsed, const char *data, size_t size, cpkg_batch *batch)
{
    Attributes attributes = {.mtime = parsed->mtime};
    int count = is_wanted(tree, parsed->name, &tree->path) ? tree_path(tree, parsed->name) : -1;
    if (count == -2 || (count == 0 && parsed->type != '5') || !take_owner(tree, parsed, &attributes))
        return TREE_ODD;
    if (count == -1) {
        tree->skipped = parsed->size + padding_of(parsed->size);
        return TREE_MORE;
    }
    attributes.mode = target_mode(tree, parsed->mode, parsed->type == '5');
    if (batch->held_count == HELD_MAX)
        return TREE_FULL;
    if (count && !tree->may_come_again) {
        int came_before = cpkg_tree_note(tree, tree->path.data, tree->path.size);
        if (came_before)
            return came_before < 0 ? TREE_NO_MEMORY : TREE_AGAIN;
    }
    size_t here = parsed->size < size ? (size_t)parsed->size : size;
    int result = parsed->type == '5'   ? tree_make_directory(tree, (size_t)count, &attributes)
                 : parsed->type == '2' ? tree_make_link(tree, (size_t)count, parsed, &attributes)
                                       : tree_make_file(tree, (size_t)count, parsed, &attributes, data, here, batch);
    tree->may_come_again = 0;
    if (result == TREE_ODD && tree->must_wait) {
        tree->must_wait = 0;
        return TREE_AGAIN;
    }
    if (result != TREE_MORE)
        return result;
    if (parsed->type == '0' && parsed->size <= size && !batch_holds(batch, tree->chain[count - 1]))
        return TREE_NO_MEMORY;
    tree->entries++;
    tree->skipped = padding_of(parsed->size) + (tree->large == NULL ? here : 0);
    return TREE_MORE;
}

/* Let the path that came again be made, now that all files before it are written. */
void cpkg_tree_go_on(cpkg_tree *tree)
{
    tree->may_come_again = 1;
}

/* Pass over bytes of what has to be skipped, which are not in the chunks that follow. */
void cpkg_tree_pass(cpkg_tree *tree, uint64_t size)
{
    tree->skipped -= size;
}

/* Forget the begin of the entry that Python has taken over. */
void cpkg_tree_taken(cpkg_tree *tree)
{
    tree->carry.size = 0;
    tree->may_come_again = 0;
}

const char *cpkg_tree_carry(const cpkg_tree *tree, size_t *size)
{
    *size = tree->carry.size;
    return tree->carry.data;
}

/* How many bytes of a file's data are still to come, and how many that are skipped. */
uint64_t cpkg_tree_missing(const cpkg_tree *tree, uint64_t *skipped)
{
    *skipped = tree->skipped;
    return tree->left;
}

uint64_t cpkg_tree_entries(const cpkg_tree *tree)
{
    return tree->entries;
}

int cpkg_tree_parse(cpkg_tree *tree, const char *chunk, size_t size, size_t *position, cpkg_batch *batch)
{
    size_t at = *position;
    int result = TREE_MORE;
    while (result == TREE_MORE) {
        if (tree->large != NULL && tree->left) {
            size_t here = tree->left < size - at ? (size_t)tree->left : size - at;
            if (here && !tree_large_piece(tree, chunk + at, here, batch))
                result = TREE_NO_MEMORY;
            at += here;
        }
        size_t passed = tree->left ? 0 : tree->skipped < size - at ? (size_t)tree->skipped : size - at;
        tree->skipped -= passed;
        at += passed;
        *position = at;
        if (at == size || result != TREE_MORE)
            break;
        Parsed parsed;
        size_t carried = tree->carry.size;
        const char *group = carried ? tree->carry.data : chunk + at;
        int state = parse_group(group, carried ? carried : size - at, tree->options.with_attributes, &parsed);
        if (state == PARSE_MORE) { /* what is cut by the end of a chunk is put together in `carry` */
            size_t missing = carried ? parsed.meta_size - carried : size - at;
            size_t here = missing < size - at ? missing : size - at;
            if (!bytes_add(&tree->carry, chunk + at, here))
                result = TREE_NO_MEMORY;
            *position = at += here;
            continue;
        }
        if (state == PARSE_ODD) {
            result = TREE_ODD;
            break;
        }
        size_t data_at = carried ? at : at + parsed.meta_size;
        result = tree_entry(tree, &parsed, chunk + data_at, size - data_at, batch);
        if (result != TREE_MORE)
            break;
        tree->carry.size = 0;
        at = data_at;
        if (tree->large != NULL)
            at = size; /* its begin is in the batch */
        *position = at;
    }
    return result;
}

cpkg_batch *cpkg_batch_new(cpkg_tree *tree)
{
    cpkg_batch *batch = calloc(1, sizeof *batch);
    if (batch != NULL)
        batch->naming = &tree->naming;
    return batch;
}

size_t cpkg_batch_count(const cpkg_batch *batch)
{
    return batch->count;
}

/*
 * Give directories their attributes, in the reverse order of their entries, as the last entry of each says. Returns the
 * path of the next one that fails, with its error, or NULL.
 */
const char *cpkg_tree_finish(cpkg_tree *tree, int *error)
{
    if (tree->finished_count && !tree->is_finishing) {
        tree->is_finishing = 1; /* from here on `seen` has the directories that are done */
        tree->seen_count = 0;
        if (tree->seen != NULL)
            memset(tree->seen, 0, tree->seen_slots * sizeof *tree->seen);
    }
    while (tree->finished_count) {
        const Finished *finished = &tree->finished[--tree->finished_count];
        size_t count = 0;
        tree->path.size = 0;
        for (const char *part = tree->finished_paths.data + finished->path_at; *part != '\0'; count++) {
            if (!bytes_add(&tree->path, part, strlen(part) + 1))
                return NULL;
            part += strlen(part) + 1;
        }
        if (cpkg_tree_note(tree, tree->path.data, tree->path.size) != 0)
            continue;
        const Dir *dir = tree_directory(tree, count, 0);
        *error = dir == NULL ? 0 : set_attributes(dir->fd, &finished->attributes);
        if (*error) {
            for (size_t at = 0; at + 1 < tree->path.size; at++)
                if (tree->path.data[at] == '\0')
                    tree->path.data[at] = '/';
            return count ? tree->path.data : ".";
        }
    }
    return NULL;
}

void cpkg_tree_free(cpkg_tree *tree)
{
    if (tree->large != NULL)
        large_release(tree->large);
    tree_shorten(tree, 0);
    Bytes *bytes[] = {&tree->carry, &tree->path, &tree->finished_paths, &tree->large_path};
    for (size_t index = 0; index < sizeof bytes / sizeof *bytes; index++)
        bytes_free(bytes[index]);
    patterns_free(&tree->included);
    patterns_free(&tree->excluded);
    free(tree->chain);
    free(tree->finished);
    free(tree->seen);
    free(tree);
}

cpkg_tree *cpkg_tree_new(const cpkg_tree_options *options, int root, const char *token, const char *patterns,
                         size_t included, size_t excluded)
{
    cpkg_tree *tree = calloc(1, sizeof *tree);
    if (tree == NULL)
        return NULL;
    tree->options = *options;
    snprintf(tree->naming.token, sizeof tree->naming.token, "%s", token);
    atomic_init(&tree->naming.count, 0);
    atomic_init(&tree->naming.has_nameless, 1);
    int fd = fcntl(root, F_DUPFD_CLOEXEC, 0);
    Dir *dir = fd < 0 ? NULL : dir_new(fd, NULL, "");
    if (dir == NULL && fd >= 0)
        close(fd);
    if (dir != NULL && array_reserve((void **)&tree->chain, 0, &tree->chain_capacity, sizeof(Dir *)))
        tree->chain[tree->depth++] = dir;
    const char *rest = patterns;
    for (size_t index = 0; index < included; index++)
        rest += strlen(rest) + 1;
    if (!tree->depth || !patterns_copy(&tree->included, patterns, included) ||
        !patterns_copy(&tree->excluded, rest, excluded)) {
        cpkg_tree_free(tree);
        return NULL;
    }
    return tree;
}

#endif
