/* What the values of a column have in common. Each value strikes out what it is not; formats of times are tried one by one,
 * and most are struck out by the first value. */
#include <strings.h>

#include "common/ingest/infer_internal.h"

/* Day before month and month before day stand side by side, so that a sample that fits both is seen to be ambiguous. */
const char *const infer_patterns[INFER_PATTERN_COUNT] = {
    NULL,
    "strftime:%Y-%m-%dT%H:%M:%S%z",
    "strftime:%Y-%m-%d %H:%M",
    "strftime:%Y-%m-%dT%H:%M",
    "strftime:%Y-%m-%d %H:%M:%S %Z",
    "strftime:%Y/%m/%d",
    "strftime:%Y/%m/%d %H:%M:%S",
    "strftime:%d/%b/%Y:%H:%M:%S %z",
    "strftime:%m/%d/%Y",
    "strftime:%d/%m/%Y",
    "strftime:%m/%d/%y",
    "strftime:%d/%m/%y",
    "strftime:%m/%d/%Y %H:%M",
    "strftime:%d/%m/%Y %H:%M",
    "strftime:%m/%d/%y %H:%M",
    "strftime:%d/%m/%y %H:%M",
    "strftime:%m/%d/%Y %H:%M:%S",
    "strftime:%d/%m/%Y %H:%M:%S",
    "strftime:%m/%d/%Y %I:%M:%S %p",
    "strftime:%d.%m.%Y",
    "strftime:%d.%m.%Y %H:%M:%S",
    "strftime:%b %d %Y",
    "strftime:%d %b %Y",
};

void infer_formats_init(struct infer_formats *formats)
{
    *formats = (struct infer_formats){0};
    for (uint32_t i = 0; i < INFER_PATTERN_COUNT; i++) {
        if (timestamp_format_parse(infer_patterns[i], &formats->items[i], NULL) == OK) {
            formats->all |= UINT32_C(1) << i;
            formats->dates |= (uint32_t)!timestamp_format_has_time(&formats->items[i]) << i;
        }
    }
}

void infer_tally_init(struct infer_tally *tally, const struct infer_formats *formats)
{
    *tally = (struct infer_tally){
        .may_be_bool = true,
        .may_be_integer = true,
        .may_be_real = true,
        .may_be_uuid = true,
        .may_be_date = true,
        .formats = formats,
        .patterns = formats->all,
        .date_patterns = formats->dates,
        .min = INT64_MAX,
        .max = INT64_MIN,
    };
}

/* --- numbers ------------------------------------------------------------------------------------------------------ */

static void add_integer(struct infer_tally *tally, const struct number *number)
{
    int64_t value;
    if (number_to_scaled(number, 0, INT64_MAX, &value) != NUMBER_FITS) {
        tally->is_wide = true;
        return;
    }
    tally->min = value < tally->min ? value : tally->min;
    tally->max = value > tally->max ? value : tally->max;
}

static bool has_leading_zero(const uint8_t *text, size_t length)
{
    size_t sign = length > 0 && (*text == '-' || *text == '+');
    return length > sign + 1 && text[sign] == '0' && text[sign + 1] >= '0' && text[sign + 1] <= '9';
}

static bool is_integer_text(const uint8_t *text, size_t length)
{
    size_t i = length > 0 && (*text == '-' || *text == '+');
    bool has_digit = i < length;
    for (; i < length; i++) {
        has_digit = has_digit && text[i] >= '0' && text[i] <= '9';
    }
    return has_digit;
}

static bool is_any_word(const char *const *words, const uint8_t *text, size_t length)
{
    for (; *words != NULL; words++) {
        if (strlen(*words) == length && strncasecmp(*words, (const char *)text, length) == 0) {
            return true;
        }
    }
    return false;
}

static void add_number_text(struct infer_tally *tally, const uint8_t *text, size_t length)
{
    static const char *const specials[] = {"nan", "inf", "-inf", "infinity", "-infinity", NULL};
    struct number number;
    bool is_number = length > 0 && number_scan_loose(text, &number) == text + length;
    tally->may_be_real = tally->may_be_real && (is_number || is_any_word(specials, text, length));
    tally->has_number = tally->has_number || is_number;
    bool is_integer = is_number && is_integer_text(text, length);
    tally->may_be_integer = tally->may_be_integer && is_integer;
    tally->has_leading_zeros = tally->has_leading_zeros || (is_number && has_leading_zero(text, length));
    tally->has_plus = tally->has_plus || (is_integer && *text == '+');
    if (is_integer) {
        add_integer(tally, &number);
    }
}

/* --- texts -------------------------------------------------------------------------------------------------------- */

static void add_time_text(struct infer_tally *tally, const uint8_t *text, size_t length)
{
    enum { DATE_BYTES = 10 };
    int64_t time_us;
    for (uint32_t i = 0; tally->patterns >> i != 0; i++) {
        if ((tally->patterns >> i & 1) != 0 &&
            timestamp_parse(&tally->formats->items[i], (const char *)text, length, &time_us) != CLOCK_FAULT_NONE) {
            tally->patterns &= ~(UINT32_C(1) << i);
        }
    }
    tally->date_patterns &= tally->patterns;
    tally->may_be_date = tally->may_be_date && (tally->patterns & 1) != 0 && length == DATE_BYTES;
}

static void add_text(struct infer_tally *tally, bool is_csv, const uint8_t *text, size_t length)
{
    static const char *const words[] = {"true", "false", NULL};
    struct uuid uuid;
    tally->may_be_bool = tally->may_be_bool && is_csv && is_any_word(words, text, length);
    if (is_csv) {
        add_number_text(tally, text, length);
    } else { /* numbers in quotes are texts */
        tally->may_be_integer = false;
        tally->may_be_real = false;
    }
    tally->may_be_uuid = tally->may_be_uuid && uuid_parse((const char *)text, length, &uuid, NULL) == OK;
    add_time_text(tally, text, length);
}

void infer_tally_add(struct infer_tally *tally, enum infer_kind kind, bool is_csv, const uint8_t *text, size_t length)
{
    struct number number;
    tally->counts[kind]++;
    if (kind == INFER_TEXT) {
        add_text(tally, is_csv, text, length);
    } else if (kind == INFER_INTEGER && number_scan(text, &number) != NULL) {
        add_integer(tally, &number);
    }
}

/* --- epochs ------------------------------------------------------------------------------------------------------- */

const char *infer_epoch_format(int64_t min, int64_t max)
{
    static const struct {
        const char *format;
        int64_t per_second;
    } units[] = {{"epoch_s", 1}, {"epoch_ms", 1000}, {"epoch_us", 1000000}, {"epoch_ns", 1000000000}};
    const int64_t first_s = clock_days_from_civil(2001, 1, 1) * (CLOCK_DAY_US / CLOCK_SECOND_US);
    const int64_t last_s = clock_days_from_civil(2101, 1, 1) * (CLOCK_DAY_US / CLOCK_SECOND_US) - 1;
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        if (min / units[i].per_second >= first_s && max / units[i].per_second <= last_s && min <= max) {
            return units[i].format; /* what is in the range of one is in that of no other */
        }
    }
    return NULL;
}
