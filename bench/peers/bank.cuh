// SPDX-License-Identifier: Apache-2.0
#pragma once
// A bank of filters and its signal in device memory, for peers that filter: the library's own bank,
// and sums in double precision.

#include <optional>
#include <utility>

#include "bench/peers/rounds.cuh"
#include "convolume/device_signals.hpp"

namespace convolume::peers {

/// Sizes of a bank. Results are those of mode same, with the origin (taps - 1) / 2.
struct BankCase {
    bool complex_data = false;
    index_t taps = 257, filters = 8, samples = 2097152;
    int rounds = 20;

    index_t floats() const { return complex_data ? 2 : 1; }  ///< numbers of a sample
    std::string table() const {
        return complex_data ? "filter bank, complex" : "filter bank, real";
    }
    std::string name() const { return std::to_string(filters) + " × " + std::to_string(taps); }
    index_t bytes() const { return 4 * floats() * samples * (1 + filters); }
};

/// Signal, taps and results of the library and of a peer.
class BankData {
  public:
    static constexpr unsigned signal_seed = 3, taps_seed = 4;

    explicit BankData(const BankCase& bank_case)
        : case_(bank_case),
          host_taps_(random_values(case_.floats() * case_.taps * case_.filters, taps_seed)),
          signal(case_.floats() * case_.samples),
          taps(host_taps_),
          our_results(case_.floats() * case_.samples * case_.filters),
          their_results(case_.floats() * case_.samples * case_.filters) {
        fill_randomly(signal.get(), case_.floats() * case_.samples, signal_seed);
    }

    const std::vector<float>& host_taps() const { return host_taps_; }

    /// Returns the library's bank.
    Contender ours() {
        std::vector<ConstImageView> views;
        for (index_t f = 0; f < case_.filters; ++f) {
            const float* const first = host_taps_.data() + f * case_.taps * case_.floats();
            const Shape3 shape{1, 1, case_.taps};
            if (case_.complex_data)
                views.push_back(
                    view_of(reinterpret_cast<const std::complex<float>*>(first), shape));
            else
                views.push_back(view_of(first, shape));
        }
        DeviceFilterOptions device;
        if (case_.complex_data) device.signal_type = PixelType::complex64;
        bank_.emplace(SignalShape{1, case_.samples}, views, FilterOptions{}, device);
        return {"convolume", [this] { bank_->execute(signal.get(), our_results.get()); },
                [this] { return error_of(our_results.get()); },
                "segments of " + std::to_string(bank_->plan().segment)};
    }

    /// Returns the relative error of results of the first and the last filter.
    double error_of(const void* results) const {
        RelativeError error;
        for (const index_t filter : {index_t{0}, case_.filters - 1})
            for (const index_t n : positions_to_check(case_.samples, 60))
                error.add(found_at(results, filter * case_.samples + n), sum_at(filter, n));
        return error.value();
    }

  private:
    std::complex<double> found_at(const void* results, index_t position) const {
        if (case_.complex_data) return read_element<std::complex<float>>(results, position);
        return static_cast<double>(read_element<float>(results, position));
    }
    std::complex<double> sum_at(index_t filter, index_t n) const {
        std::complex<double> sum = 0;
        for (index_t k = 0; k < case_.taps; ++k) {
            const index_t i = n + (case_.taps - 1) / 2 - k, tap = filter * case_.taps + k;
            if (i < 0 || i >= case_.samples) continue;
            sum += case_.complex_data
                       ? random_complex(tap, taps_seed) * random_complex(i, signal_seed)
                       : std::complex<double>(double{random_value(tap, taps_seed)} *
                                              double{random_value(i, signal_seed)});
        }
        return sum;
    }

    BankCase case_;
    std::vector<float> host_taps_;
    std::optional<DeviceFilterBank> bank_;

  public:
    gpu::DeviceBuffer<float> signal, taps, our_results, their_results;
};

/// Calls `compare_banks` for the banks of the tables, and returns how many cases failed.
template <class Compare>
int for_each_bank(int rounds, std::initializer_list<bool> kinds, const Compare& compare_banks) {
    int failures = 0;
    for (const bool complex_data : kinds)
        for (const index_t filters : {8, 32}) {
            const BankCase bank{complex_data, 257, filters, 2097152, rounds};
            try {
                failures += compare_banks(bank);
            } catch (const std::exception& error) {
                report_failure(bank.table(), bank.name(), error.what());
                ++failures;
            }
        }
    return failures;
}

}  // namespace convolume::peers
