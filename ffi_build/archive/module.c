/* SPDX-License-Identifier: Apache-2.0 */
/* Archives in C, on Linux: the functions of read_run.h and write_run.h. Errors are numbers; no part needs Python. */
#pragma once

/* Where the fields of a tar header are, and how long they are. */
enum {
    BLOCK = 512,
    NAME_SIZE = 100, /* mode, uid and gid come next */
    SIZE_AT = 124,
    TIME_AT = 136,
    SUM_AT = 148,
    FLAG_AT = 156,
    PREFIX_AT = 345,
    PREFIX_SIZE = 155,
    OCTAL_DIGITS = 11
};

#include "read_run.c"
#include "write_run.c"
