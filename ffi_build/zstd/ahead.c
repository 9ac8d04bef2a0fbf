/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frames ahead: threads that know nothing of Python compress frames, or decompress them, while Python goes on. A thread of
 * Python's is not as good at that: one whose frame is done waits for the interpreter's lock, which whoever packs or
 * unpacks meanwhile gives up every 5 ms.
 *
 * A job is one frame. Python gives it the input, submits it and waits for it later; until then its memory is the
 * threads'. What fails here is left to Python, which does the frame once more and says what is wrong.
 */
#ifndef CPKG_ZSTD_AHEAD
#define CPKG_ZSTD_AHEAD

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <zstd.h>

enum {
    AHEAD_THREADS = 64,
    AHEAD_KEPT = 4 << 20, /* memory of a job beyond this is given back when it has been used */
};

enum { JOB_IDLE, JOB_WAITING, JOB_RUNNING, JOB_DONE };

typedef struct {
    char *data;
    size_t room;
} JobMemory;

typedef struct cpkg_ahead_s cpkg_ahead;
typedef struct cpkg_job_s cpkg_job;

struct cpkg_job_s {
    JobMemory input, output;
    size_t input_size;
    int descriptor; /* of the file that the thread reads the input from; -1 if it is there */
    int64_t offset;
    size_t size; /* of the output; of a frame to decompress it is known before */
    /* Called by the thread with the content of a frame that was decompressed, and with `count`, if it is not NULL. */
    void (*then)(void *state, const char *content, size_t size, int64_t count);
    void *state;
    int64_t count;
    int stage;
    bool has_failed;
    cpkg_job *next_waiting, *next;
};

typedef struct {
    pthread_t thread;
    cpkg_ahead *ahead;
    void *context; /* ZSTD_CCtx or ZSTD_DCtx, this thread's alone; NULL when libzstd has failed with it */
} Runner;

struct cpkg_ahead_s {
    pthread_mutex_t lock;
    pthread_cond_t is_work, is_done;
    cpkg_job *waiting, **end; /* first come, first served */
    cpkg_job *jobs;           /* all of them */
    Runner runners[AHEAD_THREADS];
    void *own; /* the caller's context, or NULL */
    int count;
    bool compresses, is_closing;
    pid_t process;
};

/* Make memory for `size` bytes, one at least; what was in it is lost. */
static bool job_reserve(JobMemory *memory, size_t size)
{
    size += size == 0;
    if (size <= memory->room && (memory->room <= AHEAD_KEPT || size > AHEAD_KEPT))
        return true;
    free(memory->data);
    memory->data = malloc(size);
    memory->room = memory->data != NULL ? size : 0;
    return memory->data != NULL;
}

/* Read the input, if it is not there; false if there is less of it. */
static bool job_fill(cpkg_job *job)
{
    size_t done = 0;
    while (job->descriptor >= 0 && done < job->input_size) {
        ssize_t got = pread(job->descriptor, job->input.data + done, job->input_size - done,
                            (off_t)(job->offset + (int64_t)done));
        if (got > 0)
            done += (size_t)got;
        else if (got == 0 || errno != EINTR)
            return false;
    }
    return true;
}

static void ahead_free_context(const cpkg_ahead *ahead, void *context)
{
    if (ahead->compresses)
        ZSTD_freeCCtx(context);
    else
        ZSTD_freeDCtx(context);
}

/* Compress or decompress a job; false if libzstd has failed. */
static bool job_convert(cpkg_job *job, bool compresses, void *context)
{
    const char *input = job->input.data;
    if (compresses) {
        size_t room = ZSTD_compressBound(job->input_size);
        if (ZSTD_isError(room) || !job_reserve(&job->output, room))
            return true;
        job->size = ZSTD_compress2(context, job->output.data, room, input, job->input_size);
        job->has_failed = ZSTD_isError(job->size);
        return !job->has_failed;
    }
    if (!job_fill(job) || ZSTD_getFrameContentSize(input, job->input_size) != job->size ||
        !job_reserve(&job->output, job->size))
        return true;
    if (ZSTD_decompressDCtx(context, job->output.data, job->size, input, job->input_size) != job->size)
        return false;
    if (job->then != NULL)
        job->then(job->state, job->output.data, job->size, job->count);
    job->has_failed = false;
    return true;
}

/* Do a job. A context with which libzstd has failed is not used again: no reset reaches all that is left in it. */
static void job_do(cpkg_job *job, const cpkg_ahead *ahead, void **context)
{
    job->has_failed = true;
    if (*context != NULL && !job_convert(job, ahead->compresses, *context)) {
        ahead_free_context(ahead, *context);
        *context = NULL;
    }
}

/* Do the job that has waited for longest; the lock is held before and after. */
static void ahead_do_next(cpkg_ahead *ahead, void **context)
{
    cpkg_job *job = ahead->waiting;
    ahead->waiting = job->next_waiting;
    if (ahead->waiting == NULL)
        ahead->end = &ahead->waiting;
    job->stage = JOB_RUNNING;
    pthread_mutex_unlock(&ahead->lock);
    job_do(job, ahead, context);
    pthread_mutex_lock(&ahead->lock);
    job->stage = JOB_DONE;
    pthread_cond_broadcast(&ahead->is_done);
}

static void *runner_loop(void *argument)
{
    Runner *runner = argument;
    cpkg_ahead *ahead = runner->ahead;
    pthread_mutex_lock(&ahead->lock);
    while (!ahead->is_closing)
        if (ahead->waiting != NULL)
            ahead_do_next(ahead, &runner->context);
        else
            pthread_cond_wait(&ahead->is_work, &ahead->lock);
    pthread_mutex_unlock(&ahead->lock);
    return NULL;
}

/* Return a queue without threads, for compressing or decompressing; NULL if there is no memory. */
static cpkg_ahead *cpkg_ahead_new(int compresses)
{
    cpkg_ahead *ahead = calloc(1, sizeof *ahead);
    if (ahead == NULL)
        return NULL;
    ahead->compresses = compresses;
    ahead->end = &ahead->waiting;
    ahead->process = getpid();
    if (pthread_mutex_init(&ahead->lock, NULL) != 0) {
        free(ahead);
        return NULL;
    }
    if (pthread_cond_init(&ahead->is_work, NULL) != 0) {
        pthread_mutex_destroy(&ahead->lock);
        free(ahead);
        return NULL;
    }
    if (pthread_cond_init(&ahead->is_done, NULL) != 0) {
        pthread_cond_destroy(&ahead->is_work);
        pthread_mutex_destroy(&ahead->lock);
        free(ahead);
        return NULL;
    }
    return ahead;
}

/*
 * Start a thread that works with a context, and own that; 0 if there can be no more. No signal comes to the thread: it would
 * not interrupt what the interpreter waits for.
 */
static int cpkg_ahead_start(cpkg_ahead *ahead, void *context)
{
    sigset_t all, before;
    bool is_started = false;
    Runner *runner = &ahead->runners[ahead->count];
    sigfillset(&all);
    if (ahead->count < AHEAD_THREADS && pthread_sigmask(SIG_SETMASK, &all, &before) == 0) {
        runner->ahead = ahead;
        runner->context = context;
        is_started = pthread_create(&runner->thread, NULL, runner_loop, runner) == 0;
        pthread_sigmask(SIG_SETMASK, &before, NULL);
    }
    if (!is_started)
        ahead_free_context(ahead, context);
    ahead->count += is_started;
    return is_started;
}

/* Own a context for the jobs that the caller does. */
static void cpkg_ahead_lend(cpkg_ahead *ahead, void *context)
{
    ahead_free_context(ahead, ahead->own);
    ahead->own = context;
}

/* Tell whether the caller has a context, which libzstd has not failed with. */
static int cpkg_ahead_is_lent(const cpkg_ahead *ahead)
{
    return ahead->own != NULL;
}

/* End the threads when the jobs at hand are done, and free everything. */
static void cpkg_ahead_free(cpkg_ahead *ahead)
{
    if (ahead->process != getpid())
        return; /* a forked child has neither the threads nor, maybe, whole memory: what they held stays */
    pthread_mutex_lock(&ahead->lock);
    ahead->is_closing = true;
    pthread_cond_broadcast(&ahead->is_work);
    pthread_mutex_unlock(&ahead->lock);
    for (int i = 0; i < ahead->count; i++) {
        pthread_join(ahead->runners[i].thread, NULL);
        ahead_free_context(ahead, ahead->runners[i].context);
    }
    ahead_free_context(ahead, ahead->own);
    for (cpkg_job *job = ahead->jobs, *next; job != NULL; job = next) {
        next = job->next;
        free(job->input.data);
        free(job->output.data);
        free(job);
    }
    pthread_cond_destroy(&ahead->is_done);
    pthread_cond_destroy(&ahead->is_work);
    pthread_mutex_destroy(&ahead->lock);
    free(ahead);
}

/* Return a job, which is freed with the queue; NULL if there is no memory. */
static cpkg_job *cpkg_ahead_job(cpkg_ahead *ahead)
{
    cpkg_job *job = calloc(1, sizeof *job);
    if (job != NULL) {
        job->next = ahead->jobs;
        ahead->jobs = job;
    }
    return job;
}

/* Make a job idle that was waited for, or never submitted. */
static void cpkg_job_clear(cpkg_job *job)
{
    job->stage = JOB_IDLE;
}

/* Return the size of the output of a job that is done. */
static size_t cpkg_job_size(const cpkg_job *job)
{
    return job->size;
}

/* Return the input. */
static const char *cpkg_job_input(const cpkg_job *job)
{
    return job->input.data;
}

/*
 * Put data[start..start + size) behind the first `at` bytes of the input of an idle job; 0 if there is no memory. What a
 * caller had put there who was interrupted, and does not know of it, is written over.
 */
static int cpkg_job_put(cpkg_job *job, size_t at, const char *data, size_t start, size_t size)
{
    JobMemory *input = &job->input;
    size_t wanted = at + size;
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
    job->descriptor = -1;
    return 1;
}

/* Have the thread read the input, of so many bytes, from a file; 0 if there is no memory. */
static int cpkg_job_read(cpkg_job *job, int descriptor, int64_t offset, size_t size)
{
    if (!job_reserve(&job->input, size))
        return 0;
    job->descriptor = descriptor;
    job->offset = offset;
    return 1;
}

/* Tell what comes out of a frame: bytes, and what is called with them, which takes `count`. */
static void cpkg_job_expect(cpkg_job *job, size_t size, void *then, void *state, int64_t count)
{
    job->size = size;
    memcpy(&job->then, &then, sizeof then);
    job->state = state;
    job->count = count;
}

/* Hand a job to the threads, with an input of so many bytes; one that they have already stays as it is. */
static void cpkg_ahead_submit(cpkg_ahead *ahead, cpkg_job *job, size_t size)
{
    if (ahead->process != getpid())
        return;
    pthread_mutex_lock(&ahead->lock);
    if (job->stage == JOB_IDLE) {
        job->input_size = size;
        job->stage = JOB_WAITING;
        job->next_waiting = NULL;
        *ahead->end = job;
        ahead->end = &job->next_waiting;
        pthread_cond_signal(&ahead->is_work);
    }
    pthread_mutex_unlock(&ahead->lock);
}

/* Do a job in the caller's thread, with his context; return its output, or NULL. */
static const char *cpkg_ahead_do(cpkg_ahead *ahead, cpkg_job *job, size_t size)
{
    job->input_size = size;
    job_do(job, ahead, &ahead->own);
    return job->has_failed ? NULL : job->output.data;
}

/*
 * Wait until a job is done; return its output, or NULL if it has failed. A caller who has a context does what waits for a
 * thread meanwhile: no core is idle, and none has two threads.
 */
static const char *cpkg_ahead_wait(cpkg_ahead *ahead, cpkg_job *job)
{
    if (ahead->process != getpid())
        return NULL;
    pthread_mutex_lock(&ahead->lock);
    while (job->stage == JOB_WAITING || job->stage == JOB_RUNNING)
        if (ahead->waiting != NULL && ahead->own != NULL)
            ahead_do_next(ahead, &ahead->own);
        else
            pthread_cond_wait(&ahead->is_done, &ahead->lock);
    bool is_good = job->stage == JOB_DONE && !job->has_failed;
    pthread_mutex_unlock(&ahead->lock);
    return is_good ? job->output.data : NULL;
}

#endif
