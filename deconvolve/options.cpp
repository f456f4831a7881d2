// SPDX-License-Identifier: Apache-2.0
// Names of options, and the plan as text.

#include <algorithm>

#include "convolume/deconvolver.hpp"
#include "deconvolve/methods/registry.hpp"
#include "deconvolve/option_table.hpp"
#include "deconvolve/problem.hpp"

namespace convolume {

namespace {

// Long names, and names that other programs use.
constexpr NamedValue<DeconvolveMethod> method_aliases[] = {
    {"richardson-lucy", DeconvolveMethod::richardson_lucy},
    {"lucy-richardson", DeconvolveMethod::richardson_lucy},
    {"richardson-lucy-tv", DeconvolveMethod::richardson_lucy_tv},
    {"rltv", DeconvolveMethod::richardson_lucy_tv},
    {"scaled-heavy-ball", DeconvolveMethod::scaled_heavy_ball},
    {"wiener-butterworth", DeconvolveMethod::wiener_butterworth},
    {"gradient-consensus", DeconvolveMethod::gradient_consensus},
    {"non-negative-least-squares", DeconvolveMethod::non_negative_least_squares}};

// Options that only methods use which list them, and those of all methods that count photons.
constexpr std::string_view of_some_methods[] = {"acceleration", "tv_weight", "noise_to_signal",
                                                "unmatched",    "consensus", "start"};
constexpr std::string_view of_photons[] = {"saturation", "mask", "no_data", "hot_pixels", "nan"};

template <class Names>
bool is_among(std::string_view option, const Names& names) {
    return std::ranges::find(names, option) != std::ranges::end(names);
}

}  // namespace

const char* to_string(DeconvolveMethod method) {
    return name_of(method);
}

const char* to_string(Acceleration acceleration) {
    return name_of(acceleration);
}

bool uses_option(DeconvolveMethod method, std::string_view option) {
    if (is_among(option, of_photons)) return has_likelihood(method);
    return deconvolve::visit_method(method, [&](auto of) {
        if (option == "coarse_start") return decltype(of)::traits({}).starts_coarsely;
        return !is_among(option, of_some_methods) || is_among(option, decltype(of)::option_names);
    });
}

void require_option(DeconvolveMethod method, std::string_view option) {
    if (uses_option(method, option)) return;
    std::string_view name = "coarse_start";
    for (const std::string_view one : of_some_methods)
        if (one == option) name = one;
    const auto* const of_likelihood = std::ranges::find(of_photons, option);
    const bool is_of_likelihood = of_likelihood != std::ranges::end(of_photons);
    if (is_of_likelihood) name = *of_likelihood;
    throw InvalidArgument(
        sentence(OptionName{name}, " does not apply to the method ", to_string(method),
                 is_of_likelihood ? ", which compares all pixels" : "", "; leave it out"));
}

bool uses_gain(const DeconvolveOptions& options) {
    const bool chooses_weight = uses_option(options.method, "tv_weight") && !options.tv_weight;
    return resolved(options, 1).hold_out || options.splits != 0 || chooses_weight ||
           uses_option(options.method, "consensus");
}

int deconvolve::usual_iterations(const DeconvolveOptions& options) {
    return uses_option(options.method, "unmatched") ? options.unmatched : 30;
}

DeconvolveOptions resolved(const DeconvolveOptions& options, index_t planes) {
    constexpr int most_searched = 200;
    DeconvolveOptions found = options;
    const bool starts_coarsely = uses_option(options.method, "coarse_start");
    if (!options.iterations && !options.stop && starts_coarsely) found.hold_out = true;
    if (!options.iterations)
        found.iterations = found.hold_out ? most_searched : deconvolve::usual_iterations(options);
    if (!options.coarse_start)
        found.coarse_start =
            found.hold_out && starts_coarsely && planes > 1 ? most_coarse_start : 0;
    return found;
}

bool has_likelihood(DeconvolveMethod method) {
    return deconvolve::visit_method(
        method, [](auto of) { return decltype(of)::traits({}).counts_photons; });
}

DeconvolveMethod parse_deconvolve_method(std::string_view text) {
    for (const NamedValue<DeconvolveMethod>& alias : method_aliases)
        if (is_name(text, alias.name)) return alias.value;
    return parse_name<DeconvolveMethod>(text, "the method of deconvolution is ");
}

Acceleration parse_acceleration(std::string_view text) {
    return parse_name<Acceleration>(text, "the acceleration is ");
}

std::optional<Boundary> parse_edges(std::string_view text) {
    if (text == "extend") return {};
    const auto kind = value_named<BoundaryKind>(text);
    if (kind && kind != BoundaryKind::constant) return Boundary{*kind};
    throw InvalidArgument(
        message("the edges are extend, zero, nearest, reflect, mirror or wrap, not \"", text,
                "\"; choose one of these"));
}

std::string DeconvolvePlan::to_string() const {
    TextStream text;
    text << "object      z,y,x " << convolume::to_string(object) << ", transforms of "
         << convolume::to_string(grid) << "\n";
    if (on_device)
        text << "on          " << engines
             << ", all arrays in GPU memory: " << format_bytes(array_bytes) << " of "
             << format_bytes(device_bytes) << " in all\n";
    else
        text << "on          " << engines << ", arrays of " << format_bytes(array_bytes)
             << " in host memory"
             << (iterations_a_walk > 1
                     ? message(", up to ", iterations_a_walk, " iterations a walk along z")
                 : by_walks ? ", each iteration a walk along z"
                            : "")
             << (tiles > 1 ? message(" through each of ", tiles, " tiles of the planes") : "")
             << (device_bytes > 0 ? ", " + format_bytes(device_bytes) + " of each GPU" : "")
             << "\n";
    if (psfs > 1) text << "PSFs        " << psfs << ", interpolated along the depth\n";
    if (coarse_iterations > 0) {
        text << "begins with ";
        if (coarse_images.empty()) text << "no coarser image: image or PSF are too small for one";
        for (const Shape3& shape : coarse_images)
            text << (&shape == &coarse_images.front() ? "" : ", then ")
                 << (searched_part ? "at most " : "") << coarse_iterations
                 << " iterations on an image of " << convolume::to_string(shape);
        text << "\n";
    }
    if (searched_part)
        text << "searches    in a part of " << convolume::to_string(*searched_part) << "\n";
    if (splits > 0)
        text << "uncertainty from " << 2 * splits << " further runs, on halves of the photons\n";
    text << "host memory " << format_bytes(host_bytes) << "\n";
    if (!why_not_on_device.empty())
        text << "not in a GPU's memory, since " << why_not_on_device << "\n";
    return text.str();
}

}  // namespace convolume
