/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The scanner: where a message ends that comes in pieces. It looks at each value once, at the speed of memory, so that
 * PyPy's Unpacker (cpkg/_native/msgpack/pypy_stream.py) can wait with the objects until the message is whole and the tape
 * makes them.
 *
 * The answer is one of three. SCAN_DOUBT is never wrong, only slow: the caller then lets the pure decoder go on from
 * there. SCAN_CUT and SCAN_DONE are sure: whatever the pure decoder refuses in the bytes so far is a doubt. That is
 * a wrong byte, a length or a depth beyond its limit, text that is not UTF-8, a key of a type that may not be one, and an
 * extension that its type may refuse. Some valid messages are doubts too, for simplicity: more than SCAN_FRAMES
 * containers open, a container or an extension as key, a timestamp of 96 bits.
 *
 * It stops in front of a value that is cut, so that there is nothing of a value to remember.
 */

enum { SCAN_FRAMES = 64 };

enum { SCAN_CUT = 0, SCAN_DONE = 1, SCAN_DOUBT = -1 };

typedef struct {
    /* Where the value begins that is cut or in doubt (after SCAN_DONE: what follows the message). As in the pure decoder,
       how much of a cut value counts as read, and how many bytes from its beginning on it takes at least to go on. */
    int64_t position, consumed, needed;
    tape_limits limits;
    uint32_t depth;
    /* What each open container still lacks: values (a map's keys are values too) << 1 | whether it is a map. The first
       frame is the message. */
    uint64_t frames[SCAN_FRAMES + 1];
} cpkg_scan;

enum { SCAN_NUMBER, SCAN_STR, SCAN_BIN, SCAN_EXT, SCAN_ARRAY, SCAN_MAP, SCAN_WRONG };

/* The formats 0xc0 to 0xdf: kind, size of the length field, and without one the length (of numbers and constants too). */
static const struct {
    uint8_t kind, field, length;
} scan_formats[32] = {
    {SCAN_NUMBER, 0, 0}, {SCAN_WRONG, 0, 0},  {SCAN_NUMBER, 0, 0}, {SCAN_NUMBER, 0, 0},
    {SCAN_BIN, 1, 0},    {SCAN_BIN, 2, 0},    {SCAN_BIN, 4, 0},    {SCAN_EXT, 1, 0},
    {SCAN_EXT, 2, 0},    {SCAN_EXT, 4, 0},    {SCAN_NUMBER, 0, 4}, {SCAN_NUMBER, 0, 8},
    {SCAN_NUMBER, 0, 1}, {SCAN_NUMBER, 0, 2}, {SCAN_NUMBER, 0, 4}, {SCAN_NUMBER, 0, 8},
    {SCAN_NUMBER, 0, 1}, {SCAN_NUMBER, 0, 2}, {SCAN_NUMBER, 0, 4}, {SCAN_NUMBER, 0, 8},
    {SCAN_EXT, 0, 1},    {SCAN_EXT, 0, 2},    {SCAN_EXT, 0, 4},    {SCAN_EXT, 0, 8},
    {SCAN_EXT, 0, 16},   {SCAN_STR, 1, 0},    {SCAN_STR, 2, 0},    {SCAN_STR, 4, 0},
    {SCAN_ARRAY, 2, 0},  {SCAN_ARRAY, 4, 0},  {SCAN_MAP, 2, 0},    {SCAN_MAP, 4, 0},
};

static inline size_t scan_big_endian(const unsigned char *p, size_t n)
{
    size_t value = 0;
    for (size_t i = 0; i < n; i++)
        value = value << 8 | p[i];
    return value;
}

/* Well-formed as Python's strict codec has it: no surrogates, no longer forms than needed (RFC 3629, section 4). */
static bool scan_is_utf8(const unsigned char *p, size_t n)
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

/* Whether ExtType or Timestamp takes the payload at p, which the type's byte precedes. */
static bool scan_is_ext(const unsigned char *p, size_t n)
{
    if (p[-1] < 0x80 || (p[-1] == 0xff && n == 4))
        return true;
    return p[-1] == 0xff && n == 8 && scan_big_endian(p, 4) >> 2 <= 999999999;
}

/* Set what the next messages are checked against; -1 is no limit. */
static void cpkg_scan_configure(cpkg_scan *s, int strict_keys, int64_t max_depth, int64_t max_str, int64_t max_bin,
                                int64_t max_array, int64_t max_map, int64_t max_ext)
{
    tape_limits_set(&s->limits, SCAN_FRAMES, strict_keys, max_depth, max_str, max_bin, max_array, max_map, max_ext);
}

/*
 * Walk on over data[start..size): from the beginning of a message if `fresh`, else from the value that was cut, which must
 * be at `start` now.
 */
static int cpkg_scan_run(cpkg_scan *s, const char *data, size_t size, size_t start, int fresh)
{
    const unsigned char *base = (const unsigned char *)data, *p = base + start, *end = base + size;
    if (fresh) {
        s->depth = 0;
        s->frames[0] = 1 << 1;
    }
    uint32_t depth = s->depth;
    uint64_t frame = s->frames[depth];
    size_t consumed, needed;
    int found = SCAN_CUT;
    for (;;) {
        consumed = 0;
        needed = 1;
        if (p == end)
            goto cut;
        unsigned char byte = *p;
        size_t left = (size_t)(end - p), length, field = 0;
        int kind;
        /* a map with an even number of values to come reads a key */
        bool is_key = frame & ~(frame >> 1) & 1;
        if (byte < 0x80 || byte >= 0xe0) {
            kind = SCAN_NUMBER;
            length = 0;
        }
        else if (byte < 0xa0) {
            kind = byte < 0x90 ? SCAN_MAP : SCAN_ARRAY;
            length = byte & 0x0f;
        }
        else if (byte < 0xc0) {
            kind = SCAN_STR;
            length = byte & 0x1f;
        }
        else {
            kind = scan_formats[byte - 0xc0].kind;
            field = scan_formats[byte - 0xc0].field;
            length = scan_formats[byte - 0xc0].length;
        }
        size_t header = 1 + field;
        if (field) {
            if (left < header) {
                consumed = 1;
                needed = header;
                goto cut;
            }
            length = scan_big_endian(p + 1, field);
        }
        switch (kind) {
        case SCAN_NUMBER:
            if (is_key && s->limits.strict_keys)
                goto doubt;
            break;
        case SCAN_STR:
            if (length > s->limits.max_str)
                goto doubt;
            break;
        case SCAN_BIN:
            if (length > s->limits.max_bin)
                goto doubt;
            break;
        case SCAN_EXT:
            if (is_key || length > s->limits.max_ext)
                goto doubt;
            header++; /* the type */
            break;
        case SCAN_ARRAY:
        case SCAN_MAP:
            if (is_key || depth >= s->limits.max_depth ||
                length > (kind == SCAN_MAP ? s->limits.max_map : s->limits.max_array))
                goto doubt;
            p += header;
            if (length) {
                s->frames[depth++] = frame;
                frame = kind == SCAN_MAP ? (uint64_t)length << 2 | 1 : (uint64_t)length << 1;
                continue;
            }
            goto passed;
        default:
            goto doubt;
        }
        if (left < header || left - header < length) {
            consumed = 1 + field;
            needed = header + length;
            goto cut;
        }
        if (kind == SCAN_STR) {
            if (!tape_is_ascii((const char *)p + header, length, left - header) && !scan_is_utf8(p + header, length))
                goto doubt;
        }
        else if (kind == SCAN_EXT && !scan_is_ext(p + header, length)) {
            goto doubt;
        }
        p += header + length;
    passed:
        for (frame -= 2; frame < 2; frame = s->frames[--depth] - 2) {
            if (depth == 0) {
                s->position = p - base;
                return SCAN_DONE;
            }
        }
    }
doubt:
    found = SCAN_DOUBT;
cut:
    s->depth = depth;
    s->frames[depth] = frame;
    s->position = p - base;
    s->consumed = (int64_t)consumed;
    s->needed = (int64_t)needed;
    return found;
}
