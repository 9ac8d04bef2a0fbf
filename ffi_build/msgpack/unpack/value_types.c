/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Read the extension values that `dumps` writes, as cpkg/objects/types_read.py does. Each function reads ordinary
 * values. For all others, including wrong values, it returns false, and that module reads or refuses them. `to`
 * receives the object, or NULL with an exception set.
 */
#pragma once

#include "../common/interpreter.c"
#include "../common/numbers.c"
#include "../common/value_classes.c"

static ALWAYS_INLINE bool take_digits(const unsigned char *s, int count, int *to)
{
    *to = 0;
    for (int i = 0; i < count; i++) {
        const unsigned digit = s[i] - (unsigned)'0';
        if (digit > 9)
            return false;
        *to = *to * 10 + (int)digit;
    }
    return true;
}

static ALWAYS_INLINE bool take_date(const unsigned char *s, int *year, int *month, int *day)
{
    static const unsigned char days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    if (s[4] != '-' || s[7] != '-' || !take_digits(s, 4, year) || !take_digits(s + 5, 2, month) ||
        !take_digits(s + 8, 2, day) || *year < 1 || *month < 1 || *month > 12 || *day < 1)
        return false;
    const bool leap = *year % 4 == 0 && (*year % 100 != 0 || *year % 400 == 0);
    return *day <= days[*month - 1] + (*month == 2 && leap);
}

/* Read hour, minute, second and microsecond from `n` bytes; return false if they are not a time. */
static ALWAYS_INLINE bool take_clock(const unsigned char *s, size_t n, int *to)
{
    to[3] = 0;
    return (n == 8 || (n == 15 && s[8] == '.' && take_digits(s + 9, 6, &to[3]))) && s[2] == ':' && s[5] == ':' &&
           take_digits(s, 2, &to[0]) && take_digits(s + 3, 2, &to[1]) && take_digits(s + 6, 2, &to[2]) && to[0] < 24 &&
           to[1] < 60 && to[2] < 60;
}

static bool read_date(const unsigned char *s, size_t n, PyObject **to)
{
    int year, month, day;
    if (n != 10 || !take_date(s, &year, &month, &day))
        return false;
    *to = PyDate_FromDate(year, month, day);
    return true;
}

static bool read_datetime(const unsigned char *s, size_t n, PyObject **to)
{
    int year, month, day, clock[4];
    if (n < 19 || s[10] != 'T' || !take_date(s, &year, &month, &day) || !take_clock(s + 11, n - 11, clock))
        return false;
    *to = PyDateTimeAPI->DateTime_FromDateAndTime(year, month, day, clock[0], clock[1], clock[2], clock[3], Py_None,
                                                  PyDateTimeAPI->DateTimeType);
    return true;
}

static bool read_time(const unsigned char *s, size_t n, PyObject **to)
{
    int clock[4];
    if (!take_clock(s, n, clock))
        return false;
    *to = PyTime_FromTime(clock[0], clock[1], clock[2], clock[3]);
    return true;
}

static bool read_duration(const unsigned char *s, size_t n, PyObject **to)
{
    if (n != DURATION_SIZE)
        return false;
    const int32_t days = (int32_t)read32(s), seconds = (int32_t)read32(s + 4), microseconds = (int32_t)read32(s + 8);
    if (days < -999999999 || days > 999999999 || seconds < 0 || seconds >= 86400 || microseconds < 0 ||
        microseconds >= 1000000)
        return false;
    *to = PyDelta_FromDSU(days, seconds, microseconds);
    return true;
}

static bool read_uuid(const unsigned char *s, size_t n, PyObject **to)
{
    if (n != UUID_SIZE)
        return false;
    PyObject *number = _PyLong_FromByteArray(s, UUID_SIZE, 0, 0), *o = number ? object_new(S.UUID) : NULL;
    if (o) {
        slot_init(o, S.uuid_int, number);
        slot_init(o, S.uuid_is_safe, new_ref(S.uuid_unknown));
    }
    else
        Py_XDECREF(number);
    *to = o;
    return true;
}

/* Read a UUID from 32 hexadecimal digits, without hyphens or with four of them. */
static bool read_uuid_text(const unsigned char *s, size_t n, PyObject **to)
{
    unsigned char bytes[UUID_SIZE];
    if (n != 32 && n != 36)
        return false;
    for (size_t i = 0, digits = 0; i < n; i++) {
        if (n == 36 && (i == 8 || i == 13 || i == 18 || i == 23)) {
            if (s[i] != '-')
                return false;
            continue;
        }
        const unsigned lower = s[i] | 0x20u;
        const unsigned digit = s[i] - (unsigned)'0' <= 9    ? s[i] - (unsigned)'0'
                               : lower - (unsigned)'a' <= 5 ? lower - (unsigned)'a' + 10
                                                            : 16;
        if (digit > 15)
            return false;
        bytes[digits / 2] = (unsigned char)(digits % 2 ? bytes[digits / 2] << 4 | digit : digit);
        digits++;
    }
    return read_uuid(bytes, UUID_SIZE, to);
}

/* Read a Decimal: a sign, digits with at most one point, and an exponent of up to five digits; sign and exponent may be
   missing. */
static bool read_decimal(const unsigned char *s, size_t n, PyObject **to)
{
    if (n > DECIMAL_LONG)
        return false;
    const unsigned char *p = s, *end = s + n;
    size_t digits = 0, points = 0;
    p += p < end && (*p == '-' || *p == '+');
    for (; p < end && ((*p >= '0' && *p <= '9') || *p == '.'); p++)
        *p == '.' ? points++ : digits++;
    if (digits == 0 || points > 1)
        return false;
    if (p < end && (*p == 'e' || *p == 'E')) {
        p++;
        p += p < end && (*p == '-' || *p == '+');
        const unsigned char *exponent = p;
        while (p < end && *p >= '0' && *p <= '9')
            p++;
        if (p == exponent || p - exponent > 5)
            return false;
    }
    if (p < end)
        return false;
    PyObject *text = PyUnicode_New((Py_ssize_t)n, 127);
    if (text)
        memcpy(PyUnicode_1BYTE_DATA(text), s, n);
    *to = text ? PyObject_CallOneArg(S.decimal_of, text) : NULL;
    Py_XDECREF(text);
    return true;
}

/* Read the value of an extension type. */
static NEVER_INLINE bool read_extension(int code, const unsigned char *s, size_t n, PyObject **to)
{
    switch (code) {
    case EXTENSION_DATE:
        return KEPT(epoch) && read_date(s, n, to);
    case EXTENSION_DATETIME:
        return KEPT(epoch) && read_datetime(s, n, to);
    case EXTENSION_TIME:
        return KEPT(epoch) && read_time(s, n, to);
    case EXTENSION_DURATION:
        return KEPT(epoch) && read_duration(s, n, to);
    case EXTENSION_UUID:
        return KEPT(UUID) && read_uuid(s, n, to);
    case EXTENSION_DECIMAL:
        return KEPT(Decimal) && read_decimal(s, n, to);
    default:
        return false;
    }
}

/* Read a time zone: from no text None, from Z or an offset of hours and minutes a timezone. */
static bool read_zone(const unsigned char *s, size_t n, PyObject **to)
{
    int hours, minutes;
    *to = NULL;
    if (n == 0)
        *to = new_ref(Py_None);
    else if (n == 1 && *s == 'Z')
        *to = new_ref(PyDateTime_TimeZone_UTC);
    else if (n == 6 && (*s == '+' || *s == '-') && s[3] == ':' && take_digits(s + 1, 2, &hours) &&
             take_digits(s + 4, 2, &minutes) && hours < 24 && minutes < 60) {
        const int seconds = 3600 * hours + 60 * minutes;
        PyObject *offset = PyDelta_FromDSU(0, *s == '-' ? -seconds : seconds, 0);
        *to = offset ? PyTimeZone_FromOffset(offset) : NULL;
        Py_XDECREF(offset);
    }
    else
        return false;
    return true;
}

/* Read a time that `day` bytes precede: a date and its separator (11) for a datetime, nothing (0) for a time. Seconds
   may have a fraction. */
static bool read_moment_text(const unsigned char *s, size_t n, const size_t day, PyObject **to)
{
    unsigned char clock[] = "00:00:00.000000";
    int year, month, date, parts[4];
    size_t end = day + 8;
    if (n < end || (day && ((s[10] != 'T' && s[10] != ' ') || !take_date(s, &year, &month, &date))))
        return false;
    if (end < n && s[end] == '.')
        for (end++; end < n && s[end] >= '0' && s[end] <= '9';)
            end++;
    const size_t digits = end - day;
    if (digits == 9 || digits > 15 || (!day && digits != 8 && digits != 15))
        return false;
    memcpy(clock, s + day, digits);
    PyObject *zone;
    if (!take_clock(clock, 15, parts) || !read_zone(s + end, n - end, &zone))
        return false;
    if (!zone)
        *to = NULL;
    else if (day)
        *to = PyDateTimeAPI->DateTime_FromDateAndTime(year, month, date, parts[0], parts[1], parts[2], parts[3], zone,
                                                      PyDateTimeAPI->DateTimeType);
    else
        *to = PyDateTimeAPI->Time_FromTime(parts[0], parts[1], parts[2], parts[3], zone, PyDateTimeAPI->TimeType);
    Py_XDECREF(zone);
    return true;
}

/* Read an ISO 8601 duration: days, then T and hours, minutes and seconds. Some of the parts may be missing. */
static bool read_duration_text(const unsigned char *s, size_t n, PyObject **to)
{
    static const char units[] = "DHMS";
    static const int sizes[] = {86400, 3600, 60, 1};
    const unsigned char *const end = s + n;
    const bool negative = n && *s == '-';
    int64_t seconds = 0, microseconds = 0;
    bool is_clock = false;
    int next = 0;
    s += negative || (n && *s == '+');
    if (s == end || *s++ != 'P' || s == end)
        return false;
    while (s < end) {
        if (!is_clock && *s == 'T') {
            is_clock = true;
            next = 1;
            s++;
        }
        const unsigned char *const begin = s;
        int64_t number = 0;
        for (; s < end && *s >= '0' && *s <= '9' && s - begin < 12; s++)
            number = 10 * number + (*s - '0');
        const unsigned char *const point = s;
        if (s < end && *s == '.')
            for (int64_t place = 100000; ++s < end && *s >= '0' && *s <= '9' && place; place /= 10)
                microseconds += place * (*s - '0');
        const char *const unit = s < end ? memchr(units, *s, 4) : NULL;
        const int at = unit ? (int)(unit - units) : -1;
        if (point == begin || at < next || (at > 0 && !is_clock) || s - point == 1 ||
            (at < 3 && (s > point || point - begin > 9)))
            return false;
        seconds += number * sizes[at];
        next = at + 1;
        s++;
    }
    if (negative) {
        seconds = -seconds - (microseconds > 0);
        microseconds = microseconds ? 1000000 - microseconds : 0;
    }
    const int64_t rest = (seconds % 86400 + 86400) % 86400, days = (seconds - rest) / 86400;
    if (days < -999999999 || days > 999999999)
        return false;
    *to = PyDelta_FromDSU((int)days, (int)rest, (int)microseconds);
    return true;
}

/* Read text that represents a value of an extension type, for messages that have a str instead of the extension type
   (cpkg/typed/texts.py). */
static bool read_extension_text(int code, const unsigned char *s, size_t n, PyObject **to)
{
    switch (code) {
    case EXTENSION_UUID:
        return KEPT(UUID) && read_uuid_text(s, n, to);
    case EXTENSION_DATETIME:
        return KEPT(epoch) && read_moment_text(s, n, 11, to);
    case EXTENSION_TIME:
        return KEPT(epoch) && read_moment_text(s, n, 0, to);
    case EXTENSION_DURATION:
        return KEPT(epoch) && read_duration_text(s, n, to);
    default:
        return read_extension(code, s, n, to);
    }
}
