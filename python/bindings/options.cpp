// SPDX-License-Identifier: Apache-2.0
// Binds the names of options in messages, rules of their values, and the description of all.
#include "bindings/options.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <atomic>
#include <map>

#include "bindings/bindings.hpp"
#include "cli/run/errors.hpp"
#include "operations/option_aliases.hpp"
#include "signals/option_table.hpp"

namespace convolume::python {

namespace {

template <class... Structs>
std::string keyword_in_tables(std::string_view option) {
    std::string found(option);
    const auto look = [&](const auto& field) {
        if (field.text.name == option && !field.text.keyword().empty())
            found = field.text.keyword();
    };
    (for_each_option<Structs>(look), ...);
    return found;
}

/// Whether messages name options as the command does.
std::atomic<bool> are_flags = false;

/// Returns the keyword of the option that has a flag such as "--background", or its name.
template <class... Structs>
std::string keyword_of_flag(std::string_view flag) {
    std::string name(flag.substr(2));
    std::replace(name.begin(), name.end(), '-', '_');
    const auto look = [&](const auto& field) {
        const std::string flags = message(field.text.flags, ",");
        if (flags.find(message(flag, ",")) != std::string::npos) name = field.text.name;
    };
    (for_each_option<Structs>(look), ...);
    return keyword_of(name == "output_type" ? "stored" : name);
}

}  // namespace

std::string keyword_of(std::string_view option) {
    if (are_flags) return cli::in_words_of_command(sentence(OptionName{option}));
    if (option == "depth_range") return "depths";
    constexpr std::pair<std::string_view, const char*> of_signals[] = {
        {"raw_type", "dtype"},
        {"raw_signals", "signals"},
        {"raw_layout", "layout"},
        {"raw_header", "header"},
        {"raw_byte_order", "byte_order"},
        {"stored", "dtype"},
        {"sampling_rate_hz", "sampling_rate"}};
    for (const auto& [name, keyword] : of_signals)
        if (name == option) return keyword;
    if (option == "refine_psf") return "convolume.fit_psf";
    return keyword_in_tables<Options, EngineChoice, DeconvolveOptions, FilterOptions, PsfOptions,
                             DeskewOptions>(option);
}

std::vector<std::string> keywords_meant_by(const std::string& name) {
    std::string flag = "--" + name;
    std::replace(flag.begin(), flag.end(), '_', '-');
    std::vector<std::string> flags{flag};
    for (const OptionAlias& alias : option_aliases)
        if (flag == alias.typed && alias.value == nullptr) flags.emplace_back(alias.option);
    std::vector<std::string> keywords;
    for (const std::string& one : flags)
        keywords.push_back(keyword_of_flag<Options, EngineChoice, DeconvolveOptions, FilterOptions,
                                           PsfOptions, DeskewOptions>(one));
    return keywords;
}

void bind_option_names(nb::module_& module) {
    module.def("boundary_aliases", [] {
        nb::dict names;
        for (const NamedValue<BoundaryKind>& one : boundary_aliases)
            names[one.name] = name_of(one.value);
        return names;
    });
    module.def("keywords_meant_by", &keywords_meant_by,
               "Returns the keywords that may be meant by a name of another program.", "name"_a);
    module.def(
        "name_options_as_command", [](bool as_command) { are_flags = as_command; },
        "Sets whether messages name options by flags of the command, in place of keywords.",
        "as_command"_a);
    module.def("option_name", &keyword_of, "Returns the name of an option in messages.",
               "option"_a);
    module.def(
        "sample_type",
        [](const std::string& precision, bool is_complex) {
            return sample_type(parse_precision(precision), is_complex);
        },
        "Returns the type of results of a precision.", "precision"_a, "is_complex"_a);
    module.def("needs_float64", &needs_float64,
               "Returns whether float32 would round samples of a type.", "dtype"_a);
    module.def(
        "check_nan_policy",
        [](const std::string& policy, const std::vector<std::string>& offered) {
            std::vector<NanPolicy> policies;
            for (const std::string& one : offered) policies.push_back(parse_nan_policy(one));
            parse_offered(policy, OptionName{"nan"}, policies);
        },
        "Raises InvalidArgument, which lists the policies that are offered, for another one.",
        "policy"_a, "offered"_a);
    module.def(
        "describe_options",
        [](const std::string& name) {
            static const std::map<std::string, nb::list (*)()> tables{
                {"Camera", described_options<Camera>},
                {"ChannelizerOptions", described_options<ChannelizerOptions>},
                {"CorrelationOptions", described_options<CorrelationOptions>},
                {"DeconvolveOptions", described_options<DeconvolveOptions>},
                {"DeskewOptions", described_options<DeskewOptions>},
                {"Engines", described_options<EngineChoice>},
                {"FilterOptions", described_options<FilterOptions>},
                {"MissingPixelOptions", described_options<MissingPixelOptions>},
                {"Options", described_options<Options>},
                {"PhantomOptions", described_options<PhantomOptions>},
                {"PsfOptions", described_options<PsfOptions>}};
            const auto found = tables.find(name);
            if (found == tables.end())
                throw InvalidArgument(message("there are no options called ", name));
            return found->second();
        },
        "Returns the options of a struct: name, keyword, flags, type, default, help, range, unit "
        "and choices of each.",
        "name"_a);
}

}  // namespace convolume::python
