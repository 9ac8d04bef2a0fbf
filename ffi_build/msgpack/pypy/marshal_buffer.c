/* SPDX-License-Identifier: Apache-2.0 */
/* What from_marshal.c and to_marshal.c share: limits, and the output memory, which grows. Memory of MARSHAL_KEPT
   bytes is kept between calls. */
#pragma once

#include "../../common/base.h"
#include <stdlib.h>

#ifdef __linux__
#include <pthread.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

enum {
    MARSHAL_FRAMES = 64,       /* the most open containers, because marshal recurses */
    MARSHAL_LARGEST = 1 << 27, /* the most input bytes: the size of the output fits in marshal's 31 bits */
    MARSHAL_STACK = 1 << 20,   /* bytes of stack that a thread must have */
    MARSHAL_KEPT = 1 << 16,    /* bytes of memory that are kept between calls */
};

typedef struct {
    unsigned char *bytes, *end; /* the memory in use: the kept memory, or a larger block */
    unsigned char *kept;
    size_t used;
} cpkg_marshal_buffer;

/* Allocate the memory that is kept; return false on failure. */
static bool marshal_open(cpkg_marshal_buffer *b)
{
    b->kept = malloc(MARSHAL_KEPT);
    b->used = b->kept ? MARSHAL_KEPT : 0;
    b->bytes = b->kept;
    b->end = b->kept ? b->kept + MARSHAL_KEPT : NULL;
    return b->kept != NULL;
}

/* Make room for n more bytes at `to`; return the new address of `to`, or NULL if there is no memory. */
static unsigned char *marshal_room(cpkg_marshal_buffer *b, unsigned char *to, size_t n)
{
    size_t used = (size_t)(to - b->bytes), size = (size_t)(b->end - b->bytes);
    if (size - used >= n)
        return to;
    size = used + n + (used + n) / 2;
    unsigned char *bytes = realloc(b->bytes == b->kept ? NULL : b->bytes, size);
    if (!bytes)
        return NULL;
    if (b->bytes == b->kept)
        memcpy(bytes, b->kept, used);
    b->bytes = bytes;
    b->end = bytes + size;
    return bytes + used;
}

/* Free a larger block, and use the kept memory again. */
static void cpkg_marshal_trim(cpkg_marshal_buffer *b)
{
    if (b->bytes != b->kept) {
        free(b->bytes);
        b->bytes = b->kept;
        b->end = b->kept + MARSHAL_KEPT;
    }
}

static void marshal_close(cpkg_marshal_buffer *b)
{
    cpkg_marshal_trim(b);
    free(b->kept);
}

/* Return whether this thread's stack is large enough for PyPy to stop endless recursion in marshal with an error: PyPy
   allows 768 KiB from the start of a thread, even if the program requested a smaller stack. */
static int cpkg_marshal_stack(void)
{
    static _Thread_local int answer; /* 0: not known yet */
    if (answer == 0) {
        answer = -1;
#ifdef __linux__
        /* declared only with _GNU_SOURCE */
        extern int pthread_getattr_np(pthread_t, pthread_attr_t *);
        extern long syscall(long, ...);
        pthread_attr_t attributes;
        size_t size;
        struct rlimit limit;
        if (getpid() == (pid_t)syscall(SYS_gettid)) { /* the main thread: its stack grows */
            if (getrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur >= MARSHAL_STACK)
                answer = 1;
        }
        else if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
            if (pthread_attr_getstacksize(&attributes, &size) == 0 && size >= MARSHAL_STACK)
                answer = 1;
            pthread_attr_destroy(&attributes);
        }
#endif
    }
    return answer > 0;
}
