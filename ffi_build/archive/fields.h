/* SPDX-License-Identifier: Apache-2.0 */
/* Offsets and sizes of the fields of a tar header. */
#pragma once

enum {
    BLOCK = 512,
    NAME_SIZE = 100, /* the fields mode, uid and gid follow */
    SIZE_AT = 124,
    TIME_AT = 136,
    SUM_AT = 148,
    FLAG_AT = 156,
    PREFIX_AT = 345,
    PREFIX_SIZE = 155,
    OCTAL_DIGITS = 11
};
