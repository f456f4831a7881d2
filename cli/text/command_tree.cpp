// SPDX-License-Identifier: Apache-2.0
#include "cli/text/command_tree.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "cli/text/typed_words.hpp"
#include "convolume/error.hpp"
#include "core/text.hpp"

namespace convolume::cli {

namespace {

/// Returns the words among the alternatives of a placeholder such as "auto|cpu|gpu:0,1".
std::vector<std::string> words_of(const std::string& value) {
    std::vector<std::string> words;
    for (const std::string& one : pieces_of(value, '|'))
        if (!one.empty() && std::all_of(one.begin(), one.end(), [](char c) {
                return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
            }))
            words.push_back(one);
    return words;
}

/// Returns the names of other options, in the order of the alphabet.
template <class Options>
std::string joined_names(const Options& options) {
    std::vector<std::string> names;
    for (const CLI::Option* one : options) names.push_back(one->get_name());
    std::sort(names.begin(), names.end());
    std::string text;
    for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
    return text;
}

DescribedOption describe_argument(const CLI::Option& option) {
    DescribedOption one;
    one.help = option.get_description();
    one.value = option.get_name(true);
    if (option.get_items_expected_max() > 1) one.value += "...";
    if (!option.get_required()) one.value = "[" + one.value + "]";
    return one;
}

DescribedOption describe(const CLI::Option& option) {
    DescribedOption one;
    one.help = option.get_description();
    for (const std::string& name : option.get_snames()) one.flags.push_back("-" + name);
    for (const std::string& name : option.get_lnames()) one.flags.push_back("--" + name);
    if (option.get_items_expected_max() > 0) one.value = option.get_type_name();
    one.choices = words_of(one.value);
    if (option.get_required()) one.help += " (required)";
    if (const std::string names = joined_names(option.get_needs()); !names.empty())
        one.help += " (with " + names + ")";
    if (const std::string names = joined_names(option.get_excludes()); !names.empty())
        one.help += " (not with " + names + ")";
    return one;
}

int rank_of(const std::string& group) {
    constexpr std::array<std::string_view, 3> first{groups::input, groups::psf, groups::method};
    constexpr std::array<std::string_view, 3> last{groups::machine, groups::output, groups::help};
    // "PSF, if no file is given" follows "PSF".
    const std::string subject = group.substr(0, group.find(','));
    if (const auto* at = std::find(first.begin(), first.end(), subject); at != first.end())
        return static_cast<int>(at - first.begin());
    const auto* const at = std::find(last.begin(), last.end(), group);
    return at == last.end() ? 3 : 4 + static_cast<int>(at - last.begin());
}

}  // namespace

std::string DescribedOption::label() const {
    std::string text;
    for (const std::string& flag : flags) text += (text.empty() ? "" : ", ") + flag;
    if (!value.empty()) text += (text.empty() ? "" : " ") + value;
    return text;
}

std::string DescribedCommand::usage() const {
    std::string text = full_name;
    if (!subcommands.empty()) text += arguments.empty() ? " COMMAND" : " [COMMAND]";
    text += " [OPTIONS]";
    for (const DescribedOption& argument : arguments) text += " " + argument.value;
    return text;
}

std::vector<DescribedOption> DescribedCommand::options() const {
    std::vector<DescribedOption> all;
    for (const DescribedGroup& group : groups)
        all.insert(all.end(), group.options.begin(), group.options.end());
    return all;
}

DescribedCommand describe(const CLI::App& command) {
    DescribedCommand described;
    described.name = command.get_name();
    described.full_name = full_name(command);
    const std::string text = command.get_description();
    const std::size_t end = std::min(text.find('\n'), text.size());
    described.summary = text.substr(0, end);
    if (end < text.size()) described.notes = text.substr(end + 1);
    described.examples = pieces_of(command.get_footer(), '\n');
    for (const CLI::Option* option : command.get_options()) {
        if (option->get_group().empty()) continue;
        if (option->get_positional()) described.arguments.push_back(describe_argument(*option));
        if (option->get_lnames().empty() && option->get_snames().empty()) continue;
        const bool is_general =
            option == command.get_help_ptr() || option == command.get_version_ptr();
        const std::string name = is_general ? groups::help : option->get_group();
        auto group = std::find_if(described.groups.begin(), described.groups.end(),
                                  [&](const DescribedGroup& one) { return one.name == name; });
        if (group == described.groups.end()) {
            described.groups.push_back({name, {}});
            group = described.groups.end() - 1;
        }
        group->options.push_back(describe(*option));
    }
    std::stable_sort(described.groups.begin(), described.groups.end(),
                     [](const DescribedGroup& a, const DescribedGroup& b) {
                         return rank_of(a.name) < rank_of(b.name);
                     });
    for (const CLI::App* one : command.get_subcommands([](const CLI::App*) { return true; }))
        if (!one->get_group().empty()) described.subcommands.push_back(describe(*one));
    return described;
}

void begin_group(CLI::App& command, const char* name) {
    command.option_defaults()->group(name);
}

void set_examples(CLI::App& command, std::initializer_list<const char*> examples) {
    std::string text;
    for (const char* example : examples) text += message(text.empty() ? "" : "\n", example);
    command.footer(text);
}

}  // namespace convolume::cli
