// SPDX-License-Identifier: Apache-2.0
// Compares the arithmetic of one axis with the definition, for all small axes: integer signals on a
// simulated circular grid, so that the comparison is exact.

#include <algorithm>

#include "convolume/error.hpp"
#include "tests/catch.hpp"
#include "tests/support/errors.hpp"
#include "tests/support/oracle.hpp"
#include "volumes/axis.hpp"

using namespace convolume;
using convolume::testing::contains;
using convolume::testing::message_of;
using convolume::testing::oracle_source;

namespace {

const auto all_boundaries = {BoundaryKind::zero, BoundaryKind::nearest, BoundaryKind::reflect,
                             BoundaryKind::mirror, BoundaryKind::wrap};

index_t image_sample(index_t i) {
    return (i + 1) * (i + 3) % 101 + 1;
}
index_t kernel_sample(index_t j) {
    return (j * 37 + 11) % 53 + 1;
}

index_t expected_output(const AxisProblem& problem, index_t n) {
    index_t sum = 0;
    for (index_t j = 0; j < problem.kernel; ++j) {
        const index_t source = oracle_source(n - j, problem.image, problem.boundary);
        if (source >= 0) sum += kernel_sample(j) * image_sample(source);
    }
    return sum;
}

/// Computes the outputs of a window by circular convolution of its loaded samples.
std::vector<index_t> outputs_on_grid(const AxisProblem& problem, const AxisWindow& window) {
    const auto indices = gather_indices(window, problem.image, problem.boundary);
    std::vector<index_t> grid(static_cast<std::size_t>(window.grid));
    for (index_t i = 0; i < window.loaded(); ++i) {
        const index_t source = indices[static_cast<std::size_t>(i)];
        if (source < 0) continue;
        for (index_t j = window.kernel_begin; j < window.kernel_end; ++j)
            grid[static_cast<std::size_t>((i + j - window.kernel_begin) % window.grid)] +=
                kernel_sample(j) * image_sample(source);
    }
    std::vector<index_t> outputs;
    for (index_t n = 0; n < window.kept(); ++n)
        outputs.push_back(grid[static_cast<std::size_t>(window.kept_begin() + n)]);
    return outputs;
}

/// Describes the first defect of a window, or returns "".
std::string defect(const AxisProblem& problem, const AxisWindow& window) {
    if (window.kernel_begin < 0 || window.kernel_end > problem.kernel || window.kernel() < 1)
        return "kernel range";
    if (window.kernel() > window.grid) return "kernel beyond the grid";
    if (window.loaded() < 1 || window.loaded() > window.grid)
        return "loaded samples beyond the grid";
    if (window.kept_begin() < 0 || window.kept_begin() + window.kept() > window.grid)
        return "kept positions beyond the grid";
    const auto outputs = outputs_on_grid(problem, window);
    for (index_t n = window.out_begin; n < window.out_end; ++n)
        if (outputs[static_cast<std::size_t>(n - window.out_begin)] != expected_output(problem, n))
            return message("output ", n);
    return {};
}

std::string describe(const AxisProblem& p, const AxisWindow& w) {
    return message("image ", p.image, " kernel ", p.kernel, " ", to_string(p.boundary), " outputs ",
                   p.out_begin, "..", p.out_end, ", window grid ", w.grid, " load ", w.load_begin,
                   "..", w.load_end, " kernel ", w.kernel_begin, "..", w.kernel_end, " out ",
                   w.out_begin, "..", w.out_end);
}

}  // namespace

TEST_CASE("source indices follow the definition far outside") {
    for (const BoundaryKind boundary : all_boundaries)
        for (index_t image = 1; image <= 6; ++image)
            for (index_t i = -40; i <= 40; ++i) {
                INFO(to_string(boundary) << " image " << image << " sample " << i);
                REQUIRE(source_index(i, image, boundary) == oracle_source(i, image, boundary));
            }
    CHECK(source_index(-1, 5, BoundaryKind::constant) == -1);
    const index_t far = index_t{1} << 61;
    CHECK(source_index(-far, far, BoundaryKind::wrap) == 0);
    CHECK(source_index(far, far, BoundaryKind::reflect) == far - 1);
}

TEST_CASE("every window of every small axis yields the outputs of the definition") {
    index_t windows = 0;
    for (const BoundaryKind boundary : all_boundaries)
        for (index_t image = 1; image <= 6; ++image)
            for (index_t kernel = 1; kernel <= 8; ++kernel)
                for (index_t begin = 0; begin < image + kernel - 1; ++begin)
                    for (index_t end = begin + 1; end <= image + kernel - 1; ++end) {
                        const AxisProblem problem{image, kernel, boundary, begin, end};
                        for (index_t b = begin; b < end; ++b)
                            for (index_t e = b + 1; e <= end; ++e) {
                                AxisWindow window = axis_window(problem, b, e);
                                const std::string wrong = defect(problem, window);
                                if (!wrong.empty())
                                    FAIL(describe(problem, window) << ": " << wrong);
                                // A window with a longer grid gives the same outputs.
                                window.grid += 1 + (b + e) % 3;
                                if (!defect(problem, window).empty())
                                    FAIL("longer grid: " << describe(problem, window));
                                ++windows;
                            }
                    }
    CHECK(windows > 80000);
}

TEST_CASE("the grid is the least alias-free length") {
    for (const BoundaryKind boundary : all_boundaries)
        for (index_t image = 1; image <= 6; ++image)
            for (index_t kernel = 1; kernel <= 7; ++kernel)
                for (index_t begin = 0; begin < image + kernel - 1; ++begin) {
                    const AxisProblem problem{image, kernel, boundary, begin, image + kernel - 1};
                    AxisWindow window = axis_window(problem, begin, image + kernel - 1);
                    --window.grid;
                    if (window.grid > 0 && defect(problem, window).empty())
                        FAIL("a shorter grid would do: " << describe(problem, window));
                }
}

TEST_CASE("a trimmed kernel keeps all taps that are used, and tiles share it") {
    for (index_t image = 1; image <= 5; ++image)
        for (index_t kernel = 1; kernel <= 9; ++kernel)
            for (index_t begin = 0; begin < image + kernel - 1; ++begin)
                for (index_t end = begin + 1; end <= image + kernel - 1; ++end) {
                    const AxisProblem problem{image, kernel, BoundaryKind::zero, begin, end};
                    const AxisWindow trimmed = trim_kernel(problem);
                    for (index_t j = 0; j < kernel; ++j) {
                        bool reaches = false;
                        for (index_t n = begin; n < end; ++n)
                            reaches |= n - j >= 0 && n - j < image;
                        const bool kept = j >= trimmed.kernel_begin && j < trimmed.kernel_end;
                        if (reaches != kept) FAIL(describe(problem, trimmed) << " sample " << j);
                    }
                    const AxisWindow tile = axis_window(problem, begin, begin + 1);
                    REQUIRE(tile.kernel_begin == trimmed.kernel_begin);
                    REQUIRE(tile.kernel_end == trimmed.kernel_end);
                }
    const AxisWindow whole = trim_kernel({3, 9, BoundaryKind::nearest, 4, 7});
    CHECK(whole.kernel_begin == 0);
    CHECK(whole.kernel_end == 9);
}

TEST_CASE("a periodic grid is as long as the image and wraps as the boundary does") {
    for (index_t image = 1; image <= 7; ++image)
        for (index_t kernel = 1; kernel <= image; ++kernel)
            for (index_t begin = 0; begin < kernel; ++begin)
                for (index_t outputs = 1; outputs <= image; ++outputs) {
                    if (begin + outputs > image + kernel - 1) continue;
                    const AxisProblem problem{image, kernel, BoundaryKind::wrap, begin,
                                              begin + outputs};
                    const AxisWindow window = axis_window(problem, begin, begin + outputs, true);
                    REQUIRE(window.grid == image);
                    const std::string wrong = defect(problem, window);
                    if (!wrong.empty()) FAIL(describe(problem, window) << ": " << wrong);
                }
    CHECK_THROWS_AS(axis_window({4, 5, BoundaryKind::wrap, 0, 4}, 0, 4, true), InternalError);
    CHECK_THROWS_AS(axis_window({4, 3, BoundaryKind::wrap, 0, 5}, 0, 5, true), InternalError);
    CHECK_THROWS_AS(axis_window({4, 3, BoundaryKind::zero, 0, 4}, 0, 4, true), InternalError);
}

TEST_CASE("output ranges of the modes") {
    for (index_t image = 1; image <= 9; ++image)
        for (index_t kernel = 1; kernel <= 9; ++kernel)
            for (index_t center = 0; center < kernel; ++center) {
                const OutputRange full = output_range(Mode::full, image, kernel, center);
                CHECK((full.begin == 0 && full.end == image + kernel - 1));
                const OutputRange same = output_range(Mode::same, image, kernel, center);
                CHECK((same.begin == center && same.end == center + image));
                if (image >= kernel) {
                    const OutputRange valid = output_range(Mode::valid, image, kernel, center);
                    CHECK((valid.begin == kernel - 1 && valid.end == image));
                } else {
                    const std::string text = message_of<InvalidArgument>(
                        [&] { output_range(Mode::valid, image, kernel, center); });
                    CHECK(contains(text, "valid"));
                    CHECK(contains(text, std::to_string(kernel)));
                }
            }
    const index_t half = index_t{1} << 62;
    CHECK_THROWS_AS(output_range(Mode::full, half, half + 2, 0), InvalidArgument);
    CHECK(output_range(Mode::full, half, 2, 0).end == half + 1);
}
