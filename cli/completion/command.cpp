// SPDX-License-Identifier: Apache-2.0
// The subcommand `completion`, which prints the completion script of a shell, and the hidden one
// `write-shell-files`, by which the build writes these scripts and the manual pages.

#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>

#include "cli/app.hpp"
#include "cli/completion/shells.hpp"
#include "cli/run/output_path.hpp"
#include "convolume/error.hpp"

namespace convolume::cli {

namespace {

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
