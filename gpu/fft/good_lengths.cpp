// SPDX-License-Identifier: Apache-2.0
// Which length to pad to.

#include <algorithm>

#include "gpu/fft/lengths.hpp"
#include "gpu/fft/passes.hpp"

namespace convolume::gpu {

namespace {

/// Bytes of device memory in and out a second, in units of 10 GB/s, of passes in single precision:
/// measured by bench/gpu_passes sweep on an H200 (columns from 1080 to 1920 in part by estimate).
struct Rate {
    short n, columns, rows;
};
constexpr Rate rates[] = {
    {1, 286, 80},     {2, 351, 80},     {3, 397, 80},     {4, 409, 80},     {5, 406, 80},
    {6, 395, 80},     {7, 397, 80},     {8, 391, 99},     {9, 388, 98},     {10, 391, 95},
    {11, 386, 102},   {12, 389, 93},    {13, 382, 90},    {14, 380, 90},    {15, 386, 88},
    {16, 387, 75},    {18, 382, 156},   {20, 381, 132},   {21, 382, 112},   {24, 378, 135},
    {25, 384, 125},   {27, 372, 182},   {28, 366, 139},   {30, 378, 142},   {32, 377, 131},
    {35, 378, 175},   {36, 369, 152},   {40, 375, 144},   {42, 386, 158},   {45, 362, 138},
    {48, 372, 207},   {50, 376, 204},   {54, 380, 182},   {56, 354, 232},   {60, 365, 241},
    {64, 348, 194},   {70, 373, 192},   {72, 369, 222},   {75, 369, 190},   {80, 376, 222},
    {84, 346, 224},   {90, 334, 258},   {96, 379, 276},   {100, 321, 260},  {108, 347, 268},
    {112, 332, 277},  {120, 322, 285},  {128, 338, 237},  {135, 319, 290},  {144, 331, 279},
    {150, 371, 282},  {160, 344, 307},  {168, 318, 272},  {180, 339, 296},  {192, 331, 326},
    {200, 335, 278},  {216, 325, 284},  {224, 349, 322},  {240, 340, 328},  {256, 339, 269},
    {270, 338, 271},  {288, 328, 287},  {300, 314, 268},  {320, 355, 253},  {336, 345, 293},
    {360, 346, 296},  {384, 356, 260},  {400, 345, 258},  {420, 345, 292},  {432, 340, 281},
    {448, 341, 330},  {480, 338, 325},  {512, 335, 336},  {540, 307, 274},  {560, 292, 270},
    {576, 342, 302},  {600, 326, 267},  {640, 309, 254},  {672, 345, 307},  {720, 333, 278},
    {768, 319, 280},  {800, 299, 278},  {840, 319, 290},  {864, 303, 292},  {900, 323, 292},
    {960, 316, 313},  {1000, 264, 289}, {1024, 324, 330}, {1080, 295, 274}, {1120, 295, 284},
    {1152, 295, 321}, {1200, 309, 246}, {1280, 295, 276}, {1344, 295, 278}, {1440, 288, 290},
    {1536, 295, 326}, {1600, 306, 298}, {1680, 295, 304}, {1728, 295, 297}, {1792, 262, 322},
    {1920, 295, 320}, {2048, 280, 308}, {2160, 247, 278}, {2240, 229, 298}, {2304, 217, 245},
    {2400, 238, 281}, {2560, 257, 298}, {2688, 218, 294}, {2880, 243, 259}, {3072, 232, 306},
    {3200, 246, 271}, {3456, 174, 258}, {3584, 235, 301}, {3840, 232, 268}, {4096, 226, 282},
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

/// Time of the passes with a stage of an iteration, the mean of those with acceleration and
/// without, in tenths of a picosecond a real sample: measured by bench/gpu_passes stages on an
/// H100.
struct StageCost {
    short n, cost;
};
constexpr StageCost stage_costs[] = {
    {20, 477},   {28, 185},   {36, 207},   {48, 210},   {56, 184},   {60, 171},   {64, 180},
    {72, 174},   {80, 193},   {96, 165},   {100, 192},  {108, 166},  {112, 163},  {120, 178},
    {144, 162},  {160, 172},  {168, 170},  {180, 172},  {192, 176},  {200, 194},  {224, 158},
    {240, 158},  {256, 143},  {288, 159},  {300, 164},  {320, 156},  {336, 165},  {360, 173},
    {384, 193},  {420, 178},  {448, 156},  {480, 156},  {512, 149},  {540, 164},  {560, 171},
    {576, 158},  {600, 162},  {640, 177},  {672, 178},  {720, 182},  {768, 162},  {800, 191},
    {840, 218},  {864, 172},  {900, 221},  {960, 176},  {1024, 174}, {1152, 200}, {1200, 220},
    {1280, 199}, {1344, 176}, {1440, 197}, {1536, 196}, {1600, 214}, {1680, 200}, {1792, 199},
    {1920, 198}, {2048, 184},
};
/// That of an iteration's passes along y and z, on an H200.
constexpr double stage_column_cost = 180;

}  // namespace

index_t good_stage_length(index_t least) {
    index_t best = 0;
    double best_cost = 0;
    for (const StageCost& of : stage_costs) {
        const index_t length = 2 * index_t{of.n};
        const double cost = static_cast<double>(length) * (of.cost + stage_column_cost);
        if (length < least || (best != 0 && cost >= best_cost)) continue;
        best = length;
        best_cost = cost;
    }
    return best;
}

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
