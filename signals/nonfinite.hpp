// SPDX-License-Identifier: Apache-2.0
#pragma once
// NaN and infinities among samples: refused, counted, or left alone.

#include "convolume/filter_options.hpp"
#include "convolume/image_view.hpp"

namespace convolume {

/// Looks through `samples`, of shape (1, signals, samples), where `policy` asks for it. Sample 0 of
/// row 0 is sample `first` of signal `signal`. Returns how many are to be read as 0; throws BadData
/// under NanPolicy::error.
index_t check_finite(const ConstImageView& samples, NanPolicy policy, index_t signal, index_t first,
                     int threads);

}  // namespace convolume
