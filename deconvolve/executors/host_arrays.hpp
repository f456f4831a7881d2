// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <vector>

#include "convolume/convolver.hpp"
#include "convolume/error.hpp"
#include "core/threads.hpp"
#include "cpu/volumes/plane_passes.hpp"
#include "deconvolve/executors/row_loops.hpp"
#include "deconvolve/functors.hpp"
#include "deconvolve/problem.hpp"

// The arrays of a deconvolution in host memory, around Convolvers or passes.
namespace convolume::deconvolve {

// Units of work of a thread: a run of consecutive elements, or a row of a voxel grid. Neighbors are
// at equal offsets from all voxels of a row but the first and the last.

constexpr index_t run_elements = 1 << 14;

inline index_t run_count(index_t count) {
    return ceil_div(count, run_elements);
}
inline index_t run_count(const VoxelGrid& grid) {
    return grid.rows();
}

template <class Visit>
void visit_run(index_t count, index_t k, const Visit& visit) {
    visit(k * run_elements, std::min(count, (k + 1) * run_elements));
}
template <class Visit>
void visit_run(const VoxelGrid& grid, index_t row, const Visit& visit) {
    const index_t first = row * grid.extent[2];
    const index_t last = first + grid.extent[2] - 1;
    visit(first, first + 1, grid.around(row, 0));
    if (last - first > 1) visit(first + 1, last, grid.around(row, 1));
    if (last > first) visit(last, last + 1, grid.around(row, last - first));
}

// Ratios of data and model, with which most time beside convolutions is spent, are computed by row
// loops for each instruction set.
using HostRatio = RatioWithHeldOut<DataRatio<const float*>>;
using WeightedHostRatio = WeightedRatio<HostRatio>;

inline SumPair sum_of_ratios(index_t begin, index_t end, const HostRatio& ratio,
                             const float* weight = nullptr) {
    const DataRatio<const float*>& of = ratio.ratio;
    return fill_ratio({of.data + begin, ratio.held_out ? ratio.held_out + begin : nullptr,
                       ratio.share, of.rule, true, of.less, weight ? weight + begin : nullptr},
                      of.model + begin, end - begin);
}

/// The arrays, and the loops over them.
class HostLoops {
  public:
    static constexpr HostMemory staging = HostMemory::ordinary;
    static constexpr bool records_phases = true;

    HostLoops(const DeconvolutionProblem& problem, int threads) : threads_(threads) {
        const ArrayCounts counts = array_counts(problem);
        for (int i = 0; i < counts.object; ++i)
            objects_.emplace_back(problem.object, PixelType::float32);
        for (int i = 0; i < counts.image; ++i)
            images_.emplace_back(Shape3{1, 1, problem.pixels()}, PixelType::float32);
    }

    /// Sets the context to which later convolutions report.
    void use(const ExecutionContext& context) {
        context_.timeline = context.timeline;
        context_.stop = context.stop;
    }

    int threads() const { return threads_; }
    float* object(int i) { return objects_[static_cast<std::size_t>(i)].elements<float>(); }
    float* image(int i) { return images_[static_cast<std::size_t>(i)].elements<float>(); }

    // Gives every thread a functor of its own, so that compilers know that arrays do not alias it.
    // Elements of a run may be visited in any order.
    template <class Extent, class Functor>
    void for_each(const Extent& extent, const Functor& functor) const {
        const PhaseTimer timer(context_.timeline, Phase::convolve);
        const index_t runs = run_count(extent);
        parallel_ranges(runs, threads_, [&](index_t first, index_t last, int) {
            const Functor own = functor;
            for (index_t k = first; k < last; ++k)
                visit_run(extent, k, [own](index_t begin, index_t end, const auto... near) {
#pragma omp simd
                    for (index_t i = begin; i < end; ++i) own(i, near...);
                });
        });
    }

    // Adds up the sums of runs in their order, whichever threads computed them.
    template <class Extent, class Functor>
    auto sum(const Extent& extent, const Functor& functor) const {
        using Sum = decltype(result_of(functor, extent));
        const PhaseTimer timer(context_.timeline, Phase::convolve);
        std::vector<Sum> sums(static_cast<std::size_t>(run_count(extent)));
        const auto runs = static_cast<index_t>(sums.size());
        parallel_ranges(runs, threads_, [&](index_t first, index_t last, int) {
            const Functor own = functor;
            for (index_t k = first; k < last; ++k) {
                Sum* const target = &sums[static_cast<std::size_t>(k)];
                visit_run(extent, k, [own, target](index_t begin, index_t end, const auto... near) {
                    *target += sum_of_run(begin, end, own, near...);
                });
            }
        });
        Sum total{};
        for (const Sum& of_run : sums) total += of_run;
        return total;
    }

    void write(const float* values, float* array, index_t first, index_t count) const {
        std::copy_n(values, count, array + first);
    }
    void read(float* values, const float* array, index_t first, index_t count) const {
        std::copy_n(array + first, count, values);
    }

  protected:
    const ExecutionContext& context() const {
        return context_;
    }

  private:
    // Compilers make vectors of sums of numbers, but not of sums of structures.
    template <class Functor, class... Near>
    static auto sum_of_run(index_t begin, index_t end, const Functor& functor,
                           const Near&... near) {
        if constexpr (std::is_same_v<Functor, HostRatio>) {
            return sum_of_ratios(begin, end, functor);
        } else if constexpr (std::is_same_v<Functor, DataRatio<const float*>>) {
            return sum_of_ratios(begin, end, HostRatio{functor, nullptr, 0}).first;
        } else if constexpr (std::is_same_v<Functor, WeightedHostRatio>) {
            return sum_of_ratios(begin, end, functor.ratio, functor.weight);
        } else if constexpr (std::is_same_v<std::invoke_result_t<Functor, index_t, Near...>,
                                            SumPair>) {
            double first = 0;
            double second = 0;
#pragma omp simd reduction(+ : first, second)
            for (index_t i = begin; i < end; ++i) {
                const SumPair of_element = functor(i, near...);
                first += of_element.first;
                second += of_element.second;
            }
            return SumPair{first, second};
        } else {
            double sum = 0;
#pragma omp simd reduction(+ : sum)
            for (index_t i = begin; i < end; ++i) sum += functor(i, near...);
            return sum;
        }
    }

    int threads_;
    ExecutionContext context_;
    std::vector<Volume> objects_;
    std::vector<Volume> images_;
};

/// Arrays around Convolvers.
class HostArrays : public HostLoops {
  public:
    /// The convolvers are kept by reference; `unmatched` may be null.
    HostArrays(const DeconvolutionProblem& problem, const Convolver& blur, const Convolver& back,
               int threads, const Convolver* unmatched = nullptr)
        : HostLoops(problem, threads), blur_(blur), back_(back), unmatched_(unmatched) {}

    void blur(const float* object, float* image) {
        blur_.execute(view_of(object, blur_.input_shape()), view_of(image, blur_.output_shape()),
                      context());
    }
    void blur_back(const float* image, float* object) { project(back_, image, object); }
    void back_project_unmatched(const float* image, float* object) {
        project(*unmatched_, image, object);
    }

  private:
    void project(const Convolver& back, const float* image, float* object) {
        back.execute(view_of(image, back.input_shape()), view_of(object, back.output_shape()),
                     context());
    }

    const Convolver& blur_;
    const Convolver& back_;
    const Convolver* unmatched_;
};

/// Arrays around passes over planes of spectra, which blur with a PSF that varies with depth.
class HostPassArrays : public HostLoops {
  public:
    /// The passes are kept by reference.
    HostPassArrays(const DeconvolutionProblem& problem, cpu::HostPlanePasses& passes, int threads)
        : HostLoops(problem, threads),
          passes_(passes),
          object_(problem.object),
          image_(problem.image) {}

    void blur(const float* object, float* image) {
        const PhaseTimer timer(context().timeline, Phase::convolve);
        forward(Side::object, object_, object);
        passes_.along_z(false, stop_context());
        inverse(Side::image, image_, image);
    }
    void blur_back(const float* image, float* object) {
        const PhaseTimer timer(context().timeline, Phase::convolve);
        forward(Side::image, image_, image);
        passes_.along_z(true, stop_context());
        inverse(Side::object, object_, object);
    }
    void back_project_unmatched(const float*, float*) {
        throw InternalError("an unmatched back projector of a PSF that varies with depth");
    }

  private:
    using Side = cpu::HostPlanePasses::PairSide;
    using Rows = cpu::HostPlanePasses::Rows;

    void forward(Side side, const Shape3& shape, const float* samples) {
        passes_.forward(
            side,
            [&](const Rows& rows) {
                for (index_t i = 0; i < rows.count; ++i)
                    std::copy_n(samples + row_begin(shape, rows, i), shape.x, rows.row(i));
            },
            stop_context());
    }
    void inverse(Side side, const Shape3& shape, float* samples) {
        passes_.inverse(
            side, {0, shape.z},
            [&](const Rows& rows) {
                for (index_t i = 0; i < rows.count; ++i)
                    std::copy_n(rows.row(i), shape.x, samples + row_begin(shape, rows, i));
            },
            stop_context());
    }
    /// Returns a context that reports nothing, as passes are parts of an iteration.
    ExecutionContext stop_context() const {
        ExecutionContext stop;
        stop.stop = context().stop;
        return stop;
    }
    static index_t row_begin(const Shape3& shape, const Rows& rows, index_t i) {
        return (rows.z * shape.y + rows.first + i) * shape.x;
    }

    cpu::HostPlanePasses& passes_;
    Shape3 object_, image_;
};

}  // namespace convolume::deconvolve
