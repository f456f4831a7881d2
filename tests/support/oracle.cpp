// SPDX-License-Identifier: Apache-2.0
#include "tests/support/oracle.hpp"

#include <array>

namespace convolume::testing {
namespace {

constexpr index_t outside = -1;

/// Table of one axis: the source index that output o reads through tap j, at [o * kernel + j].
struct AxisTable {
    index_t outputs;
    index_t taps;
    std::vector<index_t> sources;

    AxisTable(const Definition& definition, int axis, index_t image, index_t kernel)
        : taps(kernel) {
        const index_t c = definition.center[axis];
        switch (definition.mode) {
            case Mode::full:
                outputs = image + kernel - 1;
                break;
            case Mode::same:
                outputs = image;
                break;
            case Mode::valid:
                outputs = image - kernel + 1;
                break;
        }
        for (index_t o = 0; o < outputs; ++o)
            for (index_t j = 0; j < kernel; ++j)
                sources.push_back(
                    oracle_source(position(definition, o, j, c), image, definition.boundary.kind));
    }

    index_t source(index_t o, index_t j) const {
        return sources[static_cast<std::size_t>(o * taps + j)];
    }

  private:
    index_t position(const Definition& definition, index_t o, index_t j, index_t c) const {
        if (definition.operation == Operation::correlate) {
            if (definition.mode == Mode::full) return o + j - (taps - 1);
            if (definition.mode == Mode::same) return o + j - c;
            return o + j;
        }
        if (definition.mode == Mode::full) return o - j;
        if (definition.mode == Mode::same) return o + c - j;
        return o + (taps - 1) - j;
    }
};

/// Calls visit(output index, tap index, source index or `outside`) for all products of the sums.
template <class Visit>
void for_each_product(const std::array<AxisTable, 3>& axes, const Shape3& image, Visit&& visit) {
    const auto& [az, ay, ax] = axes;
    std::size_t output = 0;
    for (index_t z = 0; z < az.outputs; ++z)
        for (index_t y = 0; y < ay.outputs; ++y)
            for (index_t x = 0; x < ax.outputs; ++x, ++output) {
                std::size_t tap = 0;
                for (index_t k = 0; k < az.taps; ++k) {
                    const index_t sz = az.source(z, k);
                    for (index_t j = 0; j < ay.taps; ++j) {
                        const index_t sy = ay.source(y, j);
                        for (index_t i = 0; i < ax.taps; ++i, ++tap) {
                            const index_t sx = ax.source(x, i);
                            const bool inside = sz != outside && sy != outside && sx != outside;
                            visit(output, tap,
                                  inside ? (sz * image.y + sy) * image.x + sx : outside);
                        }
                    }
                }
            }
}

std::array<AxisTable, 3> axis_tables(const Definition& definition, const Shape3& image,
                                     const Shape3& kernel) {
    return {AxisTable(definition, 0, image.z, kernel.z),
            AxisTable(definition, 1, image.y, kernel.y),
            AxisTable(definition, 2, image.x, kernel.x)};
}

struct Sum {
    long double real = 0;
    long double imag = 0;

    void add_product(Complex a, Complex b) {
        const long double ar = a.real(), ai = a.imag(), br = b.real(), bi = b.imag();
        real += ar * br - ai * bi;
        imag += ar * bi + ai * br;
    }
    void add_real_product(double a, double b) { real += static_cast<long double>(a) * b; }
    Complex value() const { return {static_cast<double>(real), static_cast<double>(imag)}; }
};

}  // namespace

Index3 center_index(const KernelCenter& center, const Shape3& kernel) {
    if (center.kind == KernelCenter::Kind::explicit_) return center.index;
    Index3 index;
    for (int a = 0; a < 3; ++a)
        index[a] = center.kind == KernelCenter::Kind::scipy ? (kernel[a] - 1) / 2 : kernel[a] / 2;
    return index;
}

Shape3 oracle_output_shape(Mode mode, const Shape3& image, const Shape3& kernel) {
    Shape3 shape;
    for (int a = 0; a < 3; ++a) {
        if (mode == Mode::full) shape[a] = image[a] + kernel[a] - 1;
        if (mode == Mode::same) shape[a] = image[a];
        if (mode == Mode::valid) shape[a] = image[a] - kernel[a] + 1;
    }
    return shape;
}

index_t oracle_source(index_t i, index_t extent, BoundaryKind boundary) {
    // Follows the pictures in the definition step by step: each round undoes one reflection or one
    // period, until the position lies in the image.
    while (i < 0 || i >= extent) {
        switch (boundary) {
            case BoundaryKind::zero:
            case BoundaryKind::constant:
                return outside;
            case BoundaryKind::nearest:
                i = i < 0 ? 0 : extent - 1;
                break;
            case BoundaryKind::reflect:
                i = i < 0 ? -1 - i : 2 * extent - 1 - i;
                break;
            case BoundaryKind::mirror:
                i = extent == 1 ? 0 : i < 0 ? -i : 2 * extent - 2 - i;
                break;
            case BoundaryKind::wrap:
                i = i < 0 ? i + extent : i - extent;
                break;
        }
    }
    return i;
}

Array oracle_convolve(const Array& image, const Array& kernel, const Definition& definition) {
    Array result(oracle_output_shape(definition.mode, image.shape, kernel.shape));
    const bool conjugate = definition.operation == Operation::correlate;
    const double beyond =
        definition.boundary.kind == BoundaryKind::constant ? definition.boundary.value : 0;
    const bool real = is_real(image) && is_real(kernel);
    Sum sum;  // of the products of one output, which follow each other
    std::size_t summed = 0;
    for_each_product(axis_tables(definition, image.shape, kernel.shape), image.shape,
                     [&](std::size_t output, std::size_t tap, index_t source) {
                         if (output != summed) {
                             result.values[summed] = sum.value();
                             sum = {};
                             summed = output;
                         }
                         const Complex f = source == outside
                                               ? Complex(beyond)
                                               : image.values[static_cast<std::size_t>(source)];
                         const Complex h = kernel.values[tap];
                         if (real)
                             sum.add_real_product(h.real(), f.real());
                         else
                             sum.add_product(conjugate ? std::conj(h) : h, f);
                     });
    if (!result.values.empty()) result.values[summed] = sum.value();
    return result;
}

Array oracle_adjoint(const Array& data, const Shape3& image, const Array& kernel,
                     const Definition& definition) {
    Definition forward = definition;
    forward.operation = Operation::convolve;
    Array result(image);
    std::vector<Sum> sums(result.values.size());
    for_each_product(axis_tables(forward, image, kernel.shape), image,
                     [&](std::size_t output, std::size_t tap, index_t source) {
                         if (source == outside) return;
                         sums[static_cast<std::size_t>(source)].add_product(
                             std::conj(kernel.values[tap]), data.values[output]);
                     });
    for (std::size_t i = 0; i < sums.size(); ++i) result.values[i] = sums[i].value();
    return result;
}

Array oracle(const Array& input, const Shape3& image, const Array& kernel,
             const Definition& definition) {
    if (definition.operation == Operation::adjoint)
        return oracle_adjoint(input, image, kernel, definition);
    return oracle_convolve(input, kernel, definition);
}

double oracle_cost(Mode mode, const Shape3& image, const Shape3& kernel) {
    const Shape3 out = oracle_output_shape(mode, image, kernel);
    double cost = 1;
    for (int a = 0; a < 3; ++a)
        cost *= static_cast<double>(out[a]) * static_cast<double>(kernel[a]);
    return cost;
}

}  // namespace convolume::testing
