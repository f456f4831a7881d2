// SPDX-License-Identifier: Apache-2.0
#include "cli/images/deconvolution_options.hpp"

#include "cli/text/option_help.hpp"
#include "convolume/error.hpp"

namespace convolume::cli {

void add_uncertainty_options(CLI::App& app, std::string& second_output, DeconvolveOptions& options,
                             const char* more) {
    add_value(app, "--uncertainty", second_output, "FILE",
              message("Also write the standard deviation that the noise of photons gives each "
                      "voxel, float32",
                      more));
    add_options(app, options, {"splits", "seed"});
}

void check_uncertainty_options(const CLI::App& command, const std::string& second_output,
                               DeconvolveOptions& options) {
    if (command.count("--uncertainty") == 0) {
        for (const char* flag : {"--splits", "--seed"})
            if (command.count(flag) > 0)
                throw InvalidArgument(message(flag, " is of --uncertainty; leave it out"));
        return;
    }
    if (second_output.empty()) throw InvalidArgument("--uncertainty names no file; give one");
    if (command.count("--splits") == 0) options.splits = usual_splits;
}

void require_given_options(const CLI::App& command, const DeconvolveOptions& options) {
    for_each_option<DeconvolveOptions>([&](const auto& field) {
        const std::string flags = field.text.flags;
        const CLI::Option* const option =
            flags.empty() ? nullptr : command.get_option_no_throw(flags.substr(0, flags.find(',')));
        const bool is_given = option != nullptr && option->count() > 0;
        const bool asks_for_nothing = option_value_text(field.get(options)) == "0";
        if (is_given && !asks_for_nothing) require_option(options, field.text.name);
    });
}

}  // namespace convolume::cli
