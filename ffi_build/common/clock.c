/* SPDX-License-Identifier: Apache-2.0 */
/* A clock, and the time after which a long call returns early, so that its caller handles signals and calls again. */
#pragma once

#include <time.h>

#include "base.h"

enum { PAUSE_AFTER = 20 /* milliseconds */ };

/* Return the milliseconds of a monotonic clock. */
static int64_t clock_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Return whether a call that began at the time `begin` must return. */
static bool pause_is_due(int64_t begin)
{
    return clock_ms() - begin > PAUSE_AFTER;
}
