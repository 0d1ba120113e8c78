#include "common/rows/timestamp_pattern.h"

#include <string.h>
#include <strings.h>

enum { WIDTH_YEAR = 4, FIRST_SHORT_YEAR = 69 };

/* --- what a pattern may hold -------------------------------------------------------------------------------------- */

enum field {
    FIELD_YEAR = 1 << 0,
    FIELD_MONTH = 1 << 1,
    FIELD_DAY = 1 << 2,
    FIELD_YEAR_DAY = 1 << 3,
    FIELD_HOUR = 1 << 4,
    FIELD_HOUR_12 = 1 << 5,
    FIELD_HALF = 1 << 6,
    FIELD_MINUTE = 1 << 7,
    FIELD_SECOND = 1 << 8,
    FIELD_FRACTION = 1 << 9,
    FIELD_OFFSET = 1 << 10,
    FIELD_EPOCH = 1 << 11
};

static const struct item {
    char letter;
    bool is_number;
    uint8_t width;         /* digits at most */
    unsigned field;        /* 0: only text */
    const char *long_form; /* stands for these */
} items[] = {
    {'Y', true, WIDTH_YEAR, FIELD_YEAR, NULL},
    {'y', true, 2, FIELD_YEAR, NULL},
    {'m', true, 2, FIELD_MONTH, NULL},
    {'b', false, 0, FIELD_MONTH, NULL},
    {'B', false, 0, FIELD_MONTH, NULL},
    {'d', true, 2, FIELD_DAY, NULL},
    {'e', true, 2, FIELD_DAY, NULL},
    {'j', true, 3, FIELD_YEAR_DAY, NULL},
    {'H', true, 2, FIELD_HOUR, NULL},
    {'I', true, 2, FIELD_HOUR_12, NULL},
    {'p', false, 0, FIELD_HALF, NULL},
    {'M', true, 2, FIELD_MINUTE, NULL},
    {'S', true, 2, FIELD_SECOND, NULL},
    {'f', true, 0, FIELD_FRACTION, NULL},
    {'z', false, 0, FIELD_OFFSET, NULL},
    {'Z', false, 0, FIELD_OFFSET, NULL},
    {'s', true, 0, FIELD_EPOCH, NULL},
    {'T', true, 0, 0, "%H:%M:%S"},
    {'F', true, 0, 0, "%Y-%m-%d"},
    {'D', true, 0, 0, "%m/%d/%y"},
    {'n', false, 0, 0, NULL},
    {'t', false, 0, 0, NULL},
    {'%', false, 0, 0, NULL},
};

static const struct item *find_item(char letter)
{
    for (size_t i = 0; i < sizeof items / sizeof items[0]; i++) {
        if (items[i].letter == letter) {
            return &items[i];
        }
    }
    return NULL;
}

static bool is_digit(char c)
{
    return (unsigned char)(c - '0') <= 9;
}

/* Does a number begin here in the pattern? */
static bool begins_number(const char *pattern)
{
    if (*pattern != '%') {
        return is_digit(*pattern);
    }
    const struct item *item = find_item(pattern[1]);
    return item != NULL && item->is_number;
}

/* Adds the fields of a pattern to *fields. */
static enum err_code gather_fields(const char *pattern, unsigned *fields, struct error *err)
{
    for (const char *at = pattern; *at != '\0'; at++) {
        if (*at != '%') {
            continue;
        }
        const struct item *item = find_item(*++at);
        if (item == NULL) {
            return err_set(
                err, ERR_INVALID,
                "expected one of %%Y %%m %%d %%H %%M %%S %%f %%z %%Z %%y %%b %%B %%j %%e %%p %%I %%s %%T %%F "
                "%%D %%n %%t %%%% in the pattern but found \"%%%.1s\"",
                at);
        }
        if ((*fields & item->field) != 0) {
            return err_set(err, ERR_INVALID, "expected each part of a time once but \"%%%c\" names one again", *at);
        }
        if ((item->field & (FIELD_FRACTION | FIELD_EPOCH)) != 0 && begins_number(at + 1)) {
            return err_set(err, ERR_INVALID, "expected no number right behind \"%%%c\"", *at);
        }
        *fields |= item->field;
        if (item->long_form != NULL) {
            TRY(gather_fields(item->long_form, fields, err));
        }
    }
    return OK;
}

static enum err_code check_fields(unsigned fields, struct error *err)
{
    const unsigned month_day = FIELD_MONTH | FIELD_DAY;
    const unsigned hours = FIELD_HOUR | FIELD_HOUR_12;
    bool has_hour = (fields & hours) != 0;
    if ((fields & FIELD_EPOCH) != 0) {
        return (fields & ~(unsigned)(FIELD_EPOCH | FIELD_FRACTION)) == 0
                   ? OK
                   : err_set(err, ERR_INVALID, "expected nothing but %%f beside %%s");
    }
    if ((fields & FIELD_YEAR) == 0 ||
        ((fields & FIELD_YEAR_DAY) != 0 ? (fields & month_day) != 0 : (fields & month_day) != month_day)) {
        return err_set(err, ERR_INVALID, "expected a year with either month and day or day of the year (%%j)");
    }
    if ((fields & hours) == hours || ((fields & FIELD_HOUR_12) != 0) != ((fields & FIELD_HALF) != 0)) {
        return err_set(err, ERR_INVALID, "expected hours as %%H, or as %%I with %%p");
    }
    if (((fields & FIELD_MINUTE) != 0 && !has_hour) || ((fields & FIELD_OFFSET) != 0 && !has_hour) ||
        ((fields & FIELD_SECOND) != 0 && (fields & FIELD_MINUTE) == 0) ||
        ((fields & FIELD_FRACTION) != 0 && (fields & FIELD_SECOND) == 0)) {
        return err_set(err, ERR_INVALID, "expected no part of a time of day without the larger ones");
    }
    return OK;
}

enum err_code timestamp_pattern_check(const char *pattern, struct error *err)
{
    unsigned fields = 0;
    return gather_fields(pattern, &fields, err) != OK || check_fields(fields, err) != OK
               ? err_wrap(err, "pattern \"%s\"", pattern)
               : OK;
}

bool timestamp_pattern_has_time(const char *pattern)
{
    unsigned fields = 0;
    return gather_fields(pattern, &fields, NULL) != OK || (fields & (FIELD_HOUR | FIELD_HOUR_12 | FIELD_EPOCH)) != 0;
}

/* --- text after a pattern ------------------------------------------------------------------------------------------ */

static const char *const month_names[12] = {"January", "February", "March",     "April",   "May",      "June",
                                            "July",    "August",   "September", "October", "November", "December"};

struct match {
    const char *at, *end;
    struct civil_time civil;
    int64_t offset_us;
    int64_t epoch_s;
    unsigned fields; /* met so far; of those that need a second look */
    unsigned year_day;
    bool is_afternoon;
};

/* At most `width` digits, exactly so many when the number touches another. */
static bool take_number(struct match *match, unsigned width, bool is_exact, unsigned *out)
{
    unsigned value = 0;
    const char *start = match->at;
    while (match->at < match->end && (size_t)(match->at - start) < width && is_digit(*match->at)) {
        value = value * 10 + (unsigned)(*match->at++ - '0');
    }
    *out = value;
    return match->at > start && (!is_exact || (size_t)(match->at - start) == width);
}

static bool take_word(struct match *match, const char *word, size_t length)
{
    if ((size_t)(match->end - match->at) < length || strncasecmp(match->at, word, length) != 0) {
        return false;
    }
    match->at += length;
    return true;
}

static bool take_month_name(struct match *match, bool is_short)
{
    for (uint8_t i = 0; i < 12; i++) {
        if (take_word(match, month_names[i], is_short ? 3 : strlen(month_names[i]))) {
            match->civil.month = (uint8_t)(i + 1);
            return true;
        }
    }
    return false;
}

static bool take_space(struct match *match)
{
    const char *start = match->at;
    while (match->at < match->end && strchr(" \t\n\v\f\r", *match->at) != NULL && *match->at != '\0') {
        match->at++;
    }
    return match->at > start;
}

static bool take_epoch(struct match *match)
{
    enum { MOST_DIGITS = 12 }; /* of the seconds until the year 10000, and to spare */
    bool is_negative = match->at < match->end && *match->at == '-';
    const char *start = match->at += is_negative;
    int64_t value = 0;
    while (match->at < match->end && match->at - start < MOST_DIGITS && is_digit(*match->at)) {
        value = value * 10 + (*match->at++ - '0');
    }
    match->epoch_s = is_negative ? -value : value;
    match->fields |= FIELD_EPOCH;
    return match->at > start;
}

static bool take_number_item(struct match *match, const struct item *item, bool is_exact)
{
    unsigned value;
    if (item->letter == 'e' && !is_exact && match->at < match->end && *match->at == ' ') {
        match->at++;
    }
    if (!take_number(match, item->width, is_exact || item->field == FIELD_YEAR, &value)) {
        return false;
    }
    switch (item->letter) {
    case 'Y': match->civil.year = (int32_t)value; break;
    case 'y': match->civil.year = (int32_t)(value < FIRST_SHORT_YEAR ? 2000 + value : 1900 + value); break;
    case 'm': match->civil.month = (uint8_t)value; break;
    case 'd':
    case 'e': match->civil.day = (uint8_t)value; break;
    case 'H': match->civil.hour = (uint8_t)value; break;
    case 'M': match->civil.minute = (uint8_t)value; break;
    case 'S': match->civil.second = (uint8_t)value; break;
    case 'I': match->civil.hour = (uint8_t)(value % 12); return value >= 1 && value <= 12;
    default: match->year_day = value; match->fields |= FIELD_YEAR_DAY;
    }
    return true;
}

static enum clock_fault take_offset(struct match *match, bool is_name)
{
    const char *after = match->at;
    if (is_name) {
        if (!take_word(match, "UTC", 3) && !take_word(match, "GMT", 3) && !take_word(match, "Z", 1)) {
            return CLOCK_FAULT_OFFSET;
        }
        return CLOCK_FAULT_NONE;
    }
    after = clock_scan_offset(match->at, match->end, &match->offset_us);
    if (after == NULL) {
        return CLOCK_FAULT_OFFSET;
    }
    match->at = after;
    return CLOCK_FAULT_NONE;
}

static enum clock_fault match_pattern(struct match *match, const char *pattern);

static enum clock_fault match_item(struct match *match, const struct item *item, bool is_exact)
{
    bool good = true;
    if (item->long_form != NULL) {
        return match_pattern(match, item->long_form);
    }
    if (item->field == FIELD_OFFSET) {
        return take_offset(match, item->letter == 'Z');
    }
    if (item->width > 0) {
        good = take_number_item(match, item, is_exact);
    } else if (item->field == FIELD_MONTH) {
        good = take_month_name(match, item->letter == 'b');
    } else if (item->field == FIELD_HALF) {
        match->is_afternoon = take_word(match, "pm", 2);
        good = match->is_afternoon || take_word(match, "am", 2);
    } else if (item->field == FIELD_FRACTION) {
        const char *after = clock_scan_fraction(match->at, match->end, &match->civil.microsecond);
        good = after != NULL;
        match->at = good ? after : match->at;
    } else if (item->field == FIELD_EPOCH) {
        good = take_epoch(match);
    } else {
        good = item->letter == '%' ? take_word(match, "%", 1) : take_space(match);
    }
    return good ? CLOCK_FAULT_NONE : CLOCK_FAULT_FORM;
}

static enum clock_fault match_pattern(struct match *match, const char *pattern)
{
    bool touches_number = false; /* a number has just ended */
    for (const char *at = pattern; *at != '\0'; at++) {
        if (*at != '%') {
            if (match->at == match->end || *match->at++ != *at) {
                return CLOCK_FAULT_FORM;
            }
            touches_number = is_digit(*at);
            continue;
        }
        const struct item *item = find_item(*++at);
        enum clock_fault fault = match_item(match, item, touches_number || begins_number(at + 1));
        if (fault != CLOCK_FAULT_NONE) {
            return fault;
        }
        touches_number = item->is_number;
    }
    return CLOCK_FAULT_NONE;
}

static enum clock_fault from_epoch(int64_t epoch_s, uint32_t microsecond, int64_t *out_us)
{
    if (epoch_s < CLOCK_FIRST_US / CLOCK_SECOND_US || epoch_s > CLOCK_LAST_US / CLOCK_SECOND_US) {
        return CLOCK_FAULT_YEAR;
    }
    *out_us = epoch_s * CLOCK_SECOND_US + microsecond;
    return CLOCK_FAULT_NONE;
}

enum clock_fault timestamp_pattern_parse(const char *pattern, const char *text, size_t length, int64_t *out_us)
{
    struct match match = {.at = text, .end = text + length, .civil = {.month = 1, .day = 1}};
    enum clock_fault fault = match_pattern(&match, pattern);
    if (fault != CLOCK_FAULT_NONE) {
        return fault;
    }
    if (match.at != match.end) {
        return CLOCK_FAULT_FORM;
    }
    if ((match.fields & FIELD_EPOCH) != 0) {
        return from_epoch(match.epoch_s, match.civil.microsecond, out_us);
    }
    match.civil.hour = (uint8_t)(match.civil.hour + (match.is_afternoon ? 12 : 0));
    if ((match.fields & FIELD_YEAR_DAY) != 0 && match.civil.year >= 1) {
        int64_t day = clock_days_from_civil(match.civil.year, 1, 1) + (int64_t)match.year_day - 1;
        struct civil_time found = clock_civil_from_us(day * CLOCK_DAY_US);
        if (found.year != match.civil.year) {
            return CLOCK_FAULT_DAY;
        }
        match.civil.month = found.month;
        match.civil.day = found.day;
    }
    return clock_from_civil(&match.civil, match.offset_us, out_us);
}
