/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Huge pages for the objects of a large message.
 *
 * Half of the time to unpack tens of megabytes goes into page faults: the interpreter maps memory for small objects in
 * arenas of 1 MiB, and each fault brings in 4 KiB. So for a large message several arenas are taken from the interpreter's
 * allocator in advance. The kernel places consecutive mappings side by side, so that together they can be advised to use
 * huge pages; a single arena is too small for that. At the end of the call, unused arenas are returned to the allocator,
 * which later frees the others when they become empty, as usual.
 */
#pragma once

#if defined(__linux__) && defined(WITH_PYMALLOC) && !defined(Py_GIL_DISABLED)
#include <sys/mman.h>
#include <sys/resource.h>
#endif

#include "../../common/compat.c"

#ifdef MADV_HUGEPAGE
#define HUGE_PAGE ((size_t)2 << 20)
#define ARENAS_AHEAD_MIN 8
#define ARENAS_AHEAD_MAX 32
#define ARENAS_AHEAD_MESSAGE ((Py_ssize_t)1 << 20)

typedef struct {
    bool held;
    int next, count; /* arenas[next:count] are left */
    size_t size;     /* of each */
    void *arenas[ARENAS_AHEAD_MAX];
} ArenasAhead;

static PyObjectArenaAllocator arena_allocator;   /* as found at import */
static _Thread_local ArenasAhead *arenas_in_use; /* of the call that this thread is in */

/* Allocate more arenas, and advise the kernel (madvise) to use huge pages for them and for those still unused. */
static void arenas_fill(ArenasAhead *ahead, size_t size)
{
    int left = ahead->count - ahead->next, wanted = ahead->count ? 2 * ahead->count : ARENAS_AHEAD_MIN;
    memmove(ahead->arenas, ahead->arenas + ahead->next, (size_t)left * sizeof *ahead->arenas);
    ahead->next = 0;
    ahead->count = left;
    ahead->size = size;
    while (ahead->count < wanted && ahead->count < ARENAS_AHEAD_MAX) {
        void *arena = arena_allocator.alloc(arena_allocator.ctx, size);
        if (!arena)
            break;
        ahead->arenas[ahead->count++] = arena;
    }
    for (int i = 0; i < ahead->count; i++) {
        /* mappings grow downwards */
        uintptr_t low = (uintptr_t)ahead->arenas[i], high = low + size;
        for (; i + 1 < ahead->count && (uintptr_t)ahead->arenas[i + 1] + size == low; i++)
            low -= size;
        /* only advice: nothing is lost if the kernel has no huge pages */
        (void)madvise((void *)low, (size_t)(high - low), MADV_HUGEPAGE);
    }
}

/* The arena allocator during a call. Other threads may also use it, when the call runs Python code, or in interpreters with
   their own GIL; for them it calls the original allocator. */
static void *arena_alloc(void *ctx, size_t size)
{
    ArenasAhead *ahead = arenas_in_use;
    /* with the huge pages option of 3.15, arenas have the size of a huge page */
    if (!ahead || size >= HUGE_PAGE || (ahead->count && ahead->size != size))
        return arena_allocator.alloc(ctx, size);
    /* The last arenas end inside a huge page, which is allocated as a whole only if its other part is mapped at the first access. */
    if (ahead->count - ahead->next <= (int)(HUGE_PAGE / size))
        arenas_fill(ahead, size);
    return ahead->next < ahead->count ? ahead->arenas[ahead->next++] : NULL;
}

static void arenas_setup(void)
{
    PyObject_GetArenaAllocator(&arena_allocator);
}

/* Not with a limited address space: memory that is taken in advance could be missing elsewhere. */
static bool arenas_are_plenty(void)
{
    struct rlimit space, data;
    return getrlimit(RLIMIT_AS, &space) == 0 && space.rlim_cur == RLIM_INFINITY && getrlimit(RLIMIT_DATA, &data) == 0 &&
           data.rlim_cur == RLIM_INFINITY;
}

/* Not if another allocator is installed, by a profiler or an outer call. */
static bool arenas_install(ArenasAhead *ahead)
{
    PyObjectArenaAllocator now;
    PyObject_GetArenaAllocator(&now);
    if (now.alloc != arena_allocator.alloc || now.free != arena_allocator.free || now.ctx != arena_allocator.ctx)
        return false;
    arenas_in_use = ahead;
    /* Only one pointer changes, and both of its values are valid at any time for any thread. */
    now.alloc = arena_alloc;
    PyObject_SetArenaAllocator(&now);
    return true;
}

static void arenas_uninstall(void)
{
    PyObjectArenaAllocator now;
    PyObject_GetArenaAllocator(&now);
    if (now.alloc == arena_alloc) /* unless a profiler was started meanwhile */
        PyObject_SetArenaAllocator(&arena_allocator);
    arenas_in_use = NULL;
}

static void arenas_give_back(ArenasAhead *ahead)
{
    while (ahead->next < ahead->count)
        arena_allocator.free(arena_allocator.ctx, ahead->arenas[ahead->next++], ahead->size);
}

static NEVER_INLINE bool arenas_begin(ArenasAhead *ahead)
{
    ahead->next = ahead->count = 0;
    return arenas_are_plenty() && arenas_install(ahead);
}

static NEVER_INLINE void arenas_end(ArenasAhead *ahead)
{
    arenas_uninstall();
    arenas_give_back(ahead);
}

/* Take arenas in advance until arenas_release(), which every exit of the call must call. */
static ALWAYS_INLINE void arenas_hold(ArenasAhead *ahead, Py_ssize_t message_size)
{
    ahead->held = UNLIKELY(message_size >= ARENAS_AHEAD_MESSAGE) && arenas_begin(ahead);
}

static ALWAYS_INLINE void arenas_release(ArenasAhead *ahead)
{
    if (UNLIKELY(ahead->held))
        arenas_end(ahead);
}

/* For an object that arrives in pieces: the arenas are kept from call to call in *kept, which is NULL at first. */
static ALWAYS_INLINE void arenas_hold_kept(ArenasAhead **kept, uint64_t taken)
{
    if (LIKELY(taken < (uint64_t)ARENAS_AHEAD_MESSAGE))
        return;
    if (!*kept && arenas_are_plenty())
        *kept = PyMem_Calloc(1, sizeof **kept); /* without it, the object is decoded like a small one */
    if (*kept)
        (*kept)->held = arenas_install(*kept);
}

static ALWAYS_INLINE void arenas_release_kept(ArenasAhead *kept)
{
    if (UNLIKELY(kept != NULL) && kept->held) {
        arenas_uninstall();
        kept->held = false;
    }
}

/* The object is complete, or was given up. */
static ALWAYS_INLINE void arenas_drop_kept(ArenasAhead **kept)
{
    if (UNLIKELY(*kept != NULL)) {
        arenas_give_back(*kept);
        PyMem_Free(*kept);
        *kept = NULL;
    }
}
#else
typedef char ArenasAhead;

#define arenas_setup() ((void)0)
#define arenas_hold(ahead, message_size) ((void)(ahead), (void)(message_size))
#define arenas_release(ahead) ((void)(ahead))
#define arenas_hold_kept(kept, taken) ((void)(kept), (void)(taken))
#define arenas_release_kept(kept) ((void)(kept))
#define arenas_drop_kept(kept) ((void)(kept))
#endif
