// SPDX-License-Identifier: Apache-2.0
// Times DeviceFilterBank and overlap-save by cuFFTDx in turns, for complex signals:
//     convolume_cufftdx_complex_filters_bench [rounds]

#include <cstdlib>

#include "bench/peers/cufftdx_bank.cuh"

using namespace convolume;
using namespace convolume::peers;

namespace {

template <unsigned Length, unsigned Elements>
void try_length(const BankCase& bank, BankData& data, FastestBank& fastest) {
    using Transform =
        decltype(BlockTransform<Length, Elements>() + cufftdx::Type<cufftdx::fft_type::c2c>() +
                 TransformsPerBlock<Length / Elements>());
    using Forward = decltype(Transform() + cufftdx::Direction<cufftdx::fft_direction::forward>());
    using Inverse = decltype(Transform() + cufftdx::Direction<cufftdx::fft_direction::inverse>());
    try_segments<Forward, Inverse>(bank, data, data.taps, fastest);
}

int compare_banks(const BankCase& bank) {
    BankData data(bank);
    FastestBank fastest;
    try_length<512, 8>(bank, data, fastest);
    try_length<1024, 8>(bank, data, fastest);
    try_length<1024, 16>(bank, data, fastest);
    try_length<2048, 8>(bank, data, fastest);
    try_length<2048, 16>(bank, data, fastest);
    try_length<4096, 8>(bank, data, fastest);
    try_length<4096, 16>(bank, data, fastest);
    if (!fastest.run) throw InternalError("no length of segments worked");
    return compare({bank.table(), bank.name(), bank.bytes(), bank.rounds},
                   {data.ours(),
                    {cufftdx_name() + ", fused overlap-save", fastest.run,
                     [&] { return data.error_of(data.their_results.get()); }, fastest.note}});
}

}  // namespace

int main(int argc, char** argv) {
    return for_each_bank(argc > 1 ? std::atoi(argv[1]) : 20, {true}, compare_banks) == 0 ? 0 : 1;
}
