/* SPDX-License-Identifier: Apache-2.0 */
/* Archives in C, on Linux: what cdef.h declares. Errors are numbers; no part needs Python. */
#pragma once

#include "extract.c"
#include "make.c"
#include "walk.c"
