// SPDX-License-Identifier: Apache-2.0
#include "tests/support/conformance_cases.hpp"

#include <algorithm>
#include <numeric>

#include "tests/support/compare.hpp"
#include "volumes/axis.hpp"

namespace convolume::testing {
namespace {

/// Returns indices into `extent` elements, -1 for a zero: in order, shifted, reversed or random.
std::vector<index_t> random_gather(Random& random, index_t size, index_t extent) {
    std::vector<index_t> indices(static_cast<std::size_t>(size));
    const auto kind = random.integer(0, 3);
    for (index_t i = 0; i < size; ++i) {
        index_t index = i - (kind == 1 ? 1 : 0);  // kind 1 starts with a zero
        if (kind == 2) index = extent - 1 - i;
        if (kind == 3) index = random.integer(-1, extent - 1);
        indices[static_cast<std::size_t>(i)] = index >= 0 && index < extent ? index : -1;
    }
    return indices;
}

std::vector<index_t> identity(index_t size) {
    std::vector<index_t> indices(static_cast<std::size_t>(size));
    std::iota(indices.begin(), indices.end(), index_t{0});
    return indices;
}

void draw_sample_types(Random& random, Block& block) {
    block.precision = random.pick({Precision::float32, Precision::float64});
    block.complex_kernel = random.chance(0.3);
    block.complex_data = block.complex_kernel || random.chance(0.3);
}

/// Draws data for a block whose axes and precision are set.
void fill(Random& random, BlockCase& c, const Shape3& taps) {
    const bool complex_source = c.block.complex_data && random.chance(0.7);
    c.source_type =
        pixel_type(random.pick({Precision::float32, Precision::float64}), complex_source);
    c.block.source_type = c.source_type;
    c.block.target_type = pixel_type(c.block.precision, c.block.complex_data);
    Shape3 source = c.block.loaded();
    for (int a = 0; a < 3; ++a) {
        source[a] = std::max<index_t>(1, source[a] + random.integer(-2, 2));
        c.gather[static_cast<std::size_t>(a)] =
            random_gather(random, c.block.loaded()[a], source[a]);
    }
    c.source = random.array(source, complex_source);
    if (c.block.algorithm == Algorithm::separable) {
        const Array z = random.array({taps.z, 1, 1}, false, 1),
                    y = random.array({taps.y, 1, 1}, false, 1),
                    x = random.array({taps.x, 1, 1}, false, 1);
        c.taps = Array(taps);
        for (index_t k = 0; k < taps.z; ++k)
            for (index_t j = 0; j < taps.y; ++j)
                for (index_t i = 0; i < taps.x; ++i)
                    c.taps(k, j, i) = z(k, 0, 0) * y(j, 0, 0) * x(i, 0, 0);
    } else {
        c.taps = random.array(taps, c.block.complex_kernel);
    }
    if (random.chance(0.3)) c.subtract = 0.25;
    if (random.chance(0.3)) c.add = {-0.5, 0.25};
}

}  // namespace

std::string BlockCase::describe() const {
    return message(
        to_string(block.algorithm), block.precision == Precision::float32 ? " float32" : " float64",
        block.complex_data ? " complex" : " real", block.complex_kernel ? " (complex kernel)" : "",
        ", grid ", to_string(block.grid()), " loaded ", to_string(block.loaded()), " kernel ",
        to_string(block.kernel()), " taps ", to_string(taps.shape), " kept ",
        to_string(block.kept()), " from ", block.axes[0].kept_begin, ",", block.axes[1].kept_begin,
        ",", block.axes[2].kept_begin, ", source ", to_string(source_type), " ",
        to_string(source.shape), ", subtract ", subtract, ", add ", add);
}

Volume BlockCase::taps_volume() const {
    return to_volume(taps, pixel_type(block.precision, block.complex_data));
}

Array BlockCase::expected() const {
    const Volume volume = to_volume(source, source_type), kernel = taps_volume();
    Array result =
        circular_convolve(block, gather_samples(input(volume.view())), to_array(kernel.view()));
    for (Complex& value : result.values) value += block.complex_data ? add : add.real();
    return result;
}

double BlockCase::norm_floor() const {
    return testing::norm_floor(source, taps, element_count(block.kept()),
                               std::max(std::abs(subtract), 0.3));
}

BlockCase random_fft_case(Random& random) {
    BlockCase c;
    draw_sample_types(random, c.block);
    for (BlockAxis& axis : c.block.axes) {
        axis.grid =
            random.pick<index_t>({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 15, 16, 18, 20, 21});
        axis.loaded = random.chance(0.3) ? axis.grid : random.integer(1, axis.grid);
        axis.kernel =
            random.chance(0.1) ? axis.grid : random.integer(1, std::min<index_t>(axis.grid, 6));
        axis.kept = random.chance(0.3) ? axis.grid : random.integer(1, axis.grid);
        axis.kept_begin = random.integer(0, axis.grid - axis.kept);
    }
    fill(random, c, c.block.kernel());
    return c;
}

BlockCase random_space_case(Random& random, Algorithm algorithm) {
    BlockCase c;
    draw_sample_types(random, c.block);
    c.block.algorithm = algorithm;
    if (algorithm == Algorithm::separable) c.block.complex_kernel = c.block.complex_data = false;
    for (BlockAxis& axis : c.block.axes) {
        const index_t image = random.integer(1, 14), kernel = random.integer(1, 6);
        const index_t begin = random.integer(0, image + kernel - 2);
        const AxisProblem problem{image, kernel,
                                  random.pick({BoundaryKind::zero, BoundaryKind::reflect}), begin,
                                  random.integer(begin + 1, image + kernel - 1)};
        axis = block_axis(axis_window(problem, problem.out_begin, problem.out_end));
    }
    fill(random, c, c.block.kernel());
    return c;
}

BlockCase random_part_case(Random& random) {
    BlockCase c = random_fft_case(random);
    BlockAxis& z = c.block.axes[0];
    z.loaded = z.kept = z.grid;
    z.kept_begin = 0;
    z.kernel = random.integer(1, z.grid);
    fill(random, c, c.block.kernel());
    return c;
}

BlockCase plain_case(Random& random, const Shape3& grid, const Shape3& kernel,
                     Precision precision) {
    BlockCase c;
    c.block.precision = precision;
    for (int a = 0; a < 3; ++a) {
        c.block.axes[static_cast<std::size_t>(a)] = {grid[a], grid[a], kernel[a], 0, grid[a]};
        c.gather[static_cast<std::size_t>(a)] = identity(grid[a]);
    }
    c.source = random.array(grid, false);
    c.source_type = pixel_type(precision, false);
    c.block.source_type = c.block.target_type = c.source_type;
    c.taps = random.array(kernel, false);
    return c;
}

}  // namespace convolume::testing
