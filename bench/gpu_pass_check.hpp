// SPDX-License-Identifier: Apache-2.0
#pragma once
// Checks the passes of gpu/fft on this machine's GPU against direct sums in double precision.

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "bench/device_buffer.hpp"
#include "core/threads.hpp"
#include "gpu/fft/lengths.hpp"
#include "gpu/fft/passes.hpp"

namespace convolume::gpu {

using Signal = std::vector<std::complex<double>>;

/// Transforms by direct sums, in sections that keep rounding errors small; `sign` is that of the
/// exponent.
inline Signal dft_by_sums(const Signal& in, int sign) {
    const auto n = static_cast<long>(in.size());
    Signal roots(in.size()), out(in.size());
    for (long k = 0; k < n; ++k) {
        const long double angle = sign * 2 * 3.14159265358979323846264338328L * k / n;
        roots[static_cast<std::size_t>(k)] = {static_cast<double>(std::cos(angle)),
                                              static_cast<double>(std::sin(angle))};
    }
    convolume::parallel_for(n, convolume::thread_count(0), [&](long k, int) {
        std::complex<double> sum = 0;
        long exponent = 0;
        for (long begin = 0; begin < n; begin += 64) {
            double re = 0, im = 0;
            for (long i = begin; i < std::min(begin + 64, n); ++i) {
                const auto& value = in[static_cast<std::size_t>(i)];
                const auto& w = roots[static_cast<std::size_t>(exponent)];
                re += value.real() * w.real() - value.imag() * w.imag();
                im += value.real() * w.imag() + value.imag() * w.real();
                exponent += k;
                if (exponent >= n) exponent -= n;
            }
            sum += std::complex<double>(re, im);
        }
        out[static_cast<std::size_t>(k)] = sum;
    });
    return out;
}

template <class Real>
std::vector<std::complex<Real>> random_samples(index_t count) {
    static std::mt19937 engine(1);
    std::uniform_real_distribution<Real> uniform(-1, 1);
    std::vector<std::complex<Real>> samples(static_cast<std::size_t>(count));
    for (auto& sample : samples) sample = {uniform(engine), uniform(engine)};
    return samples;
}

inline int failures = 0;

/// Returns the relative L2 difference; NaN if a sample was never written.
class RelativeError {
  public:
    void add(std::complex<double> a, std::complex<double> b) {
        error_ += std::norm(a - b);
        norm_ += std::norm(b);
    }
    void report(const char* what, index_t length, std::size_t real_bytes) const {
        const double error = std::sqrt(error_ / norm_);
        const double limit =
            (real_bytes == 4 ? 6e-8 : 1.2e-16) * (4 + std::log2(static_cast<double>(length) + 1));
        if (error < limit) return;
        ++failures;
        std::printf("FAILED %s of %ld, %zu bytes a real: error %.2e, allowed %.2e\n", what,
                    static_cast<long>(length), real_bytes, error, limit);
    }

  private:
    double error_ = 0, norm_ = 0;
};

inline index_t slot_of(const PositionMap& map, index_t n, index_t position) {
    const index_t i = ((position - map.begin) % n + n) % n;
    return i < map.count ? (map.first + i) % map.ring : -1;
}

template <class Real>
void check_column_passes(index_t n) {
    using Sample = std::complex<Real>;
    const index_t columns = 19 * 16, pitch = columns, some = (n + 1) / 2;
    const PositionMap load{n - some / 2, some, some / 3, some + 1},
        store{some / 4, some, 1, some + 1};
    const PositionMap whole{0, n, 0, n};
    const auto source = random_samples<Real>(load.ring * pitch * 2);
    const auto kernel = random_samples<Real>(n * pitch);
    const DeviceBuffer<Sample> source_memory(source), kernel_memory(kernel), in_place(source);
    const DeviceBuffer<Sample> target_memory(n * pitch * 2);
    const Columns<Real> from{source_memory.get(), pitch, columns, 2, load.ring * pitch};
    const Columns<Real> to{target_memory.get(), pitch, columns, 2, n * pitch};
    const index_t batch = 1;
    transform_columns(n, PassDirection::forward, from, load, to, whole, nullptr);
    const auto forward = target_memory.download();
    transform_columns(n, PassDirection::inverse, from, load, to, whole, nullptr);
    const auto inverse = target_memory.download();
    convolve_columns(n, Columns<Real>{in_place.get(), pitch, columns, 1, 0}, load, store,
                     {{kernel_memory.get(), pitch, columns, 1, 0}}, nullptr);
    const auto convolved = in_place.download();
    // The kernel's first samples are its taps: few, or more than shared memory can hold.
    const std::array<index_t, 2> taps{(n + 3) / 4, n};
    std::array<std::vector<Sample>, 2> convolved_taps;
    for (std::size_t i = 0; i < taps.size() && transforms_kernels<Real>; ++i) {
        const DeviceBuffer<Sample> again(source);
        convolve_columns(n, Columns<Real>{again.get(), pitch, columns, 1, 0}, load, store,
                         {{kernel_memory.get(), pitch, columns, 1, 0}, taps[i], i == 1}, nullptr);
        convolved_taps[i] = again.download();
    }

    const auto at = [](const std::vector<Sample>& data, index_t i) {
        return std::complex<double>(data[static_cast<std::size_t>(i)]);
    };
    RelativeError forward_error, inverse_error, convolve_error, taps_error;
    for (const index_t c : {index_t{0}, index_t{77}, columns - 1}) {
        Signal signal(static_cast<std::size_t>(n)), other(signal.size());
        for (index_t p = 0; p < n; ++p) {
            const index_t slot = slot_of(load, n, p);
            if (slot < 0) continue;
            signal[static_cast<std::size_t>(p)] =
                at(source, (batch * load.ring + slot) * pitch + c);
            other[static_cast<std::size_t>(p)] = at(source, slot * pitch + c);
        }
        const Signal wanted = dft_by_sums(signal, -1), back = dft_by_sums(signal, 1);
        for (index_t p = 0; p < n; ++p) {
            const index_t i = (batch * n + p) * pitch + c;
            forward_error.add(at(forward, i), wanted[static_cast<std::size_t>(p)]);
            inverse_error.add(at(inverse, i), back[static_cast<std::size_t>(p)]);
        }
        const Signal spectrum = dft_by_sums(other, -1);
        for (std::size_t i = 0; i < taps.size() && transforms_kernels<Real>; ++i) {
            Signal factors(signal.size());
            for (index_t p = 0; p < taps[i]; ++p)
                factors[static_cast<std::size_t>(p)] = at(kernel, p * pitch + c);
            factors = dft_by_sums(factors, -1);
            for (std::size_t k = 0; k < factors.size(); ++k)
                factors[k] = spectrum[k] * (i == 1 ? std::conj(factors[k]) : factors[k]);
            const Signal product = dft_by_sums(factors, 1);
            for (index_t p = 0; p < n; ++p) {
                const index_t slot = slot_of(store, n, p);
                if (slot >= 0)
                    taps_error.add(at(convolved_taps[i], slot * pitch + c),
                                   product[static_cast<std::size_t>(p)]);
            }
        }
        Signal product = spectrum;
        for (index_t p = 0; p < n; ++p)
            product[static_cast<std::size_t>(p)] *= at(kernel, p * pitch + c);
        product = dft_by_sums(product, 1);
        for (index_t p = 0; p < n; ++p) {
            const index_t slot = slot_of(store, n, p);
            if (slot >= 0)
                convolve_error.add(at(convolved, slot * pitch + c),
                                   product[static_cast<std::size_t>(p)]);
        }
    }
    forward_error.report("forward columns", n, sizeof(Real));
    inverse_error.report("inverse columns", n, sizeof(Real));
    convolve_error.report("convolved columns", 4 * n, sizeof(Real));
    if (transforms_kernels<Real>) taps_error.report("columns and taps", 8 * n, sizeof(Real));
}

template <class Real>
void check_row_passes(index_t n, bool complex_rows) {
    using Sample = std::complex<Real>;
    const index_t length = complex_rows ? n : 2 * n, rows = 37, planes = 3, keep = 1 + length / 2;
    const index_t samples = complex_rows ? length : length / 2 + 1;
    const index_t pitch = round_up(samples, tile_columns<Real>);
    const index_t row_samples = complex_rows ? length : n;  // complex samples of a row
    const auto pixels = random_samples<Real>(planes * rows * row_samples);
    const DeviceBuffer<Sample> pixel_memory(pixels), spectrum(planes * rows * pitch);
    const DeviceBuffer<Sample> target_memory(planes * rows * row_samples);
    const PixelType type = complex_rows ? pixel_type_of_v<Sample> : pixel_type_of_v<Real>;
    const index_t row_stride = complex_rows ? length : 2 * n;
    RowSource source;
    source.pixels = {pixel_memory.get(), type, rows * row_stride, row_stride};
    source.planes = planes;
    source.loaded_y = rows;
    source.loaded_x = keep;
    const SpectrumPlanes<Real> spectra{spectrum.get(), rows * pitch, pitch, 2, planes};
    forward_rows(length, complex_rows, source, spectra, nullptr);
    const auto forward = spectrum.download();
    RowTarget target;
    target.pixels = {target_memory.get(), type, rows * row_stride, row_stride};
    target.planes = planes;
    target.kept_y = rows;
    target.kept_x = length;
    target.add_real = 0.5;
    inverse_rows(length, complex_rows, spectra, target, 1 / static_cast<double>(length), nullptr);
    const auto inverse = target_memory.download();

    RelativeError forward_error, inverse_error;
    for (const index_t row : {index_t{0}, index_t{40}, planes * rows - 1}) {
        Signal signal(static_cast<std::size_t>(length));
        const auto sample = [&](const std::vector<Sample>& data, index_t x) {
            if (complex_rows)
                return std::complex<double>(data[static_cast<std::size_t>(row * length + x)]);
            const auto* reals = reinterpret_cast<const Real*>(data.data());
            return std::complex<double>(static_cast<double>(reals[row * row_stride + x]), 0);
        };
        for (index_t x = 0; x < keep; ++x) signal[static_cast<std::size_t>(x)] = sample(pixels, x);
        const Signal wanted = dft_by_sums(signal, -1);
        const index_t stored = (row / rows + 2) % planes * rows + row % rows;
        for (index_t k = 0; k < samples; ++k) {
            forward_error.add(
                std::complex<double>(forward[static_cast<std::size_t>(stored * pitch + k)]),
                wanted[static_cast<std::size_t>(k)]);
        }
        for (index_t x = 0; x < length; ++x) {
            inverse_error.add(sample(inverse, x), signal[static_cast<std::size_t>(x)] + 0.5);
        }
    }
    const char* kind = complex_rows ? "complex" : "real";
    forward_error.report((std::string("forward rows, ") + kind).c_str(), length, sizeof(Real));
    inverse_error.report((std::string("inverse rows, ") + kind).c_str(), 4 * length, sizeof(Real));
}

/// Checks rows of uint16 with a gather, transformed there and back: integers must be unchanged, or
/// clamped.
inline void check_integer_rows() {
    const index_t length = 300, rows = 50, kept = 201;
    std::vector<std::uint16_t> pixels(static_cast<std::size_t>(rows * kept));
    for (std::size_t i = 0; i < pixels.size(); ++i)
        pixels[i] = static_cast<std::uint16_t>(i * 2654435761u >> 16);
    std::vector<std::int32_t> gather(static_cast<std::size_t>(length), -1);
    for (index_t x = 0; x < kept; ++x)
        gather[static_cast<std::size_t>(x)] = static_cast<std::int32_t>(kept - 1 - x);
    const DeviceBuffer<std::uint16_t> pixel_memory(pixels), target_memory(rows * kept);
    const DeviceBuffer<std::int32_t> gather_memory(gather);
    const DeviceBuffer<std::complex<float>> spectrum(rows * 160);
    const DeviceBuffer<unsigned long long> clamped(std::vector<unsigned long long>{0, 0});
    RowSource source;
    source.pixels = {pixel_memory.get(), PixelType::uint16, rows * kept, kept};
    source.loaded_y = rows;
    source.loaded_x = length;
    source.gather_x = gather_memory.get();
    source.subtract = 1000;
    const SpectrumPlanes<float> spectra{spectrum.get(), rows * 160, 160, 0, 1};
    forward_rows(length, false, source, spectra, nullptr);
    RowTarget target;
    target.pixels = {target_memory.get(), PixelType::uint16, rows * kept, kept};
    target.kept_y = rows;
    target.kept_x = kept;
    target.clamped = clamped.get();
    inverse_rows(length, false, spectra, target, 1.0 / length, nullptr);
    const auto stored = target_memory.download();
    unsigned long long low = 0, wrong = 0;
    for (index_t y = 0; y < rows; ++y) {
        for (index_t x = 0; x < kept; ++x) {
            const int wanted = pixels[static_cast<std::size_t>(y * kept + kept - 1 - x)] - 1000;
            low += wanted < 0;
            wrong += stored[static_cast<std::size_t>(y * kept + x)] != std::max(wanted, 0);
        }
    }
    const auto counted = clamped.download();
    if (wrong != 0 || counted[1] != 0 || std::abs(static_cast<double>(counted[0] - low)) > 2) {
        ++failures;
        std::printf("FAILED integers: %llu wrong, %llu counted low of %llu\n", wrong, counted[0],
                    low);
    }
}

template <class Real>
void check_all(index_t longest) {
    for (const int n : lengths<Real>) {
        if (n > longest) continue;
        if (has_column_pass<Real>(n, 0)) check_column_passes<Real>(n);
        if (has_row_pass<Real>(n, true, 0)) {
            check_row_passes<Real>(n, false);
            check_row_passes<Real>(n, true);
        }
    }
}

}  // namespace convolume::gpu
