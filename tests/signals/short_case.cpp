// SPDX-License-Identifier: Apache-2.0
#include "tests/signals/short_case.hpp"

#include <algorithm>
#include <cmath>

#include "tests/support/short_samples.hpp"

namespace convolume::testing {

namespace {

// Rounds the signals of `c` to their storage, and returns the elements.
Volume store_signals(BankCase& c) {
    const FilterOptions& options = c.options;
    if (options.signal_storage == SampleStorage::plain) return signals_of(c, c.sample_type());
    const index_t parts = c.complex_data ? 2 : 1;
    Volume stored({1, c.shape().signals, c.shape().samples * parts},
                  element_type(options.signal_storage));
    auto* next = static_cast<std::uint16_t*>(stored.view().data);
    const auto round = [&](double value) {
        *next = nearest_word(value / options.signal_scale, options.signal_storage);
        return value_of(*next++, options.signal_storage) * options.signal_scale;
    };
    for (Row& signal : c.signals)
        for (std::complex<double>& sample : signal) {
            const double re = round(sample.real());
            sample = {re, parts == 2 ? round(sample.imag()) : 0};
        }
    return stored;
}

}  // namespace

std::string ShortCase::describe() const {
    const FilterOptions& options = bank.options;
    return message(bank.describe(), ", signals ", to_string(options.signal_storage), " × ",
                   options.signal_scale, ", results ", to_string(options.result_storage), " × ",
                   options.result_scale);
}

ShortCase random_short_case(Random& random) {
    std::vector<index_t> taps;
    for (index_t f = random.pick<index_t>({1, 2, 3, 5}); f > 0; --f)
        taps.push_back(random.chance(0.1) ? random.integer(100, 3000) : random.integer(1, 90));
    const index_t samples =
        random.chance(0.8) ? random.integer(1, 3000) : random.integer(3000, 30000);
    BankCase c = make_bank_case(random, samples, taps, random.chance(0.4));
    for (index_t s = random.pick<index_t>({0, 0, 1, 4}); s > 0; --s)
        c.signals.push_back(make_bank_case(random, samples, {1}, c.complex_data).signals[0]);
    FilterOptions& options = c.options;
    options.origin.kind = random.pick(
        {FilterOrigin::Kind::center, FilterOrigin::Kind::causal, FilterOrigin::Kind::anticausal});
    options.mode = random.pick({Mode::full, Mode::same});
    options.post = random.pick({PointPost::none, PointPost::power, PointPost::derivative});
    if (random.chance(0.2)) options.window = {WindowPost::Kind::decimate, random.integer(1, 90)};
    const auto any = {SampleStorage::plain, SampleStorage::float16, SampleStorage::bfloat16,
                      SampleStorage::int16};
    do {
        options.signal_storage = random.pick(any);
        options.result_storage = random.pick(any);
    } while (options.signal_storage == SampleStorage::plain &&
             options.result_storage == SampleStorage::plain);
    if (options.signal_storage == SampleStorage::int16)
        options.signal_scale = random.pick({1.0 / 1024, 3e-5});
    if (options.result_storage == SampleStorage::int16)  // the small one clamps many results
        options.result_scale = random.pick({1.0 / 256, 1e-4});
    Volume signals = store_signals(c);
    return {std::move(c), std::move(signals)};
}

std::string short_defect(const ShortCase& c, const void* results, const ClampCount& clamped) {
    const FilterOptions& options = c.bank.options;
    const SampleStorage storage = options.result_storage;
    const bool power = options.post == PointPost::power;
    const index_t parts = c.bank.complex_data && !power ? 2 : 1;
    const Expected want = expected(c.bank);
    ClampCount least, most;  // the numbers of results that are clamped, with errors in mind
    index_t at = 0;
    for (std::size_t row = 0; row < want.rows.size(); ++row) {
        const double size =
            level(c.bank.bank[row % c.bank.bank.size()], c.bank.signals[row / c.bank.bank.size()]);
        for (const std::complex<double>& value : want.rows[row])
            for (index_t part = 0; part < parts; ++part, ++at) {
                const double right = part == 0 ? value.real() : value.imag();
                double error = 5e-6 * size;  // of the arithmetic in float32
                if (power) error *= 2 * (std::sqrt(right) + error);
                const double step = storage == SampleStorage::int16 ? options.result_scale : 1;
                bool good = false;
                if (storage == SampleStorage::plain) {
                    good = std::abs(static_cast<const float*>(results)[at] - right) <= error;
                } else {
                    good = is_rounded(static_cast<const std::uint16_t*>(results)[at], right / step,
                                      error / step, storage);
                }
                if (!good) return message("result ", at, " is not ", right, " within ", error);
                if (storage != SampleStorage::int16) continue;
                least.low += (right + error) / step < -32768.5 ? 1 : 0;
                most.low += (right - error) / step < -32768.5 ? 1 : 0;
                least.high += (right - error) / step >= 32767.5 ? 1 : 0;
                most.high += (right + error) / step >= 32767.5 ? 1 : 0;
            }
    }
    if (clamped.low < least.low || clamped.low > most.low || clamped.high < least.high ||
        clamped.high > most.high)
        return message(clamped.low, " and ", clamped.high, " clamped results instead of ",
                       least.low, " and ", least.high);
    return {};
}

std::string run_short(const ShortCase& c, const FilterEngineList& engines) {
    const FilterBank bank = make_bank(c.bank, engines);
    Volume results(
        {c.bank.shape().signals, bank.filters(), bank.result_samples() * bank.result_elements()},
        bank.result_type());
    const ExecutionReport report = bank.execute(c.signals.view(), results.view());
    return short_defect(c, results.view().data, {report.clamped_low, report.clamped_high});
}

}  // namespace convolume::testing
