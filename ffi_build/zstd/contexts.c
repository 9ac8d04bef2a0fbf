/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The only pool of libzstd contexts in C. It consists of places, each of which keeps one context for its next call.
 * Nothing here is a Python object.
 *
 * Creating a context takes several times as long as compressing a short message. Three kinds of owners have places:
 * threads (which also have a scratch buffer), presets, and queues of frames (at least one place for each of their
 * threads). These rules apply to all of them:
 * - Re-entrance: a context is not in its place while it is in use. A finalizer or a signal handler that runs meanwhile
 *   in the same thread finds the place empty, and uses a new context.
 * - Threads: place_take() and place_put() exchange a context atomically, with or without the GIL. A thread's own places
 *   need no atomic operations, because no other thread uses them.
 * - Errors: a context whose call failed is freed, because libzstd's reset does not undo all effects of an error.
 * - Parameters: a context in the place of a preset or a queue keeps the parameters that the owner has set. Before a
 *   thread's context is used again, its parameters are reset. A thread's context never has a dictionary, which would be
 *   a pointer to memory that may have been freed.
 * - Size: a thread keeps no context that has grown large.
 * - Forks: a context with worker threads is never in a place, because freeing it in a child would wait for threads that
 *   do not exist there (see cpkg/_native/zstd/contexts.py). Any other context is only memory, which the child has
 *   copied.
 * - Shutdown: a thread's contexts are freed when the thread ends, perhaps after the interpreter has ended. Contexts of
 *   presets and queues are freed with their owner. A thread's contexts belong to no interpreter: subinterpreters share
 *   them.
 */
#pragma once

#include <pthread.h>
#include <stdlib.h>

#include <zstd.h>

#include "format.c"

enum {
    SCRATCH_SIZE = BLOCK_MAX + (4 << 10), /* a block, or ZSTD_compressBound() of one */
    KEPT_CCTX_MAX = 4 << 20,
    KEPT_DCTX_MAX = 1 << 20,
};

/* Remove and return the context in a place; NULL if the place is empty. */
static void *place_take(void **place)
{
    return __atomic_exchange_n(place, NULL, __ATOMIC_ACQ_REL);
}

/* Put a context into a place; return it if the place is not empty, else NULL. */
static void *place_put(void **place, void *context)
{
    void *empty = NULL;
    return __atomic_compare_exchange_n(place, &empty, context, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED) ? NULL : context;
}

#ifndef PYPY_VERSION /* on PyPy, cpkg/_native/zstd/contexts.py keeps the contexts of threads */

typedef struct {
    ZSTD_CCtx *cctx;
    ZSTD_DCtx *dctx;
    char *scratch;
} Kept;

static pthread_key_t kept_key;
static pthread_once_t kept_once = PTHREAD_ONCE_INIT;
static int kept_ready;

static void kept_free(void *memory)
{
    Kept *kept = memory;
    ZSTD_freeCCtx(kept->cctx);
    ZSTD_freeDCtx(kept->dctx);
    free(kept->scratch);
    free(kept);
}

static void kept_set_up(void)
{
    kept_ready = pthread_key_create(&kept_key, kept_free) == 0;
}

/* Create the key of the thread-specific storage, before any other function is called; return 0, or -1 on failure. */
static int contexts_set_up(void)
{
    pthread_once(&kept_once, kept_set_up);
    return kept_ready ? 0 : -1;
}

/* Return this thread's places, or NULL if there is no memory for them. */
static Kept *kept_here(void)
{
    Kept *kept = pthread_getspecific(kept_key);
    if (kept == NULL) {
        kept = calloc(1, sizeof *kept);
        if (kept == NULL || pthread_setspecific(kept_key, kept) != 0) {
            free(kept);
            return NULL;
        }
    }
    return kept;
}

/* Return a context without parameters, or NULL if there is no memory for one. */
static ZSTD_CCtx *take_cctx(Kept *kept)
{
    ZSTD_CCtx *cctx = kept->cctx;
    kept->cctx = NULL;
    if (cctx != NULL && ZSTD_isError(ZSTD_CCtx_reset(cctx, ZSTD_reset_session_and_parameters))) {
        ZSTD_freeCCtx(cctx);
        cctx = NULL;
    }
    return cctx != NULL ? cctx : ZSTD_createCCtx();
}

/* Return a context without parameters, or NULL if there is no memory for one. */
static ZSTD_DCtx *take_dctx(Kept *kept)
{
    ZSTD_DCtx *dctx = kept->dctx;
    kept->dctx = NULL;
    return dctx != NULL ? dctx : ZSTD_createDCtx();
}

/* Return memory of SCRATCH_SIZE bytes, or NULL if there is none. */
static char *take_scratch(Kept *kept)
{
    char *scratch = kept->scratch;
    kept->scratch = NULL;
    return scratch != NULL ? scratch : malloc(SCRATCH_SIZE);
}

static void give_scratch(Kept *kept, char *scratch)
{
    if (kept->scratch == NULL)
        kept->scratch = scratch;
    else
        free(scratch);
}

/*
 * Define the following functions for compression or for decompression.
 *
 * give_cctx(), give_dctx(): let the thread keep a context. Free the context if `result`, libzstd's result for the call
 * that used it, is an error, if the thread already keeps one, or if it is large.
 *
 * settle_cctx(), settle_dctx(): keep a context whose calls have all succeeded. If `place` is not NULL and is empty, the
 * context goes there. Otherwise a plain context (no dictionary, no threads) is given to the thread, and any other
 * context is freed.
 *
 * cpkg_take_cctx(), cpkg_take_dctx(), cpkg_give_cctx(), cpkg_give_dctx(): take and give contexts for Python code, which
 * calls these functions through cffi, without the GIL. A context that is given is reset at once, because its dictionary
 * is a pointer to memory that the Python code is about to free.
 */
#define KEPT_CONTEXTS(Ctx, ctx, kept_max) \
    static void give_##ctx(Kept *kept, ZSTD_##Ctx *context, size_t result) \
    { \
        if (!ZSTD_isError(result) && kept->ctx == NULL && ZSTD_sizeof_##Ctx(context) <= (kept_max)) { \
            kept->ctx = context; \
        } \
        else { \
            ZSTD_free##Ctx(context); \
        } \
    } \
    static void settle_##ctx(void **place, int is_plain, ZSTD_##Ctx *context) \
    { \
        Kept *kept; \
        if (context == NULL || (place != NULL && place_put(place, context) == NULL)) \
            return; \
        kept = is_plain ? kept_here() : NULL; \
        if (kept != NULL) { \
            give_##ctx(kept, context, 0); \
        } \
        else { \
            ZSTD_free##Ctx(context); \
        } \
    } \
    static ZSTD_##Ctx *cpkg_take_##ctx(void) \
    { \
        Kept *kept = kept_here(); \
        return kept != NULL ? take_##ctx(kept) : NULL; \
    } \
    static void cpkg_give_##ctx(ZSTD_##Ctx *context) \
    { \
        settle_##ctx(NULL, !ZSTD_isError(ZSTD_##Ctx##_reset(context, ZSTD_reset_session_and_parameters)), context); \
    }

KEPT_CONTEXTS(CCtx, cctx, KEPT_CCTX_MAX)
KEPT_CONTEXTS(DCtx, dctx, KEPT_DCTX_MAX)

#endif
