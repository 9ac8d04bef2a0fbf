/* SPDX-License-Identifier: Apache-2.0 */
/* Archives in C, on Linux: what cdef.h declares. Errors are numbers; no part needs Python. */
#ifndef CPKG_ARCHIVE_MODULE
#define CPKG_ARCHIVE_MODULE

#include "extract.c"
#include "make.c"
#include "walk.c"

#endif
