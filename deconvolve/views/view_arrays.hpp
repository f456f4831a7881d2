// SPDX-License-Identifier: Apache-2.0
#pragma once
// The arrays of a deconvolution of several views, around a forward model. An array of pixels holds
// the images of all views, one after the other.

#include <vector>

#include "convolume/forward_model.hpp"
#include "deconvolve/executors/host_arrays.hpp"

namespace convolume::deconvolve {

/// Factor and constant that bring the model of a view to the units which all views share:
/// factor · A x + constant.
struct ViewScale {
    float factor = 1, constant = 0;
};

class ViewArrays : public HostLoops {
  public:
    /// The model is kept by reference.
    ViewArrays(const DeconvolutionProblem& problem, const ForwardModel& model, int threads)
        : HostLoops(problem, threads), model_(model), scales_(model.views()) {
        for (std::size_t v = 0; v < model.views(); ++v) {
            firsts_.push_back(pixels_);
            pixels_ += element_count(model.image(v));
        }
    }

    /// Returns the number of the first pixel of a view.
    index_t first(std::size_t view) const { return firsts_[view]; }
    /// Sets the scale of a view.
    void set_scale(std::size_t view, const ViewScale& scale) { scales_[view] = scale; }

    void blur(const float* object, float* image) {
        for (std::size_t v = 0; v < model_.views(); ++v) {
            float* const of_view = image + firsts_[v];
            model_.record(v, view_of(object, model_.object().shape),
                          view_of(of_view, model_.image(v)), context());
            if (scales_[v].factor != 1 || scales_[v].constant != 0)
                for_each(element_count(model_.image(v)), Scaling{of_view, of_view, scales_[v]});
        }
    }
    void blur_back(const float* image, float* object) {
        for_each(element_count(model_.object().shape), ConstantFill{object, 0});
        for (std::size_t v = 0; v < model_.views(); ++v) {
            const float* of_view = image + firsts_[v];
            const Shape3& shape = model_.image(v);
            if (scales_[v].factor != 1) {
                scaled_.resize(static_cast<std::size_t>(element_count(shape)));
                for_each(element_count(shape),
                         Scaling{of_view, scaled_.data(), {scales_[v].factor, 0}});
                of_view = scaled_.data();
            }
            model_.add_back(v, view_of(of_view, shape), view_of(object, model_.object().shape),
                            context());
        }
    }
    void back_project_unmatched(const float*, float*) {
        throw InternalError("an unmatched back projector of several views");
    }

  private:
    struct Scaling {
        const float* from;
        float* to;
        ViewScale scale;
        void operator()(index_t i) const { to[i] = scale.factor * from[i] + scale.constant; }
    };

    const ForwardModel& model_;
    std::vector<ViewScale> scales_;
    std::vector<index_t> firsts_;
    index_t pixels_ = 0;
    std::vector<float> scaled_;  ///< image of a view whose factor is not 1
};

}  // namespace convolume::deconvolve
