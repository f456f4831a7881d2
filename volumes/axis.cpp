// SPDX-License-Identifier: Apache-2.0
#include "volumes/axis.hpp"

#include <algorithm>

#include "convolume/error.hpp"

namespace convolume {

namespace {
bool is_zero_outside(BoundaryKind boundary) {
    return boundary == BoundaryKind::zero || boundary == BoundaryKind::constant;
}
}  // namespace

AxisWindow trim_kernel(const AxisProblem& problem) {
    AxisWindow window;
    window.kernel_begin = 0;
    window.kernel_end = problem.kernel;
    if (is_zero_outside(problem.boundary)) {
        // Tap j meets an image sample if n-j lies in [0, image) for some output n.
        window.kernel_begin = std::max<index_t>(0, problem.out_begin - (problem.image - 1));
        window.kernel_end = std::min(problem.kernel, problem.out_end);
    }
    return window;
}

AxisWindow axis_window(const AxisProblem& problem, index_t begin, index_t end, bool periodic_grid) {
    AxisWindow window = trim_kernel(problem);
    window.out_begin = begin;
    window.out_end = end;

    if (periodic_grid) {
        if (problem.boundary != BoundaryKind::wrap || end - begin > problem.image ||
            problem.kernel > problem.image)
            throw InternalError("a periodic grid for more than one period");
        window.grid = problem.image;
        window.load_begin = begin - window.kernel_begin;
        window.load_end = window.load_begin + problem.image;
        return window;
    }

    window.load_begin = begin - (window.kernel_end - 1);
    window.load_end = end - window.kernel_begin;
    if (is_zero_outside(problem.boundary)) {
        window.load_begin = std::max<index_t>(0, window.load_begin);
        window.load_end = std::min(problem.image, window.load_end);
    }
    // The linear result of the loaded samples spans grid positions [0, loaded + kernel - 1). Only
    // the kept positions must be free of aliases: none may wrap onto them from above (first bound),
    // and they must lie on the grid (second bound). The grid also holds samples and taps.
    const index_t result = window.loaded() + window.kernel() - 1;
    window.grid = std::max({result - window.kept_begin(), window.kept_begin() + window.kept(),
                            window.loaded(), window.kernel()});
    return window;
}

index_t source_index(index_t i, index_t image, BoundaryKind boundary) {
    if (i >= 0 && i < image) return i;
    const auto positive_modulo = [](index_t a, index_t n) { return (a % n + n) % n; };
    switch (boundary) {
        case BoundaryKind::zero:
        case BoundaryKind::constant:
            return -1;
        case BoundaryKind::nearest:
            return i < 0 ? 0 : image - 1;
        case BoundaryKind::wrap:
            return positive_modulo(i, image);
        case BoundaryKind::reflect: {
            const index_t m = positive_modulo(i, 2 * image);
            return m < image ? m : 2 * image - 1 - m;
        }
        case BoundaryKind::mirror: {
            if (image == 1) return 0;
            const index_t m = positive_modulo(i, 2 * image - 2);
            return m < image ? m : 2 * image - 2 - m;
        }
    }
    throw InternalError("a boundary outside its enumeration");
}

std::vector<index_t> gather_indices(const AxisWindow& window, index_t image,
                                    BoundaryKind boundary) {
    std::vector<index_t> indices(static_cast<std::size_t>(window.loaded()));
    for (index_t i = 0; i < window.loaded(); ++i)
        indices[static_cast<std::size_t>(i)] = source_index(window.load_begin + i, image, boundary);
    return indices;
}

OutputRange output_range(Mode mode, index_t image, index_t kernel, index_t center) {
    switch (mode) {
        case Mode::full:
            return {0, checked_add(image, kernel - 1)};
        case Mode::same:
            return {center, checked_add(image, center)};
        case Mode::valid:
            if (kernel > image)
                throw InvalidArgument(message("mode valid has no output: the kernel's extent ",
                                              kernel, " exceeds the image's ", image,
                                              "; use mode same or full"));
            return {kernel - 1, image};
    }
    throw InternalError("a mode outside its enumeration");
}

BlockAxis block_axis(const AxisWindow& window) {
    return {window.grid, window.loaded(), window.kernel(), window.kept_begin(), window.kept()};
}

}  // namespace convolume
