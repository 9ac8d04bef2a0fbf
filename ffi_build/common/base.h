/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What every part has, through whatever it includes: the types and functions of these headers, and what compilers other
 * than gcc and clang have to do without.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__GNUC__) || defined(__clang__)
#define LIKELY(x) __builtin_expect(!!(x), 1)
#define UNLIKELY(x) __builtin_expect(!!(x), 0)
#define ALWAYS_INLINE inline __attribute__((always_inline))
#define NEVER_INLINE __attribute__((noinline))
#else
#define LIKELY(x) (x)
#define UNLIKELY(x) (x)
#define ALWAYS_INLINE inline
#define NEVER_INLINE
#endif

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))
