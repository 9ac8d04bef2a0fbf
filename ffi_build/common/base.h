/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Definitions for all C code, included everywhere: standard types and functions, and replacements for features that
 * only gcc and clang have.
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
#define HOT __attribute__((hot))
#else
#define LIKELY(x) (x)
#define UNLIKELY(x) (x)
#define ALWAYS_INLINE inline
#define NEVER_INLINE
#define HOT
#endif

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))
