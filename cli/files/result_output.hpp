// SPDX-License-Identifier: Apache-2.0
#pragma once
// Results that subcommands write: their options and types, the scratch image that holds a result
// until its range is known, and writing and reporting.

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "cli/text/console.hpp"
#include "convolume/error.hpp"
#include "convolume/execution.hpp"
#include "convolume/image_file.hpp"
#include "convolume/options.hpp"
#include "convolume/scratch_image.hpp"

namespace convolume::cli {

/// Adds -o, --output-type ("same", the name of a type, or empty), --compression and --overwrite.
void add_image_output_options(CLI::App& app, std::string& output, std::string& output_type,
                              io::CreateOptions& create, const std::string& usual_type);
/// Adds the options of add_image_output_options() but -o.
void add_image_storage_options(CLI::App& app, std::string& output_type, io::CreateOptions& create,
                               const std::string& usual_type);
void add_compression_option(CLI::App& app, io::CreateOptions& create, const char* help);

/// Returns the type for the --output-type `name`. If it is empty, the type is floating point of the
/// given precision, and complex if image or kernel is.
PixelType resolve_output_type(std::string_view name, PixelType image, PixelType kernel,
                              Precision precision);

/// Reports path, shape and type of the image. Warns of a compression that few programs open.
void report_output(const Console& console, const std::string& path, const io::ImageMetadata& image,
                   io::Compression compression);
/// Returns the object "output" of --json; `path` may be empty.
nlohmann::ordered_json output_json(const std::string& path, const io::ImageMetadata& image);

void add_scale_output_option(CLI::App& app, bool& scale_output);

/// Returns the type of a scaled result for the --output-type `name`: uint16 if it is empty. Throws
/// InvalidArgument for types that are not integers of 8 or 16 bits.
std::string scaled_output_type(const std::string& name, PixelType image);

/// Returns the scaling by which values from `least` to `most` fill the range of `type`. It is only
/// a factor, and 0 stays 0, if the type has signs or no value is below 0 by more than half a step.
io::ValueScaling scaling_of(double least, double most, PixelType type);

/// How the result of a run is stored. A scaled result is first kept in a scratch image, since its
/// range is known only at the end.
struct ResultStorage {
    bool scaled = false;
    PixelType computed = PixelType::float32;  ///< type in which the result is computed
    ScratchImage::Place place = ScratchImage::Place::file;
    index_t box_bytes = 0;  ///< bytes that are scaled at a time
    int threads = 1;        ///< most threads that check samples
};

/// Returns the bytes to scale at a time, for a memory limit of the run.
index_t scaled_box_bytes(index_t host_limit_bytes);

/// Calls `compute` with a sink of type storage.computed, and writes the result to `path`. The file
/// is created before, or tried out if the result is scaled, so that errors are reported at once.
/// Sets metadata.scaling and the number of samples that are NaN or infinite. The file that is
/// returned is complete, but not yet committed.
std::unique_ptr<io::ImageWriter> write_result(const std::string& path, const ResultStorage& storage,
                                              const io::CreateOptions& create,
                                              const ExecutionContext& context,
                                              const std::function<void(ImageSink&)>& compute,
                                              io::ImageMetadata& metadata, index_t& nonfinite);

/// Warns of NaN and infinities in a result: numbers too large for its type become infinite.
void warn_of_nonfinite_result(const Console& console, index_t samples, PixelType type);

/// Calls plan(bytes) for a run that may also keep an intermediate image: with three quarters of the
/// limit, and with the whole limit if no plan fits that. Returns whether a quarter is left.
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

/// Returns the place of an intermediate image: memory if a quarter of `limit` is free, else a file.
ScratchImage::Place place_of_intermediate(index_t bytes, index_t limit, bool intermediate_fits);

}  // namespace convolume::cli
