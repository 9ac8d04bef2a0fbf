/* SPDX-License-Identifier: Apache-2.0 */
/* The memory of outputs: copies without the GIL, and huge pages. */
#pragma once

#include <Python.h> /* included first, because it requests all features of the system headers */
#ifndef _WIN32
#include <sys/mman.h>
#include <unistd.h>
#endif

#include "../common/base.h"

#define HUGE_PAGE ((size_t)2 << 20)
#define HUGE_PAGES_FROM (2 * HUGE_PAGE)

/* Advise the kernel to use huge pages: page faults take half of the time of decompressing into large new memory. */
static void cpkg_advise_huge_pages(void *start, size_t size)
{
#ifdef MADV_HUGEPAGE
    if (size >= HUGE_PAGES_FROM) {
        uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
        uintptr_t first = ((uintptr_t)start + page - 1) & ~(page - 1);
        uintptr_t last = ((uintptr_t)start + size) & ~(page - 1);
        /* errors are ignored: a kernel without huge pages returns EINVAL, and nothing else changes */
        (void)madvise((void *)first, (size_t)(last - first), MADV_HUGEPAGE);
    }
#else
    (void)start;
    (void)size;
#endif
}

/* Copy memory without the GIL. Python calls this to join the frames that several threads have compressed. */
static void cpkg_copy(void *target, const void *source, size_t size)
{
    memcpy(target, source, size);
}
