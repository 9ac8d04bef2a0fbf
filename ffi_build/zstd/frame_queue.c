/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A queue of frames: threads that know nothing about Python compress or decompress frames while Python code runs. (A
 * Python thread that has finished a frame would wait for the GIL, which other threads release only every 5 ms.)
 *
 * A job is one frame, or several frames to decompress together. It owns its memory, a duplicate of the descriptor from
 * which it reads, and an object built from its content. It lives as long as the queue. Python fills the input, submits
 * the job, waits for it and releases it. Python may repeat each of these calls, or stop after any of them: a job knows
 * whether a thread works on it, and rejects calls that would disturb the thread. After a failure, Python repeats the
 * work itself and raises the error.
 */
#pragma once

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include <zstd.h>

#include "../common/queue.c"
#include "../common/system.h"
#include "contexts.c"

enum {
    JOB_KEPT = 4 << 20,     /* memory of a job beyond this size is freed when the job needs less */
    READ_ACROSS = 16 << 10, /* the largest gap between frames that is read with them, instead of another read */
    FRAME_CONTEXTS = QUEUE_THREADS + 2,
};

typedef struct {
    char *data;
    size_t room;
} JobMemory;

/* One of several frames of a job: its offset in the file, its position in the input, its size and content size. */
typedef struct {
    int64_t offset;
    size_t at, size, content;
} FramePlace;

typedef struct cpkg_frames_s cpkg_frames;

typedef struct cpkg_job_s {
    Task task;
    cpkg_frames *frames;
    JobMemory input, output;
    size_t input_size;
    int descriptor;   /* the descriptor of the file with the input; -1 if the input is in memory */
    JobMemory places; /* the FramePlaces of the frames in the file */
    size_t frames_count;
    size_t size; /* the size of the output; for decompression it is known in advance */
    /* `then`, if it is not NULL, builds the object `made` from the content of a decompressed frame. */
    void (*then)(void *made, const char *content, size_t size, int64_t count);
    void (*free_made)(void *made);
    void *made;
    int64_t count;
    bool is_good;
    bool is_let_go; /* the job can be reused for another frame once no thread works on it */
    struct cpkg_job_s *next;
} cpkg_job;

struct cpkg_frames_s {
    Queue queue;
    cpkg_job *jobs;                 /* all jobs, as a list */
    void *contexts[FRAME_CONTEXTS]; /* places (contexts.c) for ZSTD_CCtx or ZSTD_DCtx */
    bool compresses;
    char *dictionary;
    size_t dictionary_size;
    size_t parameters;
    int pairs[]; /* keys and values of the parameters */
};

static void frames_free_context(const cpkg_frames *frames, void *context)
{
    if (frames->compresses)
        ZSTD_freeCCtx(context);
    else
        ZSTD_freeDCtx(context);
}

/* Set the parameters and the dictionary of a new context; return false if libzstd refuses them. */
static bool frames_set_up(const cpkg_frames *frames, void *context)
{
    size_t result = 0;
    for (size_t i = 0; i < 2 * frames->parameters && !ZSTD_isError(result); i += 2)
        result = frames->compresses
                     ? ZSTD_CCtx_setParameter(context, (ZSTD_cParameter)frames->pairs[i], frames->pairs[i + 1])
                     : ZSTD_DCtx_setParameter(context, (ZSTD_dParameter)frames->pairs[i], frames->pairs[i + 1]);
    if (frames->dictionary != NULL && !ZSTD_isError(result))
        result = frames->compresses ? ZSTD_CCtx_loadDictionary(context, frames->dictionary, frames->dictionary_size)
                                    : ZSTD_DCtx_loadDictionary(context, frames->dictionary, frames->dictionary_size);
    return !ZSTD_isError(result);
}

/* Return a context with the queue's settings, or NULL on failure. */
static void *frames_take_context(cpkg_frames *frames)
{
    void *context = NULL;
    for (int i = 0; i < FRAME_CONTEXTS && context == NULL; i++)
        context = place_take(&frames->contexts[i]);
    if (context != NULL)
        return context;
    context = frames->compresses ? (void *)ZSTD_createCCtx() : (void *)ZSTD_createDCtx();
    if (context != NULL && !frames_set_up(frames, context)) {
        frames_free_context(frames, context);
        context = NULL;
    }
    return context;
}

/* Keep a context, or free a context with which libzstd has failed. */
static void frames_give_context(cpkg_frames *frames, void *context, bool is_sound)
{
    for (int i = 0; i < FRAME_CONTEXTS && is_sound && context != NULL; i++)
        context = place_put(&frames->contexts[i], context);
    frames_free_context(frames, context);
}

/* Provide memory for `size` bytes, at least one; return false if there is none. The old content is lost. */
static bool job_reserve(JobMemory *memory, size_t size)
{
    size += size == 0;
    if (size <= memory->room && (memory->room <= JOB_KEPT || size > JOB_KEPT))
        return true;
    free(memory->data);
    memory->data = malloc(size);
    memory->room = memory->data != NULL ? size : 0;
    return memory->data != NULL;
}

static void job_close_file(cpkg_job *job)
{
    if (job->descriptor >= 0)
        close(job->descriptor);
    job->descriptor = -1;
}

/* Read a part of the job's file into its input; return false if the file is too short or cannot be read. */
static bool job_read(const cpkg_job *job, size_t at, size_t size, int64_t offset)
{
    for (size_t done = 0; done < size;) {
        ssize_t got = system_read_at(job->descriptor, job->input.data + at + done, size - done, offset + (int64_t)done);
        if (got > 0)
            done += (size_t)got;
        else if (got == 0 || errno != EINTR)
            return false;
    }
    return true;
}

/* Read the input from the file, if the job has one; return false if the file is too short or cannot be read. */
static bool job_fill(cpkg_job *job)
{
    const FramePlace *places = (const FramePlace *)(void *)job->places.data;
    if (job->descriptor < 0)
        return true;
    for (size_t first = 0, end; first < job->frames_count; first = end) {
        /* frames that are close together have the same distance in the input as in the file, so one read is enough */
        for (end = first + 1; end < job->frames_count; end++)
            if ((int64_t)(places[end].at - places[first].at) != places[end].offset - places[first].offset)
                break;
        const FramePlace *last = &places[end - 1];
        if (!job_read(job, places[first].at, last->at + last->size - places[first].at, places[first].offset))
            return false;
    }
    job_close_file(job);
    return true;
}

/* Compress the frame of a job; return libzstd's result, or 0 if libzstd was not called. */
static size_t frame_compress(cpkg_job *job, void *context)
{
    size_t room = ZSTD_compressBound(job->input_size);
    if (ZSTD_isError(room) || !job_reserve(&job->output, room))
        return 0;
    job->size = ZSTD_compress2(context, job->output.data, room, job->input.data, job->input_size);
    job->is_good = !ZSTD_isError(job->size);
    return job->size;
}

/* Decompress the frames of a job, and call its `then` with the content; return libzstd's last result, or 0 without
   one. */
static size_t frame_decompress(cpkg_job *job, void *context)
{
    const FramePlace one = {0, 0, job->input_size, job->size}, *places = &one;
    const size_t count = job->frames_count > 0 ? job->frames_count : 1;
    size_t written = 0, done = 0;
    if (!job_fill(job))
        return 0;
    if (job->frames_count > 0)
        places = (const FramePlace *)(void *)job->places.data;
    for (size_t i = 0; i < count; i++, done += written) {
        const char *input = job->input.data + places[i].at;
        const size_t size = places[i].size, content = places[i].content;
        if (queue_is_stopping(&job->frames->queue) || ZSTD_getFrameContentSize(input, size) != content)
            return 0;
        if (i == 0 && !job_reserve(&job->output, job->size))
            return 0;
        written = ZSTD_decompressDCtx(context, job->output.data + done, content, input, size);
        if (written != content)
            return written;
    }
    job->is_good = true;
    if (job->then != NULL)
        job->then(job->made, job->output.data, job->size, job->count);
    return written;
}

static void job_work(Task *task)
{
    cpkg_job *job = (cpkg_job *)task;
    cpkg_frames *frames = job->frames;
    void *context = frames_take_context(frames);
    job->is_good = false;
    if (context != NULL) {
        size_t result = frames->compresses ? frame_compress(job, context) : frame_decompress(job, context);
        frames_give_context(frames, context, !ZSTD_isError(result));
    }
    job_close_file(job);
}

/*
 * Return a queue without threads, or NULL if there is no memory. The queue compresses or decompresses with `pairs`,
 * which are keys and values of as many parameters as `parameters`, and with a copy of the dictionary.
 */
static cpkg_frames *cpkg_frames_new(int compresses, const int *pairs, size_t parameters, const char *dictionary,
                                    size_t dictionary_size)
{
    cpkg_frames *frames = calloc(1, sizeof *frames + 2 * parameters * sizeof(int));
    if (frames == NULL)
        return NULL;
    frames->compresses = compresses;
    frames->parameters = parameters;
    if (parameters > 0)
        memcpy(frames->pairs, pairs, 2 * parameters * sizeof(int));
    if (dictionary_size > 0) {
        frames->dictionary = malloc(dictionary_size);
        if (frames->dictionary == NULL) {
            free(frames);
            return NULL;
        }
        memcpy(frames->dictionary, dictionary, dictionary_size);
        frames->dictionary_size = dictionary_size;
    }
    if (!queue_make(&frames->queue)) {
        free(frames->dictionary);
        free(frames);
        return NULL;
    }
    return frames;
}

/* Start threads until there are as many as wanted, if the system allows that; return how many there are. */
static int cpkg_frames_start(cpkg_frames *frames, int wanted)
{
    return queue_start(&frames->queue, wanted);
}

/* End the threads after their current jobs, and free the memory of all jobs. Further calls do nothing. */
static void cpkg_frames_close(cpkg_frames *frames)
{
    if (!queue_is_here(&frames->queue))
        return; /* a forked child frees nothing, because the parent's threads may have left memory inconsistent */
    queue_close(&frames->queue);
    for (cpkg_job *job = frames->jobs; job != NULL; job = job->next) {
        job_close_file(job);
        if (job->made != NULL)
            job->free_made(job->made);
        job->made = NULL;
        free(job->input.data);
        free(job->output.data);
        free(job->places.data);
        job->input = job->output = job->places = (JobMemory){NULL, 0};
        job->frames_count = 0;
        job->is_good = false;
    }
    for (int i = 0; i < FRAME_CONTEXTS; i++)
        frames_free_context(frames, place_take(&frames->contexts[i]));
}

/* Close the queue, and free it and its jobs. */
static void cpkg_frames_free(cpkg_frames *frames)
{
    if (!queue_is_here(&frames->queue))
        return;
    cpkg_frames_close(frames);
    for (cpkg_job *job = frames->jobs, *next; job != NULL; job = next) {
        next = job->next;
        free(job);
    }
    queue_unmake(&frames->queue);
    free(frames->dictionary);
    free(frames);
}

/* Return an idle job, which may be a reused one that was released; NULL if there is no memory. */
static cpkg_job *cpkg_frames_job(cpkg_frames *frames)
{
    bool is_here = queue_is_here(&frames->queue);
    for (cpkg_job *job = frames->jobs; job != NULL && is_here; job = job->next)
        if (job->is_let_go && queue_take_back(&frames->queue, &job->task)) {
            job->is_let_go = false;
            return job;
        }
    cpkg_job *job = calloc(1, sizeof *job);
    if (job != NULL) {
        job->task.work = job_work;
        job->frames = frames;
        job->descriptor = -1;
        job->next = frames->jobs;
        frames->jobs = job;
    }
    return job;
}

/* Release a job: its memory is reused for another frame once no thread works on it. */
static void cpkg_job_let_go(cpkg_job *job)
{
    job->is_let_go = true;
    if (queue_is_here(&job->frames->queue) && queue_take_back(&job->frames->queue, &job->task))
        job_close_file(job);
}

/* Return whether no thread works on a job, so that its input may change; always true in a forked child. */
static bool job_is_idle(const cpkg_job *job)
{
    Queue *queue = &job->frames->queue;
    if (!queue_is_here(queue))
        return true;
    pthread_mutex_lock(&queue->lock);
    bool is_idle = job->task.stage == TASK_IDLE;
    pthread_mutex_unlock(&queue->lock);
    return is_idle;
}

/* Return the size of the output of a finished job. */
static size_t cpkg_job_size(const cpkg_job *job)
{
    return job->size;
}

/* Return the input of a job; NULL if the queue is closed. */
static const char *cpkg_job_input(const cpkg_job *job)
{
    return job->input.data;
}

/*
 * Copy data[start..start + size) into the input of an idle job, after the first `at` bytes of the input. Return 1 on
 * success, 0 if there is no memory, or -1 if the job is not idle.
 */
static int cpkg_job_put(cpkg_job *job, size_t at, const char *data, size_t start, size_t size)
{
    JobMemory *input = &job->input;
    size_t wanted = at + size;
    if (!job_is_idle(job))
        return -1;
    if (at == 0) {
        if (!job_reserve(input, wanted))
            return 0;
    }
    else if (wanted > input->room) {
        size_t room = wanted + wanted / 4;
        char *grown = realloc(input->data, room);
        if (grown == NULL)
            return 0;
        input->data = grown;
        input->room = room;
    }
    memcpy(input->data + at, data + start, size);
    job_close_file(job);
    job->frames_count = 0;
    return 1;
}

/* Set the content size of the frame in an idle job; return 1, or -1 if the job is not idle. */
static int cpkg_job_expect(cpkg_job *job, size_t size)
{
    if (!job_is_idle(job))
        return -1;
    job->size = size;
    job->then = NULL;
    return 1;
}

/*
 * Let an idle job read `count` frames from a duplicate of a descriptor, and decompress them in order. `numbers` has
 * three numbers per frame, in the order of the file: its offset, its size and its content size. Return 1 on success, -1
 * if the job is not idle, or 0 if the numbers are wrong or there is no memory or descriptor left.
 */
static int cpkg_job_read_frames(cpkg_job *job, int descriptor, const int64_t *numbers, size_t count)
{
    int64_t input = 0, output = 0, end = 0;
    if (cpkg_job_expect(job, 0) < 0)
        return -1;
    if (count > SIZE_MAX / sizeof(FramePlace) || !job_reserve(&job->places, count * sizeof(FramePlace)))
        return 0;
    FramePlace *places = (FramePlace *)(void *)job->places.data;
    for (size_t i = 0; i < count; i++, numbers += 3) {
        const int64_t offset = numbers[0], size = numbers[1], content = numbers[2];
        if (offset < end || size < 0 || content < 0 || size > INT32_MAX || content > INT32_MAX ||
            offset > INT64_MAX - size)
            return 0;
        if (i > 0 && offset - end <= READ_ACROSS)
            input += offset - end;
        places[i] = (FramePlace){offset, (size_t)input, (size_t)size, (size_t)content};
        input += size;
        output += content;
        end = offset + size;
    }
    job_close_file(job);
    job->frames_count = 0;
    if (!job_reserve(&job->input, (size_t)input))
        return 0;
    job->descriptor = system_duplicate(descriptor);
    if (job->descriptor < 0)
        return 0;
    job->frames_count = count;
    job->size = (size_t)output;
    return 1;
}

/*
 * Let an idle job build an object from the content of its frame: `new_made` creates the object, and `then` is called
 * with the object, the content and its size, and `count`. The job owns the object and frees it with `free_made`. Return
 * the object, or NULL on failure.
 */
static void *cpkg_job_make(cpkg_job *job, void *(*new_made)(void), void (*free_made)(void *),
                           void (*then)(void *, const char *, size_t, int64_t), int64_t count)
{
    if (!job_is_idle(job))
        return NULL;
    if (job->made == NULL || job->free_made != free_made) {
        if (job->made != NULL)
            job->free_made(job->made);
        job->free_made = free_made;
        job->made = new_made();
    }
    job->then = job->made == NULL ? NULL : then;
    job->count = count;
    return job->made;
}

/* Submit an idle job with `size` bytes of input to the threads; a job that is not idle stays unchanged. */
static void cpkg_frames_submit(cpkg_frames *frames, cpkg_job *job, size_t size)
{
    if (!queue_is_here(&frames->queue) || queue_is_stopping(&frames->queue) || !job_is_idle(job))
        return;
    job->input_size = size;
    queue_submit(&frames->queue, &job->task);
}

/* Run an idle job with `size` bytes of input in the calling thread; return its output, or NULL on failure. */
static const char *cpkg_frames_do(cpkg_frames *frames, cpkg_job *job, size_t size)
{
    if (!queue_is_here(&frames->queue) || queue_is_stopping(&frames->queue) || !job_is_idle(job))
        return NULL;
    job->input_size = size;
    job_work(&job->task);
    return job->is_good ? job->output.data : NULL;
}

/*
 * Wait for a job, about TURN_MS at most, and run waiting jobs meanwhile. Return 1 if it has succeeded, 0 if it has
 * failed or was never submitted, or -1 if the caller must wait again.
 */
static int cpkg_frames_wait(cpkg_frames *frames, const cpkg_job *job)
{
    if (!queue_is_here(&frames->queue))
        return 0;
    TaskStage stage = queue_wait(&frames->queue, &job->task);
    return stage == TASK_WAITING || stage == TASK_RUNNING ? -1 : stage == TASK_DONE && job->is_good;
}

/* Return the output of a job that has succeeded. */
static const char *cpkg_job_output(const cpkg_job *job)
{
    return job->output.data;
}
