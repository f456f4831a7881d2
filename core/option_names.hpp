// SPDX-License-Identifier: Apache-2.0
#pragma once
// The names of the values of options, as commands, JSON, Python and messages use them. Each
// enumeration has one list, in the order in which help and messages show it. Here are those of
// convolutions and of engines; other folders have an option_names.hpp of their own.

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "convolume/engines.hpp"
#include "convolume/error.hpp"
#include "convolume/options.hpp"
#include "convolume/stage_scan.hpp"
#include "core/text.hpp"

namespace convolume {

template <class Value>
struct NamedValue {
    const char* name;
    Value value;
    const char* help = "";  ///< short description
};

/// The named values of an enumeration. Specializations are arrays of NamedValue.
template <class Value>
inline constexpr auto names_of = nullptr;

template <>
inline constexpr auto names_of<Mode> = std::to_array<NamedValue<Mode>>({{"full", Mode::full},
                                                                        {"same", Mode::same},
                                                                        {"valid", Mode::valid}});

template <>
inline constexpr auto names_of<BoundaryKind> =
    std::to_array<NamedValue<BoundaryKind>>({{"zero", BoundaryKind::zero},
                                             {"constant", BoundaryKind::constant},
                                             {"nearest", BoundaryKind::nearest},
                                             {"reflect", BoundaryKind::reflect},
                                             {"mirror", BoundaryKind::mirror},
                                             {"wrap", BoundaryKind::wrap}});

/// Names that other libraries use for boundaries.
inline constexpr auto boundary_aliases =
    std::to_array<NamedValue<BoundaryKind>>({{"dirichlet", BoundaryKind::zero},
                                             {"fill", BoundaryKind::constant},
                                             {"grid-constant", BoundaryKind::constant},
                                             {"neumann", BoundaryKind::nearest},
                                             {"edge", BoundaryKind::nearest},
                                             {"symmetric", BoundaryKind::reflect},
                                             {"symm", BoundaryKind::reflect},
                                             {"grid-mirror", BoundaryKind::reflect},
                                             {"periodic", BoundaryKind::wrap},
                                             {"circular", BoundaryKind::wrap},
                                             {"grid-wrap", BoundaryKind::wrap}});

template <>
inline constexpr auto names_of<Operation> =
    std::to_array<NamedValue<Operation>>({{"convolve", Operation::convolve},
                                          {"correlate", Operation::correlate},
                                          {"adjoint", Operation::adjoint}});

template <>
inline constexpr auto names_of<Method> =
    std::to_array<NamedValue<Method>>({{"auto", Method::automatic},
                                       {"in-core", Method::in_core},
                                       {"dif", Method::dif},
                                       {"tiled", Method::tiled},
                                       {"direct", Method::direct}});

template <>
inline constexpr auto names_of<Algorithm> = std::to_array<NamedValue<Algorithm>>(
    {{"fft", Algorithm::fft}, {"direct", Algorithm::direct}, {"separable", Algorithm::separable}});

template <>
inline constexpr auto names_of<Precision> = std::to_array<NamedValue<Precision>>(
    {{"float32", Precision::float32}, {"float64", Precision::float64}});

template <>
inline constexpr auto names_of<NanPolicy> =
    std::to_array<NamedValue<NanPolicy>>({{"error", NanPolicy::error},
                                          {"zero", NanPolicy::zero},
                                          {"propagate", NanPolicy::propagate},
                                          {"missing", NanPolicy::missing}});

template <>
inline constexpr auto names_of<KernelNormalization> =
    std::to_array<NamedValue<KernelNormalization>>({{"none", KernelNormalization::none},
                                                    {"sum", KernelNormalization::sum},
                                                    {"peak", KernelNormalization::peak}});

/// The kind `explicit_` has no name: it is written as an index.
template <>
inline constexpr auto names_of<KernelCenter::Kind> =
    std::to_array<NamedValue<KernelCenter::Kind>>({{"middle", KernelCenter::Kind::middle},
                                                   {"scipy", KernelCenter::Kind::scipy},
                                                   {"peak", KernelCenter::Kind::peak},
                                                   {"centroid", KernelCenter::Kind::centroid},
                                                   {"corner", KernelCenter::Kind::corner}});

template <>
inline constexpr auto names_of<EngineChoice::Device> =
    std::to_array<NamedValue<EngineChoice::Device>>({{"auto", EngineChoice::Device::automatic},
                                                     {"cpu", EngineChoice::Device::cpu},
                                                     {"gpu", EngineChoice::Device::gpu}});

template <>
inline constexpr auto names_of<FftLibrary> = std::to_array<NamedValue<FftLibrary>>(
    {{"auto", FftLibrary::automatic}, {"own", FftLibrary::own}, {"fftw", FftLibrary::fftw}});

template <>
inline constexpr auto names_of<TransferGate> =
    std::to_array<NamedValue<TransferGate>>({{"auto", TransferGate::automatic},
                                             {"global", TransferGate::global},
                                             {"per-link", TransferGate::per_link},
                                             {"off", TransferGate::off}});

template <>
inline constexpr auto names_of<ShearAxis> =
    std::to_array<NamedValue<ShearAxis>>({{"y", ShearAxis::y}, {"x", ShearAxis::x}});

template <class Value>
concept Named = std::is_enum_v<Value> && requires {
    names_of<Value>.size();
};

template <Named Value>
constexpr const char* name_of(Value value) {
    for (const NamedValue<Value>& one : names_of<Value>)
        if (one.value == value) return one.name;
    throw InternalError("an option outside its enumeration");
}

/// Whether a typed name is `name`. Upper and lower case count as equal, and so do '_' and '-'.
constexpr bool is_name(std::string_view typed, std::string_view name) {
    const auto plain = [](char c) {
        return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c == '_' ? '-' : c;
    };
    if (typed.size() != name.size()) return false;
    for (std::size_t i = 0; i < name.size(); ++i)
        if (plain(typed[i]) != plain(name[i])) return false;
    return true;
}

template <Named Value>
constexpr std::optional<Value> value_named(std::string_view name) {
    for (const NamedValue<Value>& one : names_of<Value>)
        if (is_name(name, one.name)) return one.value;
    return {};
}

/// Returns a list such as "full, same or valid", for which `last_separator` is " or ".
template <Named Value>
std::string list_of_names(const char* separator = ", ", const char* last_separator = ", ") {
    std::vector<std::string> names;
    for (const NamedValue<Value>& one : names_of<Value>) names.emplace_back(one.name);
    return joined(names, separator, last_separator);
}

/// Defines to_string() of an enumeration.
#define CONVOLUME_TO_STRING(Value)       \
    const char* to_string(Value value) { \
        return name_of(value);           \
    }

/// Returns the value with that name. The InvalidArgument for other names reads "'x' is no mode"
/// (`what`), and has the names.
template <Named Value>
Value parse_named(std::string_view name, const char* what) {
    if (const auto value = value_named<Value>(name)) return *value;
    throw InvalidArgument(
        message("'", name, "' is no ", what, ": use one of ", list_of_names<Value>()));
}

/// Returns the value with that name. The InvalidArgument for other names reads "phantoms are"
/// (`subject`), the names with `last_separator` before the last one, and "not" `name`.
template <Named Value>
Value parse_name(std::string_view name, const char* subject, const char* last_separator = " or ") {
    if (const auto value = value_named<Value>(name)) return *value;
    throw InvalidArgument(message(subject, list_of_names<Value>(", ", last_separator), ", not \"",
                                  name, "\"; choose one of these"));
}

/// Returns the value with that name, which is one of those that `option` offers. The
/// InvalidArgument for others has the names of these.
template <Named Value>
Value parse_offered(std::string_view name, const OptionName& option,
                    const std::vector<Value>& offered) {
    std::vector<std::string> names;
    for (const Value value : offered) {
        if (is_name(name, name_of(value))) return value;
        names.emplace_back(name_of(value));
    }
    throw InvalidArgument(sentence(option, " is ", joined(names, ", ", " or "), ", not \"", name,
                                   "\"; choose one of these"));
}

/// Defines to_string() of an enumeration, and its inverse `parse`. `parser` is parse_named or
/// parse_name, which gets the further arguments.
#define CONVOLUME_NAMES(Value, parse, parser, ...) \
    CONVOLUME_TO_STRING(Value)                     \
    Value parse(std::string_view text) {           \
        return parser<Value>(text, __VA_ARGS__);   \
    }

}  // namespace convolume
