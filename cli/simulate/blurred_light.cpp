// SPDX-License-Identifier: Apache-2.0
#include "cli/simulate/blurred_light.hpp"

#include <algorithm>
#include <numeric>
#include <type_traits>

#include "cli/files/volumes.hpp"

namespace convolume::cli {

namespace {

HostMemory memory_for(const ChannelKernels<Convolver>& kernels) {
    for (const auto& kernel : kernels.all())
        if (kernel->solver->plan().chosen.on_gpu) return HostMemory::page_locked;
    return HostMemory::ordinary;
}

index_t count_negative(const ConstImageView& volume) {
    index_t count = 0;
    visit_pixel_type(volume.type, [&](auto tag) {
        using T = typename decltype(tag)::type;
        if constexpr (std::is_signed_v<T> || std::is_floating_point_v<T>) {
            const T* const values = static_cast<const T*>(volume.data);
            count = std::count_if(values, values + element_count(volume.shape),
                                  [](T value) { return value < 0; });
        }
    });
    return count;
}

}  // namespace

BlurredLight::BlurredLight(io::ImageReader& reader, const ChannelKernels<Convolver>& kernels,
                           index_t blurs, const ExecutionContext& context)
    : reader_(reader),
      kernels_(kernels),
      blurs_(blurs),
      context_(context),
      input_(reader.metadata().shape, reader.metadata().type, memory_for(kernels)),
      blurred_(reader.metadata().shape, kernels.solver(0).natural_output_type(),
               memory_for(kernels)),
      negative_(static_cast<std::size_t>(reader.metadata().frames * reader.metadata().channels)) {}

const Volume& BlurredLight::of(index_t t, index_t c) {
    const index_t volume = t * reader_.metadata().channels + c;
    if (volume == present_) return blurred_;
    throw_if_stopped(context_);
    {
        const PhaseTimer timer(context_.timeline, Phase::read, -1, -1, input_.bytes());
        reader_.read(t, c, input_.view());
    }
    throw_if_stopped(context_);
    blur(t, c);
    negative_[static_cast<std::size_t>(volume)] = count_negative(input_.view());
    ++done_;
    present_ = volume;
    return blurred_;
}

index_t BlurredLight::negative_samples() const {
    return std::accumulate(negative_.begin(), negative_.end(), index_t{0});
}

void BlurredLight::blur(index_t t, index_t c) {
    try {
        const ExecutionReport report = kernels_.solver(c).execute(input_.view(), blurred_.view(),
                                                                  part_of(context_, done_, blurs_));
        seconds_ += report.seconds;
    } catch (const BadData& error) {
        throw_with_place(error, reader_.metadata(), t, c);
    }
}

}  // namespace convolume::cli
