// SPDX-License-Identifier: Apache-2.0
#include "tests/signals/bank_case.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "convolume/error.hpp"
#include "engines/engines.hpp"
#include "signals/filter_bank_factory.hpp"
#include "tests/support/filter_conformance.hpp"

namespace convolume::testing {

namespace {

Row random_row(Random& random, index_t count, bool complex) {
    Row row;
    for (index_t i = 0; i < count; ++i) {
        const double re = static_cast<float>(random.uniform() - 0.5);
        row.emplace_back(re, complex ? static_cast<float>(random.uniform() - 0.5) : 0.0);
    }
    return row;
}

index_t origin(const FilterOrigin& choice, index_t taps) {
    if (choice.kind == FilterOrigin::Kind::causal) return 0;
    if (choice.kind == FilterOrigin::Kind::anticausal) return taps - 1;
    if (choice.kind == FilterOrigin::Kind::explicit_) return choice.index;
    return (taps - 1) / 2;
}

}  // namespace

std::string BankCase::describe() const {
    std::string text = message(signals.size(), " signals of ", signals[0].size(), ", taps");
    for (const Row& taps : bank) text += message(" ", taps.size());
    text += message(", ", to_string(sample_type()), ", mode ", to_string(options.mode));
    if (options.range) text += message(" range ", options.range->begin, ":", options.range->end);
    return text + message(", origin ", static_cast<int>(options.origin.kind), "/",
                          options.origin.index, ", post ", to_string(options.post), ", window ",
                          to_string(options.window), ", method ", to_string(options.method),
                          " segment ", options.segment);
}

BankCase make_bank_case(Random& random, index_t samples, const std::vector<index_t>& taps,
                        bool complex_data) {
    BankCase c;
    c.complex_data = complex_data;
    c.signals.push_back(random_row(random, samples, complex_data));
    for (const index_t count : taps) c.bank.push_back(random_row(random, count, complex_data));
    return c;
}

Expected expected(const BankCase& c) {
    const auto samples = static_cast<index_t>(c.signals[0].size());
    index_t common = std::numeric_limits<index_t>::min();
    for (const Row& taps : c.bank)
        common = std::max(common, origin(c.options.origin, static_cast<index_t>(taps.size())));
    index_t frame = 0;
    for (const Row& taps : c.bank) {
        const auto count = static_cast<index_t>(taps.size());
        frame = std::max(frame, common - origin(c.options.origin, count) + count);
    }
    Expected e;
    e.range = c.options.range                ? *c.options.range
              : c.options.mode == Mode::full ? SampleRange{0, samples + frame - 1}
              : c.options.mode == Mode::same ? SampleRange{common, common + samples}
                                             : SampleRange{frame - 1, samples};
    const auto windows = windows_of(c.options.window, e.range.count());
    for (const Row& signal : c.signals)
        for (const Row& taps : c.bank) {
            const index_t shift =
                common - origin(c.options.origin, static_cast<index_t>(taps.size()));
            const Row padded =
                filtered(taps, signal, {e.range.begin - 1 - shift, e.range.end + 1 - shift});
            const auto y = [&](index_t n) {
                return padded[static_cast<std::size_t>(n - e.range.begin + 1)];
            };
            const auto value = [&](index_t n) -> std::complex<double> {
                if (c.options.post == PointPost::power) return std::norm(y(n));
                if (c.options.post == PointPost::derivative) return 0.5 * (y(n + 1) - y(n - 1));
                return y(n);
            };
            Row values;
            for (index_t n = e.range.begin; n < e.range.end; ++n) values.push_back(value(n));
            Row row;
            for (const Window& window : windows) {
                const auto begin = values.begin() + window.begin;
                const auto larger = [](const auto& a, const auto& b) {
                    return a.real() < b.real();
                };
                row.push_back(c.options.window.kind == WindowPost::Kind::peak
                                  ? *std::max_element(begin, values.begin() + window.end, larger)
                                  : *begin);
            }
            e.unreduced.push_back(std::move(values));
            e.rows.push_back(std::move(row));
        }
    return e;
}

FilterEngineList cpu_filter_engines(int threads) {
    EngineChoice choice;
    choice.device = EngineChoice::Device::cpu;
    choice.threads = threads;
    return make_filter_engines(choice);
}

FilterBank make_bank(const BankCase& c, const FilterEngineList& engines) {
    return make_bank(c, engines, c.shape());
}

FilterBank make_bank(const BankCase& c, const FilterEngineList& engines, const SignalShape& shape) {
    std::vector<Volume> filters;
    std::vector<ConstImageView> views;
    for (const Row& taps : c.bank) {
        Array array({1, 1, static_cast<index_t>(taps.size())});
        std::copy(taps.begin(), taps.end(), array.values.begin());
        filters.push_back(to_volume(array, c.sample_type()));
    }
    for (const Volume& filter : filters) views.push_back(filter.view());
    return FilterBankFactory::make(shape, views, c.options, engines,
                                   pixel_type(Precision::float32, c.complex_data));
}

Volume signals_of(const BankCase& c, PixelType type) {
    Array array({1, c.shape().signals, c.shape().samples});
    auto next = array.values.begin();
    for (const Row& signal : c.signals) next = std::copy(signal.begin(), signal.end(), next);
    return to_volume(array, type);
}

std::string defect(const BankCase& c, const ConstImageView& results, const index_t* positions) {
    const Expected want = expected(c);
    const Array got = to_array(results);
    const auto windows = windows_of(c.options.window, want.range.count());
    const bool power = c.options.post == PointPost::power;
    for (std::size_t row = 0; row < want.rows.size(); ++row) {
        const auto s = row / c.bank.size();
        const auto f = row % c.bank.size();
        double size = level(c.bank[f], c.signals[s]);
        if (power) size = 3 * size * size;
        Row stored;
        for (index_t i = 0; i < results.shape.x; ++i)
            stored.push_back(got(static_cast<index_t>(s), static_cast<index_t>(f), i));
        if (stored.size() != want.rows[row].size())
            return message(stored.size(), " results instead of ", want.rows[row].size());
        const double error = relative_error(want.rows[row], stored, size);
        const double allowed = (1 + 2 / std::sqrt(static_cast<double>(stored.size()))) *
                               (power ? 2 : 1) * filter_tolerance(c.options.precision);
        if (!(error < allowed))
            return message("signal ", s, " filter ", f, ": error ", error, " of ", allowed);
        if (!positions) continue;
        for (std::size_t w = 0; w < stored.size(); ++w) {
            const index_t n = positions[row * stored.size() + w] - want.range.begin;
            if (n < windows[w].begin || n >= windows[w].end)
                return message("peak ", w, " of filter ", f, " outside its window, at ", n);
            const double value_there = want.unreduced[row][static_cast<std::size_t>(n)].real();
            if (want.rows[row][w].real() - value_there >
                30 * filter_tolerance(c.options.precision) * size)
                return message("peak ", w, " of filter ", f, " at ", n, ", where ", value_there,
                               " is");
        }
    }
    return {};
}

std::string run_in_memory(const BankCase& c, const FilterEngineList& engines) {
    const FilterBank bank = make_bank(c, engines);
    const Volume signals = signals_of(c, c.sample_type());
    for (int execution = 1; execution <= 2; ++execution) {
        Volume results({c.shape().signals, bank.filters(), bank.result_samples()},
                       bank.result_type());
        poison(results.view());
        std::vector<index_t> positions(static_cast<std::size_t>(element_count(results.shape())),
                                       -12345);
        const bool peaks = c.options.window.kind == WindowPost::Kind::peak;
        bank.execute(signals.view(), results.view(), peaks ? positions.data() : nullptr);
        const std::string wrong = defect(c, results.view(), peaks ? positions.data() : nullptr);
        if (!wrong.empty()) return message("execution ", execution, ": ", wrong);
    }
    return {};
}

}  // namespace convolume::testing
