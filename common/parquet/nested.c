#include "common/parquet/nested.h"

#include <inttypes.h>
#include <string.h>

#include "common/parquet/bits.h"
#include "common/parquet/page.h"

enum { DEEPEST = 64 };

struct leaf {
    const struct meta_chunk *chunk;
    uint32_t most_definition, most_repetition;
};

/* Where the walk through the tree is: for each element on the way down, how many children are still to come. */
struct way {
    const struct meta_element *next;
    size_t depth;
    int32_t left[DEEPEST];
    uint32_t definition[DEEPEST], repetition[DEEPEST];
};

/* The next leaf under the branch; false at its end, or where it is too deep to be looked at. */
static bool next_leaf(struct way *way, struct leaf *out)
{
    while (way->depth > 0) {
        size_t at = way->depth - 1;
        if (way->left[at] == 0) {
            way->depth--;
            continue;
        }
        way->left[at]--;
        const struct meta_element *element = way->next++;
        uint32_t definition = way->definition[at] + (element->repetition != REPETITION_REQUIRED);
        uint32_t repetition = way->repetition[at] + (element->repetition == REPETITION_REPEATED);
        if (element->child_count == 0 && element->physical >= 0) {
            out->most_definition = definition;
            out->most_repetition = repetition;
            return true;
        }
        if (way->depth == DEEPEST) {
            return false;
        }
        way->left[way->depth] = element->child_count;
        way->definition[way->depth] = definition;
        way->repetition[way->depth++] = repetition;
    }
    return false;
}

/* Levels of a page of version 1: runs behind their length, in front of the values. */
static enum err_code cut_runs(struct page *page, struct encoded *out, struct error *err)
{
    uint32_t length = 0;
    size_t left = (size_t)(page->values.end - page->values.at);
    if (left >= sizeof length) {
        memcpy(&length, page->values.at, sizeof length);
    }
    if (left < sizeof length + (uint64_t)length) {
        return err_set(err, ERR_CORRUPT, "expected levels of %u bytes but the page ends", length);
    }
    *out = (struct encoded){page->values.at + sizeof length, page->values.at + sizeof length + length};
    page->values.at = out->end;
    return OK;
}

static enum err_code read_levels(struct encoded in, uint32_t most, size_t count, uint32_t *out, const char *what,
                                 struct error *err)
{
    if (parquet_rle_decode(in, bits_width(most), out, count, err) != OK) {
        return err_wrap(err, "%s levels", what);
    }
    for (size_t i = 0; i < count; i++) {
        if (out[i] > most) {
            return err_set(err, ERR_CORRUPT, "expected %s levels of at most %u but found %u", what, most, out[i]);
        }
    }
    return OK;
}

/* Counts the rows that begin in the page. */
static enum err_code check_page(const struct leaf *leaf, struct page *page, uint32_t *levels, bool first,
                                uint64_t *rows, struct error *err)
{
    size_t count = (size_t)page->header.value_count;
    bool is_v1 = page->header.type == PAGE_DATA;
    if (leaf->most_repetition > 0) {
        TRY(is_v1 ? cut_runs(page, &page->repetitions, err) : OK);
        TRY(read_levels(page->repetitions, leaf->most_repetition, count, levels, "repetition", err));
        if (first && count > 0 && levels[0] != 0) {
            return err_set(err, ERR_CORRUPT, "expected the first repetition level to be 0 but found %u", levels[0]);
        }
        for (size_t i = 0; i < count; i++) {
            *rows += levels[i] == 0;
        }
    } else {
        *rows += count;
    }
    if (leaf->most_definition > 0) {
        TRY(is_v1 ? cut_runs(page, &page->levels, err) : OK);
        TRY(read_levels(page->levels, leaf->most_definition, count, levels, "definition", err));
    }
    return OK;
}

static enum err_code check_pages(const struct leaf *leaf, struct page_reader *pages, int64_t group_rows,
                                 struct error *err)
{
    AUTO(buf_done) struct buf levels = {0};
    uint64_t rows = 0, values = 0, wanted = leaf->chunk->value_count < 0 ? 0 : (uint64_t)leaf->chunk->value_count;
    while (values < wanted) {
        struct page page;
        TRY(parquet_page_next(pages, 0, &page, err));
        if (page.header.type == PAGE_DICTIONARY) {
            continue;
        }
        if (page.header.type == PAGE_DATA && page.header.definition_encoding != ENCODING_RLE) {
            return OK;
        }
        TRY(buf_reserve(&levels, ((size_t)page.header.value_count + 1) * sizeof(uint32_t), err));
        TRY(check_page(leaf, &page, (uint32_t *)(void *)levels.data, values == 0, &rows, err));
        values += (uint64_t)page.header.value_count;
    }
    if (values != wanted || rows != (uint64_t)group_rows) {
        return err_set(err, ERR_CORRUPT,
                       "expected %" PRIu64 " values in %" PRId64 " rows but found %" PRIu64 " in %" PRIu64, wanted,
                       group_rows, values, rows);
    }
    return OK;
}

static enum err_code check_leaf(const struct parquet_reader *reader, const struct leaf *leaf, int64_t group_rows,
                                struct error *err)
{
    AUTO(codec_free_auto) struct codec *codec = NULL;
    AUTO(parquet_page_reader_done) struct page_reader pages = {.source = &reader->source};
    const struct meta_chunk *chunk = leaf->chunk;
    uint64_t begin, end;
    if (chunk->encrypted || chunk->external || parquet_codec_kind(chunk->codec, &pages.kind) != NULL) {
        return OK;
    }
    TRY(parquet_reader_check_place(reader, chunk, &begin, &end, err));
    TRY(codec_new(0, &codec, err));
    pages.codec = codec;
    parquet_page_reader_start(&pages, begin, end);
    return check_pages(leaf, &pages, group_rows, err);
}

enum err_code parquet_nested_check(const struct parquet_reader *reader, const struct unread_column *column,
                                   struct error *err)
{
    if (reader->meta.row_group_count == 0 || reader->meta.row_groups[0].row_count == 0) {
        return OK;
    }
    const struct meta_row_group *group = &reader->meta.row_groups[0];
    struct way way = {.next = column->element, .depth = 1, .left = {1}};
    struct leaf leaf;
    for (size_t i = 0; i < column->chunk_count && next_leaf(&way, &leaf); i++) {
        leaf.chunk = &group->chunks[column->first_chunk + i];
        enum err_code code = check_leaf(reader, &leaf, group->row_count, err);
        if (code != OK) {
            return err_wrap(err, "column \"%s\" of row group 0", column->name);
        }
    }
    return OK;
}
