/* SPDX-License-Identifier: Apache-2.0 */
/* Patterns, as purepy/tar/patterns.py has them: `*`, `?`, `[...]` and a backslash before the next byte. */
#pragma once

#include "../common/base.h"
#include <stdlib.h>

typedef struct {
    char **items;
    char *has_matched; /* which of them were of use */
    size_t count;
} Patterns;

/* Take over patterns, each ended by NUL; false for want of memory. */
static int patterns_copy(Patterns *patterns, const char *texts, size_t count)
{
    patterns->items = calloc(count + 1, sizeof *patterns->items);
    patterns->has_matched = calloc(count + 1, 1);
    if (patterns->items == NULL || patterns->has_matched == NULL)
        return 0;
    for (size_t index = 0; index < count; index++, texts += strlen(texts) + 1) {
        patterns->items[index] = strdup(texts);
        if (patterns->items[index] == NULL)
            return 0;
        patterns->count++;
    }
    return 1;
}

/* Take over patterns to include and those to exclude, which follow them; false for want of memory. */
static int patterns_split(Patterns *to_include, Patterns *to_exclude, const char *texts, size_t included,
                          size_t excluded)
{
    const char *rest = texts;
    for (size_t index = 0; index < included; index++)
        rest += strlen(rest) + 1;
    return patterns_copy(to_include, texts, included) && patterns_copy(to_exclude, rest, excluded);
}

static void patterns_free(Patterns *patterns)
{
    for (size_t index = 0; index < patterns->count; index++)
        free(patterns->items[index]);
    free(patterns->items);
    free(patterns->has_matched);
    memset(patterns, 0, sizeof *patterns);
}

/* POSIX's classes in the C locale, as first and last bytes of ranges; no name holds a NUL. */
static const struct {
    const char *name, *ranges;
} pattern_classes[] = {
    {"alnum:]", "09AZaz"},   {"alpha:]", "AZaz"},   {"blank:]", "  \t\t"}, {"cntrl:]", "\x01\x1F\x7F\x7F"},
    {"digit:]", "09"},       {"graph:]", "!~"},     {"lower:]", "az"},     {"print:]", " ~"},
    {"punct:]", "!/:@[`{~"}, {"space:]", "  \t\r"}, {"upper:]", "AZ"},     {"xdigit:]", "09AFaf"},
};

static const char *class_ranges(const char *name)
{
    for (size_t index = 0; index < sizeof pattern_classes / sizeof *pattern_classes; index++)
        if (strncmp(name, pattern_classes[index].name, strlen(pattern_classes[index].name)) == 0)
            return pattern_classes[index].ranges;
    return NULL;
}

static unsigned char pattern_literal(const char **pattern)
{
    if (**pattern == '\\' && (*pattern)[1] != '\0')
        ++*pattern;
    return (unsigned char)*(*pattern)++;
}

/* Say whether a byte is in the set that begins at a bracket, and where that ends; NULL if it is not closed. */
static const char *set_matches(const char *pattern, unsigned char letter, int *is_in)
{
    const char *at = pattern + 1;
    int is_inverted = *at == '!' || *at == '^', is_found = 0;
    at += is_inverted;
    for (const char *first = at; *at != '\0' && (*at != ']' || at == first);) {
        const char *ranges = strncmp(at, "[:", 2) == 0 ? class_ranges(at + 2) : NULL;
        if (ranges != NULL) {
            for (; *ranges != '\0'; ranges += 2)
                is_found |= (unsigned char)ranges[0] <= letter && letter <= (unsigned char)ranges[1];
            at = strchr(at, ']') + 1;
            continue;
        }
        unsigned char low = pattern_literal(&at), high = low;
        if (at[0] == '-' && at[1] != '\0' && at[1] != ']') {
            at++;
            high = pattern_literal(&at);
        }
        is_found |= low <= letter && letter <= high;
    }
    *is_in = is_found != is_inverted;
    return *at == '\0' ? NULL : at + 1;
}

enum { MATCHES_NOWHERE = -1, MATCHES_NOT_HERE, MATCHES };

/*
 * Say whether a pattern matches a whole name or a directory that leads to it.
 *
 * What follows a star is looked for once, as early as it can be: if it is nowhere, it is behind no later begin either.
 */
static int pattern_matches(const char *pattern, const char *name)
{
    const char *star = NULL, *from = NULL; /* where to go on when what follows the last star does not match */
    for (;;) {
        if (*pattern == '*') {
            star = ++pattern;
            from = name;
            continue;
        }
        if (*pattern == '\0' && (*name == '\0' || *name == '/'))
            return MATCHES;
        int is_in = 0;
        const char *behind = *pattern == '[' && *name != '\0' ? set_matches(pattern, (unsigned char)*name, &is_in)
                                                              : NULL;
        if (behind != NULL && is_in) {
            pattern = behind;
            name++;
            continue;
        }
        const char *literal = pattern + (*pattern == '\\' && pattern[1] != '\0');
        if (behind == NULL && *name != '\0' && *pattern != '\0' && (*pattern == '?' || *literal == *name)) {
            pattern = literal + 1;
            name++;
            continue;
        }
        if (star == NULL || *from == '\0')
            return star == NULL ? MATCHES_NOT_HERE : MATCHES_NOWHERE;
        pattern = star;
        name = ++from;
    }
}

/* Say whether a pattern matches; unless anchored it may begin at any component of the name. */
static int pattern_matches_at(const char *pattern, const char *name, int is_anchored)
{
    if (is_anchored)
        return pattern_matches(pattern, name) == MATCHES;
    int found = MATCHES_NOT_HERE;
    for (const char *start = name; start != NULL && found == MATCHES_NOT_HERE; start = strchr(start, '/')) {
        while (*start == '/')
            start++;
        if (*start != '\0')
            found = pattern_matches(pattern, start);
    }
    return found == MATCHES;
}

/* Say whether one of the patterns matches, and note of each that does so. */
static int patterns_match(const Patterns *patterns, const char *name, int is_anchored)
{
    int is_found = 0;
    for (size_t index = 0; index < patterns->count; index++) {
        if (is_found && patterns->has_matched[index])
            continue;
        if (pattern_matches_at(patterns->items[index], name, is_anchored))
            is_found = patterns->has_matched[index] = 1;
    }
    return is_found;
}
