/* SPDX-License-Identifier: Apache-2.0 */
/* Patterns without sets, as purepy/tar/patterns.py has them: `*`, `?` and a backslash before the next byte. */
#ifndef CPKG_ARCHIVE_PATTERNS
#define CPKG_ARCHIVE_PATTERNS

#include <stdlib.h>
#include <string.h>

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

static void patterns_free(Patterns *patterns)
{
    for (size_t index = 0; index < patterns->count; index++)
        free(patterns->items[index]);
    free(patterns->items);
    free(patterns->has_matched);
    memset(patterns, 0, sizeof *patterns);
}

/* Say whether a pattern matches a whole name or a directory that leads to it. */
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
            return 1;
        const char *literal = pattern + (*pattern == '\\' && pattern[1] != '\0');
        if (*name != '\0' && *pattern != '\0' && (*pattern == '?' || *literal == *name)) {
            pattern = literal + 1;
            name++;
            continue;
        }
        if (star == NULL || *from == '\0')
            return 0;
        pattern = star;
        name = ++from;
    }
}

/* Say whether a pattern matches; unless anchored it may begin at any component of the name. */
static int pattern_matches_at(const char *pattern, const char *name, int is_anchored)
{
    if (is_anchored)
        return pattern_matches(pattern, name);
    for (const char *start = name; start != NULL; start = strchr(start, '/')) {
        while (*start == '/')
            start++;
        if (*start != '\0' && pattern_matches(pattern, start))
            return 1;
    }
    return 0;
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

#endif
