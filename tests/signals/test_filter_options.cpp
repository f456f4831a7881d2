// SPDX-License-Identifier: Apache-2.0
#include "convolume/error.hpp"
#include "convolume/filter_options.hpp"
#include "core/result_chunks.hpp"
#include "tests/catch.hpp"
#include "tests/support/errors.hpp"
#include "tests/support/names.hpp"
#include "tests/support/random.hpp"

using namespace convolume;
using namespace convolume::testing;

TEST_CASE("names of filter options are parsed to the values that print them") {
    for (const FilterMethod value :
         {FilterMethod::automatic, FilterMethod::direct, FilterMethod::overlap_save,
          FilterMethod::overlap_add, FilterMethod::partitioned})
        CHECK(parse_filter_method(to_string(value)) == value);
    for (const PointPost value : {PointPost::none, PointPost::power, PointPost::derivative})
        CHECK(parse_point_post(to_string(value)) == value);
    for (const WindowPost& value : {WindowPost{}, WindowPost{WindowPost::Kind::decimate, 8},
                                    WindowPost{WindowPost::Kind::peak, index_t{1} << 40}})
        CHECK(parse_window_post(to_string(value)) == value);
    CHECK(parse_filter_origin("center").kind == FilterOrigin::Kind::center);
    CHECK(parse_filter_origin("causal").kind == FilterOrigin::Kind::causal);
    CHECK(parse_filter_origin("anticausal").kind == FilterOrigin::Kind::anticausal);
    CHECK(parse_filter_origin("-3").kind == FilterOrigin::Kind::explicit_);
    CHECK(parse_filter_origin("-3").index == -3);
    CHECK(parse_sample_range("10:20") == SampleRange{10, 20});
    CHECK(parse_sample_range("0:5000000000").count() == 5000000000);
}

TEST_CASE("the errors for filter options list the valid words") {
    check_refusal(parse_filter_method, "fft", {"direct", "overlap-save", "partitioned"});
    check_refusal(parse_point_post, "abs", {"none", "power", "derivative"});
    for (const char* wrong : {"peak", "peak:", "peak:0", "peak:-1", "decimate:x", "mean:3", ":",
                              "none:1", "peak:3.5", "peak:99999999999999999999"})
        check_refusal(parse_window_post, wrong, {"decimate:W", "peak:W"});
    for (const char* wrong : {"middle", "1.5", "", "3 "})
        check_refusal(parse_filter_origin, wrong, {"center", "causal", "anticausal"});
    for (const char* wrong : {"10", "10:", ":5", "a:b", "1:2:3", "1-2"})
        check_refusal(parse_sample_range, wrong, {"A:B"});
}

TEST_CASE("chunks cover a range, and hold whole windows or parts of one") {
    Random random(test_seed("result cut"));
    for (int n = 0; n < 3000; ++n) {
        const index_t begin = random.integer(-20, 50);
        const SampleRange range{begin, begin + random.integer(1, 300)};
        WindowPost window;
        window.kind = random.pick(
            {WindowPost::Kind::none, WindowPost::Kind::decimate, WindowPost::Kind::peak});
        if (window.kind != WindowPost::Kind::none) window.length = random.integer(1, 400);
        const index_t longest = random.integer(1, 350);
        const index_t step = window.kind == WindowPost::Kind::none ? 1 : window.length;
        const ResultChunks chunks(range, window, longest);
        INFO(range.begin << ":" << range.end << " window " << to_string(window) << " longest "
                         << longest);
        index_t result = range.begin;
        index_t stored = 0;
        bool good = true;
        for (index_t i = 0; i < chunks.count(); ++i) {
            const ResultChunk chunk = chunks[i];
            good = good && chunk.results.count() >= 1 && chunk.results.count() <= longest &&
                   chunk.results.end <= range.end && chunk.stored >= 1;
            if (chunks.chunks_per_window() > 1) {
                good = good && chunk.results.begin == result && chunk.stored == 1 &&
                       chunk.first_stored == (result - range.begin) / step;
                result = chunk.results.end;
                stored = chunk.first_stored + 1;
                continue;
            }
            // The first sample of each window is in the chunk, and for peaks all of its samples.
            good = good && chunk.first_stored == stored &&
                   chunk.results.begin == range.begin + stored * step;
            stored += chunk.stored;
            good = good && chunk.results.end > range.begin + (stored - 1) * step;
            if (window.kind != WindowPost::Kind::decimate)
                good = good && chunk.results.begin == result;
            result = chunk.results.end;
        }
        good = good && stored == window.stored(range.count());
        if (window.kind != WindowPost::Kind::decimate) good = good && result == range.end;
        REQUIRE(good);
    }
}
