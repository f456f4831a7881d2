// SPDX-License-Identifier: Apache-2.0
#pragma once
// Images that subcommands write: their options, their types, and how they are reported.

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "cli/text/console.hpp"
#include "convolume/execution.hpp"
#include "convolume/image_file.hpp"
#include "convolume/options.hpp"

namespace convolume::cli {

/// -o, --output-type ("same", a type's name or empty), --compression and --overwrite of an image.
void add_image_output_options(CLI::App& app, const char* group, std::string& output,
                              std::string& output_type, io::CreateOptions& create,
                              const std::string& usual_type);
void add_compression_option(CLI::App& app, const char* group, io::CreateOptions& create,
                            const char* help);

/// The type of the pixels written for a request's `output_type`; natural: complex where an input
/// is, floating point of the given precision.
PixelType resolve_output_type(std::string_view name, PixelType image, PixelType kernel,
                              Precision precision);

/// "value = stored * 0.01 + 3"
std::string scaling_text(const io::ValueScaling& scaling);

/// Prints where the image is, its shape and its type, and warns of a compression that common
/// programs do not open.
void report_output(const Console& console, const std::string& path, const io::ImageMetadata& image,
                   io::Compression compression);
void warn_of_clamped_values(const Console& console, const ExecutionReport& executed,
                            PixelType type);
/// The "output" of --json; `path` may be empty.
nlohmann::ordered_json output_json(const std::string& path, const io::ImageMetadata& image);

}  // namespace convolume::cli
