// SPDX-License-Identifier: Apache-2.0
// Passes over rows with a stage, on the host: transforms by FFTW and the formulas in double
// precision are what they must give.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "gpu/fft/plan.hpp"
#include "gpu/fft/stage_kernel.hpp"
#include "tests/catch.hpp"
#include "tests/gpu/fft/fft_support.hpp"
#include "tests/gpu/fft/host_block.hpp"

namespace convolume::gpu {

namespace {

constexpr index_t planes = 3, most_blocks = 2;

// Rows of 2N real samples of which some are the stage's, in a ring of planes that wraps.
template <int N>
struct StageCheck {
    using Sample = std::complex<float>;
    using Shape = StageShape<N, StageWork::load>;
    static constexpr index_t length = 2 * N, samples = N + 1, ring = 4, first = 3;
    static constexpr index_t pitch = (samples + 15) / 16 * 16;

    index_t rows = Shape::rows + 2;
    int begin, count;
    std::vector<Sample> spectrum = poisoned<Sample>(ring * (rows + 1) * pitch);
    double sums[2] = {0, 0};

    StageCheck(int first_sample, int last_sample)
        : begin(first_sample), count(last_sample - first_sample) {}

    Sample* row(index_t plane, index_t y) {
        return spectrum.data() + ((first + plane) % ring * (rows + 1) + y) * pitch;
    }
    index_t elements() const { return planes * rows * count; }
    std::size_t element(index_t plane, index_t y, index_t x) const {
        return static_cast<std::size_t>((plane * rows + y) * count + x);
    }

    // Positive, as light is.
    std::vector<float> light(unsigned seed) const {
        auto values = random_samples<float>(elements(), seed);
        for (float& value : values) value = 5 + 4 * value;
        return values;
    }

    RowStage stage(RowStage::Kind kind) const {
        RowStage made;
        made.kind = kind;
        made.rows = rows;
        made.begin = begin;
        made.count = count;
        return made;
    }

    template <StageWork Work>
    void run(const RowStage& made) {
        REQUIRE(work_of(made.kind) == Work);
        const SpectrumPlanes<float> there{spectrum.data(), (rows + 1) * pitch, pitch, first, ring};
        double of_blocks[2 * most_blocks];
        StageJob job = stage_job(made, planes, there, 1.0 / length, of_blocks);
        auto tables = plan_twiddles<float>(Shape::value);
        const auto of_pairs = pair_twiddles<float>(N);
        tables.insert(tables.end(), of_pairs.begin(), of_pairs.end());
        job.rows.twiddles = tables.data();
        run_on_host(most_blocks, Shape::threads, StageShape<N, Work>::shared_bytes,
                    [&](const HostBlock& block) { stage_pass<N, Work>(block, job); });
        sums[0] = of_blocks[0] + of_blocks[2];
        sums[1] = of_blocks[1] + of_blocks[3];
    }

    // Random rows of all samples, and their spectra in place; light where the stage looks.
    std::vector<Signal> fill() {
        std::vector<Signal> values;
        for (index_t i = 0; i < planes * rows; ++i) {
            auto signal = random_samples<std::complex<double>>(length, static_cast<unsigned>(i));
            for (auto& value : signal) value = 3 + 2 * value.real();
            const Signal transformed = fftw(signal, forward_sign);
            for (index_t k = 0; k < samples; ++k)
                row(i / rows, i % rows)[k] = Sample(transformed[static_cast<std::size_t>(k)]);
            values.push_back(std::move(signal));
        }
        return values;
    }

    // Against the transforms of what the stage should have made.
    void check_spectrum(const std::vector<double>& wanted) {
        Difference difference;
        for (index_t plane = 0; plane < planes; ++plane)
            for (index_t y = 0; y < rows; ++y) {
                Signal signal(static_cast<std::size_t>(length));
                for (index_t x = 0; x < count; ++x)
                    signal[static_cast<std::size_t>(begin + x)] = wanted[element(plane, y, x)];
                const Signal transformed = fftw(signal, forward_sign);
                for (index_t k = 0; k < samples; ++k)
                    difference.add(std::complex<double>(row(plane, y)[k]),
                                   transformed[static_cast<std::size_t>(k)]);
            }
        CHECK(difference.relative() < 3 * tolerance<float>(length));
    }
};

double near(double value) {
    return 2e-6 * std::abs(value);
}

template <int N>
void check_point(int begin, int end) {
    StageCheck<N> check(begin, end);
    auto newest = check.light(1), before = check.light(2);
    before[check.element(0, 0, 0)] =
        100;  // so far that the point ahead falls below its least share
    for (const bool restart : {false, true}) {
        auto kept = std::vector<float>(newest.size(), -1.0F);
        RowStage stage = check.stage(RowStage::Kind::point);
        stage.kept = kept.data();
        stage.newest = newest.data();
        stage.before = before.data();
        stage.restart = restart;
        stage.ahead = {0.75F, 0.1F};
        check.template run<StageWork::load>(stage);
        std::vector<double> wanted;
        for (std::size_t i = 0; i < newest.size(); ++i) {
            const double x = newest[i];
            wanted.push_back(restart ? x : std::max(x + 0.75 * (x - before[i]), 0.1F * x));
        }
        check.check_spectrum(wanted);
        index_t wrong = 0;
        for (std::size_t i = 0; i < kept.size(); ++i)
            wrong += !(std::abs(static_cast<double>(kept[i]) - wanted[i]) <= near(wanted[i]));
        CHECK(wrong == 0);
    }
}

template <int N>
void check_ratio(int begin, int end, bool holds_out, bool narrow = false, float less = 0,
                 bool sums_misfit = true) {
    StageCheck<N> check(begin, end);
    const auto models = check.fill();
    auto data = check.light(3), held = check.light(4);
    data[check.element(0, 0, 1)] = 0;
    std::vector<std::uint16_t> narrow_data;
    if (narrow)
        for (float& value : data) {
            narrow_data.push_back(static_cast<std::uint16_t>(value));
            value = static_cast<float>(narrow_data.back());
        }
    RowStage stage = check.stage(RowStage::Kind::ratio);
    stage.data = narrow ? static_cast<const void*>(narrow_data.data()) : data.data();
    stage.narrow_data = narrow;
    stage.model = {0.5F, 2};
    stage.less = less;
    stage.misfit = sums_misfit;
    if (holds_out) {
        stage.held = held.data();
        stage.held_share = 0.25F;
    }
    check.template run<StageWork::compare>(stage);
    std::vector<double> wanted(data.size());
    double misfit = 0, squares = 0;
    for (index_t plane = 0; plane < planes; ++plane)
        for (index_t y = 0; y < check.rows; ++y)
            for (index_t x = 0; x < check.count; ++x) {
                const std::size_t i = check.element(plane, y, x);
                const double model = models[static_cast<std::size_t>(plane * check.rows + y)]
                                           [static_cast<std::size_t>(begin + x)]
                                               .real();
                const double m = std::max(model + 0.5, 2.0), d = data[i];
                wanted[i] = d / m - less;
                misfit += sums_misfit ? m - d + (d > 0 ? d * std::log(d / m) : 0) : 1e-10 * model;
                squares += (held[i] - 0.25 * m) * (held[i] - 0.25 * m);
            }
    check.check_spectrum(wanted);
    CHECK(std::abs(check.sums[0] - misfit) < 4 * near(misfit));
    if (holds_out)
        CHECK(std::abs(check.sums[1] - squares) < 4 * near(squares));
    else
        CHECK(check.sums[1] == 0);
}

struct StepCase {
    bool ahead = false, restart = true, changes = false;
    bool unmatched = false;
    bool least_weight = true;
    bool advances = false;  ///< the estimates' spectra are wanted too
};

// The planes of the weight between the second and the third are alike.
template <int N>
void check_step(int begin, int end, const StepCase& of) {
    const bool ahead = of.ahead, restart = of.restart, changes = of.changes,
               unmatched = of.unmatched;
    StageCheck<N> check(begin, end);
    const auto corrections = check.fill();
    const auto spectrum = check.spectrum;
    auto newest = check.light(5), before = check.light(6), weight = check.light(8);
    const ShortFormat last_format(check.elements(), 5), format(check.elements(), 40);
    const double largest_change = format.lengthened(format.shortened(1e30F));
    std::vector<ShortFloat> change;
    for (const float value : check.light(7)) change.push_back(last_format.shortened(value));
    weight[check.element(0, 0, 2)] = 1e-3F;
    const auto newest_was = newest, before_was = before, change_was = change;
    RowStage stage = check.stage(of.advances ? RowStage::Kind::advance : RowStage::Kind::step);
    stage.newest = newest.data();
    if (ahead) stage.before = before.data();
    stage.restart = restart;
    stage.ahead = {0.5F, 0};
    if (changes) stage.change = change.data();
    stage.last_format = last_format;
    stage.format = format;
    stage.weight = weight.data();
    stage.alike = {1, 2};
    if (of.least_weight) stage.least_weight = 1e-2F;
    stage.unmatched = unmatched;
    if (of.advances)
        check.template run<StageWork::advance>(stage);
    else
        check.template run<StageWork::step>(stage);
    std::vector<double> estimates(newest.size());
    double products = 0, squares = 0;
    index_t wrong = 0;
    for (index_t plane = 0; plane < planes; ++plane)
        for (index_t y = 0; y < check.rows; ++y)
            for (index_t x = 0; x < check.count; ++x) {
                const std::size_t i = check.element(plane, y, x);
                const double c = corrections[static_cast<std::size_t>(plane * check.rows + y)]
                                            [static_cast<std::size_t>(begin + x)]
                                                .real();
                const double w = weight[check.element(plane == 2 ? 1 : plane, y, x)];
                const double value = newest_was[i];
                const double point = ahead && !restart
                                         ? std::max(value + 0.5 * (value - before_was[i]), 0.0)
                                         : value;
                const double factor = unmatched ? std::max(1 + c, 0.1) : c / w;
                const double next = of.least_weight && w < 1e-2 ? 0 : point * factor;
                estimates[i] = next;
                const double got = ahead ? before[i] : newest[i];
                wrong += !(std::abs(got - next) <= 3e-5 * (1 + std::abs(next)));
                const double made = next - point;
                const double old =
                    restart ? 0 : static_cast<double>(last_format.lengthened(change_was[i]));
                const double kept = std::clamp(made, -largest_change, largest_change);
                if (changes)
                    wrong += !(std::abs(static_cast<double>(format.lengthened(change[i])) - kept) <=
                               3e-4 * std::abs(kept) + 40.0 / 512);
                products += made * old;
                squares += old * old;
            }
    CHECK(wrong == 0);
    if (ahead) CHECK(newest == newest_was);
    if (changes) {
        CHECK(std::abs(check.sums[0] - products) <= 1e-5 * (std::abs(products) + squares));
        CHECK(std::abs(check.sums[1] - squares) <= near(squares));
    }
    if (of.advances)
        check.check_spectrum(estimates);
    else
        CHECK(std::memcmp(spectrum.data(), check.spectrum.data(),
                          spectrum.size() * sizeof(spectrum[0])) == 0);
}

template <int N>
void check_stages() {
    INFO("rows of " << 2 * N);
    const int begin = N / 3, end = 2 * N - N / 4;
    check_point<N>(0, 2 * N);
    check_point<N>(begin, end);
    check_ratio<N>(begin, end, false);
    check_ratio<N>(0, end, true);
    check_ratio<N>(0, 2 * N, false, true);
    check_ratio<N>(begin, end, false, true);
    check_ratio<N>(begin, end, true, false, 1);
    check_ratio<N>(begin, end, false, true, 0, false);
    check_step<N>(0, end, {});
    check_step<N>(0, 2 * N, {.ahead = true, .changes = true});
    check_step<N>(begin, end, {.ahead = true, .restart = false, .changes = true});
    check_step<N>(begin, end, {.ahead = true, .restart = false});
    check_step<N>(begin, end, {.unmatched = true});
    check_step<N>(0, 2 * N, {.ahead = true, .changes = true, .unmatched = true});
    check_step<N>(begin, end,
                  {.ahead = true, .restart = false, .changes = true, .least_weight = false});
    check_step<N>(begin, end, {.advances = true});
    check_step<N>(0, 2 * N, {.unmatched = true, .advances = true});
}

}  // namespace

TEST_CASE("rows with stages of an iteration") {
    check_stages<16>();
    check_stages<28>();
    check_stages<60>();
    check_stages<300>();
    check_stages<320>();
    check_stages<384>();
}

TEST_CASE("more rows with a stage than a kernel counts are refused") {
    RowStage stage;
    stage.rows = most_stage_rows / 2;
    SpectrumPlanes<float> spectrum;
    spectrum.ring = 3;
    CHECK_NOTHROW(stage_job(stage, 2, spectrum, 1, nullptr));
    CHECK_THROWS_AS(stage_job(stage, 3, spectrum, 1, nullptr), Unavailable);
    stage.rows = 1;
    CHECK_THROWS_AS(stage_job(stage, 4, spectrum, 1, nullptr), InternalError);
}

TEST_CASE("rows with stages of an iteration, three steps of a transform") {
    check_stages<528>();
    check_stages<1152>();
}

}  // namespace convolume::gpu
