// SPDX-License-Identifier: Apache-2.0
#include "cli/app.hpp"

#include <signal.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <new>
#include <string_view>
#include <utility>

#include "cli/run/errors.hpp"
#include "cli/run/process_end.hpp"
#include "cli/text/command_tree.hpp"
#include "cli/text/console.hpp"
#include "cli/text/typed_words.hpp"
#include "convolume/error.hpp"
#include "convolume/image_format.hpp"

namespace convolume::cli {

// The build lists the subcommands, which are the folders with a command.cpp.
#define SUBCOMMAND(name) void add_##name##_command(CLI::App& app, Action& action);
#include "commands.inc"
#undef SUBCOMMAND

namespace {

/// Environment variable in which programs of the Python package find the path of this command.
constexpr const char* path_variable = "CONVOLUME_COMMAND";

using Words = std::vector<std::string>;

/// Returns true if a word ends with the name of an OME-Zarr image, such as "a.zarr", or of a part
/// of one: "a.zarr/1" is a resolution level, "plate.zarr/A/1/0" a field.
bool names_zarr(std::string_view word) {
    const std::size_t begin = word.rfind(".zarr");
    if (begin == std::string_view::npos) return false;
    const std::string_view rest = word.substr(begin + 5);
    return rest.empty() || (rest.front() == '/' && rest.find('.') == std::string_view::npos);
}

// Runs a program of the Python package instead if a word names OME-Zarr. In that program, OME-Zarr
// is a format of images, and it calls run() with the same words.
void hand_over_zarr(const Words& words) {
    if (std::any_of(words.begin(), words.end(), names_zarr) && !io::image_ending("a.zarr"))
        run_python_program("convolume-zarr", words);
}

// Runs the program of the Python package for `process`, unless its help is asked for: then `words`
// asks for nothing else. The program parses the options, which this command only describes.
void hand_over_process(Words& words) {
    if (words.empty() || words[0] != "process") return;
    const auto end = std::find(words.begin(), words.end(), "--");
    const auto is_help = [](const std::string& word) { return word == "--help" || word == "-h"; };
    if (std::none_of(words.begin(), end, is_help))
        run_python_program("convolume-process", {words.begin() + 1, words.end()});
    words = {"process", "--help"};
}

// Refuses the first argument that the command does not take.
void parse_words(CLI::App& app, Words words) {
    std::reverse(words.begin(), words.end());
    try {
        app.parse(words);
    } catch (const CLI::ExtrasError&) {
        const CLI::App* command = &app;
        while (!command->get_subcommands().empty()) command = command->get_subcommands().front();
        const Words extra = app.remaining(true);
        throw InvalidArgument(message(full_name(*command), " takes no further argument",
                                      extra.empty() ? "" : message(" \"", extra.front(), "\""),
                                      "; ", full_name(*command), " --help lists its arguments"));
    }
}

}  // namespace

const char* const version = CONVOLUME_VERSION;

void run_python_program(std::string name, std::vector<std::string> arguments) {
    std::error_code unknown;
    const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", unknown);
    if (!unknown) setenv(path_variable, self.c_str(), 1);
    std::vector<char*> argv{name.data()};
    for (std::string& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    // Programs of the environment in which this command is installed come before those on PATH.
    if (!unknown) execv((self.parent_path() / name).c_str(), argv.data());
    if (unknown || errno == ENOENT) execvp(name.c_str(), argv.data());
    const int error = errno;
    unsetenv(path_variable);
    if (error == ENOENT)
        throw Unavailable(message(name,
                                  " is neither beside convolume nor on the PATH; it comes with the "
                                  "Python package: pip install '.[zarr]' in a clone"));
    throw Unavailable(message(name, " cannot be started: ", std::strerror(error)));
}

std::string software_name() {
    return std::string("convolume ") + version;
}

void add_commands(CLI::App& app, Action& action) {
    app.set_version_flag("--version", software_name());
    app.require_subcommand(0, 1);
    app.formatter_fn([](const CLI::App* command, const std::string&, CLI::AppFormatMode) {
        return help_text(describe(*command), help_width());
    });
    set_examples(app, {"convolume help deconvolve", "convolume info image.tif"});
#define SUBCOMMAND(name) add_##name##_command(app, action);
#include "commands.inc"
#undef SUBCOMMAND
}

void parse_command_line(CLI::App& app, int argc, const char* const* argv) {
    parse_words(app, translate_words(app, {argv + 1, argv + argc}));
}

namespace {

int run_command(int argc, const char* const* argv) {
    const Console console(std::cerr, Verbosity::normal, stderr_wants_colors());
    CLI::App app(
        "Convolves and deconvolves 3D images and filters 1D signals, also ones larger than a "
        "device's memory",
        "convolume");
    Action action;
    add_commands(app, action);
    const HasOption has_option = [&app](std::string_view name) {
        for (const CLI::App* command : app.get_subcommands())
            if (command->get_option_no_throw(std::string(name)) != nullptr) return true;
        return false;
    };
    Words words;
    try {
        words = {argv + 1, argv + argc};
        hand_over_process(words);
        words = translate_words(app, std::move(words));
        hand_over_zarr(words);
        parse_words(app, words);
        if (!action)
            throw InvalidArgument(message("no command was named; give one of ",
                                          names_of_subcommands(app), ", or --help"));
        action();
        return static_cast<int>(ExitCode::ok);
    } catch (const CLI::Success& help_or_version) {
        return app.exit(help_or_version);
    } catch (const CLI::ParseError& error) {
        console.error(message(in_one_line(error.what()), "; see ",
                              full_name(named_command(app, words)), " --help"));
        return static_cast<int>(ExitCode::usage);
    } catch (const std::bad_alloc&) {
        throw;
    } catch (const PipeClosed&) {
        // The reader closed the pipe. Like other commands, this one then ends without a message.
        return static_cast<int>(ExitCode::pipe_closed);
    } catch (const std::exception& error) {
        console.error(sentence_of(error, has_option));
        return static_cast<int>(exit_code_of(error));
    }
}

}  // namespace

int run(int argc, const char* const* argv) {
    // With these signals ignored, a file size limit or a closed pipe is a failed write.
    signal(SIGXFSZ, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
    end_on_interrupts();
    io::contain_damage(true);
    install_out_of_memory_handler();

    // Scripts call this before every use. It does not need the subcommands, which take time to add.
    if (argc == 2 && std::string_view(argv[1]) == "--version") {
        std::cout << software_name() << '\n' << std::flush;
        return static_cast<int>(std::cout ? ExitCode::ok : ExitCode::io_error);
    }

    try {
        return run_command(argc, argv);
    } catch (const std::bad_alloc&) {
        // Reached also if there was no memory for the message of another error.
        end_without_memory();
    }
}

}  // namespace convolume::cli
