// SPDX-License-Identifier: Apache-2.0
#pragma once
// Filter banks on given engines, such as those of a test.

#include "convolume/filter_bank.hpp"
#include "core/filter_engine.hpp"

namespace convolume {

struct FilterBankFactory {
    /// Makes a bank like FilterBank's constructor, with `engines` instead of an EngineChoice.
    static FilterBank make(const SignalShape& shape, const std::vector<ConstImageView>& filters,
                           const FilterOptions& options, const FilterEngineList& engines,
                           PixelType signal_type = PixelType::float32);
};

}  // namespace convolume
