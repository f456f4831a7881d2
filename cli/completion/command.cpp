// SPDX-License-Identifier: Apache-2.0
// The subcommand `completion`, which prints the completion script of a shell, and hidden ones:
// `complete`, by which these scripts ask for words, and `write-shell-files`, by which the build
// writes the scripts and the manual pages.

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <utility>

#include "cli/app.hpp"
#include "cli/run/output_path.hpp"
#include "cli/text/command_tree.hpp"
#include "convolume/error.hpp"

namespace convolume::cli {

namespace {

/// Returns the words that may stand in place of the last of `words`, which follow the program's
/// name: one a line, with a tab and what it means. Without lines, file names may follow.
std::string completions(const DescribedCommand& program, std::vector<std::string> words) {
    std::string word, before_value;
    if (!words.empty()) {
        word = std::move(words.back());
        words.pop_back();
    }
    // bash splits --name=value at the equals sign; other shells do not.
    const std::size_t equals = word.starts_with("--") ? word.find('=') : std::string::npos;
    if (word == "=") word.clear();
    if (!words.empty() && words.back() == "=") words.pop_back();
    if (equals != std::string::npos) {
        words.push_back(word.substr(0, equals));
        before_value = word.substr(0, equals + 1);
        word.erase(0, equals + 1);
    }
    const DescribedCommand* command = &program;
    for (const std::string& typed : words) {
        const auto& below = command->subcommands;
        const auto named =
            std::find_if(below.begin(), below.end(),
                         [&](const DescribedCommand& one) { return one.name == typed; });
        if (named == below.end()) break;
        command = &*named;
    }
    std::string lines;
    const auto offer = [&](const std::string& name, const std::string& meaning) {
        if (name.starts_with(word)) lines += message(before_value, name, '\t', meaning, '\n');
    };
    const std::vector<DescribedOption> options = command->options();
    for (const DescribedOption& option : options) {
        if (words.empty() || option.value.empty() ||
            std::find(option.flags.begin(), option.flags.end(), words.back()) == option.flags.end())
            continue;
        for (const std::string& choice : option.choices) offer(choice, option.help);
        return lines;
    }
    if (!word.starts_with('-'))
        for (const DescribedCommand& one : command->subcommands) offer(one.name, one.summary);
    else
        for (const DescribedOption& option : options)
            for (const std::string& flag : option.flags) offer(flag, option.help);
    return lines;
}

constexpr auto scripts = std::to_array<std::pair<const char*, const char*>>({
    {"bash", R"(# Completion of convolume for bash.

_convolume() {
    mapfile -t COMPREPLY < <("${COMP_WORDS[0]}" complete -- "${COMP_WORDS[@]:1:COMP_CWORD}")
    COMPREPLY=("${COMPREPLY[@]%%$'\t'*}")
} 2>/dev/null

complete -o default -F _convolume convolume
)"},
    {"zsh", R"(#compdef convolume
# Completion of convolume for zsh.

_convolume() {
    local -a lines
    lines=("${(@f)$($words[1] complete -- "${(@)words[2,CURRENT]}" 2>/dev/null)}")
    if [[ -z $lines[1] ]]; then
        _files
    else
        lines=("${(@)lines//:/\\:}")
        lines=("${(@)lines/$'\t'/:}")
        _describe word lines
    fi
}

if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
    _convolume "$@"
else
    compdef _convolume convolume
fi
)"},
    {"fish", R"(# Completion of convolume for fish.

function __convolume_words
    set -l typed (commandline -opc)
    set -a typed (commandline -ct)
    $typed[1] complete -- $typed[2..-1] 2>/dev/null
end

complete -c convolume -n 'count (__convolume_words) >/dev/null' -f -a '(__convolume_words)'
)"},
});

std::string replaced(std::string text, const std::string& from, const std::string& to) {
    for (std::size_t at = text.find(from); at != std::string::npos;
         at = text.find(from, at + to.size()))
        text.replace(at, from.size(), to);
    return text;
}

/// Returns a text for roff: a hyphen is a minus, and no line begins with a control character.
std::string roff(std::string text) {
    text = replaced(std::move(text), "\\", "\\e");
    text = replaced(std::move(text), "-", "\\-");
    return text.starts_with('.') || text.starts_with('\'') ? "\\&" + text : text;
}

std::string manual_page(const DescribedCommand& command, const std::string& software) {
    const std::string title = replaced(command.full_name, " ", "-");
    std::string text = message(".\\\" SPDX-License-Identifier: Apache-2.0\n.TH ", roff(title),
                               " 1 \"\" ", "'", software, "'", "\n.SH NAME\n", roff(title), " \\- ",
                               roff(command.summary), "\n.SH SYNOPSIS\n", roff(command.usage()),
                               "\n.SH DESCRIPTION\n", roff(command.summary), ".\n");
    text += roff(command.notes) + (command.notes.empty() ? "" : "\n");
    const auto add_entry = [&](const std::string& label, const std::string& help) {
        text += message(".TP\n.B ", roff(label), "\n", roff(help), "\n");
    };
    if (!command.subcommands.empty()) text += ".SH COMMANDS\n";
    for (const DescribedCommand& one : command.subcommands) add_entry(one.name, one.summary);
    if (!command.arguments.empty()) text += ".SH ARGUMENTS\n";
    for (const DescribedOption& one : command.arguments) add_entry(one.label(), one.help);
    text += ".SH OPTIONS\n";
    for (const DescribedGroup& group : command.groups) {
        text += ".SS " + roff(group.name) + "\n";
        for (const DescribedOption& one : group.options) add_entry(one.label(), one.help);
    }
    if (!command.examples.empty()) text += ".SH EXAMPLES\n.nf\n";
    for (const std::string& example : command.examples) text += roff(example) + "\n";
    if (!command.examples.empty()) text += ".fi\n";
    if (command.subcommands.empty()) return text;
    text += ".SH SEE ALSO\n";
    for (const DescribedCommand& one : command.subcommands)
        text += message(".BR ", roff(title + "-" + one.name), " (1)\n");
    return text;
}

namespace fs = std::filesystem;

void write_file(const fs::path& path, const std::string& text) {
    fs::create_directories(path.parent_path());
    std::ofstream file(path);
    file << text << std::flush;
    if (!file) throw IoError(message("\"", path.string(), "\" cannot be written"));
}

/// Writes scripts and pages below `folder`, which stands for /usr/share.
void write_shell_files(const CLI::App& app, const fs::path& folder) {
    const std::array files{"bash-completion/completions/convolume", "zsh/site-functions/_convolume",
                           "fish/vendor_completions.d/convolume.fish"};
    for (std::size_t i = 0; i < scripts.size(); ++i)
        write_file(folder / files[i], scripts[i].second);
    const std::function<void(const DescribedCommand&)> write_pages =
        [&](const DescribedCommand& command) {
            std::string name = command.full_name;
            for (char& c : name)
                if (c == ' ') c = '-';
            write_file(folder / "man/man1" / (name + ".1"), manual_page(command, software_name()));
            for (const DescribedCommand& one : command.subcommands) write_pages(one);
        };
    write_pages(describe(app));
}

}  // namespace

void add_completion_command(CLI::App& app, Action& action) {
    CLI::App* command = app.add_subcommand("completion", "Print the completion script of a shell");
    const auto shell = std::make_shared<std::string>();
    command->add_option("SHELL", *shell, "bash, zsh or fish")->required();
    set_examples(*command, {"source <(convolume completion bash)",
                            "convolume completion fish > convolume.fish"});
    command->callback([&action, shell] {
        const auto script = std::find_if(scripts.begin(), scripts.end(),
                                         [&shell](const auto& one) { return one.first == *shell; });
        if (script == scripts.end())
            throw InvalidArgument(
                message("shells are bash, zsh and fish, not \"", *shell, "\"; choose one"));
        action = [text = script->second] { write_stdout(text); };
    });

    CLI::App* complete = app.add_subcommand("complete", "")->group("");
    const auto words = std::make_shared<std::vector<std::string>>();
    complete->add_option("WORDS", *words);
    complete->callback([&app, &action, words] {
        action = [&app, words] { write_stdout(completions(describe(app), *words)); };
    });

    CLI::App* files = app.add_subcommand("write-shell-files", "")->group("");
    const auto folder = std::make_shared<std::string>();
    files->add_option("FOLDER", *folder)->required();
    files->callback(
        [&app, &action, folder] { action = [&app, folder] { write_shell_files(app, *folder); }; });
}

}  // namespace convolume::cli
