/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The contexts and the scratch buffer that a thread keeps: taking them, and giving them back. Nothing here is Python's.
 *
 * A thread keeps its last compression and decompression context and a buffer, because making a context costs
 * several times what compressing a short message does. A context is out of its slot while it is in use: Python
 * code that runs meanwhile on the same thread (a signal handler, a finalizer) finds the slot empty and works with a
 * new one. Kept contexts never have workers or dictionaries, what parameters they have is reset before use, and one
 * whose call failed is not kept: libzstd's reset does not reach all that an error may leave.
 */
#ifndef CPKG_ZSTD_CONTEXTS
#define CPKG_ZSTD_CONTEXTS

#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>

#include <zstd.h>

#include "format.c"

enum {
    SCRATCH_SIZE = BLOCK_MAX + (4 << 10), /* a block, or ZSTD_compressBound() of one */
    KEPT_CCTX_MAX = 4 << 20,
    KEPT_DCTX_MAX = 1 << 20,
};

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

/* Make the slots of all threads, once in a process, before anything else here is called; return 0, or -1 on failure. */
static int contexts_set_up(void)
{
    pthread_once(&kept_once, kept_set_up);
    return kept_ready ? 0 : -1;
}

/* Return this thread's slots, or NULL if there is no memory for them. */
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
 * Define for one direction:
 *
 * give_cctx(), give_dctx(): keep a context, or free it; `result` is libzstd's of the call that it was taken for.
 *
 * cpkg_take_cctx(), cpkg_take_dctx(), cpkg_give_cctx(), cpkg_give_dctx(): take and give contexts for Python code, which
 * reaches them through cffi. They run without the GIL and touch nothing of the interpreter's. What Python code may have
 * set is reset at once: dictionaries are pointers into memory that it is about to free.
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
    static ZSTD_##Ctx *cpkg_take_##ctx(void) \
    { \
        Kept *kept = kept_here(); \
        return kept != NULL ? take_##ctx(kept) : NULL; \
    } \
    static void cpkg_give_##ctx(ZSTD_##Ctx *context) \
    { \
        Kept *kept = kept_here(); \
        if (kept != NULL) { \
            give_##ctx(kept, context, ZSTD_##Ctx##_reset(context, ZSTD_reset_session_and_parameters)); \
        } \
        else { \
            ZSTD_free##Ctx(context); \
        } \
    }

KEPT_CONTEXTS(CCtx, cctx, KEPT_CCTX_MAX)
KEPT_CONTEXTS(DCtx, dctx, KEPT_DCTX_MAX)

#endif
