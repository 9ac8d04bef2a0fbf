/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The C code of the native Zstandard backend.
 *
 * Every interpreter uses frame_queue.c and memory.c. On CPython, install.c also adds builtin functions and types to a
 * module at import. The functions do the same as cpkg/_native/zstd/functions.py does through cffi, but in one call with
 * one allocation. Unusual cases (rare options, bad input, wrong arguments) are passed to Python functions, so that each
 * error is raised in one place.
 */

#include <Python.h>

#define ZDICT_STATIC_LINKING_ONLY
#include <zdict.h>
#include <zstd.h>
#include <zstd_errors.h>

#if ZSTD_VERSION_NUMBER < 10408
#error "libzstd 1.4.8 or newer is needed"
#endif

#ifdef __ELF__
/*
 * With a library that lacks this function, everything else works. (The function is not weak on Windows. There, the
 * address of a weak name is 0 if its definition is in a static library, even for libzstd's own calls.)
 */
#pragma weak ZDICT_optimizeTrainFromBuffer_fastCover
#endif

#ifdef __linux__
#include "../archive/module.c"
#endif
#include "frame_queue.c"
#include "memory.c"
#ifndef PYPY_VERSION
#include "install.c"
#endif
