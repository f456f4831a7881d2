// SPDX-License-Identifier: Apache-2.0
// Runs the CUDA kernels of filter banks on the host with signals and results of 16 bits.

#include <cmath>

#include "convolume/cuda/detail/segment_kernel.hpp"
#include "gpu/fft/plan.hpp"
#include "gpu/signals/direct_kernel.hpp"
#include "tests/catch.hpp"
#include "tests/gpu/fft/fft_support.hpp"
#include "tests/gpu/signals/host_segment_block.hpp"
#include "tests/support/filter_oracle.hpp"
#include "tests/support/short_samples.hpp"

namespace convolume::gpu {

namespace {

using testing::Row;

struct ShortCase {
    index_t taps = 1, filters = 1, signals = 1, samples = 1;
    SampleRange range;
    SampleStorage source = SampleStorage::plain, target = SampleStorage::plain;
    bool power = false;
    WindowPost window{};
    index_t pitch_beyond = 3;  ///< elements of a row after its results
    float scale = 1;           ///< value of one step of int16 results
};

/// Signals and filters of a case, and room for its results.
template <bool complex_data>
class ShortData {
  public:
    using Sample = std::conditional_t<complex_data, std::complex<float>, float>;
    static constexpr index_t elements = complex_data ? 2 : 1;

    explicit ShortData(const ShortCase& c)
        : case_(c),
          taps(random_samples<Sample>(c.filters * c.taps, 8)),
          values_(random_samples<Sample>(c.signals * c.samples, 7)) {
        if (c.source == SampleStorage::int16)
            for (Sample& value : values_) value *= 1000.0F;
        auto* const flat = reinterpret_cast<float*>(values_.data());
        const auto count = static_cast<index_t>(values_.size()) * elements;
        words_.resize(static_cast<std::size_t>(count));
        if (c.source != SampleStorage::plain) {
            for (index_t i = 0; i < count; ++i) {
                const auto at = static_cast<std::size_t>(i);
                words_[at] = testing::nearest_word(flat[i], c.source);
                flat[i] = static_cast<float>(testing::value_of(words_[at], c.source));
            }
        }
        results = c.window.stored(c.range.count());
        pitch = results + c.pitch_beyond;
        made.assign(static_cast<std::size_t>(c.signals * c.filters * pitch * elements), 0x7fff);
        plain_made = poisoned<std::complex<float>>(c.signals * c.filters * pitch);
    }

    template <class Job>
    void set(Job& job) {
        const bool plain = case_.source == SampleStorage::plain;
        job.source = plain ? static_cast<const void*>(values_.data()) : words_.data();
        job.source_stride = job.count = case_.samples;
        job.target = case_.target == SampleStorage::plain ? static_cast<void*>(plain_made.data())
                                                          : made.data();
        job.filter_stride = pitch;
        job.signal_stride = pitch * case_.filters;
        job.begin = case_.range.begin;
        job.end = case_.range.end;
        job.filters = static_cast<int>(case_.filters);
        job.power = case_.power;
        job.storage = {case_.source, case_.target, 1 / case_.scale, clamped};
    }

    /// Compares results with sums in double precision of the stored samples.
    void check() const {
        index_t low = 0, high = 0;
        const bool real = !complex_data || case_.power;
        for (index_t row = 0; row < case_.signals * case_.filters; ++row) {
            const Row x = row_of(values_, row / case_.filters, case_.samples);
            const Row h = row_of(taps, row % case_.filters, case_.taps);
            const Row y = testing::filtered(h, x, case_.range);
            const double level = testing::level(h, x);
            const index_t window =
                case_.window.kind == WindowPost::Kind::none ? 1 : case_.window.length;
            for (index_t i = 0; i < results; ++i) {
                std::complex<double> want = y[static_cast<std::size_t>(i * window)];
                double rounding = 1e-6 * level;  // of the arithmetic in float32
                if (case_.power) {
                    rounding *= 2 * (std::abs(want) + rounding);
                    want = std::norm(want);
                }
                check_value(row * pitch + i, 0, real, want.real(), rounding, low, high);
                if (!real) check_value(row * pitch + i, 1, real, want.imag(), rounding, low, high);
            }
            if (case_.target == SampleStorage::plain) continue;
            // Memory after the results is as it was.
            const index_t each = real ? 1 : 2;
            for (index_t i = results * each; i < pitch * each; ++i)
                CHECK(made[static_cast<std::size_t>(row * pitch * each + i)] == 0x7fff);
        }
        CHECK(clamped[0] == static_cast<unsigned long long>(low));
        CHECK(clamped[1] == static_cast<unsigned long long>(high));
    }

  private:
    static Row row_of(const std::vector<Sample>& all, index_t row, index_t length) {
        Row values;
        for (index_t i = 0; i < length; ++i)
            values.push_back(std::complex<double>(all[static_cast<std::size_t>(row * length + i)]));
        return values;
    }

    void check_value(index_t at, index_t part, bool real, double want, double rounding,
                     index_t& low, index_t& high) const {
        if (case_.target == SampleStorage::plain) {
            const auto* const values = reinterpret_cast<const float*>(plain_made.data());
            CHECK(std::abs(static_cast<double>(values[real ? at : 2 * at + part]) - want) <=
                  rounding);
            return;
        }
        const auto word = made[static_cast<std::size_t>(real ? at : 2 * at + part)];
        want /= static_cast<double>(case_.scale);
        rounding /= static_cast<double>(case_.scale);
        if (case_.target == SampleStorage::int16) {
            low += want < -32768.5 ? 1 : 0;
            high += want >= 32767.5 ? 1 : 0;
        }
        CHECK(testing::is_rounded(word, want, rounding, case_.target));
    }

    ShortCase case_;

  public:
    std::vector<Sample> taps;
    index_t results = 0, pitch = 0;
    std::vector<std::uint16_t> made;
    std::vector<std::complex<float>> plain_made;
    unsigned long long clamped[2] = {};

  private:
    std::vector<Sample> values_;
    std::vector<std::uint16_t> words_;
};

std::string text_of(const ShortCase& c) {
    return message(c.filters, " filters of ", c.taps, " taps, ", c.samples, " samples, ",
                   to_string(c.source), " to ", to_string(c.target), ", power ", c.power,
                   ", window ", to_string(c.window), ", pitch + ", c.pitch_beyond);
}

template <int N, bool complex_data>
void check_segments(const ShortCase& c) {
    using Shape = SegmentShape<float, N, complex_data>;
    INFO("segments of " << N << (complex_data ? ", complex, " : ", real, ") << text_of(c));
    ShortData<complex_data> data(c);
    const std::vector<Complex<float>> twiddles = plan_twiddles<float>(Shape::plan);
    auto spectra = poisoned<std::complex<float>>(c.filters * N);
    SpectraJob<float> filters;
    filters.taps = data.taps.data();
    filters.filters = static_cast<int>(c.filters);
    filters.taps_each = static_cast<int>(c.taps);
    filters.twiddles = twiddles.data();
    filters.spectra = reinterpret_cast<Complex<float>*>(spectra.data());
    run_on_host(ceil_div(c.filters, Shape::segments), Shape::threads, Shape::shared_bytes,
                [&](const HostBlock& block) {
                    transform_filters<float, N, complex_data>(HostSegmentBlock(block), filters);
                });

    SegmentJob<float> job;
    data.set(job);
    job.twiddles = twiddles.data();
    job.spectra = reinterpret_cast<const Complex<float>*>(spectra.data());
    job.skip = static_cast<int>(c.taps - 1);
    job.useful = static_cast<int>(N - job.skip);
    job.segments_per_signal = ceil_div(c.range.count(), job.useful);
    job.segments = c.signals * job.segments_per_signal;
    job.filters_per_block = 2;
    job.window = c.window.kind;
    job.window_length = c.window.length;
    const index_t per_block = Shape::segments * (complex_data ? 1 : 2);
    const index_t blocks =
        ceil_div(job.segments, per_block) * ceil_div(c.filters, job.filters_per_block);
    run_on_host(blocks, Shape::threads, Shape::shared_bytes, [&](const HostBlock& block) {
        filter_segments<float, N, complex_data, true>(HostSegmentBlock(block), job, NoFunction{});
    });
    data.check();
}

template <bool complex_data>
void check_sums(const ShortCase& c) {
    using Sample = std::conditional_t<complex_data, Complex<float>, float>;
    using Shape = SumsShape<Sample>;
    INFO("direct sums, " << (complex_data ? "complex, " : "real, ") << text_of(c));
    ShortData<complex_data> data(c);
    const index_t padded = round_up(c.taps, Shape::results);
    std::vector<typename ShortData<complex_data>::Sample> ordered(
        static_cast<std::size_t>(ceil_div(c.filters, Shape::filters) * Shape::filters * padded));
    for (index_t f = 0; f < c.filters; ++f)
        for (index_t k = 0; k < c.taps; ++k)
            ordered[static_cast<std::size_t>((f / Shape::filters * padded + k) * Shape::filters +
                                             f % Shape::filters)] =
                data.taps[static_cast<std::size_t>(f * c.taps + k)];
    SumsJob<float> job;
    data.set(job);
    job.taps = ordered.data();
    job.taps_padded = static_cast<int>(padded);
    job.thread_blocks_per_signal = ceil_div(c.range.count(), Shape::block_results);
    job.window_length = c.window.kind == WindowPost::Kind::none ? 1 : c.window.length;
    run_on_host(c.signals * job.thread_blocks_per_signal, Shape::threads,
                Shape::shared_bytes(job.taps_padded), [&](const HostBlock& block) {
                    sum_filters_directly<float, Sample, true>(HostSegmentBlock(block), job);
                });
    data.check();
}

/// Calls check(case) with each storage of signals and results, rows that begin at even and odd
/// elements, powers, and windows.
template <class Check>
void for_each_case(index_t n, const Check& check) {
    constexpr SampleStorage all[] = {SampleStorage::plain, SampleStorage::float16,
                                     SampleStorage::bfloat16, SampleStorage::int16};
    ShortCase c;
    c.taps = n / 5 + 1;
    c.filters = 3;
    c.signals = 2;
    c.samples = 2 * n + 13;
    c.range = {5, c.samples + c.taps - 1 - 2};
    for (const SampleStorage source : all)
        for (const SampleStorage target : all) {
            c.source = source;
            c.target = target;
            c.scale = 1;
            // Some results are clamped.
            if (target == SampleStorage::int16)
                c.scale = source == SampleStorage::int16 ? 0.4F : 4e-4F;
            check(c);
        }
    c.source = SampleStorage::float16;
    for (const index_t beyond : {2, 3}) {
        c.pitch_beyond = beyond;
        for (const SampleStorage target : {SampleStorage::float16, SampleStorage::int16}) {
            c.target = target;
            c.scale = target == SampleStorage::int16 ? 1e-3F : 1;
            c.power = false;
            c.window = {};
            check(c);
            c.power = true;
            check(c);
            c.window = {WindowPost::Kind::decimate, 7};
            check(c);
        }
    }
}

}  // namespace

TEST_CASE("short segments filter signals and results of 16 bits") {
    for_each_case(256, [](const ShortCase& c) {
        check_segments<256, false>(c);
        check_segments<256, true>(c);
    });
}

TEST_CASE("segments in registers filter signals and results of 16 bits") {
    for_each_case(1024, [](const ShortCase& c) {
        if (c.source != SampleStorage::float16) return;
        check_segments<1024, false>(c);
    });
}

TEST_CASE("segments with spectra in shared memory filter signals and results of 16 bits") {
    ShortCase c;
    c.taps = 300;
    c.filters = 2;
    c.samples = 9000;
    c.range = {0, 9299};
    c.source = c.target = SampleStorage::bfloat16;
    check_segments<8192, true>(c);
}

TEST_CASE("direct sums filter signals and results of 16 bits") {
    for_each_case(100, [](const ShortCase& c) {
        check_sums<false>(c);
        check_sums<true>(c);
    });
}

}  // namespace convolume::gpu
