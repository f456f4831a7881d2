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

#include "cli/run/errors.hpp"
#include "cli/run/process_end.hpp"
#include "cli/text/console.hpp"
#include "convolume/error.hpp"
#include "convolume/image_file.hpp"

namespace convolume::cli {

namespace {

/// Environment variable in which programs of the Python package find the path of this command.
constexpr const char* path_variable = "CONVOLUME_COMMAND";

std::string names_of_subcommands(const CLI::App& app) {
    std::string names;
    for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
        names += (names.empty() ? "" : ", ") + command->get_name();
    return names;
}

// Throws InvalidArgument for an unknown subcommand. The parser would only say that it and
// everything after it is superfluous.
void refuse_unknown_command(const CLI::App& app, int argc, const char* const* argv) {
    const std::string_view first = argc > 1 ? argv[1] : "-";
    if (first.starts_with('-')) return;
    const auto has_name = [&](const CLI::App* command) { return command->get_name() == first; };
    if (app.get_subcommands(has_name).empty())
        throw InvalidArgument(message("there is no command \"", first, "\"; give one of ",
                                      names_of_subcommands(app)));
}

bool names_zarr(std::string_view argument) {
    while (argument.ends_with('/')) argument.remove_suffix(1);
    const std::size_t end = argument.rfind(".zarr");
    // "a.zarr", or "a.zarr/1" for one of its resolution levels.
    return end != std::string_view::npos &&
           argument.substr(end + 5).find_first_not_of("/0123456789") == std::string_view::npos;
}

// Throws InvalidArgument for OME-Zarr, which only `process` takes. The library reads files;
// OME-Zarr is a folder with many, which the Python package reads.
void refuse_zarr(int argc, const char* const* argv) {
    if (argc < 2 || std::string_view(argv[1]) == "process") return;
    for (int i = 2; i < argc; ++i)
        if (names_zarr(argv[i]))
            throw InvalidArgument(message(argv[i], " is OME-Zarr, which ", argv[1],
                                          " does not take; convolume process convolves and "
                                          "deconvolves it, and convolume.open of the Python "
                                          "package reads it"));
}

/// Returns true if a program of the Python package started this process.
bool started_by_python_program() {
    return std::getenv(path_variable) != nullptr;
}

// Runs a program of the Python package instead if an argument names OME-Zarr. The program calls
// this command with copies of the images as files.
void hand_over_zarr(int argc, const char* const* argv) {
    constexpr std::string_view commands[] = {"convolve", "deconvolve", "simulate", "info",
                                             "preview"};
    if (argc < 2 || started_by_python_program() ||
        std::find(std::begin(commands), std::end(commands), argv[1]) == std::end(commands))
        return;
    if (std::any_of(argv + 2, argv + argc, names_zarr))
        run_python_program("convolume-zarr", {argv + 1, argv + argc});
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
    execvp(name.c_str(), argv.data());
    const int error = errno;
    unsetenv(path_variable);
    if (error == ENOENT)
        throw Unavailable(message(name,
                                  " is not on the PATH; it comes with the Python package: pip "
                                  "install 'convolume[zarr]'"));
    throw Unavailable(message(name, " cannot be started: ", std::strerror(error)));
}

std::string software_name() {
    return std::string("convolume ") + version;
}

void add_commands(CLI::App& app, Action& action) {
    app.set_version_flag("--version", software_name());
    app.require_subcommand(0, 1);
#define CONVOLUME_ADD(name) add_##name##_command(app, action);
    CONVOLUME_SUBCOMMANDS(CONVOLUME_ADD)
#undef CONVOLUME_ADD
}

void parse_command_line(CLI::App& app, int argc, const char* const* argv) {
    refuse_unknown_command(app, argc, argv);
    refuse_zarr(argc, argv);
    app.parse(argc, argv);
}

namespace {

int run_command(int argc, const char* const* argv) {
    const Console console(std::cerr, Verbosity::normal, stderr_wants_colors());
    CLI::App app(
        "Convolves and deconvolves 3D images and filters 1D signals, also ones larger than a "
        "device's memory.",
        "convolume");
    Action action;
    add_commands(app, action);
    const HasOption has_option = [&app](std::string_view name) {
        for (const CLI::App* command : app.get_subcommands())
            if (command->get_option_no_throw(std::string(name)) != nullptr) return true;
        return false;
    };
    try {
        hand_over_zarr(argc, argv);
        parse_command_line(app, argc, argv);
        if (!action)
            throw InvalidArgument(message("no command was named; give one of ",
                                          names_of_subcommands(app), ", or --help"));
        action();
        return static_cast<int>(ExitCode::ok);
    } catch (const CLI::Success& help_or_version) {
        return app.exit(help_or_version);
    } catch (const CLI::ParseError& error) {
        console.error(in_one_line(error.what()) +
                      "; see convolume --help or convolume COMMAND --help");
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
