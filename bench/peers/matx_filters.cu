// SPDX-License-Identifier: Apache-2.0
// Times DeviceFilterBank and MatX's conv1d in turns, by FFT and by direct sums:
//     convolume_matx_filters_bench [rounds]

#include <cstdlib>

#include "bench/peers/bank.cuh"
#include "bench/peers/matx.cuh"
#include "core/fft_size.hpp"

using namespace convolume;
using namespace convolume::peers;

namespace {

// Returns the least even length of at least `least` that has no prime factors above 7.
index_t fast_length(index_t least) {
    index_t length = least + least % 2;
    while (!is_7_smooth(length)) length += 2;
    return length;
}

// Returns filters with as many zeros on both sides that MatX's transforms, of samples + taps - 1
// points, have a fast length. In mode same the results stay.
std::vector<float> widened_filters(const BankCase& bank, const std::vector<float>& taps,
                                   index_t wide) {
    std::vector<float> filters(static_cast<std::size_t>(bank.floats() * wide * bank.filters));
    const index_t row = bank.floats() * bank.taps, zeros = bank.floats() * (wide - bank.taps) / 2;
    for (index_t f = 0; f < bank.filters; ++f)
        std::copy_n(taps.begin() + f * row, row,
                    filters.begin() + f * bank.floats() * wide + zeros);
    return filters;
}

template <class T>
int compare_banks(const BankCase& bank) {
    BankData data(bank);
    index_t wide = fast_length(bank.samples + bank.taps - 1) - bank.samples + 1;
    if (wide % 2 == 0) throw InternalError("a filter of an even number of taps has another middle");
    const gpu::DeviceBuffer<float> wide_taps(widened_filters(bank, data.host_taps(), wide));
    const auto in = matx_vector<T>(data.signal.get(), bank.samples);
    const auto filters = matx_matrix<T>(data.taps.get(), bank.filters, bank.taps);
    const auto wide_filters = matx_matrix<T>(wide_taps.get(), bank.filters, wide);
    auto out = matx_matrix<T>(data.their_results.get(), bank.filters, bank.samples);
    const matx::cudaExecutor executor{};
    const auto error = [&] { return data.error_of(data.their_results.get()); };
    const auto convolve = [&](const auto& h, matx::matxConvCorrMethod_t method) {
        (out = matx::conv1d(in, h, matx::MATX_C_MODE_SAME, method)).run(executor);
    };
    std::vector<Contender> contenders{data.ours()};
    contenders.push_back({"MatX conv1d, FFT", [&] { convolve(filters, matx::MATX_C_METHOD_FFT); },
                          error, "one transform of the signal for each filter"});
    contenders.push_back({"MatX conv1d, FFT of a fast length",
                          [&] { convolve(wide_filters, matx::MATX_C_METHOD_FFT); }, error,
                          "filters padded to " + std::to_string(wide) + " taps"});
    contenders.push_back(
        {"MatX conv1d, direct", [&] { convolve(filters, matx::MATX_C_METHOD_DIRECT); }, error});
    return compare({bank.table(), bank.name(), bank.bytes(), bank.rounds}, contenders);
}

}  // namespace

int main(int argc, char** argv) {
    const int rounds = argc > 1 ? std::atoi(argv[1]) : 10;
    const int failures = for_each_bank(rounds, {true, false}, [](const BankCase& bank) {
        keep_pool_memory();
        return bank.complex_data ? compare_banks<MatxComplex>(bank) : compare_banks<float>(bank);
    });
    return failures == 0 ? 0 : 1;
}
