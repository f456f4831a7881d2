// SPDX-License-Identifier: Apache-2.0
#pragma once
// Runs the passes over rows on the host, and compares with reference transforms.

#include <cstring>

#include "gpu/fft/plan.hpp"
#include "gpu/fft/row_kernel.hpp"
#include "tests/catch.hpp"
#include "tests/gpu/fft/fft_support.hpp"
#include "tests/gpu/fft/host_block.hpp"

namespace convolume::gpu {

template <class Real, int N>
struct RowsCheck {
    using Sample = std::complex<Real>;
    using Shape = RowShape<Real, N>;

    static void run(RowJob<Real> job) {
        auto tables = plan_twiddles<Real>(Shape::plan);
        const auto of_pairs = pair_twiddles<Real>(N);
        tables.insert(tables.end(), of_pairs.begin(), of_pairs.end());
        job.twiddles = tables.data();
        run_on_host(2, Shape::threads, Shape::shared_bytes,
                    [&](const HostBlock& block) { row_pass<Real, N>(block, job); });
    }

    /// Planes of `rows` rows, in a ring buffer that wraps around.
    struct Spectrum {
        index_t samples, pitch, rows;
        static constexpr index_t ring = 3, first = 2;
        std::vector<Sample> data;

        Spectrum(index_t length, bool complex_rows, index_t row_count)
            : samples(complex_rows ? length : length / 2 + 1),
              pitch(round_up(samples, tile_columns<Real>)),
              rows(row_count),
              data(poisoned<Sample>(ring * rows * pitch)) {}

        Sample* row(index_t plane, index_t y) {
            return data.data() + ((first + plane) % ring * rows + y) * pitch;
        }
        SpectrumPlanes<Real> planes() { return {data.data(), rows * pitch, pitch, first, ring}; }
    };

    static constexpr index_t planes = 2;

    /// Loads pixels of type S. `variant` 0 loads rows as they are, others gather, subtract and
    /// clean.
    template <class S>
    static void forward(bool complex_rows, int variant) {
        const index_t length = complex_rows ? N : 2 * N;
        const index_t rows = Shape::rows + 1, source_rows = rows + 1;
        const index_t row_stride = length + (length % 2 == 0 ? 2 : 1),
                      plane_stride = source_rows * row_stride;
        auto pixels = sample_pixels<S>(planes * plane_stride);
        if (variant == 3) spoil(pixels);

        RowSource source;
        source.pixels = {pixels.data(), pixel_type_of_v<S>, plane_stride, row_stride};
        source.planes = planes;
        source.loaded_y = rows;
        source.loaded_x = variant == 0 ? length : length - length / 3;
        std::vector<std::int32_t> gather_y, gather_x;
        if (variant >= 2) {
            for (index_t y = 0; y < rows; ++y) {
                gather_y.push_back(y % 3 == 1 ? -1 : static_cast<std::int32_t>(rows - y));
            }
            for (index_t x = 0; x < length; ++x) {
                gather_x.push_back(x % 5 == 1 ? -1 : static_cast<std::int32_t>(length - 1 - x));
            }
            source.gather_y = gather_y.data();
            source.gather_x = gather_x.data();
            source.subtract = 0.375;
        }
        source.nonfinite_to_zero = variant == 3;

        Spectrum spectrum(length, complex_rows, rows);
        run(forward_job(length, complex_rows, source, spectrum.planes()));

        Difference difference;
        for (index_t plane = 0; plane < planes; ++plane) {
            for (index_t y = 0; y < rows; ++y) {
                Signal signal(static_cast<std::size_t>(length));
                const index_t from_y = variant >= 2 ? gather_y[static_cast<std::size_t>(y)] : y;
                for (index_t x = 0; x < source.loaded_x && from_y >= 0; ++x) {
                    const index_t from_x = variant >= 2 ? gather_x[static_cast<std::size_t>(x)] : x;
                    if (from_x < 0) continue;
                    std::complex<double> value(pixels[static_cast<std::size_t>(
                        plane * plane_stride + from_y * row_stride + from_x)]);
                    if (!(std::isfinite(value.real()) && std::isfinite(value.imag()))) value = 0;
                    signal[static_cast<std::size_t>(x)] = value - source.subtract;
                }
                const Signal wanted = reference_transform(signal, forward_sign);
                for (index_t k = 0; k < spectrum.samples; ++k) {
                    difference.add(std::complex<double>(spectrum.row(plane, y)[k]),
                                   wanted[static_cast<std::size_t>(k)]);
                }
            }
        }
        INFO((complex_rows ? "complex" : "real")
             << " rows of " << length << " from " << to_string(pixel_type_of_v<S>) << ", variant "
             << variant);
        CHECK(difference.relative() < tolerance<Real>(length));
    }

    /// Stores pixels of type S with known values, so far from halves that they round alike.
    template <class S>
    static void inverse(bool complex_rows, int variant) {
        constexpr bool integer = std::is_integral_v<S>;
        const index_t length = complex_rows ? N : 2 * N;
        const index_t rows = Shape::rows + 3;
        RowTarget target;
        target.planes = planes;
        target.kept_begin_y = 1;
        target.kept_y = rows - 2;
        target.kept_begin_x = variant == 0 ? 0 : length / 3;
        target.kept_x = length - target.kept_begin_x - (variant == 0 ? 0 : length / 4);
        target.add_real = variant == 0 ? 0 : 3;
        target.add_imaginary = variant == 0 ? 0 : -2;
        const index_t row_stride = length + (length % 2 == 0 ? 2 : 1);
        const index_t plane_stride = rows * row_stride;
        auto pixels = poisoned<S>(planes * plane_stride);
        const auto before = pixels;
        target.pixels = {pixels.data(), pixel_type_of_v<S>, plane_stride, row_stride};
        unsigned long long clamped[2] = {5, 7}, low = 5, high = 7;
        target.clamped = clamped;

        // Values of all rows, and their spectra as a forward transform leaves them.
        Spectrum spectrum(length, complex_rows, rows);
        std::vector<Signal> values;
        // The row of the first plane that gets a NaN, or -1.
        const index_t nan_row = integer && variant == 1 ? 2 : -1;
        for (index_t row = 0; row < planes * rows; ++row) {
            Signal signal =
                random_samples<std::complex<double>>(length, static_cast<unsigned>(row));
            for (auto& value : signal) {
                if (!complex_rows) value = value.real();
                if (integer) value = std::round(value.real() * 150) + 0.25;
            }
            const Signal transformed = reference_transform(signal, forward_sign);
            for (index_t k = 0; k < spectrum.samples; ++k) {
                spectrum.row(row / rows, row % rows)[k] =
                    Sample(transformed[static_cast<std::size_t>(k)]);
            }
            if (row == nan_row) {
                *spectrum.row(0, row) = Sample(std::numeric_limits<Real>::quiet_NaN());
            }
            values.push_back(std::move(signal));
        }
        const auto spectrum_before = spectrum.data;
        run(inverse_job(length, complex_rows, spectrum.planes(), target,
                        1 / static_cast<double>(length)));

        Difference difference;
        index_t wrong = 0, touched = 0;
        for (index_t plane = 0; plane < planes; ++plane) {
            for (index_t y = 0; y < target.kept_y; ++y) {
                const index_t row = plane * rows + y + target.kept_begin_y;
                for (index_t x = 0; x < target.kept_x; ++x) {
                    const S& stored =
                        pixels[static_cast<std::size_t>(plane * plane_stride + y * row_stride + x)];
                    auto wanted = values[static_cast<std::size_t>(row)]
                                        [static_cast<std::size_t>(x + target.kept_begin_x)] +
                                  std::complex<double>(target.add_real,
                                                       complex_rows ? target.add_imaginary : 0);
                    if constexpr (integer) {
                        const double lowest = static_cast<double>(std::numeric_limits<S>::min());
                        const double highest = static_cast<double>(std::numeric_limits<S>::max());
                        double rounded = std::nearbyint(wanted.real());
                        if (row == nan_row) {
                            ++low;
                            rounded = 0;
                        } else if (rounded < lowest) {
                            ++low;
                            rounded = lowest;
                        } else if (rounded > highest) {
                            ++high;
                            rounded = highest;
                        }
                        wrong += static_cast<double>(stored) != rounded;
                    } else {
                        difference.add(std::complex<double>(stored), wanted);
                    }
                    ++touched;
                }
            }
        }
        INFO((complex_rows ? "complex" : "real")
             << " rows of " << length << " to " << to_string(pixel_type_of_v<S>) << ", variant "
             << variant);
        CHECK(wrong == 0);
        constexpr auto type = pixel_type_of_v<S>;
        const bool narrow = type == PixelType::float32 || type == PixelType::complex64;
        const double stored_tolerance = narrow ? 1e-7 : 0;
        CHECK(difference.relative() < 2 * tolerance<Real>(length) + stored_tolerance);
        CHECK(clamped[0] == low);
        CHECK(clamped[1] == high);
        CHECK(std::memcmp(spectrum_before.data(), spectrum.data.data(),
                          spectrum.data.size() * sizeof(Sample)) == 0);
        index_t same = 0;
        for (std::size_t i = 0; i < pixels.size(); ++i) {
            same += std::memcmp(&pixels[i], &before[i], sizeof(S)) == 0;
        }
        CHECK(same >= static_cast<index_t>(pixels.size()) - touched);
    }

    template <class S>
    static std::vector<S> sample_pixels(index_t count) {
        if constexpr (std::is_integral_v<S>) {
            const auto values = random_samples<double>(count, 3);
            std::vector<S> pixels;
            for (const double value : values) {
                pixels.push_back(static_cast<S>((std::is_signed_v<S> ? value : value + 1) * 120));
            }
            return pixels;
        } else {
            return random_samples<S>(count, 3);
        }
    }

    template <class S>
    static void spoil(std::vector<S>& pixels) {
        if constexpr (!std::is_integral_v<S>) {
            const auto nan = std::numeric_limits<double>::quiet_NaN();
            for (std::size_t i = 0; i < pixels.size(); i += 7) {
                pixels[i] =
                    static_cast<S>(i % 2 == 0 ? nan : std::numeric_limits<double>::infinity());
            }
        }
    }

    template <class S>
    static void real_pixels() {
        for (int variant = 0; variant < 4; ++variant) forward<S>(false, variant);
        forward<S>(true, 3);
        for (int variant = 0; variant < 2; ++variant) inverse<S>(false, variant);
    }
    template <class S>
    static void complex_pixels() {
        for (int variant = 0; variant < 4; ++variant) forward<S>(true, variant);
        for (int variant = 0; variant < 2; ++variant) inverse<S>(true, variant);
    }
    /// Checks the pixel types that rows have most often.
    static void main_types() {
        real_pixels<Real>();
        real_pixels<std::uint16_t>();
        complex_pixels<Sample>();
    }
    static void all_types() {
        real_pixels<std::uint8_t>();
        real_pixels<std::int8_t>();
        real_pixels<std::uint16_t>();
        real_pixels<std::int16_t>();
        real_pixels<std::uint32_t>();
        real_pixels<std::int32_t>();
        real_pixels<float>();
        real_pixels<double>();
        complex_pixels<std::complex<float>>();
        complex_pixels<std::complex<double>>();
    }
};

template <class Real, int... N>
void check_rows() {
    (RowsCheck<Real, N>::main_types(), ...);
}

}  // namespace convolume::gpu
