// SPDX-License-Identifier: Apache-2.0
#pragma once
// Going through an image's channels and time points, with one or two volumes in memory at a time.

#include <algorithm>
#include <vector>

#include "cli/files/selected_image.hpp"
#include "cli/run/item_steps.hpp"
#include "cli/run/progress.hpp"
#include "convolume/error.hpp"
#include "convolume/execution.hpp"
#include "convolume/image_file.hpp"
#include "convolume/volume.hpp"

namespace convolume::cli {

/// Throws `error` again; of a file with several volumes the message names the one at fault.
[[noreturn]] inline void throw_with_place(const BadData& error,
                                          const NonfiniteSample::Place& in_file) {
    if (!in_file.of_several) throw BadData(error);
    throw BadData(message("in frame ", in_file.frame, ", channel ", in_file.channel,
                          " (from 0): ", error.what()));
}

/// Reads every volume, calls `compute(input, output, context)` and writes the output. What it
/// throws as BadData names the volume at fault and the sample's place in the file. With
/// `overlapped`, two inputs and two outputs are in memory, and the next volume is read and the last
/// one written while one is computed; otherwise one of each.
template <class Compute>
void for_each_volume(SelectedImage& reader, ImageSink& sink, bool overlapped,
                     const ExecutionContext& context, Compute&& compute) {
    const io::ImageMetadata& read = reader.metadata();
    const StackFormat written = sink.format();
    const index_t count = checked_multiply(read.frames, read.channels);
    const index_t slots = overlapped ? std::min<index_t>(count, 2) : 1;
    std::vector<Volume> inputs, outputs;
    for (index_t slot = 0; slot < slots; ++slot) {
        inputs.emplace_back(read.shape, read.type);
        outputs.emplace_back(written.shape, written.type);
    }
    const auto of = [&](std::vector<Volume>& volumes, index_t item) -> Volume& {
        return volumes[static_cast<std::size_t>(item % slots)];
    };
    ItemSteps steps;
    steps.read = [&](index_t item) {
        throw_if_stopped(context);
        Volume& input = of(inputs, item);
        const PhaseTimer timer(context.timeline, Phase::read, -1, -1, input.bytes());
        reader.read(item / read.channels, item % read.channels, input.view());
    };
    steps.compute = [&](index_t item) {
        throw_if_stopped(context);
        try {
            compute(ConstImageView(of(inputs, item).view()), of(outputs, item).view(),
                    part_of(context, item, count));
        } catch (const NonfiniteSample& error) {
            throw error.at(reader.place_in_file(
                {error.place().index, item / read.channels, item % read.channels}));
        } catch (const BadData& error) {
            throw_with_place(
                error, reader.place_in_file({{}, item / read.channels, item % read.channels}));
        }
    };
    steps.write = [&](index_t item) {
        const Volume& output = of(outputs, item);
        const PhaseTimer timer(context.timeline, Phase::write, -1, -1, output.bytes());
        sink.write_box(item / read.channels, item % read.channels, {{0, 0, 0}, written.shape},
                       output.view());
    };
    take_through(count, overlapped, steps);
    reader.check_unchanged();
}

}  // namespace convolume::cli
