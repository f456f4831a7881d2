// SPDX-License-Identifier: Apache-2.0
// Names of options, and the plan as text.

#include <algorithm>
#include <array>
#include <optional>

#include "convolume/deconvolver.hpp"
#include "convolume/missing_pixels.hpp"
#include "deconvolve/estimates/constants.hpp"
#include "deconvolve/option_table.hpp"
#include "deconvolve/problem.hpp"
#include "deconvolve/registry.hpp"

namespace convolume {

namespace {

// Options of all methods that count photons.
constexpr std::string_view of_photons[] = {"saturation", "mask", "no_data", "hot_pixels", "nan"};

template <class Names>
bool is_among(std::string_view option, const Names& names) {
    return std::ranges::find(names, option) != std::ranges::end(names);
}

// Calls use(Method{}) for every method.
template <class Use>
void for_each_method(const Use& use) {
    std::apply([&](auto... methods) { (use(methods), ...); }, deconvolve::AllMethods{});
}

// Returns the name of an option that not all methods use, or nothing.
std::string_view name_in_methods(std::string_view option) {
    std::string_view found = option == "coarse_start" ? "coarse_start" : "";
    const auto look_in = [&](const auto& names) {
        for (const std::string_view name : names)
            if (name == option) found = name;
    };
    look_in(of_photons);
    for_each_method([&](auto method) { look_in(decltype(method)::option_names); });
    return found;
}

}  // namespace

CONVOLUME_TO_STRING(DeconvolveMethod)
CONVOLUME_NAMES(Acceleration, parse_acceleration, parse_name, "the acceleration is ")
CONVOLUME_NAMES(ViewUpdates, parse_view_updates, parse_name, "the updates of views are ")

std::span<const NamedValue<DeconvolveMethod>> MethodNames::all() {
    static constexpr auto names = std::apply(
        [](auto... methods) {
            std::array<NamedValue<DeconvolveMethod>, sizeof...(methods)> sorted{
                {{decltype(methods)::name, deconvolve::value_of<decltype(methods)>(),
                  decltype(methods)::help}...}};
            std::ranges::sort(sorted, {}, &NamedValue<DeconvolveMethod>::value);
            return sorted;
        },
        deconvolve::AllMethods{});
    return names;
}

bool uses_option(DeconvolveMethod method, std::string_view option) {
    if (is_among(option, of_photons)) return has_likelihood(method);
    return deconvolve::visit_method(method, [&](auto of) {
        if (option == "coarse_start") return decltype(of)::traits({}).starts_coarsely;
        return name_in_methods(option).empty() || is_among(option, decltype(of)::option_names);
    });
}

void require_option(DeconvolveMethod method, std::string_view option) {
    if (uses_option(method, option)) return;
    throw InvalidArgument(sentence(
        OptionName{name_in_methods(option)}, " does not apply to the method ", to_string(method),
        is_among(option, of_photons) ? ", which compares all pixels" : "", "; leave it out"));
}

void require_option(const DeconvolveOptions& options, std::string_view option) {
    require_option(options.method, option);
    if (option != "acceleration" || options.acceleration == Acceleration::none ||
        options.view_updates == ViewUpdates::simultaneous)
        return;
    throw InvalidArgument(sentence(OptionName{"acceleration"}, " does not apply to ",
                                   OptionName{"view_updates"}, " ", to_string(options.view_updates),
                                   ", whose steps by one view after the other are not accelerated; "
                                   "leave it out"));
}

deconvolve::MethodTraits deconvolve::traits_of(const DeconvolveOptions& options) {
    return visit_method(options.method, [&](auto method) {
        MethodTraits traits = decltype(method)::traits(options);
        traits.fits_passes = fits_passes<decltype(method)>;
        return traits;
    });
}

bool uses_gain(const DeconvolveOptions& options) {
    const deconvolve::MethodTraits traits = deconvolve::traits_of(options);
    const bool chooses_weight = (traits.penalizes_variation() && !options.tv_weight) ||
                                (traits.penalizes_roughness() && !options.roughness);
    return resolved(options, 1).hold_out || options.splits != 0 || chooses_weight ||
           traits.draws_halves || options.read_noise > 0;
}

DeconvolveOptions resolved(const DeconvolveOptions& options, index_t planes) {
    DeconvolveOptions found = options;
    const bool starts_coarsely = uses_option(options.method, "coarse_start");
    if (!options.iterations && !options.stop && starts_coarsely) found.hold_out = true;
    if (!options.iterations)
        found.iterations = found.hold_out ? deconvolve::numbers::most_searched
                                          : deconvolve::traits_of(options).usual_iterations;
    const bool may_start_coarsely = starts_coarsely && planes > 1 && !options.has_pixel_weights;
    if (!options.coarse_start)
        found.coarse_start = found.hold_out && may_start_coarsely ? most_coarse_start : 0;
    return found;
}

bool has_likelihood(DeconvolveMethod method) {
    DeconvolveOptions options;
    options.method = method;
    return deconvolve::traits_of(options).counts_photons;
}

MissingPixelOptions searched_by(DeconvolveMethod method, MissingPixelOptions options) {
    if (has_likelihood(method)) return options;
    options.no_data = {false, {}};
    options.find_hot_pixels = false;
    return options;
}

DeconvolveMethod parse_deconvolve_method(std::string_view text) {
    std::optional<DeconvolveMethod> found;
    for_each_method([&](auto method) {
        for (const std::string_view alias : decltype(method)::aliases)
            if (is_name(text, alias)) found = deconvolve::value_of<decltype(method)>();
    });
    return found ? *found : parse_name<DeconvolveMethod>(text, "the method of deconvolution is ");
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
    text << "object      z,y,x " << convolume::to_string(object)
         << (views > 1 ? message(" of ", views, " views, transforms of at most ")
                       : ", transforms of ")
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
