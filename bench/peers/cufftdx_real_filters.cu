// SPDX-License-Identifier: Apache-2.0
// Times DeviceFilterBank and overlap-save by cuFFTDx in turns, for real signals:
//     convolume_cufftdx_real_filters_bench [rounds]

#include <cstdlib>

#include "bench/peers/cufftdx_bank.cuh"

using namespace convolume;
using namespace convolume::peers;

namespace {

template <unsigned Length, unsigned Elements>
void try_length(const BankCase& bank, BankData& data, const gpu::DeviceBuffer<float>& taps,
                FastestBank& fastest) {
    using Folded =
        cufftdx::RealFFTOptions<cufftdx::complex_layout::natural, cufftdx::real_mode::folded>;
    using Transform =
        decltype(BlockTransform<Length, Elements>() + TransformsPerBlock<Length / Elements>());
    using Forward = decltype(Transform() + cufftdx::Type<cufftdx::fft_type::r2c>() + Folded());
    using Inverse = decltype(Transform() + cufftdx::Type<cufftdx::fft_type::c2r>() + Folded());
    try_segments<Forward, Inverse>(bank, data, taps, fastest);
}

// Returns filters with one more tap of 0 each, so that they are whole pairs.
std::vector<float> paired_taps(const BankCase& bank, const std::vector<float>& taps) {
    const index_t row = bank.taps + 1;
    std::vector<float> paired(static_cast<std::size_t>(row * bank.filters));
    for (index_t f = 0; f < bank.filters; ++f)
        std::copy_n(taps.begin() + f * bank.taps, bank.taps, paired.begin() + f * row);
    return paired;
}

int compare_banks(const BankCase& bank) {
    BankData data(bank);
    const gpu::DeviceBuffer<float> taps(paired_taps(bank, data.host_taps()));
    FastestBank fastest;
    try_length<1024, 8>(bank, data, taps, fastest);
    try_length<1024, 16>(bank, data, taps, fastest);
    try_length<2048, 8>(bank, data, taps, fastest);
    try_length<2048, 16>(bank, data, taps, fastest);
    try_length<4096, 16>(bank, data, taps, fastest);
    try_length<4096, 32>(bank, data, taps, fastest);
    try_length<8192, 16>(bank, data, taps, fastest);
    if (!fastest.run) throw InternalError("no length of segments worked");
    return compare({bank.table(), bank.name(), bank.bytes(), bank.rounds},
                   {data.ours(),
                    {cufftdx_name() + ", fused overlap-save", fastest.run,
                     [&] { return data.error_of(data.their_results.get()); }, fastest.note}});
}

}  // namespace

int main(int argc, char** argv) {
    return for_each_bank(argc > 1 ? std::atoi(argv[1]) : 20, {false}, compare_banks) == 0 ? 0 : 1;
}
