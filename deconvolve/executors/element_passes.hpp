// SPDX-License-Identifier: Apache-2.0
#pragma once
// Element passes (gpu/fft/element_job.hpp) with the functor of Richardson and Lucy.

#include <vector>

#include "deconvolve/formulas.hpp"
#include "gpu/fft/element_passes.hpp"

namespace convolume::deconvolve {

/// A length of complex rows, and the cost of its element passes: the time of an iteration, averaged
/// over those with and without acceleration, in tenths of a picosecond a real sample. Measured by
/// bench/gpu_passes elements on an H200 (528: on an H100, relative to 540).
struct ElementLength {
    short n, cost;
};
/// The lengths that element passes are compiled for: multiples of 4 in gpu::lengths. Real rows are
/// twice as long.
inline constexpr ElementLength element_lengths[] = {
    {20, 179},   {28, 134},   {36, 170},   {48, 127},   {56, 157},   {60, 128},   {64, 123},
    {72, 121},   {80, 120},   {96, 121},   {100, 146},  {108, 122},  {112, 119},  {120, 141},
    {144, 112},  {160, 112},  {168, 124},  {180, 121},  {192, 111},  {200, 123},  {224, 108},
    {240, 122},  {256, 101},  {288, 106},  {300, 115},  {320, 109},  {336, 118},  {360, 121},
    {384, 108},  {420, 127},  {448, 114},  {480, 119},  {512, 102},  {528, 119},  {540, 120},
    {560, 127},  {576, 120},  {600, 119},  {640, 141},  {672, 141},  {720, 124},  {768, 115},
    {800, 123},  {840, 129},  {864, 116},  {900, 122},  {960, 116},  {1024, 107}, {1152, 121},
    {1200, 129}, {1280, 142}, {1344, 119}, {1440, 118}, {1536, 120}, {1600, 154}, {1680, 137},
    {1792, 127}, {1920, 129}, {2048, 132},
};

/// Returns the length of real rows that has element passes, is at least `least`, and costs least.
/// Returns 0 if there is none.
index_t good_element_length(index_t least);

/// Returns the element passes of all lengths.
const gpu::ElementPasses<richardson_lucy::ElementFunctor>& element_passes();

/// Returns the passes of one group of element_lengths. Each group is compiled in a file of its own,
/// made from element_passes.cu.in.
template <int Group>
std::vector<gpu::ElementPass<richardson_lucy::ElementFunctor>> compiled_element_passes();

}  // namespace convolume::deconvolve
