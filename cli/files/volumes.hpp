#pragma once
// Going through an image's channels and time points, one volume in memory at a time.

#include "convolume/error.hpp"
#include "convolume/execution.hpp"
#include "convolume/image_file.hpp"
#include "convolume/volume.hpp"

namespace convolume::cli {

/// Reads every volume, calls `compute(input, output)`, writes the output, and commits. BadData is
/// told with the volume's place.
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
                compute(ConstImageView(input.view()), output.view());
            } catch (const BadData& error) {
                if (read.frames * read.channels == 1) throw;
                throw BadData(
                    message("in frame ", t, ", channel ", c, " (from 0): ", error.what()));
            }
            const PhaseTimer timer(context.timeline, Phase::write, -1, -1, output.bytes());
            writer.write(t, c, output.view());
        }
    }
    throw_if_stopped(context);
    const PhaseTimer timer(context.timeline, Phase::write);
    writer.commit();
}

}  // namespace convolume::cli
