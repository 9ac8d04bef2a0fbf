/* SPDX-License-Identifier: Apache-2.0 */
/* Copying without the GIL: threads put together what each of them has compressed. */
#pragma once

#include "../common/base.h"

static void cpkg_copy(void *target, const void *source, size_t size)
{
    memcpy(target, source, size);
}
