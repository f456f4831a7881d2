// SPDX-License-Identifier: Apache-2.0
#include "core/rank1.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <utility>

#include "convolume/volume.hpp"
#include "core/kernel_survey.hpp"
#include "core/threads.hpp"
#include "core/views.hpp"

namespace convolume {

namespace {

using Factor = std::vector<double>;
using Factors = std::array<Factor, 3>;

// Calls f(row, stride, z, y, group) for every row, as for_each_row() does.
template <class F>
void for_each_real_row(const ConstImageView& kernel, index_t groups, const F& f) {
    for_each_row(kernel, groups, thread_count(0),
                 [&](const auto* row, auto stride, index_t z, index_t y, index_t group) {
                     if constexpr (requires { static_cast<double>(*row); })
                         f(row, stride, z, y, group);
                     else
                         throw InternalError("rank 1 is asked of real kernels only");
                 });
}

double at(const Factor& factor, index_t i) {
    return factor[static_cast<std::size_t>(i)];
}

double squares(const Factor& factor) {
    double sum = 0;
    for (const double value : factor) sum += value * value;
    return sum;
}

// Some samples of a kernel, and the factors at their indices.
struct FactoredSamples {
    ConstImageView view;
    Factors factors;
};

// Returns every step-th sample along each axis, at most 32, from `begin` on.
FactoredSamples some_samples(const ConstImageView& kernel, const Factors& factors,
                             const Index3& begin, const Index3& step) {
    constexpr index_t most = 32;
    FactoredSamples some{kernel, {}};
    some.view.data = kernel.at(begin.z, begin.y, begin.x);
    for (int a = 0; a < 3; ++a) {
        auto& factor = some.factors[static_cast<std::size_t>(a)];
        const auto size = static_cast<index_t>(factors[static_cast<std::size_t>(a)].size());
        for (index_t i = begin[a]; i < size && static_cast<index_t>(factor.size()) < most;
             i += step[a])
            factor.push_back(at(factors[static_cast<std::size_t>(a)], i));
        some.view.shape[a] = static_cast<index_t>(factor.size());
        some.view.strides[a] *= step[a];
    }
    return some;
}

// Energies of a kernel and of its difference from a product.
struct Energies {
    double difference = 0;
    double total = 0;
};

// Returns the energies of the samples, or an infinite difference if that of a group of rows exceeds
// `enough`: other groups may then be skipped.
Energies energies(const ConstImageView& samples, const Factors& factors,
                  double enough = std::numeric_limits<double>::infinity()) {
    const index_t groups = row_groups(samples.shape), width = samples.shape.x;
    std::vector<Energies> parts(static_cast<std::size_t>(groups));
    std::atomic<bool> exceeds{false};
    const double* const along_x = factors[2].data();
    for_each_real_row(samples, groups,
                      [&](const auto* row, auto stride, index_t z, index_t y, index_t group) {
                          if (exceeds.load(std::memory_order_relaxed)) return;
                          const double weight = at(factors[0], z) * at(factors[1], y);
                          double difference = 0, total = 0;
#pragma omp simd reduction(+ : difference, total)
                          for (index_t x = 0; x < width; ++x) {
                              const auto value = static_cast<double>(row[x * stride]);
                              const double residual = value - weight * along_x[x];
                              difference += residual * residual;
                              total += value * value;
                          }
                          Energies& part = parts[static_cast<std::size_t>(group)];
                          part.difference += difference;
                          part.total += total;
                          if (part.difference > enough) exceeds = true;
                      });
    Energies sum;
    for (const Energies& part : parts) {
        sum.difference += part.difference;
        sum.total += part.total;
    }
    if (exceeds) sum.difference = std::numeric_limits<double>::infinity();
    return sum;
}

// Returns the lines through the peak. Their product equals the kernel there.
Factors lines_through(const ConstImageView& kernel, const Index3& peak) {
    Factors lines;
    for (int a = 0; a < 3; ++a) {
        Box3 line{peak, {peak.z + 1, peak.y + 1, peak.x + 1}};
        line.begin[a] = 0;
        line.end[a] = kernel.shape[a];
        Volume values(line.shape(), PixelType::float64);
        convert_pixels(subview(kernel, line), values.view());
        const double* const samples = values.elements<double>();
        auto& factor = lines[static_cast<std::size_t>(a)];
        factor.assign(samples, samples + kernel.shape[a]);
        if (a > 0)
            for (double& value : factor) value /= at(lines[0], peak.z);
    }
    return lines;
}

// Returns true if the relative distance from the product of the lines surely exceeds `bound`. No
// sample is larger than the peak. Some samples around the peak, or of the whole kernel, show it for
// most kernels that are not of rank 1.
bool is_far(const ConstImageView& kernel, const Factors& lines, const Index3& peak, double highest,
            double bound) {
    const double enough =
        bound * bound * static_cast<double>(element_count(kernel.shape)) * highest * highest;
    Index3 begin, step;
    for (int a = 0; a < 3; ++a) {
        begin[a] = std::max<index_t>(0, peak[a] - 16);
        step[a] = ceil_div(kernel.shape[a], 32);
    }
    for (const FactoredSamples& some : {some_samples(kernel, lines, begin, {1, 1, 1}),
                                        some_samples(kernel, lines, {0, 0, 0}, step)})
        if (energies(some.view, some.factors).difference > enough) return true;
    const Energies all = energies(kernel, lines, enough);
    return all.difference > bound * bound * all.total;
}

// Replaces the factors along z and y, one after the other, by the least-squares solutions for the
// other two.
void improve_zy(const ConstImageView& kernel, Factors& factors) {
    const Shape3& shape = kernel.shape;
    const double* const along_x = factors[2].data();
    Factor products(static_cast<std::size_t>(shape.z * shape.y));  // of each row and factors[2]
    for_each_real_row(kernel, row_groups(shape),
                      [&](const auto* row, auto stride, index_t z, index_t y, index_t) {
                          double sum = 0;
#pragma omp simd reduction(+ : sum)
                          for (index_t x = 0; x < shape.x; ++x)
                              sum += static_cast<double>(row[x * stride]) * along_x[x];
                          products[static_cast<std::size_t>(z * shape.y + y)] = sum;
                      });
    for (const std::size_t axis : {0U, 1U}) {
        const Factor& other = factors[1 - axis];
        Factor numerator(factors[axis].size());
        for (index_t z = 0; z < shape.z; ++z)
            for (index_t y = 0; y < shape.y; ++y)
                numerator[static_cast<std::size_t>(axis == 0 ? z : y)] +=
                    at(products, z * shape.y + y) * at(other, axis == 0 ? y : z);
        const double norm = squares(other) * squares(factors[2]);
        for (double& value : numerator) value /= norm;
        factors[axis] = std::move(numerator);
    }
}

// Replaces the factor along x by the least-squares solution for the other two.
void improve_x(const ConstImageView& kernel, Factors& factors) {
    constexpr index_t most_parts = 64;
    const index_t parts = std::min(row_groups(kernel.shape), most_parts);
    const index_t width = kernel.shape.x;
    Factor sums(static_cast<std::size_t>(parts * width));
    for_each_real_row(kernel, parts,
                      [&](const auto* row, auto stride, index_t z, index_t y, index_t part) {
                          const double weight = at(factors[0], z) * at(factors[1], y);
                          double* const sum = sums.data() + part * width;
#pragma omp simd
                          for (index_t x = 0; x < width; ++x)
                              sum[x] += static_cast<double>(row[x * stride]) * weight;
                      });
    const double norm = squares(factors[0]) * squares(factors[1]);
    for (index_t x = 0; x < width; ++x) {
        double sum = 0;
        for (index_t part = 0; part < parts; ++part) sum += at(sums, part * width + x);
        factors[2][static_cast<std::size_t>(x)] = sum / norm;
    }
}

}  // namespace

std::optional<RankOne> factor_rank1(const ConstImageView& kernel, Precision precision,
                                    const Index3& peak) {
    Index3 highest_at = peak;
    for (int a = 0; a < 3; ++a)
        if (peak[a] < 0 || peak[a] >= kernel.shape[a]) {
            highest_at = survey_kernel(kernel, thread_count(0)).peak;
            break;
        }
    Factors factors = lines_through(kernel, highest_at);
    const double highest = at(factors[0], highest_at.z);
    // These checks avoid the sweeps for the many kernels that are far from rank 1.
    constexpr double far = 1e-5;
    if (highest == 0 || is_far(kernel, factors, highest_at, highest, far)) return {};
    for (int sweep = 0; sweep < 2; ++sweep) {
        improve_zy(kernel, factors);
        improve_x(kernel, factors);
    }
    const double tolerance = precision == Precision::float32 ? 1e-7 : 1e-15;
    const Energies left = energies(kernel, factors);
    if (!(std::sqrt(left.difference / left.total) <= tolerance)) return {};
    return RankOne{std::move(factors)};
}

}  // namespace convolume
