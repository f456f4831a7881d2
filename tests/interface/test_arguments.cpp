// SPDX-License-Identifier: Apache-2.0
// Checks that null pointers, and outputs that overlap their input, are refused by name.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>

#include "tests/catch.hpp"
#include "tests/interface/problems.hpp"
#include "tests/support/errors.hpp"

using namespace convolume;
using namespace convolume::testing;

namespace {

/// Checks that `act` throws InvalidArgument with a message that contains all of `words`.
template <class Act>
void check_refused(Act&& act, std::initializer_list<const char*> words) {
    const std::string text = message_of<InvalidArgument>(act);
    INFO(text);
    for (const char* word : words) CHECK(contains(text, word));
}

/// Returns a view 1×1×n of float32 that starts at `first` of `memory` and takes every `step`-th.
ImageView row_at(std::vector<float>& memory, index_t first, index_t n, index_t step = 1) {
    return {memory.data() + first, PixelType::float32, {1, 1, n}, {n * step, n * step, step}};
}

std::vector<float> counting(index_t n) {
    std::vector<float> memory(static_cast<std::size_t>(n));
    for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = static_cast<float>(i + 1);
    return memory;
}

/// Executes within one array: an output that overlaps the input is refused and not written, and
/// neighbors give the right result. `execute` must write each sample times 2.
void check_overlaps(const std::function<void(const ConstImageView&, const ImageView&)>& execute,
                    const char* input_name, const char* output_name) {
    constexpr index_t n = 8;
    struct Placement {
        index_t input, output, step;
    };
    for (const auto& [input, output, step] :
         {Placement{8, 8, 1},  // in place: the same samples
          {8, 15, 1},          // overlaps the input's last sample
          {8, 1, 1},           // overlaps the input's first sample
          {8, 11, 1},
          {8, 9, 2},      // input and output are interleaved
          {8, 23, 2}}) {  // elements 8 … 22 and 23 … 37 are apart
        std::vector<float> memory = counting(64);
        const std::vector<float> before = memory;
        const ImageView to{memory.data() + output, PixelType::float32, {1, 1, n}, {n, n, 1}};
        const bool apart = output > input + (n - 1) * step;
        INFO("input " << input << ", output " << output << ", step " << step);
        if (apart) {
            execute(row_at(memory, input, n, step), to);
            for (index_t i = 0; i < n; ++i)
                CHECK(std::abs(static_cast<const float*>(to.data)[i] -
                               2 * before[static_cast<std::size_t>(input + i * step)]) < 1e-4);
        } else {
            check_refused(
                [&, input = input, step = step] { execute(row_at(memory, input, n, step), to); },
                {input_name, output_name, "overlap"});
            CHECK(memory == before);
        }
    }
    // The output lies next to the input, before or behind it.
    for (const index_t output : {16, 0}) {
        std::vector<float> memory = counting(24);
        INFO("neighbor at " << output);
        execute(row_at(memory, 8, n), row_at(memory, output, n));
        for (index_t i = 0; i < n; ++i)
            CHECK(std::abs(memory[static_cast<std::size_t>(output + i)] -
                           2 * static_cast<float>(8 + i + 1)) < 1e-4);
    }
}

const float two = 2;
const ConstImageView twice = view_of(&two, Shape3{1, 1, 1});

}  // namespace

TEST_CASE("convolver: null pointers are refused by name") {
    check_refused(
        [] {
            Convolver({1, 1, 8}, {nullptr, PixelType::float32, {1, 1, 3}, {3, 3, 1}});
        },
        {"kernel", "null"});
    const Convolver convolver({1, 1, 8}, twice, {}, on_cpu());
    std::vector<float> memory = counting(16);
    ImageView input = row_at(memory, 0, 8), output = row_at(memory, 8, 8), none = input;
    none.data = nullptr;
    check_refused([&] { convolver.execute(none, output); }, {"input", "null"});
    check_refused([&] { convolver.execute(input, none); }, {"output", "null"});
    CHECK(memory == counting(16));
    CHECK_NOTHROW(convolver.execute(input, output));
    check_refused([&] { convolve(none, twice, {}, on_cpu()); }, {"input", "null"});
}

TEST_CASE("convolver: an output that overlaps the input is refused") {
    for (const Method method : {Method::in_core, Method::dif, Method::tiled, Method::direct}) {
        Options options;
        options.method = method;
        const Convolver convolver({1, 1, 8}, twice, options, on_cpu());
        INFO(to_string(method));
        check_overlaps([&](const auto& from, const auto& to) { convolver.execute(from, to); },
                       "input", "output");
    }
}

TEST_CASE("convolver: outputs whose samples share memory are refused") {
    std::vector<float> memory = counting(64);
    const Volume image({2, 3, 4}, PixelType::float32);
    const Convolver convolver(image.shape(), twice, {}, on_cpu());
    for (const Index3& strides : {Index3{0, 4, 1}, Index3{12, 4, 0}, Index3{5, 5, 1}}) {
        const ImageView output{memory.data(), PixelType::float32, image.shape(), strides};
        check_refused([&] { convolver.execute(image.view(), output); }, {"output", "same memory"});
        CHECK(memory == counting(64));
    }
}

TEST_CASE("convolver: a kernel may share memory with the image, because it is copied") {
    std::vector<float> memory = counting(8);
    const ConstImageView image = row_at(memory, 0, 8);
    Options options;
    options.mode = Mode::valid;
    const Volume result = convolve(image, image, options, on_cpu());
    // The expected value is 120 = Σ (i + 1) (8 - i).
    CHECK(std::abs(result.elements<float>()[0] - 120) < 1e-3);
}

TEST_CASE("filter bank: null pointers are refused by name") {
    check_refused(
        [] {
            FilterBank({1, 8}, {{nullptr, PixelType::float32, {1, 1, 3}, {3, 3, 1}}});
        },
        {"filter", "null"});
    const FilterBank bank({1, 8}, {twice}, {}, on_cpu());
    std::vector<float> memory = counting(16);
    ImageView signals = row_at(memory, 0, 8), results = row_at(memory, 8, 8), none = signals;
    none.data = nullptr;
    check_refused([&] { bank.execute(none, results); }, {"signals", "null"});
    check_refused([&] { bank.execute(signals, none); }, {"results", "null"});
    CHECK(memory == counting(16));
    CHECK_NOTHROW(bank.execute(signals, results));
    check_refused([&] { filter_signals(none, twice, {}, on_cpu()); }, {"signals", "null"});
}

TEST_CASE("filter bank: results that overlap the signals are refused") {
    for (const FilterMethod method : {FilterMethod::direct, FilterMethod::overlap_save,
                                      FilterMethod::overlap_add, FilterMethod::partitioned}) {
        FilterOptions options;
        options.method = method;
        const FilterBank bank({1, 8}, {twice}, options, on_cpu());
        INFO(to_string(method));
        check_overlaps([&](const auto& from, const auto& to) { bank.execute(from, to); }, "signals",
                       "results");
    }
}

TEST_CASE("deconvolver: null pointers are refused by name") {
    check_refused(
        [] {
            Deconvolver({1, 1, 8}, {nullptr, PixelType::float32, {1, 1, 3}, {3, 3, 1}});
        },
        {"PSF", "null"});
    const Deconvolver deconvolver({1, 1, 8}, twice, {}, on_cpu());
    std::vector<float> memory = counting(16);
    ImageView image = row_at(memory, 0, 8), result = row_at(memory, 8, 8), none = image;
    none.data = nullptr;
    check_refused([&] { deconvolver.execute(none, result); }, {"image", "null"});
    check_refused([&] { deconvolver.execute(image, none); }, {"result", "null"});
    CHECK(memory == counting(16));
    CHECK_NOTHROW(deconvolver.execute(image, result));
}

TEST_CASE("deconvolver: the result may overlap the image in any way") {
    const Shape3 shape{1, 1, 8};
    const Volume psf = random_volume({1, 1, 3}, 1);
    for (const auto method : {DeconvolveMethod::richardson_lucy,
                              DeconvolveMethod::richardson_lucy_tv, DeconvolveMethod::wiener}) {
        DeconvolveOptions options;
        options.method = method;
        options.iterations = 5;
        const Deconvolver deconvolver(shape, psf.view(), options, on_cpu());
        std::vector<float> memory = counting(32);
        deconvolver.execute(row_at(memory, 8, 8), row_at(memory, 24, 8));
        const std::vector<float> want(memory.begin() + 24, memory.end());
        for (const index_t output : {8, 15, 1, 11, 16, 0}) {
            memory = counting(32);
            deconvolver.execute(row_at(memory, 8, 8), row_at(memory, output, 8));
            INFO(to_string(method) << ", result at " << output);
            CHECK(std::vector<float>(memory.begin() + output, memory.begin() + output + 8) == want);
        }
    }
}

TEST_CASE("convert_pixels: null pointers and overlaps are refused by name") {
    std::vector<float> memory = counting(16);
    ImageView image = row_at(memory, 0, 8), other = row_at(memory, 8, 8), none = image;
    none.data = nullptr;
    check_refused([&] { convert_pixels(none, image); }, {"source", "null"});
    check_refused([&] { convert_pixels(image, none); }, {"target", "null"});
    for (const index_t output : {1, 4, 7})
        check_refused([&] { convert_pixels(image, row_at(memory, output, 8)); },
                      {"source", "target", "overlap"});
    // Source and target begin at the same address, but have samples of unequal size.
    check_refused(
        [&] {
            convert_pixels(image, view_of(reinterpret_cast<double*>(memory.data()), {1, 1, 8}));
        },
        {"source", "target", "overlap"});
    CHECK(memory == counting(16));

    convert_pixels(image, other);
    CHECK(std::equal(memory.begin(), memory.begin() + 8, memory.begin() + 8));
    // A conversion in place is allowed if each element keeps its address.
    ImageView integers = image;
    integers.type = PixelType::int32;
    convert_pixels(image, integers, 2);
    CHECK(*static_cast<const std::int32_t*>(integers.at(0, 0, 7)) == 8);
}

TEST_CASE("kernels, specimens and cameras: null pointers are refused by name") {
    const ConstImageView nothing{nullptr, PixelType::float32, {3, 3, 3}, {9, 3, 1}};
    check_refused([&] { kernel_peak(nothing); }, {"kernel", "null"});
    check_refused([&] { kernel_centroid(nothing); }, {"kernel", "null"});
    check_refused(
        [&] {
            center_index({KernelCenter::Kind::peak, {}}, nothing);
        },
        {"kernel", "null"});
    check_refused(
        [&] {
            resample_kernel(nothing, {1, 1, 1}, {1, 1, 1}, {2, 2, 2});
        },
        {"kernel", "null"});

    const ImageView no_target{nullptr, PixelType::float32, {3, 3, 3}, {9, 3, 1}};
    Volume image({3, 3, 3}, PixelType::float32);
    check_refused([&] { expose(Camera{}, nothing, 0, image.view()); }, {"photons", "null"});
    check_refused([&] { expose(Camera{}, image.view(), 0, no_target); }, {"recorded", "null"});
    PhantomOptions options;
    options.shape = {3, 3, 3};
    check_refused([&] { Phantom(options).draw(0, no_target); }, {"drawn", "null"});
    const CameraGrid grid({3, 3, 3}, {1, 1, 1}, {1, 1, 1});
    double pixels[9];
    check_refused([&] { grid.sample(nothing, 0, pixels); }, {"image", "null"});
    check_refused([&] { grid.sample(image.view(), 0, nullptr); }, {"pixels", "null"});
    CHECK_NOTHROW(grid.sample(image.view(), 0, pixels));
}
