/* SPDX-License-Identifier: Apache-2.0 */
/* C functions for archives on Linux, called through cffi. They return error numbers and do not use Python's C API. */
#pragma once

#include "read_run.c"
#include "write_run.c"
