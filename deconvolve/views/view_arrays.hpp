// SPDX-License-Identifier: Apache-2.0
#pragma once
// The convolutions of a deconvolution of several views, around a forward model. An array of pixels
// holds the images of all views, one after the other.

#include <utility>

#include "convolume/cuda/detail/complex.hpp"
#include "convolume/error.hpp"
#include "deconvolve/functors.hpp"
#include "deconvolve/views/view_scales.hpp"

namespace convolume::deconvolve {

/// Writes pixels in the units of a scale.
struct ScaledPixels {
    const float* from;
    float* to;
    ViewScale scale;
    CONVOLUME_DEVICE void operator()(index_t i) const {
        to[i] = scale.factor * from[i] + scale.constant;
    }
};

/// Completes arrays for an ArrayExecutor. Beside loops and arrays, the class `Views` offers
///
/// - voxels(): number of the object's voxels
/// - record(view, object, image): that of a forward model; images may be used after finish_images()
/// - add_back(view, image, factor, object): adds the adjoint of a view for `factor` times an image;
///   the object has all sums after finish_object(object)
template <class Views>
class ViewArrays final : public Views {
  public:
    /// The scales are kept by reference. Other arguments are those of Views.
    template <class... Arguments>
    explicit ViewArrays(const ViewScales& scales, Arguments&&... arguments)
        : Views(std::forward<Arguments>(arguments)...), scales_(scales) {}

    /// Makes blur() and blur_back() those of one view, whose images begin with its pixels. Returns
    /// its range among all pixels.
    IndexRange use_part(int view) {
        part_ = view;
        const auto v = static_cast<std::size_t>(view);
        return {scales_.first(v), scales_.first(v) + scales_.count(v)};
    }
    void use_all() { part_ = -1; }

    void blur(const float* object, float* image) {
        for_each_view(
            [&](std::size_t v, index_t first) { this->record(v, object, image + first); });
        this->finish_images();
        for_each_view([&](std::size_t v, index_t first) {
            float* const of_view = image + first;
            const ViewScale& scale = scales_.scale(v);
            if (scale.factor != 1 || scale.constant != 0)
                this->for_each(scales_.count(v), ScaledPixels{of_view, of_view, scale});
        });
    }
    void blur_back(const float* image, float* object) {
        this->for_each(this->voxels(), ConstantFill{object, 0});
        for_each_view([&](std::size_t v, index_t first) {
            const bool by_others = part_ >= 0 && scales_.has_back_projectors();
            this->add_back(by_others ? scales_.views() + v : v, image + first,
                           scales_.scale(v).factor, object);
        });
        this->finish_object(object);
    }
    void back_project_unmatched(const float*, float*) {
        throw InternalError("an unmatched back projector of several views");
    }

  private:
    /// Calls `use(v, first)` for the views in use. Their images begin at pixel `first` of arrays.
    template <class Use>
    void for_each_view(const Use& use) const {
        if (part_ >= 0) {
            use(static_cast<std::size_t>(part_), index_t{0});
            return;
        }
        for (std::size_t v = 0; v < scales_.views(); ++v) use(v, scales_.first(v));
    }

    const ViewScales& scales_;
    int part_ = -1;  ///< the view in use, or -1 for all
};

}  // namespace convolume::deconvolve
