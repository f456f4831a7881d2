// SPDX-License-Identifier: Apache-2.0
#include "optics/psf_comparison.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "convolume/error.hpp"
#include "optics/free_parameter.hpp"

namespace convolume::optics {

PsfComparison::PsfComparison(const ConstImageView& measured, const PsfOptions& model,
                             const RefineOptions& options, const ExecutionContext& context)
    : model_(model), options_(options) {
    context_.stop = context.stop;
    model_.size = measured.shape;
    const auto* const first = static_cast<const float*>(measured.data);
    measured_.assign(first, first + element_count(measured.shape));
    weights_.assign(measured_.size(), 1);
}

PsfOptions PsfComparison::model_at(const Values& x) const {
    PsfOptions model = model_;
    for (std::size_t i = 1; i < x.size(); ++i) set_value(model, options_.parameters[i - 1], x[i]);
    model.center_z_um = paraxial_focus_um(model) + x[0];
    return model;
}

PsfComparison::Values PsfComparison::start_at(const Values& parameters) const {
    Values x{0};
    x.insert(x.end(), parameters.begin(), parameters.end());
    const PsfOptions model = model_at(x);
    x[0] = brightest_focus_um(model, context_) - paraxial_focus_um(model);
    return x;
}

PsfComparison::Fitted PsfComparison::fit(const Values& x, const Values& weights) const {
    const Psf psf = make_psf(model_at(x), context_);
    const float* const first = psf.values.elements<float>();
    Fitted fitted{Values(first, first + measured_.size()), 0, 0};
    double s = 0, sm = 0, sp = 0, mm = 0, mp = 0;
    for (std::size_t i = 0; i < measured_.size(); ++i) {
        const double w = weights[i], m = fitted.values[i], p = measured_[i];
        s += w;
        sm += w * m;
        sp += w * p;
        mm += w * m * m;
        mp += w * m * p;
    }
    fitted.brightness = std::max(0.0, (s * mp - sm * sp) / (s * mm - sm * sm));
    fitted.constant = (sp - fitted.brightness * sm) / s;
    return fitted;
}

PsfComparison::Values PsfComparison::residuals(const Values& x) const {
    Fitted fitted = fit(x, weights_);
    Values& rest = fitted.values;
    for (std::size_t i = 0; i < rest.size(); ++i)
        rest[i] =
            std::sqrt(weights_[i]) * (measured_[i] - fitted.constant - fitted.brightness * rest[i]);
    return rest;
}

double PsfComparison::sum_of_squares(const Values& x) const {
    double sum = 0;
    for (const double rest : residuals(x)) sum += rest * rest;
    return sum;
}

double PsfComparison::relative_residual(const Values& x) const {
    const Fitted fitted = fit(x, Values(measured_.size(), 1));
    double rest = 0, light = 0;
    for (std::size_t i = 0; i < measured_.size(); ++i) {
        const double m = fitted.brightness * fitted.values[i];
        rest += std::pow(measured_[i] - fitted.constant - m, 2);
        light += m * m;
    }
    return light > 0 ? std::sqrt(rest / light) : std::numeric_limits<double>::infinity();
}

void PsfComparison::weigh_by(const Values& x) {
    constexpr double least = 0.01;  // of the brightest voxel: tails are not modelled any better
    const Fitted fitted = fit(x, weights_);
    if (!(fitted.brightness > 0))
        throw BadData(
            "the measured PSF is not brighter where the model is: give one whose source is in the "
            "middle voxel, with its voxel size");
    const double highest =
        fitted.brightness * *std::max_element(fitted.values.begin(), fitted.values.end());
    const double dark = std::max(options_.background, least * highest);
    for (std::size_t i = 0; i < weights_.size(); ++i)
        weights_[i] = highest / (fitted.brightness * fitted.values[i] + dark);
}

}  // namespace convolume::optics
