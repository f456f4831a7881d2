// SPDX-License-Identifier: Apache-2.0
#include "signals/nonfinite.hpp"

#include "convolume/error.hpp"
#include "core/pixels/rows.hpp"

namespace convolume {

index_t check_finite(const ConstImageView& samples, NanPolicy policy, index_t signal, index_t first,
                     int threads) {
    if (policy == NanPolicy::propagate || is_integer(samples.type)) return 0;
    const auto found = pixels::find_nonfinite(samples, threads);
    if (!found) return 0;
    if (policy == NanPolicy::error)
        throw BadData(
            message("signal ", signal + found->index.y, " holds ", found->value, " at sample ",
                    first + found->index.x,
                    ": repair it, or choose to read such samples as zero or to propagate them"));
    return pixels::count_nonfinite(samples, threads);
}

}  // namespace convolume
