// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "deconvolve/methods/element_wise.hpp"

// Stages of an iteration of Richardson and Lucy for one row of samples on the host, compiled for
// each instruction set.
namespace convolume::deconvolve {

/// Rows of the newest estimate and of the one before (null: there is none), and the point to step
/// from.
struct PointRow {
    const float* newest;
    const float* before;
    bool restart;  ///< the point is the newest estimate
    richardson_lucy::Extrapolation extrapolation;
};
/// point <- the point ahead.
void fill_point(const PointRow& row, float* point, index_t count);

struct RatioRow {
    const float* data;
    const float* held;  ///< null where nothing is held out
    float held_share;
    richardson_lucy::PixelModel rule;
    bool misfit;  ///< is wanted
};
/// model <- data / expected(model), 0 where pixels are not compared; the misfit, or without it
/// trace_of() the model, and squared errors of what is held out.
SumPair fill_ratio(const RatioRow& row, float* model, index_t count);

struct StepRow {
    PointRow point;
    const float* correction;
    const float* weight;
    float least_weight;
    float* change;  ///< what steps added; null where nobody asks
};
/// next <- the step from the point, which may take the place of the estimate before; the step times
/// the last one, and the last one squared.
SumPair fill_step(const StepRow& row, float* next, index_t count);

}  // namespace convolume::deconvolve
