/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Huge pages for the objects of a large message.
 *
 * Page faults take half of the time to unpack tens of megabytes: the interpreter maps memory for small objects in
 * arenas of 1 MiB, and each page fault makes only 4 KiB available. So for a large message, several arenas are taken
 * from the interpreter's allocator in advance. The kernel places consecutive mappings side by side, so that it can use
 * huge pages for several arenas together; a single arena is too small for that. At the end of the call, unused arenas
 * are returned to the allocator. The interpreter frees the others when they become empty, as usual.
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
    int next, count; /* arenas[next..count) are unused */
    size_t size;     /* the size of each arena */
    void *arenas[ARENAS_AHEAD_MAX];
} ArenasAhead;

static PyObjectArenaAllocator arena_allocator;   /* the allocator that was found at import */
static _Thread_local ArenasAhead *arenas_in_use; /* the arenas of this thread's current call */

/* Allocate more arenas, and advise the kernel (madvise) to use huge pages for all unused arenas. */
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
        /* a later mapping has a lower address */
        uintptr_t low = (uintptr_t)ahead->arenas[i], high = low + size;
        for (; i + 1 < ahead->count && (uintptr_t)ahead->arenas[i + 1] + size == low; i++)
            low -= size;
        /* errors are ignored, because without huge pages everything still works */
        (void)madvise((void *)low, (size_t)(high - low), MADV_HUGEPAGE);
    }
}

/* The interpreter's arena allocator during a call. Other threads may also call this function: when the call runs Python
   code, or in interpreters with their own GIL. For them it calls the original allocator. */
static void *arena_alloc(void *ctx, size_t size)
{
    ArenasAhead *ahead = arenas_in_use;
    /* with 3.15's option for huge pages, an arena already has the size of a huge page */
    if (!ahead || size >= HUGE_PAGE || (ahead->count && ahead->size != size))
        return arena_allocator.alloc(ctx, size);
    /* The last arenas end inside a huge page. The kernel allocates it as a whole only if the next arenas are mapped
       before the first access, so more arenas are allocated before these are used. */
    if (ahead->count - ahead->next <= (int)(HUGE_PAGE / size))
        arenas_fill(ahead, size);
    return ahead->next < ahead->count ? ahead->arenas[ahead->next++] : NULL;
}

static void arenas_setup(void)
{
    PyObject_GetArenaAllocator(&arena_allocator);
}

/* Return false if the process has limited memory, because arenas taken in advance could then be missing elsewhere. */
static bool arenas_are_plenty(void)
{
    struct rlimit space, data;
    return getrlimit(RLIMIT_AS, &space) == 0 && space.rlim_cur == RLIM_INFINITY && getrlimit(RLIMIT_DATA, &data) == 0 &&
           data.rlim_cur == RLIM_INFINITY;
}

/* Install arena_alloc(); return false if a profiler or an outer call has installed another allocator. */
static bool arenas_install(ArenasAhead *ahead)
{
    PyObjectArenaAllocator now;
    PyObject_GetArenaAllocator(&now);
    if (now.alloc != arena_allocator.alloc || now.free != arena_allocator.free || now.ctx != arena_allocator.ctx)
        return false;
    arenas_in_use = ahead;
    /* Only one pointer changes, and any thread may call both functions at any time. */
    now.alloc = arena_alloc;
    PyObject_SetArenaAllocator(&now);
    return true;
}

static void arenas_uninstall(void)
{
    PyObjectArenaAllocator now;
    PyObject_GetArenaAllocator(&now);
    if (now.alloc == arena_alloc) /* false if a profiler was started meanwhile */
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

/* From here to arenas_release(), take arenas in advance if the message is large. Every path out of the caller must call
   arenas_release(). */
static ALWAYS_INLINE void arenas_hold(ArenasAhead *ahead, Py_ssize_t message_size)
{
    ahead->held = UNLIKELY(message_size >= ARENAS_AHEAD_MESSAGE) && arenas_begin(ahead);
}

static ALWAYS_INLINE void arenas_release(ArenasAhead *ahead)
{
    if (UNLIKELY(ahead->held))
        arenas_end(ahead);
}

/* Like arenas_hold(), for an object that arrives in pieces and has `taken` bytes so far: unused arenas are kept from
   call to call in *kept, which is NULL at first. */
static ALWAYS_INLINE void arenas_hold_kept(ArenasAhead **kept, uint64_t taken)
{
    if (LIKELY(taken < (uint64_t)ARENAS_AHEAD_MESSAGE))
        return;
    if (!*kept && arenas_are_plenty())
        *kept = PyMem_Calloc(1, sizeof **kept); /* without memory, decode the object like a small one */
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

/* Return the unused arenas, after the object is complete or was given up. */
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
