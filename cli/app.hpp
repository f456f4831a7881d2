#pragma once
// The command: one subcommand a file, each of which defines its options and says what to run.

#include <functional>

namespace CLI {
class App;
}

namespace convolume::cli {

/// Runs the command line; returns the exit code of exit_code.hpp.
int run(int argc, const char* const* argv);

/// What the chosen subcommand does; set while the command line is parsed, run afterwards.
using Action = std::function<void()>;

void add_convolve_command(CLI::App& app, Action& action);
void add_deconvolve_command(CLI::App& app, Action& action);
void add_filter_command(CLI::App& app, Action& action);
void add_psf_command(CLI::App& app, Action& action);
void add_phantom_command(CLI::App& app, Action& action);
void add_simulate_command(CLI::App& app, Action& action);
void add_info_command(CLI::App& app, Action& action);
void add_preview_command(CLI::App& app, Action& action);
void add_doctor_command(CLI::App& app, Action& action);

}  // namespace convolume::cli
