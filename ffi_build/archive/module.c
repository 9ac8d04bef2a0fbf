/* SPDX-License-Identifier: Apache-2.0 */
/* Archives in C, on Linux: what cdef.h and read_run.h declare. Errors are numbers; no part needs Python. */
#pragma once

#include "extract.c"
#include "read_run.c"
