// SPDX-License-Identifier: Apache-2.0
#pragma once
// What is known of every option: one line for each in the table of its struct. Commands, --help,
// the Python package and the tables of the documentation follow from it. Defaults are those of the
// structs.

#include <charconv>
#include <concepts>
#include <tuple>
#include <type_traits>

#include "convolume/camera.hpp"
#include "core/option_names.hpp"

namespace convolume {

/// An option in words. What is not given is empty.
struct OptionText {
    const char* name;             ///< of the member; a key in JSON
    const char* keyword = "";     ///< in Python; empty: the name; null: not there
    const char* flags = "";       ///< of commands: "--operation,--op"; empty: not their option
    const char* type = "";        ///< in help: "N"; empty: the names of the values
    const char* help = "";        ///< a sentence without a period
    const char* range = "";       ///< "0 to 1"
    const char* unit = "";        ///< "µm"
    const char* if_unset = "";    ///< in help, instead of a default that is no value: "never"
    const char* remark = "";      ///< in help, after the default
    const char* unset_name = "";  ///< the word for no value: "auto"

    std::string_view key() const {
        return keyword == nullptr ? "" : *keyword == '\0' ? name : keyword;
    }
};

template <class Struct_, class Value_>
struct OptionField {
    using Struct = Struct_;
    using Value = Value_;

    OptionText text;
    Value (*get)(const Struct&);
    void (*set)(Struct&, Value);
    Value (*parse)(std::string_view) = nullptr;  ///< of values that have names
};

namespace detail {

template <class Struct, class Value>
Value member_type(Value Struct::*);
template <class Struct, class Value>
Struct member_owner(Value Struct::*);

}  // namespace detail

/// The option that a member holds.
template <auto member>
constexpr auto option(const OptionText& text,
                      decltype(detail::member_type(member)) (*parse)(std::string_view) = nullptr) {
    using Struct = decltype(detail::member_owner(member));
    using Value = decltype(detail::member_type(member));
    return OptionField<Struct, Value>{
        text, [](const Struct& options) { return options.*member; },
        [](Struct& options, Value value) { options.*member = std::move(value); }, parse};
}

/// The option that a member of a member holds.
template <auto outer, auto member>
constexpr auto nested_option(const OptionText& text) {
    using Struct = decltype(detail::member_owner(outer));
    using Value = decltype(detail::member_type(member));
    return OptionField<Struct, Value>{
        text, [](const Struct& options) { return options.*outer.*member; },
        [](Struct& options, Value value) { options.*outer.*member = value; }};
}

/// The table of a struct: specializations are tuples of OptionField.
template <class Struct>
inline constexpr auto option_table = nullptr;

/// Calls `use(field)` for every option of a struct.
template <class Struct, class Use>
void for_each_option(const Use& use) {
    std::apply([&](const auto&... field) { (use(field), ...); }, option_table<Struct>);
}

/// Calls `use(field)` for the option of that name. Whether there is one.
template <class Struct, class Use>
bool with_option(std::string_view name, const Use& use) {
    bool found = false;
    for_each_option<Struct>([&](const auto& field) {
        if (found || field.text.name != name) return;
        found = true;
        use(field);
    });
    return found;
}

/// When iterations end: never before their number, by held-out photons, or by a fraction.
struct StopRule {
    bool hold_out = false;
    std::optional<double> fraction;
};

// A value in the words of --help; empty if it is none.

inline std::string option_value_text(bool value) {
    return value ? "true" : "false";
}
template <class Number>
requires std::integral<Number> || std::floating_point<Number> std::string option_value_text(
    Number value) {
    char digits[32];
    return {digits, std::to_chars(digits, digits + sizeof digits, value).ptr};
}
inline std::string option_value_text(const std::string& value) {
    return value;
}
inline std::string option_value_text(const StopRule& rule) {
    return rule.hold_out ? "auto" : rule.fraction ? option_value_text(*rule.fraction) : "";
}
inline std::string option_value_text(const VoxelSize& voxel) {
    return message(option_value_text(voxel.z_um), ",", option_value_text(voxel.y_um), ",",
                   option_value_text(voxel.x_um));
}
inline std::string option_value_text(const Shape3& shape) {
    return to_string(shape, ",");
}
inline std::string option_value_text(const FilterOrigin& origin) {
    const bool given = origin.kind == FilterOrigin::Kind::explicit_;
    return given ? option_value_text(origin.index) : name_of(origin.kind);
}
inline std::string option_value_text(const PhotonScale&) {
    return "";
}
inline std::string option_value_text(const SampleRange&) {
    return "";
}
template <class Value>
requires requires(const Value& value) {
    to_string(value);
}
std::string option_value_text(const Value& value) {
    return to_string(value);
}
template <class Value>
std::string option_value_text(const std::optional<Value>& value) {
    return value ? option_value_text(*value) : "";
}

/// "rl|rl-tv|shb" for a list of names.
template <Named Value>
std::string option_choices() {
    return list_of_names<Value>("|", "|");
}

/// What stands for a value in help.
template <class Field>
std::string option_type(const Field& field) {
    using Value = typename Field::Value;
    if (*field.text.type != '\0') return field.text.type;
    if constexpr (Named<Value>)
        return option_choices<Value>();
    else
        throw InternalError(message("the option ", field.text.name, " has no type"));
}

/// The names of a value with their help: "Richardson-Lucy (rl, the default), … or least squares
/// (wiener)".
template <Named Value>
std::string help_of_names(Value preset) {
    std::string text;
    for (const NamedValue<Value>& one : names_of<Value>) {
        if (!text.empty()) text += &one == &names_of<Value>.back() ? ", or " : ", ";
        text += message(one.help, " (", one.name, one.value == preset ? ", the default)" : ")");
    }
    return text;
}

/// The line of help, with the default that `options` have.
template <class Field>
std::string option_help(const Field& field, const typename Field::Struct& options) {
    const OptionText& text = field.text;
    const auto value = field.get(options);
    if constexpr (Named<typename Field::Value>)
        if (*text.help == '\0') return help_of_names(value);
    std::string preset = option_value_text(value);
    if (preset.empty()) preset = text.unset_name;
    const bool is_unset = *text.if_unset != '\0' && (preset.empty() || preset == "0");
    if (is_unset) return message(text.help, " (default: ", text.if_unset, ")");
    if (preset.empty()) return text.help;
    return message(text.help, " (default ", preset, text.remark, ")");
}

/// A part of DeconvolveOptions::photons: without the other part, that one is 1 or 0.
template <auto member>
constexpr auto photon_option(const OptionText& text) {
    using Value = std::optional<double>;
    return OptionField<DeconvolveOptions, Value>{
        text,
        [](const DeconvolveOptions& options) {
            return options.photons ? Value((*options.photons).*member) : Value();
        },
        [](DeconvolveOptions& options, Value value) {
            if (!options.photons) options.photons.emplace();
            (*options.photons).*member = value.value_or(PhotonScale().*member);
        }};
}

template <>
inline constexpr auto option_table<DeconvolveOptions> = std::tuple{
    option<&DeconvolveOptions::method>({.name = "method", .flags = "--method"},
                                       parse_deconvolve_method),
    option<&DeconvolveOptions::iterations>(
        {.name = "iterations",
         .flags = "--iterations",
         .type = "N",
         .help = "Maximum number of iterations",
         .range = "from 1",
         .remark = "; of wb those of --unmatched; with --stop auto 200"}),
    OptionField<DeconvolveOptions, StopRule>{
        {.name = "stop",
         .flags = "--stop",
         .type = "auto|X",
         .help =
             "auto: stop when held-out photons are predicted best; a number: when an iteration "
             "lowers the misfit by less than this fraction; for wiener, when the residual is at "
             "most this",
         .range = "from 0",
         .if_unset = "never; wiener: 0.001"},
        [](const DeconvolveOptions& options) {
            return StopRule{options.hold_out, options.stop};
        },
        [](DeconvolveOptions& options, StopRule rule) {
            options.hold_out = rule.hold_out;
            options.stop = rule.fraction;
        }},
    option<&DeconvolveOptions::photons>(
        {.name = "photons",
         .type = "GAIN,OFFSET",
         .help = "Gain and offset: a value stands for gain * (value - offset) photons, for stop "
                 "auto and rlgc",
         .if_unset = "seen from the noise"}),
    photon_option<&PhotonScale::gain>(
        {.name = "gain",
         .keyword = nullptr,
         .flags = "--gain",
         .type = "N",
         .help = "Photons for each unit of the image, for --stop auto and rlgc",
         .range = "above 0",
         .if_unset = "seen from the noise"}),
    photon_option<&PhotonScale::offset>(
        {.name = "offset",
         .keyword = nullptr,
         .flags = "--offset",
         .type = "N",
         .help = "Value of a pixel without photons, for --stop auto and rlgc",
         .if_unset = "seen from the noise"}),
    option<&DeconvolveOptions::acceleration>(
        {.name = "acceleration", .flags = "--acceleration", .help = "Acceleration of rl and rl-tv"},
        parse_acceleration),
    option<&DeconvolveOptions::background>(
        {.name = "background",
         .flags = "--background",
         .type = "N|auto",
         .help = "Level of the image without light; auto: the level that most pixels are near",
         .unset_name = "auto"}),
    option<&DeconvolveOptions::saturation>(
        {.name = "saturation",
         .flags = "--saturation",
         .type = "N",
         .help = "Pixels of at least this value are saturated and are left out; not of wiener",
         .if_unset = "all are used"}),
    option<&DeconvolveOptions::boundary>(
        {.name = "boundary",
         .keyword = "edges",
         .flags = "--edges",
         .type = "extend|zero|nearest|reflect|mirror|wrap",
         .help = "The object beyond the image's edges: estimated (extend) or given by a boundary "
                 "condition",
         .unset_name = "extend"},
        parse_edges),
    option<&DeconvolveOptions::center>({.name = "center",
                                        .keyword = "origin",
                                        .type = "middle|scipy|peak|centroid|corner|Z,Y,X",
                                        .help = "The PSF's sample that stands for no shift"},
                                       parse_kernel_center),
    option<&DeconvolveOptions::tv_weight>({.name = "tv_weight",
                                           .flags = "--tv",
                                           .type = "W",
                                           .help = "Weight of the total variation of rl-tv",
                                           .range = "from 0"}),
    option<&DeconvolveOptions::voxel>({.name = "voxel",
                                       .keyword = "spacing",
                                       .type = "Z,Y,X",
                                       .help = "Edges of a voxel, for the gradient of rl-tv",
                                       .range = "above 0"}),
    option<&DeconvolveOptions::noise_to_signal>(
        {.name = "noise_to_signal",
         .keyword = "balance",
         .flags = "--noise-to-signal",
         .type = "K",
         .help = "Noise-to-signal power ratio for wiener and wb",
         .range = "above 0"}),
    option<&DeconvolveOptions::consensus>(
        {.name = "consensus",
         .flags = "--consensus",
         .type = "X",
         .help = "rlgc ends when less than this share of voxels agree, five times in a row",
         .range = "from 0"}),
    option<&DeconvolveOptions::unmatched>(
        {.name = "unmatched",
         .flags = "--unmatched",
         .type = "N",
         .help = "Iterations of wb with its back projector, before those of rl",
         .range = "from 0"}),
    option<&DeconvolveOptions::coarse_start>(
        {.name = "coarse_start",
         .flags = "--coarse-start",
         .type = "[N]",
         .help = "Begin with N iterations on each of one or two coarser images (20 without a "
                 "number): the same quality sooner; of rl, rl-tv and shb",
         .range = "from 0",
         .if_unset = "none"}),
    option<&DeconvolveOptions::image_type>(
        {.name = "image_type",
         .keyword = "image_dtype",
         .type = "TYPE",
         .help = "Type of all images: uint8 and uint16 take less of a GPU's memory"},
        [](std::string_view name) -> std::optional<PixelType> { return parse_pixel_type(name); }),
    option<&DeconvolveOptions::max_host_bytes>(
        {.name = "max_host_bytes",
         .keyword = "max_host_mem",
         .flags = "--max-host-mem",
         .type = "SIZE",
         .help = "Memory limit of image, result, scratch and CPU engines together",
         .unit = "bytes",
         .if_unset = "three quarters of free memory"}),
};

}  // namespace convolume
