// SPDX-License-Identifier: Apache-2.0
// Bytes and seconds of candidates.

#include <algorithm>

#include "convolume/error.hpp"
#include "volumes/candidate.hpp"
#include "volumes/kernel_parts.hpp"
#include "volumes/split_volume.hpp"
#include "volumes/stream_tasks.hpp"

namespace convolume {

namespace {

// Bytes of a thread that splits or merges, for the rows of a few butterflies.
constexpr index_t split_bytes_per_thread = index_t{800} << 10;

// Bytes that are written to a file before write-back begins (io/atomic_output.cpp).
constexpr double writeback_bytes = 64 << 20;

// Returns the bytes as an integer, limited to the range of index_t.
index_t to_integer(double bytes) {
    return static_cast<index_t>(std::min(bytes, 9e18));
}

// Factor by which tiles must load more samples than an image has, so that they share its planes.
constexpr double least_overlap = 1.25;

// Predicts memory and time of candidates. Keeps all arguments by reference.
class Predictor {
  public:
    Predictor(const ConvolutionProblem& problem, const EngineList& engines,
              const MemoryLimits& limits, bool shares_planes)
        : problem_(problem),
          engines_(engines),
          limits_(limits),
          shares_planes_(shares_planes),
          rates_(engines.front()->info().rates) {}

    PlanCandidate predict(const BlockDivision& division) const {
        PlanCandidate candidate;
        candidate.method = division.method;
        candidate.algorithm = division.algorithm;
        candidate.parts = division.parts;
        candidate.tiles = division.tiles;
        candidate.grid = division.grid;
        candidate.on_gpu = engines_.front()->info().is_gpu;
        candidate.gpus_per_block =
            std::max(1, static_cast<int>(engines_.front()->info().members.size()));

        if (division.parts > 1)
            candidate.split_kernel_bytes =
                kernel_parts_bytes(problem_, division.parts, division.grid.z);
        candidate.host_bytes =
            checked_add(checked_add(box_bytes(division), in_memory_bytes()),
                        checked_add(checked_add(division.scratch_bytes, problem_.other_host_bytes),
                                    candidate.split_kernel_bytes));

        double writing_s = 0;
        index_t beyond_one_kernel = 0;
        for (const auto& engine : engines_) {
            const EngineCosts costs = costs_on(*engine, division);
            add_memory(*engine, division, costs, candidate);
            // Tasks are handed out as engines become free, so that the slowest engine ends last.
            const Makespan makespan = makespan_of(division, costs);
            candidate.seconds = std::max(candidate.seconds, makespan.seconds);
            writing_s = std::max(writing_s, makespan.writing_s);
            beyond_one_kernel = costs.beyond_one_kernel;
            if (engine == engines_.front()) add_stages(division, costs, candidate);
        }
        candidate.ring_planes = ring_planes(
            division, std::ssize(engines_) * (buffers_tasks(division) ? BufferedTasks::in_flight
                                                                      : candidate.tasks_in_flight));
        candidate.host_bytes = checked_add(
            candidate.host_bytes,
            Buffer::rounded_bytes(checked_multiply(
                candidate.ring_planes,
                bytes_of({1, problem_.image.y, problem_.image.x}, problem_.image_type))));
        if (candidate.host_bytes > limits_.host_bytes)
            make_fit(division, beyond_one_kernel, candidate);
        if (division.scratch_bytes > 0) add_split(division, candidate);
        if (problem_.streamed && !streams(division)) add_files(candidate);
        if (problem_.streamed && !problem_.sink_in_memory)
            add_commit(streams(division) ? writing_s : candidate.stages.write.seconds, candidate);
        if (counts_first_use()) add_start(candidate);
        return candidate;
    }

  private:
    struct EngineCosts {
        BlockCost first;  ///< cost of the first block of an image
        BlockCost other;  ///< cost of each other block
        index_t in_flight = 1;
        bool keep_kernels = true;
        index_t bytes = 0;              ///< bytes that the engine takes
        index_t kernel = 0;             ///< bytes of the largest kernel
        index_t workspace = 0;          ///< bytes of the workspace of each block in flight
        index_t beyond_one_kernel = 0;  ///< bytes of all kernels but the largest
    };
    struct Makespan {
        double seconds;    ///< time until everything is written
        double writing_s;  ///< time from the first write to the last
    };
    EngineCosts costs_on(const Engine& engine, const BlockDivision& division) const {
        // Any engine may get a task, so that all plan for the engine with the least memory.
        const index_t limit = limits_.engine_bytes.value_or(0);
        EngineCosts costs;
        index_t all_kernels = 0;
        const double shared = overlap_of(division);
        const auto estimate = [&](index_t block_limit) {
            const auto cost_of = [&](Block block) {
                block.memory_bytes = block_limit;
                block.staging_engines *= static_cast<int>(engines_.size());
                if (shared > least_overlap) {
                    block.source_bytes_per_s =
                        1 / (1 / (block.source_bytes_per_s * shared) + 1 / rates_.ring_bytes_per_s);
                    block.source_in_planes = true;
                }
                return engine.estimate(block);
            };
            costs.first = cost_of(division.first);
            costs.other = division.parts > 1 ? cost_of(division.other) : costs.first;
            costs.workspace = std::max(costs.first.workspace_bytes, costs.other.workspace_bytes);
            costs.kernel = std::max(costs.first.kernel_bytes, costs.other.kernel_bytes);
            all_kernels =
                checked_add(costs.first.kernel_bytes,
                            checked_multiply(division.parts - 1, costs.other.kernel_bytes));
            costs.beyond_one_kernel = all_kernels - costs.kernel;
        };
        estimate(limit);
        const auto bytes = [&](bool keep) {
            return checked_add(checked_multiply(costs.in_flight, costs.workspace),
                               keep ? all_kernels : costs.kernel);
        };
        // Staging buffers of several tasks in flight may take at most half of the host's memory.
        const index_t staging = std::max(costs.first.staging_bytes, costs.other.staging_bytes);
        const auto fits = [&](bool keep) {
            return (limit == 0 || bytes(keep) <= limit) &&
                   checked_multiply(costs.in_flight, staging) <= limits_.host_bytes / 2;
        };
        // Several tasks in flight save more time than kept kernels, since transfers take longest.
        // Tasks of a stream in flight may belong to different images.
        const index_t all_tasks =
            checked_multiply(tasks(division), streams(division) ? images() : index_t{1});
        costs.in_flight =
            std::min<index_t>(engine.info().tasks_in_flight,
                              ceil_div(all_tasks, static_cast<index_t>(engines_.size())));
        // Parts with smaller transfer buffers are as fast, and more of them fit.
        if (division.parts > 1 && costs.in_flight > 1 && !fits(false))
            estimate(std::max<index_t>(1, (limit - costs.kernel) / costs.in_flight + costs.kernel));
        while (costs.in_flight > 1 && !fits(false)) --costs.in_flight;
        costs.keep_kernels = limit == 0 || bytes(true) <= limit;
        costs.bytes = bytes(costs.keep_kernels);
        if (!costs.keep_kernels) {
            add_kernel(costs.first);
            add_kernel(costs.other);
        }
        return costs;
    }

    // Adds the time to prepare a kernel that serves a single block.
    static void add_kernel(BlockCost& cost) {
        cost.host_to_device_s += cost.kernel_to_device_s;
        cost.compute_s += cost.kernel_s;
        cost.seconds += cost.kernel_to_device_s + cost.kernel_s;
    }

    // Returns the number of samples that all tiles of a stream load, divided by those of the image.
    double overlap_of(const BlockDivision& division) const {
        if (!streams(division) || !shares_planes_) return 1;
        // The first and the last tiles of a wrapped axis need planes of both ends.
        if (problem_.boundary == BoundaryKind::wrap && division.tiles.z > 1) return 1;
        double overlap = 1;
        for (int a = 0; a < 3; ++a) {
            const index_t loaded = std::min(division.first.axes[static_cast<std::size_t>(a)].loaded,
                                            problem_.image[a]);
            overlap *= static_cast<double>(checked_multiply(loaded, division.tiles[a])) /
                       static_cast<double>(problem_.image[a]);
        }
        return overlap;
    }

    // Returns the number of planes that keep all tasks in flight busy.
    index_t ring_planes(const BlockDivision& division, index_t in_flight) const {
        if (overlap_of(division) <= least_overlap) return 0;
        const BlockAxis& z = division.first.axes[0];
        const index_t of_slab = checked_multiply(division.tiles.y, division.tiles.x);
        const index_t planes =
            std::min(problem_.image.z,
                     checked_add(z.loaded, checked_multiply(ceil_div(in_flight, of_slab), z.kept)));
        const index_t volumes =
            problem_.executions == 1 ? 1 : 1 + ceil_div(in_flight - 1, tasks(division));
        return checked_multiply(planes, volumes);
    }

    void add_memory(const Engine& engine, const BlockDivision& division, const EngineCosts& costs,
                    PlanCandidate& candidate) const {
        const auto in_flight = static_cast<int>(costs.in_flight);
        candidate.keeps_kernels = candidate.keeps_kernels && costs.keep_kernels;
        candidate.engine_bytes = std::max(candidate.engine_bytes, costs.bytes);
        candidate.block_bytes =
            std::max(candidate.block_bytes, checked_add(costs.workspace, costs.kernel));
        candidate.slab_planes = costs.other.slab_planes;
        candidate.tasks_in_flight = &engine == engines_.front().get()
                                        ? in_flight
                                        : std::min(candidate.tasks_in_flight, in_flight);
        candidate.host_bytes = checked_add(
            candidate.host_bytes,
            engine.info().is_gpu
                ? costs.in_flight * std::max(costs.first.staging_bytes, costs.other.staging_bytes)
                : costs.bytes);
        if (division.scratch_bytes > 0)
            candidate.host_bytes = checked_add(candidate.host_bytes,
                                               (problem_.streamed ? Bands::in_flight + 1 : 2) *
                                                   engine.info().threads * split_bytes_per_thread);
    }

    // Returns the time to prepare kernels and to use memory for the first time. It counts only if a
    // known number of images is expected.
    double prepare_seconds(const BlockDivision& division, const EngineCosts& costs) const {
        if (!counts_first_use()) return 0;
        const double taps_s = static_cast<double>(element_count(problem_.kernel)) *
                              rates_.kernel_tap_s /
                              std::min<double>(host_threads(), rates_.threads_to_fill_memory);
        const double boxes_s = static_cast<double>(box_bytes(division)) /
                               static_cast<double>(engines_.size()) /
                               (rates_.first_touch_bytes_per_s * engines_.front()->info().threads);
        const auto kernel_s = [](const BlockCost& cost) {
            return cost.kernel_s + cost.kernel_to_device_s;
        };
        const double kernels_s =
            costs.keep_kernels ? kernel_s(costs.first) +
                                     static_cast<double>(division.parts - 1) * kernel_s(costs.other)
                               : 0;
        return taps_s + boxes_s + costs.first.first_use_s + kernels_s;
    }

    Makespan makespan_of(const BlockDivision& division, const EngineCosts& costs) const {
        const BlockCost &first = costs.first, &other = costs.other;
        const bool buffered = buffers_tasks(division);
        // The last task may run alone.
        const double alone_s = std::max(first.seconds, other.seconds) +
                               (buffered ? rates_.buffered_task_s : rates_.task_s);
        const index_t side_by_side = buffered ? index_t{BufferedTasks::in_flight} : costs.in_flight;
        const double interval_s = side_by_side > 1
                                      ? std::max({first.interval_s(), other.interval_s(),
                                                  alone_s / static_cast<double>(side_by_side)})
                                      : alone_s;
        const index_t rounds = ceil_div(checked_multiply(tasks(division), images()),
                                        static_cast<index_t>(engines_.size()));
        const double others_s = interval_s * static_cast<double>(rounds - 1);
        // Walks write as they advance, other blocks are written after they are convolved.
        const auto planes = static_cast<double>(division.first.axes[0].kept);
        const double last_s = other.slab_planes > 0
                                  ? alone_s * (1 - static_cast<double>(other.slab_planes) / planes)
                                  : other.write_s;
        return {prepare_seconds(division, costs) + alone_s + others_s, others_s + last_s};
    }

    void add_stages(const BlockDivision& division, const EngineCosts& costs,
                    PlanCandidate& candidate) const {
        const BlockCost &first = costs.first, &other = costs.other;
        const auto engines = static_cast<double>(engines_.size());
        const auto sum = [&](double of_first, double of_other) {
            return static_cast<double>(images()) *
                   (of_first + static_cast<double>(tasks(division) - 1) * of_other);
        };
        const auto source_bytes = [&](const Block& block) {
            const index_t planes = std::min(block.axes[0].loaded, problem_.image.z);
            return static_cast<double>(division.parts > 1 ? block.axes[0].loaded : planes) *
                   static_cast<double>(block.source_plane) *
                   static_cast<double>(size_of(block.source_type));
        };
        const auto target_bytes = [&](const Block& block) {
            const Shape3 kept = block.kept();
            return static_cast<double>(kept.z) * static_cast<double>(kept.y) *
                   static_cast<double>(kept.x) * static_cast<double>(size_of(block.target_type));
        };
        const Block& other_block = division.parts > 1 ? division.other : division.first;
        const index_t in = to_integer(sum(source_bytes(division.first), source_bytes(other_block)));
        const index_t out =
            to_integer(sum(target_bytes(division.first), target_bytes(other_block)));
        PlanStages& stages = candidate.stages;
        stages.prepare = {0, prepare_seconds(division, costs)};
        stages.convolve = {0, sum(first.compute_s, other.compute_s) / engines};
        if (candidate.on_gpu) {
            stages.to_gpu = {in, sum(first.host_to_device_s, other.host_to_device_s) / engines};
            stages.from_gpu = {out, sum(first.device_to_host_s, other.device_to_host_s) / engines};
        }
        if (streams(division)) {
            stages.read = {in, sum(first.read_s, other.read_s)};
            stages.write = {out, sum(first.write_s, other.write_s)};
        }
    }

    // Makes a candidate smaller that takes more than the host's memory: keeps fewer kernels, or
    // puts the split kernel and the split image into scratch files.
    void make_fit(const BlockDivision& division, index_t beyond_one_kernel,
                  PlanCandidate& candidate) const {
        const auto engines = static_cast<index_t>(engines_.size());
        // Engines of the host keep kernels only if there is room for them beside everything else.
        if (!candidate.on_gpu && candidate.keeps_kernels) {
            candidate.keeps_kernels = false;
            candidate.host_bytes -= engines * beyond_one_kernel;
            candidate.engine_bytes -= beyond_one_kernel;
        }
        const double write_bytes_per_s =
            problem_.sink_in_memory
                ? problem_.sink_bytes_per_s
                : std::min(problem_.sink_bytes_per_s, rates_.file_sync_bytes_per_s);
        if (division.parts > 1 && candidate.host_bytes > limits_.host_bytes)
            put_kernel_in_files(division, write_bytes_per_s, candidate);
        if (!problem_.streamed || division.parts == 1 || candidate.host_bytes <= limits_.host_bytes)
            return;
        // With scratch files, only the parts in flight are in memory. Every sample is written and
        // read twice.
        const index_t part = ceil_div(division.scratch_bytes, division.parts);
        const index_t in_memory =
            engines_.front()->info().streams
                ? 0
                : checked_multiply(engines, checked_multiply(LoadedParts::in_flight, part));
        candidate.image_in_files = true;
        candidate.scratch_file_bytes =
            checked_add(candidate.scratch_file_bytes, division.scratch_bytes);
        candidate.host_bytes =
            checked_add(candidate.host_bytes - division.scratch_bytes, in_memory);
        candidate.seconds += 2 * static_cast<double>(images()) *
                             static_cast<double>(division.scratch_bytes) *
                             (1 / problem_.source_bytes_per_s + 1 / write_bytes_per_s);
    }

    // Puts the split kernel into scratch files. The taps of the tasks in flight, or bands during
    // the split, remain in memory.
    void put_kernel_in_files(const BlockDivision& division, double write_bytes_per_s,
                             PlanCandidate& candidate) const {
        const index_t in_flight =
            checked_multiply(static_cast<index_t>(engines_.size()), candidate.tasks_in_flight);
        const index_t part =
            Buffer::rounded_bytes(ceil_div(candidate.split_kernel_bytes, division.parts));
        const index_t in_memory =
            std::max(checked_multiply(in_flight, part),
                     kernel_bands_bytes(problem_, division.parts, division.grid.z));
        if (in_memory >= candidate.split_kernel_bytes) return;
        candidate.kernel_in_files = true;
        candidate.scratch_file_bytes =
            checked_add(candidate.scratch_file_bytes, candidate.split_kernel_bytes);
        candidate.host_bytes =
            checked_add(candidate.host_bytes - candidate.split_kernel_bytes, in_memory);
        const auto bytes = static_cast<double>(candidate.split_kernel_bytes);
        if (!candidate.keeps_kernels)
            candidate.seconds +=
                static_cast<double>(images()) * bytes / problem_.source_bytes_per_s;
        if (counts_first_use()) candidate.seconds += bytes / write_bytes_per_s;
    }

    int host_threads() const {
        int threads = 0;
        for (const auto& engine : engines_) threads += engine->info().threads;
        return threads;
    }

    void add_split(const BlockDivision& division, PlanCandidate& candidate) const {
        const double threads = std::min<double>(host_threads(), rates_.threads_to_fill_memory);
        const double bytes =
            static_cast<double>(images()) *
            static_cast<double>(image_bytes() + 2 * division.scratch_bytes + output_bytes());
        PlanStages& stages = candidate.stages;
        stages.split_and_merge = {to_integer(bytes), bytes / (rates_.split_bytes_per_s * threads)};
        candidate.seconds += stages.split_and_merge.seconds;
        if (!counts_first_use()) return;
        // The kernel is split once. The memory of both splits is touched.
        const auto kernel_bytes = static_cast<double>(candidate.split_kernel_bytes);
        const double first_s = 2 * kernel_bytes / (rates_.split_bytes_per_s * threads) +
                               (static_cast<double>(division.scratch_bytes) + kernel_bytes) /
                                   (rates_.first_touch_bytes_per_s * threads);
        stages.prepare.seconds += first_s;
        candidate.seconds += first_s;
    }

    // Adds the seconds in which the program and GPUs start.
    void add_start(PlanCandidate& candidate) const {
        const double start_s = problem_.start_s + (problem_.streamed ? rates_.process_s : 0);
        candidate.stages.start = {0, start_s};
        candidate.seconds += start_s;
    }

    // Adds the time of reading before all blocks, and of writing after them.
    void add_files(PlanCandidate& candidate) const {
        PlanStages& stages = candidate.stages;
        const double read = static_cast<double>(images()) * static_cast<double>(image_bytes());
        const double written = static_cast<double>(images()) * static_cast<double>(output_bytes());
        stages.read = {to_integer(read), read / problem_.source_bytes_per_s};
        stages.write = {to_integer(written), written / problem_.sink_bytes_per_s};
        candidate.seconds += stages.read.seconds + stages.write.seconds;
    }

    // Adds the time to bring the bytes to disk that are still in the system's cache after the last
    // write. `writing_s` is the time from the first write to the last.
    void add_commit(double writing_s, PlanCandidate& candidate) const {
        const double bytes = static_cast<double>(images()) * static_cast<double>(output_bytes());
        // Write-back begins after writeback_bytes, and goes on while later bytes are written.
        const double meanwhile = std::clamp(writing_s * rates_.file_sync_bytes_per_s, 0.0,
                                            std::max(bytes - writeback_bytes, 0.0));
        const double left = bytes - meanwhile;
        candidate.stages.commit = {to_integer(left),
                                   rates_.file_sync_s + left / rates_.file_sync_bytes_per_s};
        candidate.seconds += candidate.stages.commit.seconds;
    }

    index_t tasks(const BlockDivision& division) const {
        return division.parts > 1 ? division.parts : element_count(division.tiles);
    }
    bool streams(const BlockDivision& division) const {
        return problem_.streamed && division.parts == 1;
    }
    /// Whether all samples of a task are read before it, and its results are written after it.
    bool buffers_tasks(const BlockDivision& division) const {
        return streams(division) && !engines_.front()->info().streams;
    }
    bool counts_first_use() const { return problem_.executions > 0; }
    index_t images() const { return std::max<index_t>(problem_.executions, 1); }
    /// Returns the bytes of the boxes of a stream that are in memory.
    index_t box_bytes(const BlockDivision& division) const {
        if (problem_.streamed && division.parts > 1)
            return image_bands(problem_, {problem_.complex_data, division.parts, division.scratch.z,
                                          division.scratch.y, division.scratch.x})
                .bytes();
        if (!buffers_tasks(division)) return 0;
        return checked_multiply(
            static_cast<index_t>(engines_.size()),
            BufferedTasks::bytes(division.first, problem_.image,
                                 checked_multiply(tasks(division), problem_.executions)));
    }
    /// Returns the bytes of image and result; 0 if they are streamed.
    index_t in_memory_bytes() const {
        return problem_.streamed ? 0 : checked_add(image_bytes(), output_bytes());
    }
    index_t image_bytes() const { return bytes_of(problem_.image, problem_.image_type); }
    index_t output_bytes() const { return bytes_of(problem_.output.shape(), problem_.output_type); }

    const ConvolutionProblem& problem_;
    const EngineList& engines_;
    const MemoryLimits& limits_;
    bool shares_planes_;  ///< tiles whose halos overlap share the planes of a stream
    const MachineRates& rates_;
};

}  // namespace

PlanCandidate predict(const ConvolutionProblem& problem, const EngineList& engines,
                      const MemoryLimits& limits, const BlockDivision& division) {
    const PlanCandidate sharing = Predictor(problem, engines, limits, true).predict(division);
    if (sharing.ring_planes == 0 || sharing.host_bytes <= limits.host_bytes) return sharing;
    return Predictor(problem, engines, limits, false).predict(division);
}

}  // namespace convolume
