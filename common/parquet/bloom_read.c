#include "common/parquet/bloom.h"
#include "common/parquet/thrift.h"

/* The number of the choice made in a union whose members are empty structs; 0 when there is none. */
static int16_t get_choice(struct thrift_in *in, struct thrift_field field)
{
    struct thrift_field member;
    int16_t choice = 0;
    parquet_thrift_enter(in, field);
    while (parquet_thrift_next(in, &member)) {
        choice = member.id;
        parquet_thrift_skip(in, member);
    }
    return choice;
}

bool parquet_bloom_decode_header(const void *data, size_t length, struct bloom_header *out)
{
    struct thrift_in in = parquet_thrift_in(data, length, NULL);
    struct thrift_field member;
    int16_t choices[5] = {0}; /* of algorithm, hash and compression: each has one that we know */
    int32_t bytes = 0;
    while (parquet_thrift_next(&in, &member)) {
        if (member.id == 1) {
            bytes = parquet_thrift_get_i32(&in, member);
        } else if (member.id >= 2 && member.id <= 4) {
            choices[member.id] = get_choice(&in, member);
        } else {
            parquet_thrift_skip(&in, member);
        }
    }
    if (in.code != OK || bytes < BLOOM_BLOCK_BYTES || bytes % BLOOM_BLOCK_BYTES != 0 || choices[2] != 1 ||
        choices[3] != 1 || choices[4] != 1) {
        return false;
    }
    *out =
        (struct bloom_header){.header_bytes = (size_t)(in.at - (const uint8_t *)data), .filter_bytes = (size_t)bytes};
    return true;
}
