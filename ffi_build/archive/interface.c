/* SPDX-License-Identifier: Apache-2.0 */
/* What Python sees: cffi reads the same text, so that C and Python cannot come apart. */
#pragma once

#include "../common/base.h"
#include "cdef.h"
