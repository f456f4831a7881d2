// SPDX-License-Identifier: Apache-2.0
// Which length to pad to.

#include <algorithm>

#include "gpu/fft/lengths.hpp"
#include "gpu/fft/passes.hpp"

namespace convolume::gpu {

namespace {

/// Bytes of device memory in and out a second, in units of 10 GB/s, of passes in single precision:
/// measured by bench/gpu_passes sweep on an H200 (columns of 1056 and 1152: one pass alone).
struct Rate {
    short n, columns, rows;
};
constexpr Rate rates[] = {
    {1, 289, 80},     {2, 356, 80},     {3, 391, 80},     {4, 395, 80},     {5, 380, 80},
    {6, 384, 80},     {7, 378, 80},     {8, 382, 101},    {9, 378, 100},    {10, 375, 99},
    {11, 381, 106},   {12, 379, 97},    {13, 379, 93},    {14, 379, 91},    {15, 377, 91},
    {16, 381, 76},    {18, 380, 188},   {20, 378, 152},   {21, 375, 120},   {24, 376, 142},
    {25, 369, 132},   {27, 360, 204},   {28, 378, 144},   {30, 376, 156},   {32, 376, 154},
    {35, 366, 180},   {36, 357, 164},   {40, 364, 152},   {42, 365, 178},   {45, 359, 164},
    {48, 366, 233},   {50, 362, 236},   {54, 370, 198},   {56, 333, 257},   {60, 362, 264},
    {64, 333, 222},   {70, 355, 228},   {72, 364, 221},   {75, 360, 236},   {80, 362, 262},
    {84, 339, 259},   {90, 315, 280},   {96, 365, 306},   {100, 308, 294},  {108, 344, 294},
    {112, 329, 313},  {120, 314, 320},  {128, 327, 270},  {135, 312, 322},  {144, 318, 294},
    {150, 355, 318},  {160, 322, 352},  {168, 310, 310},  {180, 304, 328},  {192, 325, 351},
    {200, 321, 329},  {216, 319, 314},  {224, 322, 348},  {240, 321, 347},  {256, 327, 294},
    {270, 327, 318},  {288, 321, 335},  {300, 312, 314},  {320, 328, 270},  {336, 330, 326},
    {360, 324, 314},  {384, 331, 299},  {400, 327, 288},  {420, 312, 322},  {432, 330, 332},
    {448, 326, 353},  {480, 341, 344},  {512, 329, 346},  {528, 347, 296},  {540, 309, 318},
    {560, 300, 310},  {576, 329, 322},  {600, 339, 306},  {640, 348, 272},  {672, 356, 343},
    {720, 335, 321},  {768, 345, 316},  {800, 349, 274},  {840, 318, 328},  {864, 358, 330},
    {900, 319, 324},  {960, 338, 344},  {1000, 299, 330}, {1024, 346, 320}, {1056, 320, 307},
    {1080, 294, 313}, {1120, 317, 325}, {1152, 335, 316}, {1200, 321, 295}, {1280, 317, 290},
    {1344, 312, 313}, {1440, 291, 328}, {1536, 272, 356}, {1600, 309, 327}, {1680, 242, 301},
    {1728, 274, 287}, {1792, 297, 321}, {1920, 249, 317}, {2048, 315, 326}, {2160, 249, 281},
    {2240, 239, 304}, {2304, 224, 265}, {2400, 242, 277}, {2560, 260, 302}, {2688, 223, 326},
    {2880, 196, 264}, {3072, 242, 333}, {3200, 222, 280}, {3456, 190, 274}, {3584, 254, 304},
    {3840, 249, 272}, {4096, 232, 300},
};
constexpr double usual_rate = 330;

/// A longer length makes more work for the passes along the other axes too.
double cost(int n, int rate) {
    return n * (0.5 / rate + 0.5 / usual_rate);
}

index_t cheapest(index_t least, index_t step, index_t samples_each, short Rate::*rate,
                 bool double_precision) {
    const Rate* best = nullptr;
    for (const Rate& candidate : rates) {
        const index_t length = candidate.n * samples_each;
        if (length < least || length % step != 0) continue;
        if (!has_passes(candidate.n, double_precision)) continue;
        if (best == nullptr || cost(candidate.n, candidate.*rate) < cost(best->n, best->*rate)) {
            best = &candidate;
        }
    }
    return best == nullptr ? 0 : best->n * samples_each;
}

}  // namespace

bool has_passes(index_t length, bool double_precision) {
    const auto found = [&](const auto& all) {
        return std::find(all.begin(), all.end(), length) != all.end();
    };
    return double_precision ? found(lengths<double>) : found(lengths<float>);
}

index_t good_column_length(index_t least, index_t step, bool double_precision) {
    return cheapest(least, step, 1, &Rate::columns, double_precision);
}

index_t good_row_length(index_t least, bool complex_rows, bool double_precision) {
    return cheapest(least, 1, complex_rows ? 1 : 2, &Rate::rows, double_precision);
}

}  // namespace convolume::gpu
