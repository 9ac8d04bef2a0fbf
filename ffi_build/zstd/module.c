/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The C side of the native Zstandard backend.
 *
 * On every interpreter: cpkg_advise_huge_pages(). On CPython besides: builtin functions, which cpkg_add_builtins()
 * puts into a module at import. They do what cpkg/_native/zstd/functions.py does through cffi, in one call with one
 * allocation; everything out of the ordinary (options, dictionaries, bad input, wrong arguments) they hand to the
 * Python function that they were given, so that each error has one place.
 */

#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <zdict.h>
#include <zstd.h>
#include <zstd_errors.h>

#if ZSTD_VERSION_NUMBER < 10408
#error "libzstd 1.4.8 or newer is needed"
#endif

/* Half of the time of decompressing into fresh memory goes into its page faults (docs/measurements.md). */
#define HUGE_PAGE ((size_t)2 << 20)
#define HUGE_PAGES_FROM (2 * HUGE_PAGE)

static void cpkg_advise_huge_pages(void *start, size_t size)
{
#ifdef MADV_HUGEPAGE
    if (size >= HUGE_PAGES_FROM) {
        uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
        uintptr_t first = ((uintptr_t)start + page - 1) & ~(page - 1);
        uintptr_t last = ((uintptr_t)start + size) & ~(page - 1);
        /* advice only: a kernel without huge pages answers EINVAL, and nothing is lost */
        (void)madvise((void *)first, (size_t)(last - first), MADV_HUGEPAGE);
    }
#else
    (void)start;
    (void)size;
#endif
}

#ifndef PYPY_VERSION
#include "builtins.c"
#endif
