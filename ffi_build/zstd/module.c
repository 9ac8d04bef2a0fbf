/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The C side of the native Zstandard backend.
 *
 * On every interpreter: frame_queue.c and memory.c. On CPython besides: builtin functions and types, which
 * install.c puts into a module at import. They do what cpkg/_native/zstd/functions.py does through cffi, in one call
 * with one allocation; everything out of the ordinary (options, dictionaries, bad input, wrong arguments) they hand to
 * the Python function that they were given, so that each error has one place.
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
 * A library without it is as good for all the rest. In a DLL a weak name is address 0 wherever its definition waits in
 * a static library, for libzstd's own calls, too.
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
