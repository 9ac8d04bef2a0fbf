/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Refuse map keys that were chosen to collide, before they take quadratic time.
 *
 * purepy/msgpack/key_meter.py does the same, and explains how the probes of a dict are counted.
 */
#pragma once

#include "../common/interpreter.c"
#include "../common/state.c"

enum {
    METERED_PAIRS = 8,      /* maps with fewer pairs are not metered */
    METERED_NUMBERS = 512,  /* in maps with fewer pairs, numbers are not metered: such a probe takes 1 or 2 ns */
    KEY_PROBES = 40,        /* each key of a message allows this many probes; */
    KEYS_PROBE = 1 << 11,   /* each KEYS_PROBE keys that its map has so far allow one more, */
    MORE_PROBES_MAX = 256,  /* but at most this many more; */
    SPARE_PROBES = 1 << 14, /* each message allows this many in addition */
    EQUAL_PROBES = 8,       /* a key with an equal hash counts as this many, because comparing it may run Python code */
    TAGS = 251,             /* the number of different tags */
};

static const long long HASHES_END = (1LL << 61) - 1; /* ints from 0 to below this value are their own hashes */

/* The keys of one open map, except str and bytes, which only enlarge the dict's table. Typed decoding also meters sets:
   their tables are at least as large, and their probes are counted like those of dicts. */
typedef struct KeyMeter {
    struct KeyMeter *outer; /* the meter of the next map around this one */
    Py_ssize_t level;       /* the level of the map's frame */
    Py_ssize_t base;   /* while `tags` is NULL, all keys are ints from `base` to `base` + `mask`, without collisions */
    Py_hash_t *hashes; /* the hashes of the keys, in the order of the keys */
    uint8_t *tags;     /* for each slot of the table, the tag of its key, or 0 if the slot is free */
    size_t mask, count;
    uint64_t probes; /* the probes since the table grew */
} KeyMeter;

/* The key meters of a message, and the probes of all its maps. */
typedef struct {
    KeyMeter *innermost;
    uint64_t probes, allowed;
} KeyMeters;

static void key_meter_drop(KeyMeters *all)
{
    KeyMeter *meter = all->innermost;
    all->innermost = meter->outer;
    PyMem_Free(meter->hashes);
    PyMem_Free(meter->tags);
    PyMem_Free(meter);
}

static void key_meters_clear(KeyMeters *all)
{
    while (all->innermost)
        key_meter_drop(all);
    all->probes = 0;
    all->allowed = SPARE_PROBES;
}

/* Put a key into the table and count the probes, as many as the dict needs. Return the key's slot. `equal` becomes
   whether another key may have the same hash, because it has the same tag. Tags need only one byte per slot, unlike
   hashes. */
static size_t key_meter_put(KeyMeters *all, KeyMeter *meter, Py_hash_t hash, bool *equal)
{
    const uint8_t *tags = meter->tags;
    const size_t mask = meter->mask;
    const uint8_t tag = (uint8_t)((hash % TAGS + TAGS) % TAGS + 1);
    size_t perturb = (size_t)hash, i = perturb & mask;
    uint64_t probes = 0, same = 0;
    for (uint8_t other; (other = tags[i]); probes++) {
        same += other == tag;
        perturb >>= 5;
        i = (i * 5 + perturb + 1) & mask;
    }
    *equal = same > 0;
    probes += (EQUAL_PROBES - 1) * same;
    if (probes > EQUAL_PROBES * meter->count) /* in a small table, probes may meet a key several times */
        probes = EQUAL_PROBES * meter->count;
    meter->tags[i] = tag;
    meter->probes += probes;
    all->probes += probes;
    return i;
}

/* Return the number of slots in the table of a dict with this many pairs. */
static size_t key_meter_size(size_t pairs)
{
    size_t size = 8;
    while (size * 2 / 3 < pairs)
        size *= 2;
    return size;
}

/* Return whether a key is an int that is its own hash and cannot collide, while the meter has no tags (see `base`). */
static ALWAYS_INLINE bool key_meter_is_apart(const KeyMeter *meter, PyObject *key)
{
    int overflow;
    if (!PyLong_CheckExact(key))
        return false;
    const long long value = PyLong_AsLongLongAndOverflow(key, &overflow);
    return value >= meter->base && (size_t)(value - meter->base) <= meter->mask && value < HASHES_END;
}

static ALWAYS_INLINE bool key_is_number(PyObject *key)
{
    return PyLong_CheckExact(key) || PyFloat_CheckExact(key) || PyBool_Check(key) || key == Py_None;
}

/* Allow more probes for one more key of a container, which then has `present` keys. */
static ALWAYS_INLINE void key_meter_allow(KeyMeters *all, size_t present)
{
    const size_t more = present / KEYS_PROBE;
    all->allowed += KEY_PROBES + (more < MORE_PROBES_MAX ? more : MORE_PROBES_MAX);
}

/* Return whether a key may be put into a dict or set without key_meter_add(). The container is in the frame at `level`,
   has `present` keys and will have about `pairs`. */
static ALWAYS_INLINE bool key_meter_passes(KeyMeters *all, Py_ssize_t level, PyObject *key, size_t present,
                                           uint64_t pairs)
{
    if (pairs < METERED_NUMBERS && key_is_number(key))
        return true;
    const KeyMeter *meter = all->innermost;
    if (!meter || meter->level != level || meter->tags || present >= (meter->mask + 1) * 2 / 3 ||
        !key_meter_is_apart(meter, key))
        return false;
    key_meter_allow(all, present + 1);
    return true;
}

/* Resize the table for a dict with this many pairs; return false with an exception set on failure. */
static bool key_meter_grow(KeyMeters *all, KeyMeter *meter, size_t pairs)
{
    const size_t size = key_meter_size(pairs);
    uint8_t *tags = PyMem_Calloc(size, sizeof *tags);
    Py_hash_t *hashes = PyMem_Realloc(meter->hashes, size * 2 / 3 * sizeof *hashes);
    PyMem_Free(meter->tags);
    meter->tags = tags;
    if (hashes)
        meter->hashes = hashes;
    if (!tags || !hashes) {
        PyErr_NoMemory();
        return false;
    }
    meter->mask = size - 1;
    all->probes -= meter->probes; /* the probes are counted again for the larger table */
    meter->probes = 0;
    bool equal;
    for (size_t number = 0; number < meter->count; number++)
        key_meter_put(all, meter, hashes[number], &equal);
    return true;
}

/* Put the keys of a container, so far all ints without collisions, into a new table; return false with an exception set
   on failure. */
static bool key_meter_fill(KeyMeters *all, KeyMeter *meter, PyObject *container)
{
    if (!key_meter_grow(all, meter, (meter->mask + 1) * 2 / 3))
        return false;
    PyObject *keys = PyObject_GetIter(container), *key;
    bool equal;
    while (keys && (key = PyIter_Next(keys))) {
        if (PyLong_CheckExact(key)) {
            Py_hash_t hash = PyObject_Hash(key);
            meter->hashes[meter->count++] = hash;
            key_meter_put(all, meter, hash, &equal);
        }
        Py_DECREF(key);
    }
    Py_XDECREF(keys);
    return !PyErr_Occurred();
}

/*
 * Count a key before it is put into `dict` (or a set), which is in the frame at `level` and was created for `pairs`.
 * Return 1, or 0 with LimitError set if too many keys collide (or MemoryError), or -1 with the exception of a key's own
 * comparison.
 */
static int key_meter_add(KeyMeters *all, Py_ssize_t level, Py_ssize_t pairs, PyObject *dict, PyObject *key,
                         Py_hash_t hash)
{
    const bool is_dict = PyDict_Check(dict);
    KeyMeter *meter = all->innermost;
    if (!meter || meter->level != level) {
        meter = PyMem_Calloc(1, sizeof *meter);
        if (!meter) {
            PyErr_NoMemory();
            return 0;
        }
        meter->outer = all->innermost;
        meter->level = level;
        meter->base = hash < 0 ? PY_SSIZE_T_MAX : hash;
        meter->mask = key_meter_size((size_t)dict_room(pairs)) - 1;
        all->innermost = meter;
    }
    const size_t present = (size_t)(is_dict ? PyDict_GET_SIZE(dict) : PySet_GET_SIZE(dict)) + 1,
                 full = (meter->mask + 1) * 2 / 3;
    key_meter_allow(all, present);
    if (!meter->tags) {
        if (present > full)
            meter->mask = key_meter_size(present) - 1;
        if (key_meter_is_apart(meter, key))
            return 1;
        if (!key_meter_fill(all, meter, dict))
            return 0;
    }
    else if ((present > full || meter->count == full) &&
             !key_meter_grow(all, meter, present > full ? present : full + 1))
        return 0;
    meter->hashes[meter->count++] = hash;
    bool equal = false;
    size_t slot = key_meter_put(all, meter, hash, &equal);
    if (equal) {
        /* if the dict has an equal key, this one takes no slot */
        int known = is_dict ? PyDict_Contains(dict, key) : PySet_Contains(dict, key);
        if (known < 0)
            return -1;
        if (known) {
            meter->count--;
            meter->tags[slot] = 0;
        }
    }
    if (all->probes <= all->allowed)
        return 1;
    PyErr_SetString(S.LimitError, "too many map keys with colliding hashes");
    return 0;
}
