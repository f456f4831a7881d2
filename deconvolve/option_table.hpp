// SPDX-License-Identifier: Apache-2.0
#pragma once
// The table of the options of deconvolution (core/option_table.hpp). The names of methods are in
// their files (deconvolve/methods).

#include <span>

#include "convolume/deconvolve_options.hpp"
#include "convolume/missing_pixels.hpp"
#include "core/option_table.hpp"

namespace convolume {

/// The names of all methods, in the order of their values.
struct MethodNames {
    CONVOLUME_API static std::span<const NamedValue<DeconvolveMethod>> all();
    static auto begin() { return all().begin(); }
    static auto end() { return all().end(); }
    static auto& front() { return all().front(); }
    static auto& back() { return all().back(); }
    static std::size_t size() { return all().size(); }
};
template <>
inline constexpr auto names_of<DeconvolveMethod> = MethodNames{};

template <>
inline constexpr auto names_of<Acceleration> = std::to_array<NamedValue<Acceleration>>(
    {{"none", Acceleration::none}, {"biggs-andrews", Acceleration::biggs_andrews}});

template <>
inline constexpr auto names_of<ViewUpdates> =
    std::to_array<NamedValue<ViewUpdates>>({{"simultaneous", ViewUpdates::simultaneous},
                                            {"sequential", ViewUpdates::sequential},
                                            {"efficient", ViewUpdates::efficient}});

/// When iterations stop: after their full number, by held-out photons, or at a relative change
/// below `fraction`.
struct StopRule {
    bool hold_out = false;
    std::optional<double> fraction;
    bool operator==(const StopRule&) const = default;
};
template <>
inline constexpr auto words_of<StopRule> = std::to_array<NamedValue<StopRule>>({{"auto",
                                                                                 {true, {}}}});

/// The level of an image without the specimen's light: one that is found with its slope, a number,
/// or one that is found.
struct BackgroundRule {
    bool varies = false;
    std::optional<double> level{};
    bool operator==(const BackgroundRule&) const = default;
};
template <>
inline constexpr auto words_of<BackgroundRule> =
    std::to_array<NamedValue<BackgroundRule>>({{"auto", {}}, {"smooth", {true, {}}}});

template <>
inline constexpr auto words_of<MissingPixelOptions::NoDataRule> =
    std::to_array<NamedValue<MissingPixelOptions::NoDataRule>>({{"auto", {}},
                                                                {"off", {false, {}}}});

/// Whether pixels are looked for.
enum class PixelSearch { automatic, off };
template <>
inline constexpr auto names_of<PixelSearch> = std::to_array<NamedValue<PixelSearch>>(
    {{"auto", PixelSearch::automatic}, {"off", PixelSearch::off}});
inline CONVOLUME_TO_STRING(PixelSearch)

    template <>
    inline constexpr auto option_table<DeconvolveOptions> = std::tuple{
        option<&DeconvolveOptions::method>("method", "--method", "", "", {},
                                           parse_deconvolve_method),
        option<&DeconvolveOptions::iterations>(
            "iterations", "--iterations", "N", "Maximum number of iterations",
            {.range = "from 1",
             .if_unset = "for rl, rl-tv and shb as --stop auto finds, at most 200; for wb those of "
                         "--unmatched; for map 300; else 30"}),
        OptionField<DeconvolveOptions, StopRule>{
            {"stop",
             "--stop",
             "auto|X",
             "auto: find the number of iterations at which two halves of the photons agree best; a "
             "number: stop when an iteration lowers the misfit by less than this fraction; for "
             "wiener and map, when the residual is at most this",
             {.range = "from 0 to below 1",
              .if_unset = "without --iterations auto for rl, rl-tv and shb, else never; wiener: "
                          "0.001; map: 0.0002"}},
            [](const DeconvolveOptions& options) {
                return StopRule{options.hold_out, options.stop};
            },
            [](DeconvolveOptions& options, StopRule rule) {
                options.hold_out = rule.hold_out;
                options.stop = rule.fraction;
            }},
        option<&DeconvolveOptions::gain>("gain", "--gain", "N",
                                         "Photons for each unit of the image, for --stop auto, "
                                         "--uncertainty, rlgc and the weights of "
                                         "rl-tv and map",
                                         {.range = "above 0", .if_unset = "seen from the noise"}),
        option<&DeconvolveOptions::offset>("offset", "--offset", "N|auto",
                                           "Value of a pixel without light, which has no photon "
                                           "noise; auto: the value at which the "
                                           "noise vanishes, or 0 if the noise does not tell it",
                                           {.unset_name = "auto"}),
        option<&DeconvolveOptions::read_noise>(
            "read_noise", "--read-noise", "E",
            "Read noise of the camera, for a given offset: its square divided by the gain is "
            "subtracted from that",
            {.range = "from 0", .unit = "photoelectrons"}),
        option<&DeconvolveOptions::acceleration>("acceleration", "--acceleration", "",
                                                 "Acceleration of rl, rl-tv and map",
                                                 {.idle = "none"}, parse_acceleration),
        option<&DeconvolveOptions::view_updates>(
            "view_updates", "--view-updates", "",
            "How several views change the estimate in an iteration of rl: all at once, one after "
            "the "
            "other, or so by the back projectors of Preibisch et al. (2014)",
            {.idle = "simultaneous"}, parse_view_updates),
        OptionField<DeconvolveOptions, BackgroundRule>{
            {"background", "--background", "N|auto|smooth",
             "Level of the image without the specimen's light; auto: the level that most pixels "
             "are "
             "near, or, under haze, the one with which coarse restorations predict held-out "
             "photons "
             "best; smooth: a level that rises evenly over y and x, of PSFs without haze"},
            [](const DeconvolveOptions& options) {
                return BackgroundRule{options.has_varying_background, options.background};
            },
            [](DeconvolveOptions& options, BackgroundRule rule) {
                options.background = rule.level;
                options.has_varying_background = rule.varies;
            }},
        option<&DeconvolveOptions::saturation>(
            "saturation", "--saturation", "N",
            "Pixels of at least this value are saturated: lower bounds, which more light does not "
            "contradict; not of nnls and wiener",
            {.if_unset = "all are used"}),
        option<&DeconvolveOptions::boundary>(
            "boundary", "--edges", "extend|zero|nearest|reflect|mirror|wrap",
            "The object beyond the image's edges: estimated (extend) or given by a boundary "
            "condition",
            {.keyword = "edges", .unset_name = "extend"}, parse_edges),
        option<&DeconvolveOptions::center>("center", "", "middle|scipy|peak|centroid|corner|Z,Y,X",
                                           "The PSF's sample that stands for no shift",
                                           {.keyword = "origin"}, parse_kernel_center),
        option<&DeconvolveOptions::tv_weight>(
            "tv_weight", "--tv", "W|auto",
            "Weight of the total variation of rl-tv; auto: chosen from the image's noise",
            {.range = "from 0", .unset_name = "auto", .idle = "0"}),
        option<&DeconvolveOptions::roughness>(
            "roughness", "--roughness", "W|auto",
            "Weight of the roughness of map; auto: the one with which two halves of the photons "
            "agree best",
            {.range = "from 0", .unset_name = "auto", .idle = "0"}),
        option<&DeconvolveOptions::voxel>("voxel", "", "Z,Y,X",
                                          "Edges of a voxel, for the gradient of rl-tv and map",
                                          {.keyword = "spacing", .range = "above 0"}),
        option<&DeconvolveOptions::noise_to_signal>("noise_to_signal", "--noise-to-signal", "K",
                                                    "Noise-to-signal power ratio for wiener and wb",
                                                    {.keyword = "balance", .range = "above 0"}),
        option<&DeconvolveOptions::consensus>(
            "consensus", "--consensus", "X",
            "rlgc ends when less than this share of voxels agree, five times in a row",
            {.range = "from 0", .idle = "0"}),
        option<&DeconvolveOptions::unmatched>(
            "unmatched", "--unmatched", "N",
            "Iterations of wb with its back projector, before those of rl",
            {.range = "from 0", .idle = "0"}),
        option<&DeconvolveOptions::coarse_start>(
            "coarse_start", "--coarse-start", "[N]",
            "Begin with N iterations on each of one or two coarser images (20 without a "
            "number): the same quality sooner; of rl, rl-tv and shb",
            {.range = "from 0",
             .if_unset = "with --stop auto and several planes as many as it finds, at "
                         "most 100; else none",
             .idle = "0"}),
        option<&DeconvolveOptions::splits>(
            "splits", "--splits", "N",
            "Number of random divisions of the photons into halves that tell the uncertainty",
            {.keyword = "uncertainty", .range = "2 to 64", .if_unset = "8"}),
        option<&DeconvolveOptions::seed>("seed", "--seed", "N",
                                         "Seed of the random divisions for the uncertainty"),
        option<&DeconvolveOptions::image_type>(
            "image_type", "", "TYPE",
            "Type of all images: uint8 and uint16 take less of a GPU's memory",
            {.keyword = "image_dtype"},
            [](std::string_view name) -> std::optional<PixelType> {
                return parse_pixel_type(name);
            }),
        option<&DeconvolveOptions::max_host_bytes>(
            "max_host_bytes", "--max-host-mem", "SIZE",
            "Memory limit of image, result, scratch and CPU engines together",
            {.keyword = "max_host_mem",
             .if_unset = "three quarters of free memory",
             .quantity = Quantity::bytes}),
    };

template <>
inline constexpr auto option_table<MissingPixelOptions> = std::tuple{
    option<&MissingPixelOptions::no_data>(
        "no_data", "--no-data", "V|auto|off",
        "Pixels without data, which are left out: those of one value; auto: regions of one value "
        "that photons cannot repeat, and margins darker than all else",
        {.idle = "off"}),
    OptionField<MissingPixelOptions, PixelSearch>{
        {"hot_pixels",
         "--hot-pixels",
         "",
         "Leave out pixels that are brighter beside their neighbors than the PSF and the noise "
         "allow, and dead ones of the camera",
         {.idle = "off"}},
        [](const MissingPixelOptions& options) {
            return options.find_hot_pixels ? PixelSearch::automatic : PixelSearch::off;
        },
        [](MissingPixelOptions& options, PixelSearch search) {
            options.find_hot_pixels = search == PixelSearch::automatic;
        },
        [](std::string_view text) {
            return parse_offered(text, OptionName{"hot_pixels"},
                                 std::vector{PixelSearch::automatic, PixelSearch::off});
        }},
    OptionField<MissingPixelOptions, NanPolicy>{
        {"nan",
         "--nan",
         "error|missing",
         "Refuse an image with NaN or infinities, or leave these out",
         {.idle = "error"}},
        [](const MissingPixelOptions& options) {
            return options.leave_out_nonfinite ? NanPolicy::missing : NanPolicy::error;
        },
        [](MissingPixelOptions& options, NanPolicy policy) {
            options.leave_out_nonfinite = policy == NanPolicy::missing;
        },
        [](std::string_view text) {
            return parse_offered(text, OptionName{"nan"},
                                 std::vector{NanPolicy::error, NanPolicy::missing});
        }},
};

/// Throws InvalidArgument if an option in the table of a struct is given, asks for something, and
/// is not used by the method of `options`. `given(field)` returns the value as text if it is given.
template <class Struct, class Given>
void require_used(const DeconvolveOptions& options, const Given& given) {
    for_each_option<Struct>([&](const auto& field) {
        const std::optional<std::string> value = given(field);
        if (value && !field.text.asks_for_nothing(*value)) require_option(options, field.text.name);
    });
}

}  // namespace convolume
