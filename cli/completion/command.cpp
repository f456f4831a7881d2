// SPDX-License-Identifier: Apache-2.0
// The subcommand `completion`, which prints the completion script of a shell, and the hidden one
// `write-shell-files`, by which the build writes these scripts and the manual pages.

#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>

#include "cli/app.hpp"
#include "cli/run/output_path.hpp"
#include "cli/text/command_tree.hpp"
#include "convolume/error.hpp"

namespace convolume::cli {

namespace {

std::string joined(const std::vector<std::string>& words, const char* separator = " ") {
    std::string text;
    for (const std::string& word : words) text += (text.empty() ? "" : separator) + word;
    return text;
}

std::vector<std::string> command_names(const std::vector<DescribedCommand>& commands) {
    std::vector<std::string> names;
    for (const DescribedCommand& one : commands) names.push_back(one.name);
    return names;
}

std::vector<std::string> flags_of(const DescribedCommand& command) {
    std::vector<std::string> flags;
    for (const DescribedOption& option : command.options())
        flags.insert(flags.end(), option.flags.begin(), option.flags.end());
    return flags;
}

/// Calls `use` for a command and all commands below it.
void for_each_command(const DescribedCommand& command,
                      const std::function<void(const DescribedCommand&)>& use) {
    use(command);
    for (const DescribedCommand& one : command.subcommands) for_each_command(one, use);
}

/// Returns the words after the program's name: "compare filter".
std::string words_after_program(const DescribedCommand& command) {
    const std::size_t space = command.full_name.find(' ');
    return space == std::string::npos ? "" : command.full_name.substr(space + 1);
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
    for (std::size_t at = text.find(from); at != std::string::npos;
         at = text.find(from, at + to.size()))
        text.replace(at, from.size(), to);
    return text;
}

/// Returns the text between single quotes, for bash and zsh.
std::string shell_quoted(const std::string& text) {
    return "'" + replaced(text, "'", "'\\''") + "'";
}

/// Returns a text for a specification of zsh's _arguments, where brackets and colons end fields.
std::string zsh_field(std::string text) {
    for (const char* special : {"\\", "[", "]", ":"})
        text = replaced(std::move(text), special, std::string("\\") + special);
    return text;
}

std::string zsh_value(const DescribedOption& option) {
    if (option.value.empty()) return "";
    std::string action = " ";
    if (!option.choices.empty()) action = "(" + joined(option.choices) + ")";
    if (option.takes_file) action = "_files";
    return ":" + zsh_field(option.value) + ":" + action;
}

void add_zsh_function(const DescribedCommand& command, std::string& text) {
    const std::string name = "_" + replaced(command.full_name, " ", "_");
    text += name + "() {\n";
    if (!command.subcommands.empty()) {
        text += "    if (( CURRENT == 2 )); then\n        local -a commands=(\n";
        for (const DescribedCommand& one : command.subcommands)
            text += "            " + shell_quoted(zsh_field(one.name) + ":" + one.summary) + "\n";
        text += "        )\n        _describe command commands\n    fi\n    case $words[2] in\n";
        for (const DescribedCommand& one : command.subcommands)
            text += message("        ", one.name, ") shift words; (( CURRENT-- )); ", name, "_",
                            one.name, "; return ;;\n");
        text += "    esac\n";
    }
    text += "    _arguments -s \\\n";
    for (const DescribedOption& option : command.options())
        for (const std::string& flag : option.flags) {
            const bool is_long = flag.starts_with("--") && !option.value.empty();
            text += message("        ",
                            shell_quoted(message(flag, is_long ? "=[" : "[", zsh_field(option.help),
                                                 "]", zsh_value(option))),
                            " \\\n");
        }
    text += "        '*:file:_files'\n}\n\n";
    for (const DescribedCommand& one : command.subcommands) add_zsh_function(one, text);
}

/// Returns a text for roff: a hyphen is a minus, and no line begins with a control character.
std::string roff(std::string text) {
    text = replaced(std::move(text), "\\", "\\e");
    text = replaced(std::move(text), "-", "\\-");
    return text.starts_with('.') || text.starts_with('\'') ? "\\&" + text : text;
}

std::string bash_completion(const DescribedCommand& program) {
    std::string cases, values;
    for_each_command(program, [&](const DescribedCommand& command) {
        const std::string words = words_after_program(command);
        cases += message("        ", shell_quoted(words),
                         ") words=", shell_quoted(joined(command_names(command.subcommands))),
                         "; options=", shell_quoted(joined(flags_of(command))), " ;;\n");
        for (const DescribedOption& option : command.options()) {
            if (option.value.empty()) continue;
            std::vector<std::string> patterns;
            for (const std::string& flag : option.flags)
                patterns.push_back(shell_quoted(words + " " + flag));
            values += message("        ", joined(patterns, "|"),
                              ") values=", shell_quoted(joined(option.choices)),
                              "; files=", option.takes_file ? "1" : "", "; return 0 ;;\n");
        }
    });
    return "# Completion of convolume for bash.\n\n"
           "# Sets subcommands and options of the command \"$1\".\n"
           "_convolume_command() {\n    case \"$1\" in\n" +
           cases +
           "        *) return 1 ;;\n    esac\n}\n\n"
           "# Sets what may follow option \"$2\" of the command \"$1\"; fails for flags.\n"
           "_convolume_value() {\n    case \"$1 $2\" in\n" +
           values +
           "        *) return 1 ;;\n    esac\n}\n\n"
           R"(_convolume() {
    local word="${COMP_WORDS[COMP_CWORD]}" before="${COMP_WORDS[COMP_CWORD-1]}"
    local command='' words options values files i
    COMPREPLY=()
    for ((i = 1; i < COMP_CWORD; i++)); do
        _convolume_command "$command"
        [[ " $words " == *" ${COMP_WORDS[i]} "* ]] || break
        command="${command:+$command }${COMP_WORDS[i]}"
    done
    _convolume_command "$command" || return
    # bash splits --name=value at the equals sign.
    if [[ $word == = ]]; then
        word=''
    elif [[ $before == = ]]; then
        before="${COMP_WORDS[COMP_CWORD-2]}"
    fi
    if [[ $before == -* ]] && _convolume_value "$command" "$before"; then
        [[ -n $values ]] && mapfile -t COMPREPLY < <(compgen -W "$values" -- "$word")
        [[ -n $files ]] && compopt -o default
    elif [[ $word == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$options" -- "$word")
    elif [[ -z $command || -n $words ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
        [[ -n $command ]] && compopt -o default
    else
        compopt -o default
    fi
} 2>/dev/null

complete -F _convolume convolume
)";
}

std::string zsh_completion(const DescribedCommand& program) {
    std::string text = "#compdef convolume\n# Completion of convolume for zsh.\n\n";
    add_zsh_function(program, text);
    return text +
           "if [[ $zsh_eval_context[-1] == loadautofunc ]]; then\n    _convolume \"$@\"\nelse\n"
           "    compdef _convolume convolume\nfi\n";
}

std::string fish_completion(const DescribedCommand& program) {
    std::string text = R"(# Completion of convolume for fish.

# Whether the words after the program's name begin with the arguments.
function __convolume_command
    set -l typed (commandline -opc)
    set -e typed[1]
    string match -q -- "$argv *" "$typed "
end

)";
    for_each_command(program, [&](const DescribedCommand& command) {
        const std::string words = words_after_program(command);
        std::string condition = "test (count (commandline -opc)) -eq 1";
        if (!words.empty()) {
            condition = "__convolume_command " + words;
            for (const DescribedCommand& one : command.subcommands)
                condition += message("; and not __convolume_command ", words, " ", one.name);
        }
        const std::string line = "complete -c convolume -n " + shell_quoted(condition);
        for (const DescribedCommand& one : command.subcommands)
            text += message(line, command.arguments.empty() ? " -f" : "", " -a ", one.name, " -d ",
                            shell_quoted(one.summary), "\n");
        for (const DescribedOption& option : command.options()) {
            text += line;
            for (const std::string& flag : option.flags)
                text += flag.starts_with("--") ? " -l " + flag.substr(2) : " -s " + flag.substr(1);
            if (!option.value.empty()) text += option.takes_file ? " -r -F" : " -x";
            if (!option.choices.empty()) text += " -a " + shell_quoted(joined(option.choices));
            text += " -d " + shell_quoted(option.help) + "\n";
        }
    });
    return text;
}

std::string manual_page(const DescribedCommand& command, const std::string& software) {
    const std::string title = replaced(command.full_name, " ", "-");
    std::string text =
        message(".\\\" SPDX-License-Identifier: Apache-2.0\n.TH ", roff(title), " 1 \"\" ",
                shell_quoted(software), "\n.SH NAME\n", roff(title), " \\- ", roff(command.summary),
                "\n.SH SYNOPSIS\n", roff(command.usage()), "\n.SH DESCRIPTION\n",
                roff(command.summary), ".\n");
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
    const DescribedCommand program = describe(app);
    write_file(folder / "bash-completion/completions/convolume", bash_completion(program));
    write_file(folder / "zsh/site-functions/_convolume", zsh_completion(program));
    write_file(folder / "fish/vendor_completions.d/convolume.fish", fish_completion(program));
    const std::function<void(const DescribedCommand&)> write_pages =
        [&](const DescribedCommand& command) {
            std::string name = command.full_name;
            for (char& c : name)
                if (c == ' ') c = '-';
            write_file(folder / "man/man1" / (name + ".1"), manual_page(command, software_name()));
            for (const DescribedCommand& one : command.subcommands) write_pages(one);
        };
    write_pages(program);
}

}  // namespace

void add_completion_command(CLI::App& app, Action& action) {
    CLI::App* command = app.add_subcommand("completion", "Print the completion script of a shell");
    const auto shell = std::make_shared<std::string>();
    command->add_option("SHELL", *shell, "bash, zsh or fish")->required();
    set_examples(*command, {"source <(convolume completion bash)",
                            "convolume completion fish > convolume.fish"});
    command->callback([&app, &action, shell] {
        const auto script = *shell == "bash"   ? &bash_completion
                            : *shell == "zsh"  ? &zsh_completion
                            : *shell == "fish" ? &fish_completion
                                               : nullptr;
        if (script == nullptr)
            throw InvalidArgument(
                message("shells are bash, zsh and fish, not \"", *shell, "\"; choose one"));
        action = [&app, script] { write_stdout(script(describe(app))); };
    });

    CLI::App* files = app.add_subcommand("write-shell-files", "")->group("");
    const auto folder = std::make_shared<std::string>();
    files->add_option("FOLDER", *folder)->required();
    files->callback(
        [&app, &action, folder] { action = [&app, folder] { write_shell_files(app, *folder); }; });
}

}  // namespace convolume::cli
