// SPDX-License-Identifier: Apache-2.0
#pragma once
// The members of a Resampler, which ResampleStream shares.

#include "convolume/resample.hpp"
#include "cpu/signals/resampling.hpp"
#include "signals/resample_checks.hpp"

namespace convolume {

struct Resampler::Impl {
    ResampleSpec spec;
    int threads = 1;
    std::unique_ptr<const PreparedResampling> prepared;
};

}  // namespace convolume
