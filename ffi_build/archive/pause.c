/* SPDX-License-Identifier: Apache-2.0 */
/* When a call has lasted long enough: its caller looks for signals and calls again. */
#pragma once

#include <time.h>

enum { PAUSE_AFTER = 20 * 1000 * 1000 }; /* nanoseconds */

typedef struct {
    struct timespec begin;
} Pause;

static Pause pause_begin(void)
{
    Pause pause;
    clock_gettime(CLOCK_MONOTONIC, &pause.begin);
    return pause;
}

static int pause_is_due(const Pause *pause)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (now.tv_sec - pause->begin.tv_sec) * 1000000000LL + now.tv_nsec - pause->begin.tv_nsec > PAUSE_AFTER;
}
