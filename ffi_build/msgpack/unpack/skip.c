/* SPDX-License-Identifier: Apache-2.0 */
/* Skip values without creating objects: the counterpart of parse_loop.c. */
#pragma once

#include "../common/formats.c"
#include "parser_state.c"

enum parse_result { PARSE_ERROR = -1, PARSE_MORE = 0, PARSE_DONE = 1 };

/* Skip values until skip_top frames are left. *at moves to the end of the values, or to the header of a value that is
   cut or wrong. */
static NEVER_INLINE enum parse_result parser_skip(Parser *ps, const unsigned char **at, const unsigned char *end)
{
    const unsigned char *p = *at;
    for (;;) {
        *at = p;
        if (p == end)
            return PARSE_MORE;
        if (is_fixint(*p)) {
            p++;
            goto passed;
        }
        FormatHeader h;
        if (!read_header(p, (size_t)(end - p), &h))
            return PARSE_MORE;
        if (h.kind == FORMAT_WRONG) {
            raise_format();
            return PARSE_ERROR;
        }
        p += h.size;
        if (is_container(h.kind)) {
            if (ps->top >= ps->options->max_depth) {
                raise_too_deep(ps);
                return PARSE_ERROR;
            }
            if (h.length) {
                if (UNLIKELY(ps->top == ps->capacity) && !parser_more_frames(ps))
                    return PARSE_ERROR;
                const uint64_t children = (uint64_t)h.length << (h.kind == FORMAT_MAP);
                ps->frames[ps->top++] = (Frame){.left = children, .kind = FRAME_SKIP};
                continue;
            }
        }
        else {
            const uint64_t payload = (uint64_t)h.length + (h.kind == FORMAT_EXT);
            if ((uint64_t)(end - p) < payload)
                return PARSE_MORE;
            p += payload;
        }
    passed:
        while (ps->top > ps->skip_top && --ps->frames[ps->top - 1].left == 0)
            ps->top--;
        if (ps->top == ps->skip_top) {
            *at = p;
            return PARSE_DONE;
        }
    }
}
