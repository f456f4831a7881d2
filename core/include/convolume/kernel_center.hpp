#pragma once
// Where a kernel's centre is.

#include <array>

#include "convolume/options.hpp"
#include "convolume/view.hpp"

namespace convolume {

/// Index (z, y, x) of the sample of largest magnitude; of several equal ones the nearest to k/2.
Index3 kernel_peak(const ConstImageView& kernel);

/// Mean index (z, y, x), each sample counting by its magnitude. Throws BadData where all are 0.
std::array<double, 3> kernel_centroid(const ConstImageView& kernel);

/// The index `center` means in `kernel`. Throws InvalidArgument when it lies outside.
Index3 center_index(const KernelCenter& center, const ConstImageView& kernel);

}  // namespace convolume
