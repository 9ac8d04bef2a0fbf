/* SPDX-License-Identifier: Apache-2.0 */
/* The plan of a frame: the headers and pieces of files that are its content. */
#pragma once

#include "folder.c"
#include "interface.c"
#include "members.c"
#include "records.c"

/* What may happen to a file; the numbers are those of cpkg/archive/in_python/frame_plan.py. */
enum {
    VANISHED = 1,
    OPEN_FAILED,
    READ_FAILED,
    SHRANK,
    CHANGED,
    REPLACED,
    STAT_FAILED,
    IS_SOCKET,
    UNKNOWN_TYPE,
    DIRECTORY_FAILED,
};

/* A file that is open for several plans; of its errors one is reported. */
typedef struct {
    atomic_int references, has_failed;
    int fd;
} SharedFile;

typedef struct {
    size_t header_at, header_size; /* in the plan's `bytes` */
    size_t name_at, base_at, record_at;
    Folder *folder; /* of a file that has to be opened */
    SharedFile *source;
    unsigned fill;
    uint64_t offset, size;
    uint64_t inode, file_size;
    struct timespec mtime;
} Item;

typedef struct {
    size_t name_at;
    int what, error;
    int64_t amount;
} Trouble;

struct cpkg_plan_s {
    Item *items;
    size_t count, capacity;
    Bytes bytes; /* headers and names */
    Trouble *troubles;
    size_t trouble_count, trouble_capacity;
    Members members;
    Bytes records; /* of its entries, for on_entry */
    uint64_t size; /* of the content, as planned and then as read */
    int64_t entries;
};

static void shared_file_release(SharedFile *source)
{
    if (atomic_fetch_sub(&source->references, 1) == 1) {
        close(source->fd);
        free(source);
    }
}

/* Add a text with its NUL to a plan and return where it is in `at`; false for want of memory. */
static int plan_text(cpkg_plan *plan, const char *text, size_t *at)
{
    *at = plan->bytes.size;
    return bytes_add(&plan->bytes, text, strlen(text) + 1);
}

static Item *plan_item(cpkg_plan *plan)
{
    return array_next((void **)&plan->items, plan->count, &plan->capacity, sizeof *plan->items);
}

/* Note what went wrong with the entry whose name is at `name_at`; false for want of memory. */
static int plan_trouble(cpkg_plan *plan, size_t name_at, int what, int64_t amount, int error)
{
    if (!array_reserve((void **)&plan->troubles, plan->trouble_count, &plan->trouble_capacity, sizeof *plan->troubles))
        return 0;
    plan->troubles[plan->trouble_count++] = (Trouble){name_at, what, error, amount};
    return 1;
}

cpkg_plan *cpkg_plan_new(void)
{
    return calloc(1, sizeof(cpkg_plan));
}

void cpkg_plan_free(cpkg_plan *plan)
{
    for (size_t index = 0; index < plan->count; index++) {
        if (plan->items[index].source != NULL)
            shared_file_release(plan->items[index].source);
        folder_release(plan->items[index].folder);
    }
    bytes_free(&plan->members.numbers);
    bytes_free(&plan->records);
    free(plan->items);
    free(plan->troubles);
    bytes_free(&plan->bytes);
    free(plan);
}

int64_t cpkg_plan_size(const cpkg_plan *plan)
{
    return (int64_t)plan->size;
}

const uint16_t *cpkg_plan_members(const cpkg_plan *plan, size_t *count, int *is_continued)
{
    *count = plan->members.numbers.size / sizeof(uint16_t);
    *is_continued = plan->members.is_continued;
    return (const uint16_t *)plan->members.numbers.data;
}

int64_t cpkg_plan_entries(const cpkg_plan *plan)
{
    return plan->entries;
}

const char *cpkg_plan_records(const cpkg_plan *plan, size_t *size)
{
    *size = plan->records.size;
    return plan->records.data;
}

size_t cpkg_plan_problem_count(const cpkg_plan *plan)
{
    return plan->trouble_count;
}

const char *cpkg_plan_problem(const cpkg_plan *plan, size_t index, int *what, int64_t *amount, int *error)
{
    const Trouble *trouble = &plan->troubles[index];
    *what = trouble->what;
    *amount = trouble->amount;
    *error = trouble->error;
    return plan->bytes.data + trouble->name_at;
}
