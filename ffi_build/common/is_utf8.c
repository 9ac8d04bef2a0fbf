/* SPDX-License-Identifier: Apache-2.0 */
/* A check whether bytes are UTF-8. */
#pragma once

#include "base.h"

/* Return whether bytes are valid for Python's strict codec: no surrogates, no overlong forms (RFC 3629, section 4). */
static inline bool is_utf8(const unsigned char *p, size_t n)
{
    const unsigned char *end = p + n;
    while (p < end) {
        unsigned char lead = *p;
        if (lead < 0x80) {
            p++;
            continue;
        }
        int length = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
        if (lead < 0xc2 || lead > 0xf4 || end - p < length)
            return false;
        unsigned char low = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
        unsigned char high = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
        if (p[1] < low || p[1] > high)
            return false;
        for (int i = 2; i < length; i++)
            if ((p[i] & 0xc0) != 0x80)
                return false;
        p += length;
    }
    return true;
}
