/* SPDX-License-Identifier: Apache-2.0 */
/* Patterns without sets, as purepy/tar/patterns.py has them: `*`, `?` and a backslash before the next byte. */
#ifndef CPKG_ARCHIVE_PATTERNS
#define CPKG_ARCHIVE_PATTERNS

#include <stdlib.h>
#include <string.h>

typedef struct {
    char **items;
    size_t count;
} Patterns;

/* Take over patterns, each ended by NUL; false for want of memory. */
static int patterns_copy(Patterns *patterns, const char *texts, size_t count)
{
    patterns->items = calloc(count + 1, sizeof *patterns->items);
    if (patterns->items == NULL)
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

/* Say whether one of the patterns matches; unless anchored it may begin at any component of the name. */
static int patterns_match(const Patterns *patterns, const char *name, int is_anchored)
{
    for (size_t index = 0; index < patterns->count; index++) {
        const char *pattern = patterns->items[index];
        if (is_anchored) {
            if (pattern_matches(pattern, name))
                return 1;
            continue;
        }
        for (const char *start = name; start != NULL; start = strchr(start, '/')) {
            while (*start == '/')
                start++;
            if (*start != '\0' && pattern_matches(pattern, start))
                return 1;
        }
    }
    return 0;
}

#endif
