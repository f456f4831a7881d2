// SPDX-License-Identifier: Apache-2.0
// Binds the enumerations of options, and the description of all options.
#include "bindings/options.hpp"

#include <algorithm>
#include <map>

#include "bindings/bindings.hpp"
#include "signals/option_table.hpp"

namespace convolume::python {

namespace {

/// Binds an enumeration. Its members have the names that options use, with "_" in place of "-".
template <Named Value>
void bind_names(nb::module_& module, const char* name) {
    nb::enum_<Value> bound(module, name);
    for (const NamedValue<Value>& one : names_of<Value>) {
        std::string member = one.name;
        std::replace(member.begin(), member.end(), '-', '_');
        bound.value(member.c_str(), one.value, one.help);
    }
    bound.def("__str__", [](Value value) { return name_of(value); });
}

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

}  // namespace

std::string keyword_of(std::string_view option) {
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

void bind_option_names(nb::module_& module) {
    module.def("boundary_aliases", [] {
        nb::dict names;
        for (const NamedValue<BoundaryKind>& one : boundary_aliases)
            names[one.name] = name_of(one.value);
        return names;
    });
    bind_names<Mode>(module, "Mode");
    bind_names<Operation>(module, "Operation");
    bind_names<Method>(module, "Method");
    bind_names<Precision>(module, "Precision");
    bind_names<NanPolicy>(module, "NanPolicy");
    bind_names<KernelNormalization>(module, "KernelNormalization");
    bind_names<DeconvolveMethod>(module, "DeconvolveMethod");
    bind_names<Acceleration>(module, "Acceleration");
    bind_names<FilterMethod>(module, "FilterMethod");
    bind_names<PointPost>(module, "PointPost");
    bind_names<PeakPosition>(module, "PeakPosition");
    bind_names<PsfModel>(module, "PsfModel");
    bind_names<Modality>(module, "Modality");
    bind_names<PsfParameter>(module, "PsfParameter");
    bind_names<PhantomKind>(module, "PhantomKind");
    bind_names<ShearAxis>(module, "ShearAxis");
    bind_names<Interpolation>(module, "Interpolation");
    bind_names<EngineChoice::Device>(module, "Device");
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
