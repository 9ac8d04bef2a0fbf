/* SPDX-License-Identifier: Apache-2.0 */
/* Archives in C, on Linux: functions for cffi. Errors are numbers; no part needs Python. */
#pragma once

#include "read_run.c"
#include "write_run.c"
