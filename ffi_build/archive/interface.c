/* SPDX-License-Identifier: Apache-2.0 */
/* What Python sees: cffi reads the same text, so that C and Python cannot come apart. */
#ifndef CPKG_ARCHIVE_INTERFACE
#define CPKG_ARCHIVE_INTERFACE

#include <stddef.h>
#include <stdint.h>

#include "cdef.h"

#endif
