// SPDX-License-Identifier: Apache-2.0
#pragma once
// Going through an image's channels and time points, one volume in memory at a time.

#include "cli/run/progress.hpp"
#include "convolume/error.hpp"
#include "convolume/execution.hpp"
#include "convolume/image_file.hpp"
#include "convolume/volume.hpp"

namespace convolume::cli {

/// Throws `error` again; of several volumes the message names the one at fault.
[[noreturn]] inline void throw_with_place(const BadData& error, const io::ImageMetadata& image,
                                          index_t frame, index_t channel) {
    if (image.frames * image.channels == 1) throw BadData(error);
    throw BadData(message("in frame ", frame, ", channel ", channel, " (from 0): ", error.what()));
}

/// Reads every volume, calls `compute(input, output, context)` and writes the output. If there
/// are several volumes, BadData names the one at fault.
template <class Compute>
void for_each_volume(io::ImageReader& reader, io::ImageWriter& writer,
                     const io::ImageMetadata& written, HostMemory memory,
                     const ExecutionContext& context, Compute&& compute) {
    const io::ImageMetadata& read = reader.metadata();
    Volume input(read.shape, read.type, memory);
    Volume output(written.shape, written.type, memory);
    for (index_t t = 0; t < read.frames; ++t) {
        for (index_t c = 0; c < read.channels; ++c) {
            throw_if_stopped(context);
            {
                const PhaseTimer timer(context.timeline, Phase::read, -1, -1, input.bytes());
                reader.read(t, c, input.view());
            }
            throw_if_stopped(context);
            try {
                compute(ConstImageView(input.view()), output.view(),
                        part_of(context, t * read.channels + c, read.frames * read.channels));
            } catch (const BadData& error) {
                throw_with_place(error, read, t, c);
            }
            const PhaseTimer timer(context.timeline, Phase::write, -1, -1, output.bytes());
            writer.write(t, c, output.view());
        }
    }
    reader.check_unchanged();
}

}  // namespace convolume::cli
