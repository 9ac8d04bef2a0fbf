/* SPDX-License-Identifier: Apache-2.0 */
/* Files to write out of one chunk of content: a thread takes a batch. */
#pragma once

#include "../common/clock.c"
#include "file.c"
#include "interface.c"
#include "records.c"

/* A file whose data comes in several chunks, which several threads may write at the same time. */
typedef struct {
    atomic_int references, error;
    atomic_ullong missing; /* bytes that are not written yet */
    Naming *naming;
    Dir *dir;
    int fd;
    Attributes attributes;
    char temporary[TEMPORARY_SIZE];
    char name[];
} LargeFile;

typedef struct {
    Dir *dir; /* of a whole file */
    LargeFile *large;
    size_t name_at, path_at; /* in the batch's `texts`; the entry's name is behind the path */
    const char *data;
    uint64_t size, offset;
    Attributes attributes;
    int error;
} Job;

struct cpkg_batch_s {
    Job *jobs;
    size_t count, capacity, written;
    Bytes texts, records;
    Held held;
    Naming *naming;
};

static void large_release(LargeFile *large)
{
    if (atomic_fetch_sub(&large->references, 1) != 1)
        return;
    if (large->fd >= 0) { /* it has not become whole */
        close(large->fd);
        if (large->temporary[0] != '\0')
            unlinkat(large->dir->fd, large->temporary, 0);
    }
    dir_unuse(large->dir);
    dir_forget(large->dir);
    free(large);
}

static Job *batch_job(cpkg_batch *batch)
{
    return array_next((void **)&batch->jobs, batch->count, &batch->capacity, sizeof *batch->jobs);
}

static int write_whole(cpkg_batch *batch, const Job *job)
{
    char temporary[TEMPORARY_SIZE];
    int fd = file_create(batch->naming, job->dir, &job->attributes, temporary);
    if (fd < 0)
        return errno;
    int error = write_all_at(fd, job->data, job->size, 0);
    if (error) {
        close(fd);
        if (temporary[0] != '\0')
            unlinkat(job->dir->fd, temporary, 0);
        return error;
    }
    return file_finish(batch->naming, fd, job->dir, temporary, batch->texts.data + job->name_at, &job->attributes);
}

/* Write a piece of a large file; the thread that writes the last one finishes the file. */
static int write_part(const Job *job)
{
    LargeFile *large = job->large;
    int error = atomic_load(&large->error) ? 0 : write_all_at(large->fd, job->data, job->size, job->offset);
    if (error && atomic_exchange(&large->error, error))
        error = 0;                  /* it has been reported */
    if (atomic_load(&large->error)) /* its room is for others */
        while (ftruncate(large->fd, 0) != 0 && errno == EINTR)
            continue;
    if (atomic_fetch_sub(&large->missing, job->size) == job->size && !atomic_load(&large->error)) {
        int fd = large->fd;
        large->fd = -1;
        error = file_finish(large->naming, fd, large->dir, large->temporary, large->name, &large->attributes);
        atomic_store(&large->error, error); /* for the batch that reports the file, which may be another one */
    }
    return error;
}

enum { BATCH_WRITTEN, BATCH_IS_WRITING, BATCH_NO_DESCRIPTOR };

int cpkg_batch_write(cpkg_batch *batch, int may_wait)
{
    const int64_t begun = clock_ms();
    while (batch->written < batch->count) {
        Job *job = &batch->jobs[batch->written];
        job->error = job->large != NULL ? write_part(job) : write_whole(batch, job);
        if (may_wait && job->large == NULL && (job->error == EMFILE || job->error == ENFILE))
            return BATCH_NO_DESCRIPTOR;
        batch->written++;
        if (pause_is_due(begun) && batch->written < batch->count)
            return BATCH_IS_WRITING;
    }
    return BATCH_WRITTEN;
}

/* Return the next file's path from `index` on that could not be written, its name and error; NULL if there is none. */
const char *cpkg_batch_failed(const cpkg_batch *batch, size_t *index, const char **name, int *error)
{
    for (; *index < batch->count; ++*index) {
        if (batch->jobs[*index].error) {
            *error = batch->jobs[*index].error;
            const char *path = batch->texts.data + batch->jobs[(*index)++].path_at;
            *name = path + strlen(path) + 1;
            return path;
        }
    }
    return NULL;
}

const char *cpkg_batch_records(cpkg_batch *batch, size_t *size)
{
    cpkg_record head;
    for (size_t at = 0; at < batch->records.size; at += head.record_size) {
        memcpy(&head, batch->records.data + at, sizeof head);
        if (head.job) {
            const Job *job = &batch->jobs[head.job - 1];
            head.is_lost = job->error || (job->large != NULL && atomic_load(&job->large->error));
            memcpy(batch->records.data + at, &head, sizeof head);
        }
    }
    *size = batch->records.size;
    return batch->records.data;
}

void cpkg_batch_free(cpkg_batch *batch)
{
    if (batch == NULL)
        return;
    for (size_t index = 0; index < batch->count; index++)
        if (batch->jobs[index].large != NULL)
            large_release(batch->jobs[index].large);
    held_release(&batch->held);
    free(batch->jobs);
    bytes_free(&batch->texts);
    bytes_free(&batch->records);
    free(batch);
}
