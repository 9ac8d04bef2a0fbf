/* SPDX-License-Identifier: Apache-2.0 */
/* Archives in C, on Linux: the functions of read_run.h and write_run.h. Errors are numbers; no part needs Python. */
#pragma once

#include "read_run.c"
#include "write_run.c"
