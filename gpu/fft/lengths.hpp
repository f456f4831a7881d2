#pragma once
// The lengths that passes are compiled for. Real rows are twice as long.

#include <array>
#include <cstddef>

namespace convolume::gpu {

template <class Real>
inline constexpr std::array lengths = {
    1,    2,    3,    4,    5,    6,    7,    8,    9,    10,   11,   12,   13,   14,   15,
    16,   18,   20,   21,   24,   25,   27,   28,   30,   32,   35,   36,   40,   42,   45,
    48,   50,   54,   56,   60,   64,   70,   72,   75,   80,   84,   90,   96,   100,  108,
    112,  120,  128,  135,  144,  150,  160,  168,  180,  192,  200,  216,  224,  240,  256,
    270,  288,  300,  320,  336,  360,  384,  400,  420,  432,  448,  480,  512,  540,  560,
    576,  600,  640,  672,  720,  768,  800,  840,  864,  900,  960,  1000, 1024, 1080, 1120,
    1152, 1200, 1280, 1344, 1440, 1536, 1600, 1680, 1728, 1792, 1920, 2048, 2160, 2240, 2304,
    2400, 2560, 2688, 2880, 3072, 3200, 3456, 3584, 3840, 4096};
template <>
inline constexpr std::array lengths<double> = {
    1,    2,    3,    4,    5,    6,    7,    8,    9,    10,   11,   12,  13,   14,   15,
    16,   18,   20,   21,   24,   27,   30,   32,   36,   40,   45,   48,  54,   60,   64,
    72,   80,   90,   96,   108,  120,  128,  144,  160,  180,  192,  216, 240,  256,  288,
    320,  360,  384,  432,  480,  512,  576,  640,  720,  768,  864,  960, 1024, 1152, 1280,
    1440, 1536, 1728, 1920, 2048, 2304, 2560, 2880, 3072, 3456, 3840, 4096};

/// Compiled in that many files, length i in file i mod chunks.
template <class Real>
inline constexpr int chunks = sizeof(Real) == sizeof(float) ? 8 : 4;
template <class Real>
constexpr std::size_t chunk_size(int chunk) {
    const auto count = lengths<Real>.size(), step = static_cast<std::size_t>(chunks<Real>);
    return (count + step - 1 - static_cast<std::size_t>(chunk)) / step;
}

}  // namespace convolume::gpu
