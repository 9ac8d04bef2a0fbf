/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The only queue with threads that know nothing about Python, for all C code that works ahead or in parallel.
 *
 * These rules apply to all of its users:
 * - Starting: queue_start() starts as many of the requested threads as the system allows. Too few threads, or none, are
 *   not an error, because a waiting caller does the work itself. Threads of the queue receive no signals.
 * - Owning: a task owns its memory and its descriptor until it is TASK_DONE. Submitting a task a second time has no
 *   effect.
 * - Waiting: queue_wait() returns after TURN_MS at the latest, so that the caller can handle signals. If the caller
 *   does not wait again, a thread still finishes the task.
 * - Stopping: queue_stop() sets a flag, which a task checks before each piece of work (queue_is_stopping). No thread
 *   begins another task.
 * - Forking: a child has none of its parent's threads, and the lock may be taken. Each function that takes the lock
 *   checks whether this process created the queue, and does nothing otherwise.
 * - Failing: work() returns nothing. A task stores its own result, and the code that waits for the task repeats failed
 *   work.
 */
#pragma once

#include "clock.c"
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

enum {
    QUEUE_THREADS = 64,
    TURN_MS = 50, /* the longest time for which a waiting caller handles no signals */
};

typedef enum { TASK_IDLE, TASK_WAITING, TASK_RUNNING, TASK_DONE } TaskStage;

/* A task; it is the first member of a structure with the task's data. */
typedef struct Task {
    void (*work)(struct Task *task);
    struct Task *next;
    TaskStage stage;
} Task;

typedef struct {
    pthread_mutex_t lock;
    pthread_cond_t is_work, is_done;
    Task *first, **end; /* the waiting tasks, in the order in which they were submitted */
    pthread_t threads[QUEUE_THREADS];
    int count;
    int is_stopping; /* read and written atomically */
    pid_t process;
} Queue;

/* Create a condition whose timed waits use the monotonic clock if the system supports that; return false on failure. */
static bool condition_make(pthread_cond_t *condition)
{
    pthread_condattr_t attributes;
    if (pthread_condattr_init(&attributes) != 0)
        return false;
#ifndef __APPLE__
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
#endif
    bool is_made = pthread_cond_init(condition, &attributes) == 0;
    pthread_condattr_destroy(&attributes);
    return is_made;
}

/* Wait for a condition, at most TURN_MS. */
static void condition_wait(pthread_cond_t *condition, pthread_mutex_t *lock)
{
    struct timespec until;
#ifdef __APPLE__
    clock_gettime(CLOCK_REALTIME, &until);
#else
    clock_gettime(CLOCK_MONOTONIC, &until);
#endif
    until.tv_nsec += TURN_MS * 1000000L;
    until.tv_sec += until.tv_nsec / 1000000000L;
    until.tv_nsec %= 1000000000L;
    pthread_cond_timedwait(condition, lock, &until);
}

/* Create a queue without threads in zeroed memory; return false if the system has no locks left. */
static bool queue_make(Queue *queue)
{
    queue->end = &queue->first;
    queue->process = getpid();
    if (pthread_mutex_init(&queue->lock, NULL) != 0)
        return false;
    bool has_first = condition_make(&queue->is_work);
    if (has_first && condition_make(&queue->is_done))
        return true;
    if (has_first)
        pthread_cond_destroy(&queue->is_work);
    pthread_mutex_destroy(&queue->lock);
    return false;
}

/* Return whether this process created the queue, and is not a forked child. */
static bool queue_is_here(const Queue *queue)
{
    return queue->process == getpid();
}

/* Return whether tasks must end; a task calls this before each piece of work, without the lock. */
static bool queue_is_stopping(const Queue *queue)
{
    return __atomic_load_n(&queue->is_stopping, __ATOMIC_RELAXED) != 0;
}

/* Remove the task that has waited longest and run it; the lock is held before and after. */
static void queue_do_first(Queue *queue)
{
    Task *task = queue->first;
    queue->first = task->next;
    if (queue->first == NULL)
        queue->end = &queue->first;
    task->stage = TASK_RUNNING;
    pthread_mutex_unlock(&queue->lock);
    task->work(task);
    pthread_mutex_lock(&queue->lock);
    task->stage = TASK_DONE;
    pthread_cond_broadcast(&queue->is_done);
}

static void *queue_thread(void *argument)
{
    Queue *queue = argument;
    pthread_mutex_lock(&queue->lock);
    while (!queue_is_stopping(queue))
        if (queue->first != NULL)
            queue_do_first(queue);
        else
            pthread_cond_wait(&queue->is_work, &queue->lock);
    pthread_mutex_unlock(&queue->lock);
    return NULL;
}

/* Start threads until there are as many as wanted, if the system allows that; return how many there are. Only one
   thread may call this. */
static int queue_start(Queue *queue, int wanted)
{
    if (!queue_is_here(queue) || queue_is_stopping(queue))
        return 0;
#ifndef _WIN32 /* on Windows, a separate thread receives signals */
    sigset_t all, before;
    sigfillset(&all);
    if (queue->count >= wanted || pthread_sigmask(SIG_SETMASK, &all, &before) != 0)
        return queue->count;
#endif
    while (queue->count < wanted && queue->count < QUEUE_THREADS &&
           pthread_create(&queue->threads[queue->count], NULL, queue_thread, queue) == 0)
        queue->count++;
#ifndef _WIN32
    pthread_sigmask(SIG_SETMASK, &before, NULL);
#endif
    return queue->count;
}

/* Submit an idle task; a task that is waiting, running or done stays unchanged. */
static void queue_submit(Queue *queue, Task *task)
{
    pthread_mutex_lock(&queue->lock);
    if (task->stage == TASK_IDLE) {
        task->stage = TASK_WAITING;
        task->next = NULL;
        *queue->end = task;
        queue->end = &task->next;
        pthread_cond_signal(&queue->is_work);
    }
    pthread_mutex_unlock(&queue->lock);
}

/* Remove a task that no thread has begun; the lock is held. */
static void queue_remove(Queue *queue, Task *task)
{
    Task **place = &queue->first;
    while (*place != task)
        place = &(*place)->next;
    *place = task->next;
    if (queue->end == &task->next)
        queue->end = place;
    task->stage = TASK_IDLE;
}

/* Make a waiting or finished task idle; return false if a thread is working on it. */
static bool queue_take_back(Queue *queue, Task *task)
{
    pthread_mutex_lock(&queue->lock);
    if (task->stage == TASK_WAITING)
        queue_remove(queue, task);
    if (task->stage == TASK_DONE)
        task->stage = TASK_IDLE;
    bool is_idle = task->stage == TASK_IDLE;
    pthread_mutex_unlock(&queue->lock);
    return is_idle;
}

/*
 * Wait until a task is done, about TURN_MS at most; return its stage. Meanwhile the calling thread runs waiting tasks,
 * so that the core of that thread is used as well.
 */
static TaskStage queue_wait(Queue *queue, const Task *task)
{
    int64_t end = clock_ms() + TURN_MS;
    pthread_mutex_lock(&queue->lock);
    while ((task->stage == TASK_WAITING || task->stage == TASK_RUNNING) && clock_ms() < end)
        if (queue->first != NULL)
            queue_do_first(queue);
        else
            condition_wait(&queue->is_done, &queue->lock);
    TaskStage stage = task->stage;
    pthread_mutex_unlock(&queue->lock);
    return stage;
}

/* Set the flag that makes tasks end, without waiting for them. */
static void queue_stop(Queue *queue)
{
    __atomic_store_n(&queue->is_stopping, 1, __ATOMIC_RELAXED);
}

/* Stop the queue, and wait until each thread has ended after its current piece of work. Further calls do nothing. */
static void queue_close(Queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    queue_stop(queue);
    while (queue->first != NULL)
        queue_remove(queue, queue->first);
    int count = queue->count;
    queue->count = 0;
    pthread_cond_broadcast(&queue->is_work);
    pthread_cond_broadcast(&queue->is_done);
    pthread_mutex_unlock(&queue->lock);
    for (int i = 0; i < count; i++)
        pthread_join(queue->threads[i], NULL);
}

/* Free a queue from queue_make(), after queue_close(). */
static void queue_unmake(Queue *queue)
{
    pthread_cond_destroy(&queue->is_done);
    pthread_cond_destroy(&queue->is_work);
    pthread_mutex_destroy(&queue->lock);
}
