// SPDX-License-Identifier: Apache-2.0
// Deconvolvers from the cache of plans.

#include <memory>
#include <tuple>

#include "convolume/cache.hpp"
#include "core/option_fields.hpp"
#include "core/plan_cache.hpp"

namespace convolume {

namespace {

struct DeconvolverKey {
    Shape3 image;
    KernelCopy psf;
    DeconvolveOptions options;
    EngineChoice engines;
    PlanningState state;

    std::size_t hash() const { return hash_of(psf, image); }
    auto fields() const {
        return std::tuple_cat(std::tie(image, psf, state), fields_of(options), fields_of(engines));
    }
};

}  // namespace

std::shared_ptr<const Deconvolver> cached_deconvolver(const Shape3& image_shape,
                                                      const ConstImageView& psf,
                                                      const DeconvolveOptions& options,
                                                      const EngineChoice& engines) {
    const DeconvolverKey key{image_shape, KernelCopy(psf), options, engines,
                             PlanningState(engines)};
    return PlanCache::instance().find_or_make<const Deconvolver>(
        key,
        [&] { return std::make_shared<const Deconvolver>(image_shape, psf, options, engines); },
        [&](const Deconvolver& made) {
            const DeconvolvePlan plan = made.plan();
            return PlanBytes{plan.host_bytes + key.psf.bytes(), plan.device_bytes};
        });
}

}  // namespace convolume
