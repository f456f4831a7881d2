// SPDX-License-Identifier: Apache-2.0
#pragma once
// Results that are written in the whole range of an integer type, with the factor to get their
// values back.

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <string>

#include "cli/text/console.hpp"
#include "convolume/execution.hpp"
#include "convolume/image_file.hpp"
#include "convolume/options.hpp"
#include "convolume/scratch_image.hpp"

namespace convolume::cli {

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

/// Says what reading a file assumed or left out.
void warn_of_notes(const Console& console, const std::string& path, const io::ImageMetadata& image);

/// Says the same, and what is not read of an input: how it scales its values.
void warn_of_input(const Console& console, const std::string& path, const io::ImageMetadata& image);

}  // namespace convolume::cli
