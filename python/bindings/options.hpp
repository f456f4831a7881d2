// SPDX-License-Identifier: Apache-2.0
#pragma once
// Python classes for structs of options, made from their tables (core/option_table.hpp). __init__
// takes the options as keywords, each option is an attribute, and describe_options() lists them.

#include <nanobind/stl/pair.h>

#include <string>

#include "bindings/arrays.hpp"
#include "core/option_tables.hpp"
#include "deconvolve/option_table.hpp"
#include "deskew/option_table.hpp"
#include "optics/option_table.hpp"
#include "signals/option_table.hpp"

namespace convolume::python {

/// An argument of a type that is not taken: both an InvalidArgument and a TypeError of Python.
class WrongType : public InvalidArgument {
    using InvalidArgument::InvalidArgument;
};

/// Returns the beginning of a text that may be as long as an array.
inline std::string shortened(std::string text) {
    constexpr std::size_t most = 60;
    if (text.size() <= most) return text;
    std::size_t end = most;
    while ((static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;  // whole characters
    return text.substr(0, end) + "…";
}

[[noreturn]] inline void refuse_value(const OptionText& option, const char* wanted,
                                      nb::handle value) {
    throw WrongType(
        message(option.keyword(), " is ", wanted, ", not ", shortened(nb::repr(value).c_str())));
}

/// Converts `value` to a T. If that fails, the error says that `wanted` was expected.
template <class T>
T cast_option(const OptionText& option, const char* wanted, nb::handle value) {
    T result;
    // Python counts True and False among the numbers.
    const bool is_flag = std::is_same_v<T, double> && nb::isinstance<nb::bool_>(value);
    if (is_flag || !nb::try_cast(value, result)) refuse_value(option, wanted, value);
    return result;
}

/// Converts a Python value of an option that is neither None nor a name.
template <class Value>
Value plain_option(const OptionText& option, nb::handle value) {
    if constexpr (std::is_same_v<Value, bool>) {
        return cast_option<bool>(option, "True or False", value);
    } else if constexpr (std::is_integral_v<Value>) {
        return cast_option<Value>(option, "a whole number", value);
    } else if constexpr (std::is_same_v<Value, double>) {
        const bool has_name = *option.notes.unset_name != '\0';
        const std::string wanted =
            has_name ? message("a number or '", option.notes.unset_name, "'") : "a number";
        return cast_option<double>(option, wanted.c_str(), value);
    } else if constexpr (std::is_same_v<Value, SampleRange>) {
        const auto pair = cast_option<std::array<index_t, 2>>(option, "(begin, end)", value);
        return {pair[0], pair[1]};
    } else if constexpr (std::is_same_v<Value, VoxelSize>) {
        const auto three = cast_option<std::array<double, 3>>(option, "three numbers", value);
        return {three[0], three[1], three[2]};
    } else if constexpr (std::is_same_v<Value, Shape3>) {
        return index3(cast_option<Triple>(option, "three whole numbers", value));
    } else if constexpr (std::is_same_v<Value, KernelCenter>) {
        return {KernelCenter::Kind::explicit_,
                index3(cast_option<Triple>(option, "a name or an index", value))};
    } else if constexpr (std::is_same_v<Value, FilterOrigin>) {
        return {FilterOrigin::Kind::explicit_,
                cast_option<index_t>(option, "a name or a whole number", value)};
    } else if constexpr (std::is_same_v<Value, WindowPost>) {
        if (value.is_none()) return {};
        const auto [kind, length] =
            cast_option<std::pair<std::string, index_t>>(option, "(kind, length)", value);
        return parse_window_post(message(kind, ":", length));
    } else if constexpr (std::is_same_v<Value, std::vector<int>>) {
        return cast_option<std::vector<int>>(option, "a list of whole numbers", value);
    } else {
        refuse_value(option, "one of its names", value);
    }
}

/// Converts a Python value of an option. Names are parsed like those of the command line.
template <class Field>
typename Field::Value option_of_python(const Field& field, nb::handle value) {
    using Value = typename Field::Value;
    const bool is_text = nb::isinstance<nb::str>(value);
    const std::string text = is_text ? nb::cast<std::string>(value) : "";
    if constexpr (Worded<Value>) {
        if (value.is_none()) return {};
        if (const auto word = value_of_word<Value>(text)) return *word;
        const char* const separator = words_of<Value>.size() > 1 ? ", " : " or ";
        const std::string wanted = message("a number", separator, list_of_words<Value>("'"));
        return {false, cast_option<double>(field.text, wanted.c_str(), value)};
    } else {
        if (is_text && field.parse != nullptr) return field.parse(text);
        if constexpr (Named<Value>)
            if (const auto none = value_named<Value>("none"); none && value.is_none()) return *none;
        if constexpr (detail::is_optional<Value>) {
            if (value.is_none() || (is_text && field.text.is_unset_name(text))) return {};
            return plain_option<typename Value::value_type>(field.text, value);
        } else {
            return plain_option<Value>(field.text, value);
        }
    }
}

/// Returns the value of an option in its Python form, in which names are strings.
template <class Value>
nb::object option_to_python(const OptionText& option, const Value& value) {
    if constexpr (std::is_arithmetic_v<Value>)
        return nb::cast(value);
    else if constexpr (std::is_same_v<Value, VoxelSize>)
        return nb::make_tuple(value.z_um, value.y_um, value.x_um);
    else if constexpr (std::is_same_v<Value, Shape3>)
        return nb::make_tuple(value.z, value.y, value.x);
    else if constexpr (std::is_same_v<Value, std::vector<int>>)
        return nb::cast(value);
    else if constexpr (std::is_same_v<Value, SampleRange>)
        return nb::make_tuple(value.begin, value.end);
    else if constexpr (Worded<Value>) {
        const auto& [found, number] = value;
        if (number) return nb::cast(*number);
        const std::string word = option_value_text(value);
        return word.empty() ? nb::none() : nb::object(nb::str(word.c_str()));
    } else if constexpr (detail::is_optional<Value>) {
        if (value) return option_to_python(option, *value);
        if (*option.notes.unset_name != '\0') return nb::str(option.notes.unset_name);
        return nb::none();
    } else {
        return nb::str(option_value_text(value).c_str());
    }
}

/// Sets the option with this keyword. Throws TypeError, which names the class `name`, if no option
/// has it.
template <class Struct>
void set_option(Struct& options, const char* name, std::string_view keyword, nb::handle value) {
    bool found = false;
    for_each_option<Struct>([&](const auto& field) {
        if (field.text.keyword() != keyword) return;
        found = true;
        field.set(options, option_of_python(field, value));
    });
    if (!found)
        throw nb::type_error(
            message(name, "() got an unexpected keyword argument '", keyword, "'").c_str());
}

/// Returns the description of each option as a dict, in the order of the table.
template <class Struct>
nb::list described_options() {
    const Struct preset{};
    nb::list described;
    for_each_option<Struct>([&](const auto& field) {
        using Value = typename std::remove_cvref_t<decltype(field)>::Value;
        nb::dict one;
        one["name"] = field.text.name;
        one["keyword"] = std::string(field.text.keyword());
        one["flags"] = field.text.flags;
        one["type"] = option_type(field);
        one["default"] = field.text.notes.hides_default
                             ? nb::none()
                             : option_to_python(field.text, field.get(preset));
        one["help"] = option_help(field, preset);
        one["range"] = field.text.notes.range;
        one["unit"] = option_unit(field.text);
        nb::list choices;
        if constexpr (Named<Value>)
            for (const NamedValue<Value>& choice : names_of<Value>) choices.append(choice.name);
        one["choices"] = choices;
        described.append(one);
    });
    return described;
}

/// Binds a struct of options as the class `name`.
template <class Struct>
nb::class_<Struct> bind_options(nb::module_& module, const char* name) {
    nb::class_<Struct> bound(module, name);
    bound.def(
        "__init__",
        [name](Struct* self, const nb::kwargs& keywords) {
            Struct options;
            for (const auto& [keyword, value] : keywords)
                set_option(options, name, nb::cast<std::string>(keyword), value);
            new (self) Struct(std::move(options));
        },
        nb::sig("def __init__(self, **options: object) -> None"));
    for_each_option<Struct>([&](const auto& field) {
        if (field.text.keyword().empty()) return;
        bound.def_prop_rw(
            std::string(field.text.keyword()).c_str(),
            [&field](const Struct& self) {
                using Value = typename std::remove_cvref_t<decltype(field)>::Value;
                if constexpr (std::is_arithmetic_v<Value>)
                    return field.get(self);
                else
                    return option_to_python(field.text, field.get(self));
            },
            [&field](Struct& self, const nb::object& value) {
                field.set(self, option_of_python(field, value));
            },
            nb::for_setter("value"_a.none()));
    });
    return bound;
}

}  // namespace convolume::python
