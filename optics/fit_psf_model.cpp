// SPDX-License-Identifier: Apache-2.0
// Fits models to measured PSFs: their brightness and background, and parameters of the microscope.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "convolume/beads.hpp"
#include "convolume/error.hpp"
#include "optics/least_squares.hpp"
#include "optics/psf_options.hpp"

namespace convolume {

namespace {

using Values = std::vector<double>;

struct ParameterRange {
    double low, high;
    double step;  ///< step of the numeric derivatives
};

template <class Model>
auto& value_of(Model& model, PsfParameter parameter) {
    switch (parameter) {
        case PsfParameter::na:
            return model.objective.na;
        case PsfParameter::index:
            return has_layers(model.model) ? model.objective.ns : model.objective.ni;
        case PsfParameter::depth:
            break;
    }
    return model.depth_um;
}

void set_value(PsfOptions& model, PsfParameter parameter, double value) {
    value_of(model, parameter) = value;
    if (parameter == PsfParameter::index && !has_layers(model.model)) model.objective.ni0 = value;
}

/// Returns the range of a parameter, see refine_psf(). All values of two parameters can be
/// combined.
ParameterRange range_of(const PsfOptions& model, PsfParameter parameter) {
    constexpr double margin = 0.002;
    const Objective& lens = model.objective;
    // If the index to refine is the immersion medium's, this bound keeps it above the NA.
    const double separation =
        has_layers(model.model) ? 1 : std::max(lens.ni - 0.15, (lens.na + lens.ni) / 2);
    switch (parameter) {
        case PsfParameter::na: {
            const double least = has_layers(model.model)
                                     ? std::min({lens.ni, lens.ni0, lens.ng, lens.ng0})
                                     : separation;
            return {0.6 * lens.na, std::max(lens.na, std::min(1.4 * lens.na, least - margin)),
                    1e-3};
        }
        case PsfParameter::index: {
            const double index = value_of(model, parameter);
            return {std::max({1.0, index - 0.15, separation}), index + 0.15, 1e-3};
        }
        case PsfParameter::depth:
            break;
    }
    return {0, 2 * model.depth_um + 10, 0.02};
}

/// Fit of a model's brightness and of a constant to a measured PSF by least squares, from sums over
/// all voxels: weights (s), model (m) and measured values (p), and their products.
struct BrightnessFit {
    double s = 0, sm = 0, sp = 0, mm = 0, mp = 0;

    BrightnessFit(const Values& model, const Values& measured, const Values& weights) {
        for (std::size_t i = 0; i < model.size(); ++i) {
            const double w = weights[i], m = model[i], p = measured[i];
            s += w;
            sm += w * m;
            sp += w * p;
            mm += w * m * m;
            mp += w * m * p;
        }
    }
    double brightness() const { return (s * mp - sm * sp) / (s * mm - sm * sm); }
    double constant(double brightness) const { return (sp - brightness * sm) / s; }
};

Values values_of(const ConstImageView& psf) {
    const auto* const first = static_cast<const float*>(psf.data);
    return {first, first + element_count(psf.shape)};
}

/// Comparison of a measured PSF with models of it. A point x of the fit begins with the z of the
/// middle plane, relative to the paraxial focus. The values of RefineOptions::parameters follow.
class PsfComparison {
  public:
    /// `options` must outlive the object.
    PsfComparison(const ConstImageView& measured, const PsfOptions& model,
                  const RefineOptions& options, const ExecutionContext& context)
        : model_(model), options_(options), measured_(values_of(measured)) {
        context_.stop = context.stop;
        model_.size = measured.shape;
        weights_.assign(measured_.size(), 1);
    }

    PsfOptions model_at(const Values& x) const {
        PsfOptions model = model_;
        for (std::size_t i = 1; i < x.size(); ++i)
            set_value(model, options_.parameters[i - 1], x[i]);
        model.center_z_um = paraxial_focus_um(model) + x[0];
        return model;
    }
    /// Returns the point with these parameters whose brightest plane is in the middle.
    Values starting_point(const Values& parameters) const {
        Values x{0};
        x.insert(x.end(), parameters.begin(), parameters.end());
        const PsfOptions model = model_at(x);
        x[0] = brightest_focus_um(model, context_) - paraxial_focus_um(model);
        return x;
    }

    /// Returns the weighted differences of measured PSF and model, voxel by voxel. Brightness and
    /// constant of the model are fitted first; the brightness is not below zero.
    Values residuals(const Values& x) const {
        FittedModel fitted = fit(x, weights_);
        Values& rest = fitted.values;
        for (std::size_t i = 0; i < rest.size(); ++i)
            rest[i] = std::sqrt(weights_[i]) *
                      (measured_[i] - fitted.constant - fitted.brightness * rest[i]);
        return rest;
    }
    double sum_of_squares(const Values& x) const {
        double sum = 0;
        for (const double rest : residuals(x)) sum += rest * rest;
        return sum;
    }
    /// Returns the unweighted root mean square of the differences over that of the model.
    double relative_residual(const Values& x) const;

    /// Weights voxels by the noise of the light that the model at x expects in them. Before the
    /// first call all weights are equal. Throws BadData if the fitted brightness is zero.
    void weight_by_noise(const Values& x);

  private:
    struct FittedModel {
        Values values;  ///< voxels of the model, sum 1
        double brightness, constant;
    };

    FittedModel fit(const Values& x, const Values& weights) const {
        const Psf psf = make_psf(model_at(x), context_);
        FittedModel fitted{values_of(psf.values.view()), 0, 0};
        const BrightnessFit best(fitted.values, measured_, weights);
        fitted.brightness = std::max(0.0, best.brightness());
        fitted.constant = best.constant(fitted.brightness);
        return fitted;
    }

    PsfOptions model_;
    const RefineOptions& options_;
    ExecutionContext context_;
    Values measured_;
    Values weights_;  ///< weight of each voxel's squared difference
};

double PsfComparison::relative_residual(const Values& x) const {
    const FittedModel fitted = fit(x, Values(measured_.size(), 1));
    double rest = 0, light = 0;
    for (std::size_t i = 0; i < measured_.size(); ++i) {
        const double m = fitted.brightness * fitted.values[i];
        rest += std::pow(measured_[i] - fitted.constant - m, 2);
        light += m * m;
    }
    return light > 0 ? std::sqrt(rest / light) : std::numeric_limits<double>::infinity();
}

void PsfComparison::weight_by_noise(const Values& x) {
    // Least background that weights assume, as a share of the brightest voxel. Tails are modelled
    // no better.
    constexpr double least = 0.01;
    const FittedModel fitted = fit(x, weights_);
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
        if (parameter == PsfParameter::depth && !has_layers(model.model))
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

/// Returns starting points of the fit: a grid of depths and indices, and last the model's values.
std::vector<Values> candidates(const PsfOptions& model, const RefineOptions& options,
                               const std::vector<ParameterRange>& ranges) {
    const auto count_of = [&](PsfParameter parameter) {
        if (parameter == PsfParameter::depth) return 13;
        return parameter == PsfParameter::index && has_layers(model.model) ? 7 : 1;
    };
    std::vector<Values> all{{}};
    Values first;
    for (std::size_t i = 0; i < options.parameters.size(); ++i) {
        const PsfParameter parameter = options.parameters[i];
        first.push_back(value_of(model, parameter));
        const int count = count_of(parameter);
        std::vector<Values> longer;
        for (const Values& x : all)
            for (int k = 0; k < count; ++k) {
                longer.push_back(x);
                const double step =
                    count > 1 ? k * (ranges[i].high - ranges[i].low) / (count - 1) : 0;
                longer.back().push_back(count > 1 ? ranges[i].low + step : first.back());
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

/// Returns true if light of apertures above the sample's index is totally reflected: the source is
/// deeper than a wavelength, which is about as far as evanescent light reaches.
bool is_totally_reflected(const PsfOptions& model) {
    return has_layers(model.model) && model.objective.na > model.objective.ns &&
           model.depth_um > model.wavelength_um;
}

/// Returns why a parameter of `model` is not determined, and the cure.
const char* undetermined_reason(PsfParameter parameter, const PsfOptions& model,
                                const RefineOptions& options) {
    const Objective& lens = model.objective;
    if (parameter == PsfParameter::na && is_totally_reflected(model))
        return "light of apertures above the sample's index is reflected, so that all of them look "
               "alike; leave the NA out";
    if (parameter == PsfParameter::index && has_layers(model.model) &&
        !is_free(options, PsfParameter::depth) && model.depth_um < model.wavelength_um)
        return "sources at the cover glass look alike in all samples; give their depth";
    if (parameter == PsfParameter::depth && !is_free(options, PsfParameter::index) &&
        std::abs(lens.ns - lens.ni) < 0.01)
        return "sample and immersion medium have the same index, so that all depths look alike; "
               "leave the depth out";
    return "record more light, more beads or a larger box, or refine fewer parameters";
}

/// Throws BadData if the fit hardly depends on a parameter.
void check_determined(const RefinedParameter& found, const PsfOptions& model,
                      const RefineOptions& options) {
    constexpr double most = 0.125;  // largest standard deviation, as a share of the range
    const bool reflected = found.parameter == PsfParameter::na && is_totally_reflected(model);
    if (found.deviation < most * (found.high - found.low) && !reflected) return;
    throw BadData(message("the measured PSF does not determine the ",
                          found.parameter == PsfParameter::na ? "NA" : to_string(found.parameter),
                          ": ", undetermined_reason(found.parameter, model, options)));
}

}  // namespace

double subtract_background(BeadPsf& psf, const PsfOptions& model, const ExecutionContext& context) {
    PsfOptions sized = model;
    sized.size = psf.values.shape();
    const Values m = values_of(make_psf(sized, context).values.view());
    const Values p = values_of(psf.values.view());
    const BrightnessFit fit(m, p, Values(m.size(), 1));
    const double brightness = fit.brightness(), constant = fit.constant(brightness);
    double rest = 0;
    for (std::size_t i = 0; i < m.size(); ++i)
        rest += std::pow(p[i] - constant - brightness * m[i], 2);
    const double residual = std::sqrt(rest / (brightness * brightness * fit.mm));
    constexpr double largest_residual = 0.2;
    if (!(residual < largest_residual)) return residual;
    const double left = fit.sp - constant * fit.s;
    float* const values = psf.values.elements<float>();
    for (std::size_t i = 0; i < p.size(); ++i)
        values[i] = static_cast<float>((p[i] - constant) / left);
    psf.background += constant * psf.flux;
    for (Bead& bead : psf.beads) bead.flux *= left;
    psf.flux *= left;
    return residual;
}

RefinedPsf refine_psf(const ConstImageView& measured, const PsfOptions& model,
                      const RefineOptions& options, const ExecutionContext& context) {
    check(measured, model, options);
    std::vector<ParameterRange> ranges;
    for (const PsfParameter parameter : options.parameters)
        ranges.push_back(range_of(model, parameter));
    PsfComparison comparison(measured, model, options, context);

    Values best, first;
    double least = 0;
    for (const Values& parameters : candidates(model, options, ranges)) {
        first = comparison.starting_point(parameters);
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
        comparison.weight_by_noise(best);
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
