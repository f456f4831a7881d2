// SPDX-License-Identifier: Apache-2.0
// Builds without FFTW (CONVOLUME_WITH_FFTW=OFF).

#include "convolume/error.hpp"
#include "cpu/fftw.hpp"

namespace convolume::cpu {

bool has_fftw() {
    return false;
}

std::string fftw_version() {
    return {};
}

void require_fftw() {
    throw Unavailable(sentence("convolume was built without FFTW: leave out ", OptionName{"fft"},
                               ", or build it again with -DCONVOLUME_WITH_FFTW=ON"));
}

template <class Real>
std::unique_ptr<const PlannedTransforms> plan_by_fftw(const TransformBatch&, TransformKind, void*,
                                                      void*, PlanningEffort) {
    require_fftw();
    return nullptr;
}

template std::unique_ptr<const PlannedTransforms> plan_by_fftw<float>(const TransformBatch&,
                                                                      TransformKind, void*, void*,
                                                                      PlanningEffort);
template std::unique_ptr<const PlannedTransforms> plan_by_fftw<double>(const TransformBatch&,
                                                                       TransformKind, void*, void*,
                                                                       PlanningEffort);

}  // namespace convolume::cpu
