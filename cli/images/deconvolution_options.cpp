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

namespace {

// Requires that the method uses the options in a table that are given and ask for something.
template <class Struct>
void require_given(const CLI::App& command, const DeconvolveOptions& options, const Struct& given) {
    require_used<Struct>(options, [&](const auto& field) -> std::optional<std::string> {
        const std::string flags = field.text.flags;
        const CLI::Option* const option =
            command.get_option_no_throw(flags.substr(0, flags.find(',')));
        if (option == nullptr || option->count() == 0) return {};
        return option_value_text(field.get(given));
    });
}

}  // namespace

void require_given_options(const CLI::App& command, const DeconvolveOptions& options,
                           const MissingPixelOptions& missing) {
    require_given(command, options, options);
    require_given(command, options, missing);
}

}  // namespace convolume::cli
