// SPDX-License-Identifier: Apache-2.0
#pragma once
// The kernels of the channels of an image, with their solvers: Convolvers or Deconvolvers. Each
// kernel is loaded and planned once, and kept for later images that need the same.

#include <algorithm>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "cli/files/gaussian_kernel.hpp"
#include "cli/files/kernel_file.hpp"
#include "cli/images/image_request.hpp"
#include "cli/run/progress.hpp"
#include "cli/run/report.hpp"
#include "cli/run/run.hpp"
#include "convolume/convolver.hpp"
#include "convolume/engines.hpp"
#include "convolume/error.hpp"
#include "convolume/image_stream.hpp"
#include "convolume/image_view.hpp"
#include "convolume/missing_pixels.hpp"
#include "convolume/psf.hpp"

namespace convolume::cli {

/// A kernel, and the Convolver or Deconvolver that is made of it.
template <class Solver>
struct ReadyKernel {
    KernelFile file;    ///< the kernel; without values once the solver has them
    index_t volumes{};  ///< number of volumes that are expected
    std::optional<Solver> solver;
    std::optional<PsfSharpness> sharpness;  ///< set by subcommands that need it
    /// Whether a quarter of the memory limit is left beside the solver, for an intermediate image.
    bool intermediate_fits = true;
};

/// Kernels of the current image, by solver_key(). One thread uses a cache.
template <class Solver>
struct KernelCache {
    ExpectedVolumes expected;  ///< volumes of all images; empty for one image
    std::map<std::string, std::shared_ptr<ReadyKernel<Solver>>> ready;
};

/// The kernels of an image, by its channels.
template <class Solver>
class ChannelKernels {
  public:
    using Ready = ReadyKernel<Solver>;
    using Cache = KernelCache<Solver>;

    explicit ChannelKernels(std::shared_ptr<Cache> cache) : cache_(std::move(cache)) {}

    /// Loads the kernels for `selected` that are not in the cache, and removes the others from it.
    /// All kernels together take at most the memory of `room`. Solvers of another `variant` are
    /// planned for themselves.
    void load(const ImageRequest& request, const SelectedImage& selected, KernelRoom room,
              const ExecutionContext& context, const std::string& variant = {}) {
        const io::ImageMetadata& image = selected.metadata();
        const std::vector<KernelSource> sources = kernel_of_each_channel(request, selected);
        // Kernels of images as large as this are mostly for GPUs, which start meanwhile.
        constexpr index_t large_bytes = index_t{1} << 30;
        std::jthread starting;
        if (image.bytes() >= large_bytes)
            starting = std::jthread([&] { start_gpus(request.engines); });
        ExpectedVolumes here;
        add_expected_volumes(here, sources, image);
        std::set<std::string> keys;
        for (const auto& [key, volumes] : here) keys.insert(key + variant);
        std::erase_if(cache_->ready,
                      [&](const auto& entry) { return !keys.contains(entry.first); });
        of_channel_.clear();
        all_.clear();
        numbers_ = selected.channel_names().numbers;
        const bool names_depths =
            !request.channel_kernels.empty() && !sources.front().deeper.empty();
        named_ = (!request.channel_kernels.empty() && !names_depths) ||
                 (request.made_psf.is_needed && image.channels > 1);
        for (const KernelSource& source : sources) {
            const std::string key = solver_key(source, image);
            auto& ready = cache_->ready[key + variant];
            if (!ready) {
                auto loaded = std::make_shared<Ready>();
                loaded->file = load(request, source, image, room, context);
                room.most_bytes -= loaded->file.bytes();
                const auto all = cache_->expected.find(key);
                loaded->volumes = all != cache_->expected.end() ? all->second : here.at(key);
                ready = std::move(loaded);
            }
            of_channel_.push_back(ready);
            if (std::find(all_.begin(), all_.end(), ready) == all_.end()) all_.push_back(ready);
        }
    }

    /// Sets the solver of every kernel that has none to the result of `make(ready)`, which may take
    /// the kernel's values. If it throws, later images load the kernel again.
    template <class Make>
    void plan(const Make& make) {
        for (const auto& ready : all_) {
            if (ready->solver) continue;
            try {
                ready->solver.emplace(make(*ready));
            } catch (const OutOfMemory& error) {
                forget(ready);
                if (all_.size() == 1) throw;
                throw OutOfMemory(
                    sentence(error.sentence(), "; that is the share of one of ", all_.size(),
                             " kernels, so multiply it by ", all_.size()),
                    error.memory());
            } catch (...) {
                forget(ready);
                throw;
            }
            ready->file.release_values();
        }
    }

    /// Makes the PSF of a channel anew, by another model of the same extents.
    void replace_made(index_t channel, const PsfOptions& model, const ExecutionContext& context) {
        Ready& ready = *of_channel_[static_cast<std::size_t>(channel)];
        ready.file.values = make_psf(model, context).values;
        ready.file.made = model;
        ready.sharpness.reset();
    }

    /// Returns each kernel once, in the order of the channels.
    const std::vector<std::shared_ptr<Ready>>& all() const { return all_; }
    const Ready& of(index_t channel) const {
        return *of_channel_[static_cast<std::size_t>(channel)];
    }
    const Solver& solver(index_t channel) const { return *of(channel).solver; }

    /// Returns the bytes that each solver may take of a memory limit: solvers keep their memory.
    index_t share_of(index_t bytes) const { return bytes / static_cast<index_t>(all_.size()); }

    /// Returns true if a quarter of the memory limit is left beside every solver.
    bool intermediate_fits() const {
        return std::all_of(all_.begin(), all_.end(),
                           [](const auto& ready) { return ready->intermediate_fits; });
    }

    /// Returns the type of a complex kernel if there is one, else that of any kernel.
    PixelType type() const {
        for (const auto& ready : all_)
            if (is_complex(ready->file.metadata.type)) return ready->file.metadata.type;
        return all_.front()->file.metadata.type;
    }

    /// Tells each kernel and its plan. `tell(ready, kernel, plan)` prints lines and fills the
    /// objects of the JSON. If there are several kernels, the channels of each are told as well.
    template <class Tell>
    void tell_each(const Facts& facts, const Tell& tell) const {
        using Json = nlohmann::ordered_json;
        Json kernels = Json::array(), plans = Json::array();
        for (const auto& ready : all_) {
            if (all_.size() > 1) facts.console.fact("channel", numbers_of(*ready));
            Json kernel = to_json(ready->file), plan;
            tell(*ready, kernel, plan);
            for (std::size_t c = 0; named_ && c < numbers_.size(); ++c)
                if (of_channel_[c] == ready) kernel["for_channels"].push_back(numbers_[c]);
            kernels.push_back(std::move(kernel));
            plans.push_back(std::move(plan));
        }
        facts.json["kernel"] = named_ ? kernels : kernels.front();
        facts.json["plan"] = named_ ? plans : plans.front();
    }

    /// Returns the number in the file of a channel of the image.
    index_t number(index_t channel) const { return numbers_[static_cast<std::size_t>(channel)]; }

  private:
    void forget(const std::shared_ptr<Ready>& ready) {
        std::erase_if(cache_->ready, [&](const auto& entry) { return entry.second == ready; });
    }

    /// Loads a kernel and those of greater depths.
    static KernelFile load(const ImageRequest& request, const KernelSource& source,
                           const io::ImageMetadata& image, KernelRoom room,
                           const ExecutionContext& context) {
        KernelFile kernel = load_one(request, source, image, room, context);
        room.most_bytes -= kernel.bytes();
        kernel.depth_um = source.depth_um;
        for (const KernelSource& deeper : source.deeper) {
            kernel.deeper.push_back(load_one(request, deeper, image, room, context));
            room.most_bytes -= kernel.deeper.back().bytes();
            kernel.deeper.back().depth_um = deeper.depth_um;
        }
        return kernel;
    }

    static KernelFile load_one(const ImageRequest& request, const KernelSource& source,
                               const io::ImageMetadata& image, KernelRoom room,
                               const ExecutionContext& context) {
        KernelOptions options = request.kernel_options;
        options.room = std::move(room);
        if (source.gaussian)
            return make_gaussian_kernel(*source.gaussian, image, options.room.most_bytes);
        if (!source.psf) return load_kernel(source.path, image, options, *context.timeline);
        PsfOptions psf = source.psf->options;
        psf.threads = request.engines.threads;
        io::ImageMetadata stack = image;
        if (source.psf->stack_planes) {
            stack.shape.z = *source.psf->stack_planes;
            stack.voxel_size_um[0] = psf.voxel.z_um;
        }
        KernelFile kernel = make_kernel(psf, request.made_psf.capture, stack, options, context);
        kernel.optics = source.psf->optics;
        for (const std::string& warning : source.psf->warnings) kernel.warnings.push_back(warning);
        return kernel;
    }

    std::string numbers_of(const Ready& ready) const {
        std::string text;
        for (std::size_t c = 0; c < numbers_.size(); ++c)
            if (of_channel_[c].get() == &ready)
                text += message(text.empty() ? "" : ", ", numbers_[c]);
        return text;
    }

    std::shared_ptr<Cache> cache_;
    bool named_ = false;            ///< whether reports name channels, because kernels may differ
    std::vector<index_t> numbers_;  ///< number in the file of each channel
    std::vector<std::shared_ptr<Ready>> of_channel_;  ///< kernel of each channel
    std::vector<std::shared_ptr<Ready>> all_;         ///< all kernels, each once
};

/// Prints the plan of a convolver, and returns it as JSON.
inline nlohmann::ordered_json tell_plan_of(const Convolver& convolver, const Console& console,
                                           const RunOptions& options) {
    const Plan plan = convolver.plan();
    report_plan(console, options, plan.to_string() + "\n", plan_line(plan));
    return nlohmann::ordered_json::parse(plan.to_json());
}

/// Convolves every channel with its kernel. Throws as Convolver::execute() does. With several
/// kernels, BadData names the channel of the file, and NonfiniteSample that of `source`.
inline ExecutionReport convolve_channels(const ChannelKernels<Convolver>& kernels,
                                         ImageSource& source, ImageSink& sink,
                                         const ExecutionContext& context) {
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
