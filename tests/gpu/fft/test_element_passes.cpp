// SPDX-License-Identifier: Apache-2.0
// Runs element passes with the functors of deconvolutions on the host, and compares them with
// reference transforms and with the formulas in double precision.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "deconvolve/formulas.hpp"
#include "gpu/fft/element_kernel.hpp"
#include "gpu/fft/plan.hpp"
#include "tests/catch.hpp"
#include "tests/gpu/fft/fft_support.hpp"
#include "tests/gpu/fft/host_block.hpp"

namespace convolume::gpu {

namespace {

using RowWork = ElementWork<deconvolve::richardson_lucy::ElementFunctor>;

constexpr index_t planes = 3, most_blocks = 2;

// A pass over rows of 2N real samples, in a ring buffer of planes that wraps around. The functor
// works on `count` samples of each row.
template <int N>
struct PassCheck {
    using Sample = std::complex<float>;
    using Shape = ElementShape<N, ElementKind::load>;
    static constexpr index_t length = 2 * N, samples = N + 1, ring = 4, first = 3;
    static constexpr index_t pitch = (samples + 15) / 16 * 16;

    index_t rows = Shape::rows + 2;
    int begin, count;
    std::vector<Sample> spectrum = poisoned<Sample>(ring * (rows + 1) * pitch);
    double sums[2] = {0, 0};

    PassCheck(int first_sample, int last_sample)
        : begin(first_sample), count(last_sample - first_sample) {}

    Sample* row(index_t plane, index_t y) {
        return spectrum.data() + ((first + plane) % ring * (rows + 1) + y) * pitch;
    }
    index_t elements() const { return planes * rows * count; }
    std::size_t element(index_t plane, index_t y, index_t x) const {
        return static_cast<std::size_t>((plane * rows + y) * count + x);
    }

    // Returns random positive samples, between 1 and 9.
    std::vector<float> light(unsigned seed) const {
        auto values = random_samples<float>(elements(), seed);
        for (float& value : values) value = 5 + 4 * value;
        return values;
    }

    template <class Elements = deconvolve::richardson_lucy::ElementFunctor>
    ElementWork<Elements> work(ElementKind kind) const {
        ElementWork<Elements> pass_work;
        pass_work.kind = kind;
        pass_work.rows = rows;
        pass_work.begin = begin;
        pass_work.count = count;
        return pass_work;
    }

    template <ElementKind Kind, class Elements>
    void run(const ElementWork<Elements>& pass_work) {
        REQUIRE(pass_work.kind == Kind);
        const SpectrumPlanes<float> planes_in_ring{spectrum.data(), (rows + 1) * pitch, pitch,
                                                   first, ring};
        double block_sums[2 * most_blocks];
        auto job = element_job(pass_work, planes, planes_in_ring, 1.0 / length, block_sums);
        auto tables = plan_twiddles<float>(Shape::plan);
        const auto pair_tables = pair_twiddles<float>(N);
        tables.insert(tables.end(), pair_tables.begin(), pair_tables.end());
        job.rows.twiddles = tables.data();
        run_on_host(most_blocks, Shape::threads, ElementShape<N, Kind>::shared_bytes,
                    [&](const HostBlock& block) { element_pass<N, Kind>(block, job); });
        sums[0] = block_sums[0] + block_sums[2];
        sums[1] = block_sums[1] + block_sums[3];
    }

    // Fills the ring buffer with the spectra of random rows, and returns these rows.
    std::vector<Signal> fill() {
        std::vector<Signal> values;
        for (index_t i = 0; i < planes * rows; ++i) {
            auto signal = random_samples<std::complex<double>>(length, static_cast<unsigned>(i));
            for (auto& value : signal) value = 3 + 2 * value.real();
            const Signal transformed = reference_transform(signal, forward_sign);
            for (index_t k = 0; k < samples; ++k)
                row(i / rows, i % rows)[k] = Sample(transformed[static_cast<std::size_t>(k)]);
            values.push_back(std::move(signal));
        }
        return values;
    }

    // Compares the spectra with the transforms of the samples that the pass should have made.
    void check_spectrum(const std::vector<double>& wanted) {
        Difference difference;
        for (index_t plane = 0; plane < planes; ++plane)
            for (index_t y = 0; y < rows; ++y) {
                Signal signal(static_cast<std::size_t>(length));
                for (index_t x = 0; x < count; ++x)
                    signal[static_cast<std::size_t>(begin + x)] = wanted[element(plane, y, x)];
                const Signal transformed = reference_transform(signal, forward_sign);
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

// Checks that a load transforms the extrapolation of two estimates, or the newest on a restart.
template <int N>
void check_extrapolation(int begin, int end) {
    PassCheck<N> check(begin, end);
    auto newest = check.light(1), before = check.light(2);
    // This extrapolation would be negative, and is raised to a tenth of the newest sample.
    before[check.element(0, 0, 0)] = 100;
    for (const bool restart : {false, true}) {
        auto kept = std::vector<float>(newest.size(), -1.0F);
        RowWork work = check.work(ElementKind::load);
        work.kept = kept.data();
        work.newest = newest.data();
        work.before = before.data();
        work.restart = restart;
        work.elements.extrapolation = {0.75F, 0.1F};
        check.template run<ElementKind::load>(work);
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
    PassCheck<N> check(begin, end);
    const auto models = check.fill();
    auto data = check.light(3), held = check.light(4);
    data[check.element(0, 0, 1)] = 0;
    std::vector<std::uint16_t> data_is_uint16;
    if (narrow)
        for (float& value : data) {
            data_is_uint16.push_back(static_cast<std::uint16_t>(value));
            value = static_cast<float>(data_is_uint16.back());
        }
    RowWork work = check.work(ElementKind::compare);
    work.data = narrow ? static_cast<const void*>(data_is_uint16.data()) : data.data();
    work.data_is_uint16 = narrow;
    work.elements.model = {0.5F, 2};
    work.elements.less = less;
    work.elements.sums_misfit = sums_misfit;
    if (holds_out) {
        work.held_out = held.data();
        work.elements.held_out_share = 0.25F;
    }
    check.template run<ElementKind::compare>(work);
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
    bool advances = false;  ///< the pass also transforms the new estimates
};

// Checks an update of the estimate. The second and the third plane share a plane of the weight.
template <int N>
void check_step(int begin, int end, const StepCase& step_case) {
    const bool ahead = step_case.ahead, restart = step_case.restart, changes = step_case.changes,
               unmatched = step_case.unmatched;
    PassCheck<N> check(begin, end);
    const auto corrections = check.fill();
    const auto spectrum = check.spectrum;
    auto newest = check.light(5), before = check.light(6), weight = check.light(8);
    const ShortFormat last_format(check.elements(), 5), format(check.elements(), 40);
    const double largest_change = format.lengthened(format.shortened(1e30F));
    std::vector<ShortFloat> change;
    for (const float value : check.light(7)) change.push_back(last_format.shortened(value));
    weight[check.element(0, 0, 2)] = 1e-3F;
    const auto newest_was = newest, before_was = before;
    const auto change_was = change;
    RowWork work = check.work(step_case.advances ? ElementKind::advance : ElementKind::update);
    work.newest = newest.data();
    if (ahead) work.before = before.data();
    work.restart = restart;
    work.elements.extrapolation = {0.5F, 0};
    if (changes) work.change = change.data();
    work.last_format = last_format;
    work.format = format;
    work.weight = weight.data();
    work.equal_planes = {1, 2};
    if (step_case.least_weight) work.elements.least_weight = 1e-2F;
    work.elements.unmatched = unmatched;
    if (step_case.advances)
        check.template run<ElementKind::advance>(work);
    else
        check.template run<ElementKind::update>(work);
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
                const double next = step_case.least_weight && w < 1e-2 ? 0 : point * factor;
                estimates[i] = next;
                const double got = ahead ? before[i] : newest[i];
                wrong += !(std::abs(got - next) <= 3e-5 * (1 + std::abs(next)));
                const double step = next - point;
                const double old =
                    restart ? 0 : static_cast<double>(last_format.lengthened(change_was[i]));
                const double kept = std::clamp(step, -largest_change, largest_change);
                if (changes)
                    wrong += !(std::abs(static_cast<double>(format.lengthened(change[i])) - kept) <=
                               3e-4 * std::abs(kept) + 40.0 / 512);
                products += step * old;
                squares += old * old;
            }
    CHECK(wrong == 0);
    if (ahead) CHECK(newest == newest_was);
    if (changes) {
        CHECK(std::abs(check.sums[0] - products) <= 1e-5 * (std::abs(products) + squares));
        CHECK(std::abs(check.sums[1] - squares) <= near(squares));
    }
    if (step_case.advances)
        check.check_spectrum(estimates);
    else
        CHECK(std::memcmp(spectrum.data(), check.spectrum.data(),
                          spectrum.size() * sizeof(spectrum[0])) == 0);
}

template <int N>
void check_passes() {
    INFO("rows of " << 2 * N);
    const int begin = N / 3, end = 2 * N - N / 4;
    check_extrapolation<N>(0, 2 * N);
    check_extrapolation<N>(begin, end);
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

// A functor with formulas that no method of deconvolution has.
struct ProductElements {
    float factor = 0.5F;

    float point(float newest, float before) const { return newest - factor * before; }
    bool is_compared(float recorded) const { return recorded > 4; }
    template <class Use>
    void with_comparison(const Use& use) const {
        use([this](float recorded, float sample, bool inside, float& sum) {
            if (!inside || !is_compared(recorded)) return 0.0F;
            sum += sample;
            return factor * recorded * sample;
        });
    }
    float held_out_error(float held, float sample) const { return held - sample; }
    template <class Use>
    void with_update(const Use& use) const {
        use([](float point, float sample, float weight) { return point + weight * sample; });
    }
};

// Returns whether `got` and `wanted` differ.
bool differs(double got, double wanted) {
    return !(std::abs(got - wanted) <= 3e-5 * (1 + std::abs(wanted)));
}

template <int N>
void check_any_functor(int begin, int end) {
    PassCheck<N> check(begin, end);
    auto newest = check.light(1), before = check.light(2), data = check.light(3);
    const auto held = check.light(4), weight = check.light(5);
    std::vector<double> wanted(newest.size());
    auto load = check.template work<ProductElements>(ElementKind::load);
    load.newest = newest.data();
    load.before = before.data();
    check.template run<ElementKind::load>(load);
    for (std::size_t i = 0; i < wanted.size(); ++i)
        wanted[i] = newest[i] - 0.5 * static_cast<double>(before[i]);
    check.check_spectrum(wanted);

    const auto for_samples = [&](const std::vector<Signal>& rows, const auto& use) {
        for (index_t row = 0; row < planes * check.rows; ++row)
            for (index_t x = 0; x < check.count; ++x)
                use(static_cast<std::size_t>(row * check.count + x),
                    rows[static_cast<std::size_t>(row)][static_cast<std::size_t>(begin + x)]
                        .real());
    };
    const auto compared = check.fill();
    auto compare = check.template work<ProductElements>(ElementKind::compare);
    compare.data = data.data();
    compare.held_out = held.data();
    check.template run<ElementKind::compare>(compare);
    double sum = 0, squares = 0;
    for_samples(compared, [&](std::size_t i, double sample) {
        const bool counts = data[i] > 4;
        wanted[i] = counts ? 0.5 * static_cast<double>(data[i]) * sample : 0;
        sum += counts ? sample : 0;
        if (held[i] > 4) squares += (held[i] - sample) * (held[i] - sample);
    });
    check.check_spectrum(wanted);
    CHECK(!differs(check.sums[0], sum));
    CHECK(!differs(check.sums[1], squares));

    const auto updated = check.fill();
    const auto newest_was = newest;
    auto update = check.template work<ProductElements>(ElementKind::update);
    update.newest = newest.data();
    update.weight = weight.data();
    check.template run<ElementKind::update>(update);
    index_t wrong = 0;
    for_samples(updated, [&](std::size_t i, double sample) {
        wrong += differs(newest[i], newest_was[i] + weight[i] * sample);
    });
    CHECK(wrong == 0);
}

}  // namespace

TEST_CASE("element passes of an iteration agree with its formulas") {
    check_passes<16>();
    check_passes<28>();
    check_passes<60>();
    check_passes<300>();
    check_passes<384>();
}

TEST_CASE("element passes compute with a functor that no method has") {
    check_any_functor<28>(9, 49);
}

TEST_CASE("element passes over more rows than a CUDA kernel can count are refused") {
    RowWork work;
    work.rows = most_element_rows / 2;
    SpectrumPlanes<float> spectrum;
    spectrum.ring = 3;
    CHECK_NOTHROW(element_job(work, 2, spectrum, 1, nullptr));
    CHECK_THROWS_AS(element_job(work, 3, spectrum, 1, nullptr), Unavailable);
    work.rows = 1;
    CHECK_THROWS_AS(element_job(work, 4, spectrum, 1, nullptr), InternalError);
}

TEST_CASE("element passes of an iteration with three radix stages agree with its formulas") {
    check_passes<528>();
    check_passes<1152>();
}

}  // namespace convolume::gpu
