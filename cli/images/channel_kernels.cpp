// SPDX-License-Identifier: Apache-2.0
#include "cli/images/channel_kernels.hpp"

#include "cli/run/progress.hpp"
#include "cli/run/report.hpp"
#include "convolume/image_stream.hpp"
#include "convolume/image_view.hpp"

namespace convolume::cli {

ExecutionReport convolve_channels(const ChannelKernels<Convolver>& kernels, ImageSource& source,
                                  ImageSink& sink, const ExecutionContext& context) {
    if (kernels.all().size() == 1) return kernels.solver(0).execute(source, sink, context);
    const index_t channels = source.format().channels;
    ExecutionReport sum;
    for (index_t c = 0; c < channels; ++c) {
        SourceChannel from(source, c);
        SinkChannel to(sink, c);
        try {
            sum += kernels.solver(c).execute(from, to, part_of(context, c, channels));
        } catch (const NonfiniteSample& error) {
            throw error.at({error.place().index, error.place().frame, c, true});
        } catch (const BadData& error) {
            throw BadData(message("channel ", kernels.number(c), " (from 0): ", error.what()));
        }
    }
    return sum;
}

}  // namespace convolume::cli
