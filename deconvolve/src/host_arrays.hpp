#pragma once
// The loop's arrays in host memory.

#include <algorithm>
#include <type_traits>
#include <vector>

#include "convolume/convolver.hpp"
#include "problem.hpp"

namespace convolume::deconvolve {

class HostArrays {
  public:
    static constexpr HostMemory staging = HostMemory::ordinary;

    /// The convolvers are kept by reference.
    HostArrays(const Problem& problem, const Convolver& blur, const Convolver& back, int threads)
        : blur_(blur), back_(back), threads_(threads) {
        const ArrayCounts counts = array_counts(problem.options);
        for (int i = 0; i < counts.object; ++i)
            objects_.emplace_back(problem.object, PixelType::float32);
        for (int i = 0; i < counts.image; ++i)
            images_.emplace_back(problem.image, PixelType::float32);
    }

    /// What convolutions from now on report to.
    void use(const ExecutionContext& context) {
        context_.timeline = context.timeline;
        context_.stop = context.stop;
    }

    int threads() const { return threads_; }
    float* object(int i) { return objects_[static_cast<std::size_t>(i)].elements<float>(); }
    float* image(int i) { return images_[static_cast<std::size_t>(i)].elements<float>(); }

    void blur(const float* object, float* image) {
        blur_.execute(view_of(object, blur_.input_shape()), view_of(image, blur_.output_shape()),
                      context_);
    }
    void blur_back(const float* image, float* object) {
        back_.execute(view_of(image, back_.input_shape()), view_of(object, back_.output_shape()),
                      context_);
    }

    // Every thread has a stage of its own, which the arrays cannot be aliases of.
    template <class Stage>
    void for_each(index_t count, const Stage& stage) const {
#pragma omp parallel num_threads(threads_)
        {
            const Stage own = stage;
#pragma omp for
            for (index_t i = 0; i < count; ++i) own(i);
        }
    }

    // Runs of elements are added up one after another, whoever took them.
    template <class Stage>
    auto sum(index_t count, const Stage& stage) const {
        using Sum = std::invoke_result_t<Stage, index_t>;
        constexpr index_t run = 1 << 14;
        std::vector<Sum> sums(static_cast<std::size_t>(ceil_div(count, run)));
#pragma omp parallel num_threads(threads_)
        {
            const Stage own = stage;
#pragma omp for
            for (index_t begin = 0; begin < count; begin += run) {
                Sum of_run{};
                for (index_t i = begin; i < std::min(count, begin + run); ++i) of_run += own(i);
                sums[static_cast<std::size_t>(begin / run)] = of_run;
            }
        }
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

  private:
    const Convolver& blur_;
    const Convolver& back_;
    int threads_;
    ExecutionContext context_;
    std::vector<Volume> objects_;
    std::vector<Volume> images_;
};

}  // namespace convolume::deconvolve
