// SPDX-License-Identifier: Apache-2.0

#include "deconvolve/methods/wiener_butterworth.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <vector>

#include "convolume/convolver.hpp"
#include "core/threads.hpp"
#include "cpu/fft/fft_plan.hpp"

namespace convolume::deconvolve {

namespace {

using Spectrum = std::vector<std::complex<double>>;

index_t stride_of(const Shape3& shape, int axis) {
    return axis == 2 ? 1 : axis == 1 ? shape.x : shape.y * shape.x;
}

// Returns the number of a row's frequencies that are stored: those of real samples are symmetric.
index_t stored(const Shape3& shape) {
    return shape.x / 2 + 1;
}

// Transforms real volumes of one shape to their spectra and back. The sample at index 0 is the
// origin, and the inverse has no factor.
class VolumeTransform {
  public:
    explicit VolumeTransform(const Shape3& shape) : shape_(shape) {}

    void forward(Volume& samples, Spectrum& spectrum, int threads) const {
        const auto rows = planned({shape_.x, shape_.y, 1, shape_.x, 1, stored(shape_)},
                                  cpu::TransformKind::real_forward);
        parallel_for(shape_.z, threads, [&](index_t z, int) {
            rows.execute(samples.elements<double>() + z * shape_.y * shape_.x,
                         spectrum.data() + z * shape_.y * stored(shape_));
        });
        transform_columns(spectrum, cpu::TransformKind::forward, threads);
    }

    void inverse(Spectrum& spectrum, Volume& samples, int threads) const {
        transform_columns(spectrum, cpu::TransformKind::inverse, threads);
        const auto rows = planned({shape_.x, shape_.y, 1, stored(shape_), 1, shape_.x},
                                  cpu::TransformKind::real_inverse);
        parallel_for(shape_.z, threads, [&](index_t z, int) {
            rows.execute(spectrum.data() + z * shape_.y * stored(shape_),
                         samples.elements<double>() + z * shape_.y * shape_.x);
        });
    }

  private:
    // Transforms that are run once do not pay for FFTW's planning.
    static cpu::FftPlan<double> planned(const cpu::TransformBatch& batch, cpu::TransformKind kind) {
        return {batch, kind, nullptr, nullptr, {FftLibrary::own}};
    }

    // Transforms along z and y.
    void transform_columns(Spectrum& data, cpu::TransformKind kind, int threads) const {
        const index_t width = stored(shape_), plane = shape_.y * width;
        for (const int axis : {0, 1}) {
            const index_t stride = axis == 0 ? plane : width;
            const auto columns = planned({shape_[axis], width, stride, 1, stride, 1}, kind);
            parallel_for(axis == 0 ? shape_.y : shape_.z, threads, [&](index_t group, int) {
                std::complex<double>* const first =
                    data.data() + group * (axis == 0 ? width : plane);
                columns.execute(first, first);
            });
        }
    }

    Shape3 shape_;
};

// Calls use(i, k) for every sample: i is its index in C order, and k that with `center` at index 0.
template <class Use>
void for_centered(const Shape3& shape, const Index3& center, int threads, const Use& use) {
    const auto wrapped = [&](index_t at, int axis) {
        return at >= center[axis] ? at - center[axis] : at - center[axis] + shape[axis];
    };
    parallel_for(shape.z * shape.y, threads, [&](index_t row, int) {
        auto i = static_cast<std::size_t>(row * shape.x);
        const index_t to = wrapped(row / shape.y, 0) * shape.y + wrapped(row % shape.y, 1);
        for (index_t x = 0; x < shape.x; ++x, ++i)
            use(i, static_cast<std::size_t>(to * shape.x + wrapped(x, 2)));
    });
}

// Returns the distance from the peak, in one direction, at which a line through it has half of its
// height.
double half_width(const float* peak, index_t stride, index_t samples) {
    const double half = static_cast<double>(*peak) / 2;
    for (index_t i = 1; i <= samples; ++i) {
        const auto here = static_cast<double>(peak[i * stride]);
        const auto last = static_cast<double>(peak[(i - 1) * stride]);
        if (here <= half) return static_cast<double>(i - 1) + (last - half) / (last - here);
    }
    return static_cast<double>(samples) + 0.5;
}

// Returns the frequency of index k in cycles a sample, from -1/2 to 1/2.
double frequency(index_t k, index_t length) {
    return static_cast<double>(2 * k > length ? k - length : k) / static_cast<double>(length);
}

// Returns for each axis the largest squared magnitudes over all frequencies with the same index,
// for indices of up to half of the extent.
std::array<std::vector<double>, 3> largest_squares(const Spectrum& spectrum, const Shape3& shape,
                                                   int threads) {
    const auto raise = [](double& largest, double value) { largest = std::max(largest, value); };
    const Shape3 extents{shape.z, shape.y, stored(shape)};
    std::array<std::vector<double>, 3> largest, of_planes;
    for (int a = 0; a < 3; ++a) {
        largest[static_cast<std::size_t>(a)].resize(static_cast<std::size_t>(extents[a]));
        of_planes[static_cast<std::size_t>(a)].resize(
            static_cast<std::size_t>(shape.z * extents[a]));
    }
    parallel_for(shape.z, threads, [&](index_t z, int) {
        const std::complex<double>* row = spectrum.data() + z * shape.y * extents.x;
        double* const of_columns = of_planes[2].data() + z * extents.x;
        for (index_t y = 0; y < shape.y; ++y, row += extents.x) {
            double of_row = 0;
            for (index_t x = 0; x < extents.x; ++x) {
                const double square = std::norm(row[x]);
                raise(of_row, square);
                raise(of_columns[x], square);
            }
            of_planes[1][static_cast<std::size_t>(z * shape.y + y)] = of_row;
            raise(largest[0][static_cast<std::size_t>(z)], of_row);
        }
    });
    for (const std::size_t a : {1U, 2U})
        for (std::size_t i = 0; i < of_planes[a].size(); ++i)
            raise(largest[a][i % largest[a].size()], of_planes[a][i]);
    for (const std::size_t a : {0U, 1U})
        for (std::size_t k = 1; 2 * k < largest[a].size(); ++k)
            raise(largest[a][k], largest[a][largest[a].size() - k]);
    return largest;
}

// Returns the largest magnitude at the frequency `cycles`, interpolated between two indices of the
// squares of an axis of `length` samples.
double largest_at(const std::vector<double>& squares, index_t length, double cycles) {
    const auto last = static_cast<std::size_t>(length / 2);
    const double at = std::min(cycles * static_cast<double>(length), static_cast<double>(last));
    const auto below = static_cast<std::size_t>(at);
    const double part = at - static_cast<double>(below);
    const double above = below < last ? std::sqrt(squares[below + 1]) : 0;
    return (1 - part) * std::sqrt(squares[below]) + part * above;
}

}  // namespace

Volume wiener_butterworth_taps(const Volume& psf, const Index3& center, double alpha, int threads) {
    const Shape3 shape = psf.shape();
    const float* const samples = psf.elements<float>();
    const index_t width = stored(shape);
    Spectrum spectrum(static_cast<std::size_t>(shape.z * shape.y * width));
    const VolumeTransform transform(shape);
    Volume around_zero(shape, PixelType::float64), taps(shape, PixelType::float32);
    double* const wrapped = around_zero.elements<double>();
    for_centered(shape, center, threads, [&](std::size_t i, std::size_t k) {
        wrapped[k] = static_cast<double>(samples[i]);
    });
    transform.forward(around_zero, spectrum, threads);

    const Index3 peak = kernel_peak(psf.view());
    const float* const highest = samples + (peak.z * shape.y + peak.y) * shape.x + peak.x;
    const auto squares = largest_squares(spectrum, shape, threads);
    // Squared frequencies, relative to that of the width.
    std::array<std::vector<double>, 3> relative;
    double beta = 0;
    int axes = 0;
    for (int a = 0; a < 3; ++a) {
        relative[static_cast<std::size_t>(a)].resize(static_cast<std::size_t>(shape[a]));
        if (shape[a] == 1) continue;
        const index_t stride = stride_of(shape, a);
        const double full = half_width(highest, stride, shape[a] - 1 - peak[a]) +
                            half_width(highest, -stride, peak[a]);
        for (index_t k = 0; k < shape[a]; ++k)
            relative[static_cast<std::size_t>(a)][static_cast<std::size_t>(k)] =
                std::pow(frequency(k, shape[a]) * full, 2);
        beta += largest_at(squares[static_cast<std::size_t>(a)], shape[a], 1 / full);
        ++axes;
    }
    beta = axes > 0 ? beta / axes : 1;
    const double epsilon = std::max(0.0, 1 / std::pow(beta * beta + alpha, 2) - 1);
    parallel_for(shape.z * shape.y, threads, [&](index_t row, int) {
        const double before = relative[0][static_cast<std::size_t>(row / shape.y)] +
                              relative[1][static_cast<std::size_t>(row % shape.y)];
        std::complex<double>* const values = spectrum.data() + row * width;
        for (index_t x = 0; x < width; ++x) {
            const double w = before + relative[2][static_cast<std::size_t>(x)];
            const double fifth = w * w * w * w * w;  // the order of the filter is 10
            values[x] /= (std::norm(values[x]) + alpha) * std::sqrt(1 + epsilon * fifth * fifth);
        }
    });
    const double middle = spectrum[0].real() * static_cast<double>(element_count(shape));
    transform.inverse(spectrum, around_zero, threads);
    float* const out = taps.elements<float>();
    for_centered(shape, center, threads, [&](std::size_t i, std::size_t k) {
        out[i] = static_cast<float>(wrapped[k] / middle);
    });
    return taps;
}

}  // namespace convolume::deconvolve
