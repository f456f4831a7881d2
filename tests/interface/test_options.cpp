// SPDX-License-Identifier: Apache-2.0
// Tests the tables of options: names, help texts, and the defaults of the structs.

#include <set>

#include "core/option_tables.hpp"
#include "deconvolve/option_table.hpp"
#include "optics/option_table.hpp"
#include "signals/option_table.hpp"
#include "tests/catch.hpp"

using namespace convolume;

namespace {

template <class Struct>
void check_table() {
    const Struct preset{};
    std::set<std::string> names, keywords;
    for_each_option<Struct>([&](const auto& field) {
        const OptionText& text = field.text;
        INFO(text.name);
        CHECK(names.insert(text.name).second);
        const std::string keyword(text.keyword());
        if (!keyword.empty()) CHECK(keywords.insert(keyword).second);
        const std::string flags = text.flags;
        CHECK((flags.empty() || flags.starts_with("--")));
        CHECK(!option_type(field).empty());
        const std::string help = option_help(field, preset);
        CHECK(!help.empty());
        CHECK(!help.ends_with('.'));
        Struct copy{};  // every option that can be read can be set
        field.set(copy, field.get(preset));
        CHECK(option_help(field, copy) == help);
    });
}

template <class Struct>
std::string help_of(const char* name, const Struct& options) {
    std::string help;
    with_option<Struct>(name, [&](const auto& field) { help = option_help(field, options); });
    return help;
}

}  // namespace

TEST_CASE("every option has a name, a type and a line of help") {
    check_table<Options>();
    check_table<EngineChoice>();
    check_table<DeconvolveOptions>();
    check_table<FilterOptions>();
    check_table<PsfOptions>();
    check_table<Camera>();
    check_table<PhantomOptions>();
}

TEST_CASE("help shows the defaults that options have") {
    DeconvolveOptions options;
    CHECK(help_of("tv_weight", options).ends_with("(default auto)"));
    options.tv_weight = 0.25;
    CHECK(help_of("tv_weight", options).ends_with("(default 0.25)"));
    CHECK(help_of("saturation", options).ends_with("(default: all are used)"));
    CHECK(help_of("boundary", options).ends_with("(default extend)"));
    CHECK(help_of("background", options).ends_with("(default auto)"));
    options.background = 3;
    CHECK(help_of("background", options).ends_with("(default 3)"));
    CHECK(
        help_of("coarse_start", options)
            .ends_with("(default: with --stop auto and several planes as many as it finds, at most "
                       "100; else none)"));
    CHECK(help_of("parts", Options()).ends_with("(default auto)"));
    CHECK(help_of("na", PsfOptions()) == "Numerical aperture");
    CHECK(help_of("ti0_um", PsfOptions()).ends_with("(default 150um)"));
    CHECK(help_of("voxel", PhantomOptions()).ends_with("(default 200,100,100nm)"));
}

TEST_CASE("help of a method names every method") {
    const std::string help = help_of("method", DeconvolveOptions());
    CHECK(help.starts_with("Richardson-Lucy (rl, the default), "));
    for (const NamedValue<DeconvolveMethod>& method : names_of<DeconvolveMethod>) {
        CHECK(help.find(std::string("(") + method.name) != std::string::npos);
        CHECK(*method.help != '\0');
    }
}

TEST_CASE("the name of an unknown option is an error") {
    CHECK_THROWS_AS(help_of("sharpness", DeconvolveOptions()), InternalError);
}
