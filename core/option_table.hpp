// SPDX-License-Identifier: Apache-2.0
#pragma once
// How options are described: each struct of options has a table (core/option_tables.hpp), from
// which the options of commands, --help, JSON and the keywords of Python follow.

#include <charconv>
#include <concepts>
#include <tuple>
#include <type_traits>

#include "core/option_names.hpp"

namespace convolume {

/// The quantity that a number counts or measures.
enum class Quantity { number, bytes, length_um, wavelength_um };

/// Details that few options have; empty if there are none.
struct OptionNotes {
    const char* keyword = "";     ///< in Python, unless it is the name; null: not there
    const char* range = "";       ///< "0 to 1"
    const char* unit = "";        ///< "electrons"
    const char* if_unset = "";    ///< in help, instead of a default that is no value: "never"
    const char* remark = "";      ///< in help, after the default
    const char* unset_name = "";  ///< the word for no value: "auto"
    bool hides_default = false;   ///< callers must give it, or another option is the default
    Quantity quantity = Quantity::number;
};

/// An option in words.
struct OptionText {
    const char* name;   ///< of the member; a key in JSON
    const char* flags;  ///< of commands: "--operation,--op"; empty: not their option
    const char* type;   ///< in help: "N"; empty: the names of the values
    const char* help;   ///< a sentence without a period
    OptionNotes notes = {};

    /// Whether a text is the word for no value; an empty one never is.
    bool is_unset_name(std::string_view text) const {
        return !text.empty() && text == notes.unset_name;
    }
    std::string_view keyword() const {
        return notes.keyword == nullptr ? "" : *notes.keyword == '\0' ? name : notes.keyword;
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

template <class Value>
inline constexpr bool is_optional = false;
template <class Value>
inline constexpr bool is_optional<std::optional<Value>> = true;

}  // namespace detail

/// The option that a member holds. Values that have names are parsed by `parse`.
template <auto member>
constexpr auto option(const char* name, const char* flags, const char* type, const char* help,
                      const OptionNotes& notes = {},
                      decltype(detail::member_type(member)) (*parse)(std::string_view) = nullptr) {
    using Struct = decltype(detail::member_owner(member));
    using Value = decltype(detail::member_type(member));
    return OptionField<Struct, Value>{
        {name, flags, type, help, notes},
        [](const Struct& options) { return options.*member; },
        [](Struct& options, Value value) { options.*member = std::move(value); },
        parse};
}

/// The option that a member of a member holds.
template <auto outer, auto member>
constexpr auto nested_option(const char* name, const char* flags, const char* type,
                             const char* help, const OptionNotes& notes = {}) {
    using Struct = decltype(detail::member_owner(outer));
    using Value = decltype(detail::member_type(member));
    return OptionField<Struct, Value>{
        {name, flags, type, help, notes},
        [](const Struct& options) { return options.*outer.*member; },
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

/// Calls `use(field)` for the option of that name, which there must be.
template <class Struct, class Use>
void with_option(std::string_view name, const Use& use) {
    bool found = false;
    for_each_option<Struct>([&](const auto& field) {
        if (field.text.name != name) return;
        found = true;
        use(field);
    });
    if (!found) throw InternalError(message("no option is called ", name));
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
    const bool in_nm = voxel.z_um < 1;
    const double units = in_nm ? 1000 : 1;
    return message(voxel.z_um * units, ",", voxel.y_um * units, ",", voxel.x_um * units,
                   in_nm ? "nm" : "um");
}
inline std::string option_value_text(const Shape3& shape) {
    return to_string(shape, ",");
}
inline std::string option_value_text(const FilterOrigin& origin) {
    const bool given = origin.kind == FilterOrigin::Kind::explicit_;
    return given ? option_value_text(origin.index) : name_of(origin.kind);
}
// Without a default that could be shown.
inline std::string option_value_text(const SampleRange&) {
    return "";
}
inline std::string option_value_text(const std::vector<int>&) {
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

inline const char* option_unit(const OptionText& option) {
    switch (option.notes.quantity) {
        case Quantity::bytes:
            return "bytes";
        case Quantity::length_um:
        case Quantity::wavelength_um:
            return "µm";
        default:
            return option.notes.unit;
    }
}

/// "rl|rl-tv|shb" for a list of names.
template <Named Value>
std::string option_choices() {
    return list_of_names<Value>("|", "|");
}

/// The placeholder of a value in help.
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
    std::string preset = text.notes.hides_default ? "" : option_value_text(value);
    const bool is_unset =
        preset.empty() || (std::is_integral_v<typename Field::Value> && preset == "0");
    if (is_unset && *text.notes.if_unset != '\0')
        return message(text.help, " (default: ", text.notes.if_unset, ")");
    if (is_unset && *text.notes.unset_name != '\0') preset = text.notes.unset_name;
    if (preset.empty()) return text.help;
    return message(text.help, " (default ", preset, text.notes.remark, ")");
}

}  // namespace convolume
