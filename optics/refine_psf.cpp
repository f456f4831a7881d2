// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "convolume/beads.hpp"
#include "convolume/error.hpp"
#include "optics/check.hpp"
#include "optics/free_parameter.hpp"
#include "optics/least_squares.hpp"
#include "optics/psf_comparison.hpp"

namespace convolume {

namespace {

using optics::Range;
using Values = std::vector<double>;

void check(const ConstImageView& measured, const PsfOptions& model, const RefineOptions& options) {
    constexpr index_t least_planes = 5;
    if (measured.type != PixelType::float32)
        throw InvalidArgument("a measured PSF is float32: convert it");
    if (options.parameters.empty())
        throw InvalidArgument("no parameter to refine was named: give na, index or depth");
    for (std::size_t i = 0; i < options.parameters.size(); ++i)
        for (std::size_t j = 0; j < i; ++j)
            if (options.parameters[i] == options.parameters[j])
                throw InvalidArgument(message(to_string(options.parameters[i]),
                                              " is named twice among the parameters to refine: "
                                              "name it once"));
    for (const PsfParameter parameter : options.parameters)
        if (parameter == PsfParameter::depth && !optics::has_layers(model))
            throw InvalidArgument(message("the model ", to_string(model.model),
                                          " has no depth that could be refined: choose "
                                          "gibson-lanni or vectorial"));
    if (measured.shape.z < least_planes)
        throw InvalidArgument(message("the measured PSF has ", measured.shape.z,
                                      measured.shape.z == 1 ? " plane" : " planes",
                                      ", but a model is refined by how light spreads out of "
                                      "focus: give at least ",
                                      least_planes));
    PsfOptions checked = model;
    checked.size = measured.shape;
    checked.center_z_um.reset();
    optics::check_lens(checked);
    optics::check_grid(checked);
    if (!(options.background >= 0))
        throw InvalidArgument("the background's share of light is below zero: give 0 or more");
}

/// The grid of depths and indices, and the first values themselves.
std::vector<Values> candidates(const PsfOptions& model, const RefineOptions& options,
                               const std::vector<Range>& ranges) {
    constexpr int depths = 13, indices = 7;
    std::vector<Values> all{{}};
    Values first;
    for (std::size_t i = 0; i < options.parameters.size(); ++i) {
        const PsfParameter parameter = options.parameters[i];
        first.push_back(optics::value_of(model, parameter));
        const int count = parameter == PsfParameter::depth                                ? depths
                          : parameter == PsfParameter::index && optics::has_layers(model) ? indices
                                                                                          : 1;
        std::vector<Values> longer;
        for (const Values& x : all)
            for (int k = 0; k < count; ++k) {
                longer.push_back(x);
                longer.back().push_back(count == 1
                                            ? first.back()
                                            : ranges[i].low + k * (ranges[i].high - ranges[i].low) /
                                                                  (count - 1));
            }
        all = std::move(longer);
    }
    all.push_back(first);
    return all;
}

bool is_free(const RefineOptions& options, PsfParameter parameter) {
    return std::find(options.parameters.begin(), options.parameters.end(), parameter) !=
           options.parameters.end();
}

/// Evanescent light of apertures above the sample's index reaches about a wavelength.
bool is_reflected(const PsfOptions& model) {
    return optics::has_layers(model) && model.objective.na > model.objective.ns &&
           model.depth_um > model.wavelength_um;
}

/// Why a parameter of `model` is not determined, and the cure.
const char* reason_for(PsfParameter parameter, const PsfOptions& model,
                       const RefineOptions& options) {
    const Objective& lens = model.objective;
    if (parameter == PsfParameter::na && is_reflected(model))
        return "light of apertures above the sample's index is reflected, so that all of them look "
               "alike; leave the NA out";
    if (parameter == PsfParameter::index && optics::has_layers(model) &&
        !is_free(options, PsfParameter::depth) && model.depth_um < model.wavelength_um)
        return "sources at the cover glass look alike in all samples; give their depth";
    if (parameter == PsfParameter::depth && !is_free(options, PsfParameter::index) &&
        std::abs(lens.ns - lens.ni) < 0.01)
        return "sample and immersion medium have the same index, so that all depths look alike; "
               "leave the depth out";
    return "record more light, more beads or a larger box, or refine fewer parameters";
}

/// Throws where the fit says as good as nothing of a parameter.
void check_determined(const RefinedParameter& found, const PsfOptions& model,
                      const RefineOptions& options) {
    constexpr double most = 0.125;  // of the range
    const bool reflected = found.parameter == PsfParameter::na && is_reflected(model);
    if (found.deviation < most * (found.high - found.low) && !reflected) return;
    throw BadData(message("the measured PSF does not determine the ",
                          found.parameter == PsfParameter::na ? "NA" : to_string(found.parameter),
                          ": ", reason_for(found.parameter, model, options)));
}

}  // namespace

RefinedPsf refine_psf(const ConstImageView& measured, const PsfOptions& model,
                      const RefineOptions& options, const ExecutionContext& context) {
    check(measured, model, options);
    std::vector<Range> ranges;
    for (const PsfParameter parameter : options.parameters)
        ranges.push_back(optics::range_of(model, parameter));
    optics::PsfComparison comparison(measured, model, options, context);

    Values best, first;
    double least = 0;
    for (const Values& parameters : candidates(model, options, ranges)) {
        first = comparison.start_at(parameters);
        const double sum = comparison.sum_of_squares(first);
        if (best.empty() || sum < least) {
            best = first;
            least = sum;
        }
    }
    const double first_residual = comparison.relative_residual(first);

    optics::LeastSquaresFit fit;
    const optics::Residuals residuals = [&](const Values& x) { return comparison.residuals(x); };
    for (int round = 0; round < 2; ++round) {
        comparison.weigh_by(best);
        const double reach = model.voxel.z_um * static_cast<double>(measured.shape.z) / 4;
        std::vector<optics::FitParameter> free{
            {best[0], best[0] - reach, best[0] + reach, model.voxel.z_um / 20}};
        for (std::size_t i = 0; i < ranges.size(); ++i)
            free.push_back({best[i + 1], ranges[i].low, ranges[i].high, ranges[i].step});
        fit = optics::least_squares(residuals, free, context);
        for (std::size_t i = 0; i < best.size(); ++i) best[i] = fit.parameters[i].value;
    }

    RefinedPsf refined{comparison.model_at(best), {}, first_residual, 0};
    refined.model.size = model.size;
    refined.model.center_z_um = model.center_z_um;
    refined.residual = comparison.relative_residual(best);
    for (std::size_t i = 0; i < ranges.size(); ++i) {
        const optics::FittedParameter& found = fit.parameters[i + 1];
        refined.parameters.push_back({options.parameters[i], found.value, found.deviation,
                                      ranges[i].low, ranges[i].high, found.at_bound});
        check_determined(refined.parameters.back(), refined.model, options);
    }
    return refined;
}

}  // namespace convolume
