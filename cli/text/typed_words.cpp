// SPDX-License-Identifier: Apache-2.0
#include "cli/text/typed_words.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "convolume/error.hpp"
#include "core/text.hpp"
#include "operations/option_aliases.hpp"

namespace convolume::cli {

namespace {

// Options and subcommands of other programs of the field. docs/commands/common.md has the same, and
// --help shows none. Names of options that convolume has, too, are in
// operations/option_aliases.hpp.

/// An option of other programs that no option of this one stands for.
struct ForeignOption {
    const char* typed;
    const char* option;  ///< the entry applies to subcommands with this option
    const char* cure;    ///< what to type instead: the second half of a sentence
};

constexpr auto foreign_options = std::to_array<ForeignOption>({
    {"-i", "--output", "name the input without an option"},
    {"--input", "--output", "name the input without an option"},
    {"--immersion", "--ni",
     "give its refractive index, e.g. --ni 1.518 for oil, or --objective \"60x/1.4 oil\""},
    {"--resxy", "--voxel", "give all edges of a voxel as --voxel Z,Y,X, e.g. --voxel 200,65,65nm"},
    {"--resz", "--voxel", "give all edges of a voxel as --voxel Z,Y,X, e.g. --voxel 200,65,65nm"},
    {"--composite", "--lut", "channels are merged without an option, in the colors of --lut"},
});

/// Another name for a subcommand.
struct CommandAlias {
    const char* typed;
    const char* command;
};

constexpr auto command_aliases = std::to_array<CommandAlias>({
    {"conv", "convolve"},
    {"decon", "deconvolve"},
    {"deconv", "deconvolve"},
    {"mip", "project"},
    {"show", "preview"},
    {"spectrogram", "preview"},
    {"view", "preview"},
});

/// An option as typed: "--name=value", "--name", "-n" or "-nVALUE".
struct TypedOption {
    std::string name;
    std::optional<std::string> value;  ///< value in the same word

    explicit TypedOption(const std::string& word) : name(word) {
        const bool is_long = word.starts_with("--");
        const std::size_t end = is_long ? word.find('=') : 2;
        if (end >= word.size()) return;
        name = word.substr(0, end);
        value = word.substr(is_long ? end + 1 : end);
    }
};

bool is_option(std::string_view word) {
    // Negative numbers are values.
    return word.size() > 1 && word[0] == '-' && !(word[1] >= '0' && word[1] <= '9') &&
           word[1] != '.';
}

bool has_option(const CLI::App& command, const std::string& name) {
    return command.get_option_no_throw(name) != nullptr;
}

const CLI::App* subcommand(const CLI::App& command, const std::string& name) {
    const auto found =
        command.get_subcommands([&](const CLI::App* one) { return one->get_name() == name; });
    return found.empty() ? nullptr : found.front();
}

std::vector<std::string> long_options(const CLI::App& command) {
    std::vector<std::string> names;
    for (const CLI::Option* option : command.get_options())
        for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    return names;
}

/// Returns what was probably meant by `typed`: the candidates that begin with it, else the nearest
/// ones; nothing if none is near.
std::vector<std::string> meant_by(const std::string& typed,
                                  const std::vector<std::string>& candidates) {
    std::vector<std::string> meant;
    constexpr std::size_t shortest_prefix = 4;  // two letters after "--"
    for (const std::string& one : candidates)
        if (typed.size() >= shortest_prefix && one.starts_with(typed)) meant.push_back(one);
    if (!meant.empty()) return meant;
    const std::size_t letters = typed.size() - std::min(typed.find_first_not_of('-'), typed.size());
    int nearest = std::max(1, static_cast<int>(letters) / 3);
    for (const std::string& one : candidates) {
        const int distance = edit_distance(typed, one);
        if (distance > nearest) continue;
        if (distance < nearest) meant.clear();
        nearest = distance;
        meant.push_back(one);
    }
    return meant;
}

std::string did_you_mean(const std::vector<std::string>& meant) {
    return meant.empty() ? "" : message("; did you mean ", joined(meant, ", ", " or "), "?");
}

/// Returns the subcommands of the program that have the option `name`.
std::vector<std::string> commands_with(const CLI::App& command, const std::string& name) {
    const CLI::App* program = &command;
    while (program->get_parent() != nullptr) program = program->get_parent();
    std::vector<std::string> commands;
    for (const CLI::App* one : program->get_subcommands([](const CLI::App*) { return true; }))
        if (has_option(*one, name)) commands.push_back(one->get_name());
    return commands;
}

[[noreturn]] void refuse_option(const CLI::App& command, const std::string& name) {
    const std::string subject = message(full_name(command), " has no option ", name);
    for (const ForeignOption& one : foreign_options)
        if (name == one.typed && has_option(command, one.option))
            throw InvalidArgument(message(subject, "; ", one.cure));
    if (const auto commands = commands_with(command, name); !commands.empty())
        throw InvalidArgument(message(subject, ", but ", joined(commands, ", ", " and "),
                                      commands.size() > 1 ? " have one; " : " has one; ",
                                      full_name(command), " --help lists all options"));
    std::vector<std::string> candidates = long_options(command);
    for (const OptionAlias& alias : option_aliases)
        if (has_option(command, alias.option)) candidates.emplace_back(alias.typed);
    std::vector<std::string> meant = meant_by(name, candidates);
    // Suggests the option, not its alias.
    for (std::string& one : meant)
        for (const OptionAlias& alias : option_aliases)
            if (one == alias.typed && has_option(command, alias.option) &&
                !has_option(command, one)) {
                one = alias.option;
                if (alias.value != nullptr) one += message(" ", alias.value);
            }
    std::sort(meant.begin(), meant.end());
    meant.erase(std::unique(meant.begin(), meant.end()), meant.end());
    throw InvalidArgument(message(subject, did_you_mean(meant), meant.empty() ? "; " : " ",
                                  full_name(command), " --help lists all options"));
}

/// Returns the alias of a name that applies to the command, or null.
const OptionAlias* alias_of(const CLI::App& command, const std::string& name) {
    for (const OptionAlias& alias : option_aliases)
        if (name == alias.typed && has_option(command, alias.option)) return &alias;
    return nullptr;
}

std::string translate_command(const CLI::App& app, const std::string& word) {
    if (subcommand(app, word) != nullptr) return word;
    for (const CommandAlias& alias : command_aliases)
        if (word == alias.typed) return alias.command;
    std::vector<std::string> names;
    for (const CLI::App* one : app.get_subcommands([](const CLI::App*) { return true; }))
        names.push_back(one->get_name());
    const std::vector<std::string> meant = meant_by(word, names);
    throw InvalidArgument(
        message("there is no command \"", word, "\"",
                meant.empty() ? message("; give one of ", names_of_subcommands(app))
                              : did_you_mean(meant) + " convolume --help lists all commands"));
}

}  // namespace

std::string names_of_subcommands(const CLI::App& app) {
    const auto is_offered = [](const CLI::App* command) { return !command->get_group().empty(); };
    std::vector<std::string> names;
    for (const CLI::App* command : app.get_subcommands(is_offered))
        names.push_back(command->get_name());
    return joined(names, ", ", ", ");
}

int edit_distance(std::string_view a, std::string_view b) {
    // Rows of the table for the last two letters of `a` and the current one.
    std::vector<int> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
    for (std::size_t j = 0; j <= b.size(); ++j) row[j] = static_cast<int>(j);
    for (std::size_t i = 1; i <= a.size(); ++i) {
        before.swap(last);
        last.swap(row);
        row[0] = static_cast<int>(i);
        for (std::size_t j = 1; j <= b.size(); ++j) {
            row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] != b[j - 1])});
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = std::min(row[j], before[j - 2] + 1);
        }
    }
    return row[b.size()];
}

std::string full_name(const CLI::App& command) {
    const CLI::App* parent = command.get_parent();
    return parent == nullptr ? command.get_name()
                             : message(full_name(*parent), " ", command.get_name());
}

const CLI::App& named_command(const CLI::App& app, const std::vector<std::string>& words) {
    const CLI::App* command = &app;
    for (const std::string& word : words)
        if (const CLI::App* next = subcommand(*command, word))
            command = next;
        else
            break;
    return *command;
}

std::vector<std::string> translate_words(const CLI::App& app, std::vector<std::string> words) {
    if (!words.empty() && words.front() == "version") return {"--version"};
    if (!words.empty() && words.front() == "help") {
        words.erase(words.begin());
        words.emplace_back("--help");
    }
    std::vector<std::string> translated;
    const CLI::App* command = &app;
    const auto copy_values = [&](const CLI::Option& option, std::size_t& i) {
        for (int n = option.get_items_expected_min(); n > 0 && i + 1 < words.size(); --n)
            translated.push_back(words[++i]);
    };
    for (std::size_t i = 0; i < words.size(); ++i) {
        if (words[i] == "--") {
            translated.insert(translated.end(), words.begin() + static_cast<std::ptrdiff_t>(i),
                              words.end());
            break;
        }
        if (!is_option(words[i])) {
            translated.push_back(command == &app ? translate_command(app, words[i]) : words[i]);
            if (const CLI::App* next = subcommand(*command, translated.back())) command = next;
            continue;
        }
        TypedOption typed(words[i]);
        const CLI::Option* option = command->get_option_no_throw(typed.name);
        if (option != nullptr) {
            translated.push_back(words[i]);
        } else {
            const OptionAlias* alias = alias_of(*command, typed.name);
            if (alias == nullptr) refuse_option(*command, typed.name);
            option = command->get_option_no_throw(alias->option);
            translated.emplace_back(alias->option);
            if (alias->value != nullptr) typed.value = alias->value;
            if (typed.value) translated.back() += "=" + *typed.value;
        }
        if (!typed.value) copy_values(*option, i);
    }
    return translated;
}

}  // namespace convolume::cli
