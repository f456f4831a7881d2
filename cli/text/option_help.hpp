#pragma once
// How subcommands declare options: text, parsed on the spot by the library's own parsers; and the
// options that several of them have.

#include <CLI/CLI.hpp>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "cli/run/run_request.hpp"
#include "convolume/error.hpp"
#include "convolume/image_file.hpp"

namespace convolume::cli {

/// An option whose text is turned into `target` by `parse`; `target` keeps its value without it.
template <class T, class Parser>
CLI::Option* add_parsed(CLI::App& app, const std::string& names, T& target, Parser parse,
                        const std::string& choices, const std::string& help) {
    return app
        .add_option_function<std::string>(
            names, [&target, parse](const std::string& text) { target = parse(text); }, help)
        ->type_name(choices);
}

/// `text` as a positive whole number for `option`.
template <class Integer = int>
Integer parse_positive(std::string_view option, const std::string& text) {
    Integer value = 0;
    const char* const end = text.data() + text.size();
    const auto parsed = std::from_chars(text.data(), end, value);
    if (parsed.ec != std::errc() || parsed.ptr != end || value < 1)
        throw InvalidArgument(
            message(option, " is a whole number from 1, not \"", text, "\"; correct it"));
    return value;
}

/// `text` as a number for `option`.
double parse_number(std::string_view option, const std::string& text);

void add_device_option(CLI::App& app, const char* group, EngineChoice& choice);
void add_gpu_memory_option(CLI::App& app, const char* group, EngineChoice& choice);
void add_threads_option(CLI::App& app, const char* group, EngineChoice& choice);
void add_seed_option(CLI::App& app, const char* group, std::uint64_t& seed, const char* help);

/// Of convolutions: image, result, scratch and CPU engines together.
void add_host_memory_option(CLI::App& app, const char* group, std::optional<index_t>& bytes);
/// How convolutions are computed: method, parts, precision, devices, memory, threads.
void add_convolution_options(CLI::App& app, const char* group, Options& options,
                             EngineChoice& engines);
/// --axes of an image file.
void add_axes_option(CLI::App& app, const char* group, std::string& axes);

/// -o, --output-type ("same", a type's name or empty), --compression and --overwrite of an image.
void add_image_output_options(CLI::App& app, const char* group, std::string& output,
                              std::string& output_type, io::CreateOptions& create,
                              const std::string& usual_type);

/// Throws InvalidArgument where there is no output and the run is not dry.
void require_output(const std::string& output, const ReportOptions& options);

/// --dry-run, --json, --timeline, -q and -v.
void add_report_options(CLI::App& app, const char* group, ReportOptions& options);

}  // namespace convolume::cli
