// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "deconvolve/functors.hpp"

// Operations of an iteration of Richardson and Lucy on one row of samples on the host, compiled for
// each instruction set.
namespace convolume::deconvolve {

/// Rows of the newest and of the previous estimate (null: there is none), and the rule that makes
/// the starting point of them.
struct PointRow {
    const float* newest;
    const float* before;
    bool restart;  ///< whether the point is the newest estimate
    richardson_lucy::Extrapolation extrapolation;
};
/// Fills `point` with starting points.
void fill_point(const PointRow& row, float* point, index_t count);

struct RatioRow {
    const float* data;
    const float* held_out;  ///< recorded samples that are held out; null: none
    float held_out_share;
    richardson_lucy::PixelModel rule;
    bool sums_misfit;               ///< whether to sum the misfit, or else finiteness_probe()
    float less = 0;                 ///< number to subtract from the ratios of compared pixels
    const float* weight = nullptr;  ///< weights of pixels, if the misfit is summed; null: all are 1
};
/// Replaces the model by data / expected(model), or by 0 for pixels that are not compared. Returns
/// the misfit, or else sums of finiteness_probe(), and squared errors of the prediction of held-out
/// data. Ratios and sums count by the weights of pixels.
SumPair fill_ratio(const RatioRow& row, float* model, index_t count);

struct StepRow {
    PointRow point;
    const float* correction;
    const float* weight;
    richardson_lucy::MatchedRule rule;
    float* change;  ///< changes of the last step; null: changes are not kept
};
/// Fills `next` with the results of a step from the point; `next` may be the row of the previous
/// estimate. Returns sums of the change times the last one, and of the last one squared.
SumPair fill_step(const StepRow& row, float* next, index_t count);

}  // namespace convolume::deconvolve
