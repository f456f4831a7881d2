// SPDX-License-Identifier: Apache-2.0
#pragma once
// Results that subcommands write: their options, their types, where they lie until their range is
// known, and how they are written and reported.

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "cli/text/console.hpp"
#include "convolume/error.hpp"
#include "convolume/execution.hpp"
#include "convolume/image_file.hpp"
#include "convolume/options.hpp"
#include "convolume/scratch_image.hpp"

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

/// Prints where the image is, its shape and its type, and warns of a compression that common
/// programs do not open.
void report_output(const Console& console, const std::string& path, const io::ImageMetadata& image,
                   io::Compression compression);
void warn_of_clamped_values(const Console& console, const ExecutionReport& executed,
                            PixelType type);
/// The "output" of --json; `path` may be empty.
nlohmann::ordered_json output_json(const std::string& path, const io::ImageMetadata& image);

void add_scale_output_option(CLI::App& app, const char* group, bool& scale_output);

/// --output-type of a scaled result: uint16 where none is named. Throws InvalidArgument for types
/// that are not integers of 8 or 16 bits.
std::string scaled_output_type(const std::string& name, PixelType image);

/// How values from `least` to `most` fill the range of `type`. 0 stays 0 where the type has signs
/// and where no value is below 0 by more than half a step: then there is only a factor.
io::ValueScaling scaling_of(double least, double most, PixelType type);

/// Where the result of a run goes. Its range is known at the end only: until then it lies in a
/// scratch image.
struct ResultPlan {
    bool scaled = false;
    PixelType computed = PixelType::float32;  ///< type of what is computed
    ScratchImage::Place place = ScratchImage::Place::file;
    index_t box_bytes = 0;  ///< that are scaled at a time
};

/// Bytes to scale at a time, of a run with that memory limit.
index_t scaled_box_bytes(index_t host_limit_bytes);

/// A file that is complete, but not yet committed.
struct WrittenResult {
    std::unique_ptr<io::ImageWriter> writer;
    index_t nonfinite = 0;  ///< samples that are NaN or infinite
};

/// Has `compute` give a result to a sink of type `plan.computed`, and writes it to `path`. The file
/// is created first, or where the result is scaled, tried first, so that what is wrong with it is
/// said at once. `metadata` gets the scaling.
WrittenResult write_result(const std::string& path, const ResultPlan& plan,
                           const io::CreateOptions& create, io::ImageMetadata& metadata,
                           const ExecutionContext& context,
                           const std::function<void(ImageSink&)>& compute);

/// Numbers that are too large for the result's type become infinities: says so.
void warn_of_nonfinite_result(const Console& console, index_t samples, PixelType type);

/// Plans by `plan(limit)` for a run that may also hold an image between two steps: with three
/// quarters of the limit, or with all of it where no plan makes do with that. Returns whether a
/// quarter is left. Throws what `plan` throws.
template <class Plan>
bool plan_beside_intermediate(index_t limit, Plan&& plan) {
    try {
        plan(limit / 4 * 3);
        return true;
    } catch (const OutOfMemory&) {
        plan(limit);
        return false;
    }
}

/// Where that image goes: to memory if it fits the quarter that is left, else to a file.
ScratchImage::Place place_of_intermediate(index_t bytes, index_t limit, bool intermediate_fits);

}  // namespace convolume::cli
