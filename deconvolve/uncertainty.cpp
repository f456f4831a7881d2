// SPDX-License-Identifier: Apache-2.0
#include "deconvolve/uncertainty.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "convolume/error.hpp"
#include "core/threads.hpp"
#include "deconvolve/estimates/coarse_start.hpp"
#include "deconvolve/photon_halves.hpp"
#include "volumes/stream_tasks.hpp"

namespace convolume::deconvolve {

namespace {

/// Adds the squares of half the differences from another estimate to sums.
class DifferenceSink final : public ImageSink {
  public:
    DifferenceSink(const Volume& other, Volume& sums, int threads)
        : other_(other), sums_(sums), threads_(threads) {}
    StackFormat format() const override { return {sums_.shape(), PixelType::float32}; }
    void write_box(index_t, index_t, const Box3& box, const ConstImageView& source) override {
        const ConstImageView other = subview(other_.view(), box);
        const ImageView sums = subview(sums_.view(), box);
        const Shape3& extents = source.shape;
        parallel_for(extents.z * extents.y, threads_, [&](index_t row, int) {
            const index_t z = row / extents.y, y = row % extents.y;
            for (index_t x = 0; x < extents.x; ++x) {
                const float half = (source.at<float>(z, y, x) - other.at<float>(z, y, x)) * 0.5F;
                sums.at<float>(z, y, x) += half * half;
            }
        });
    }

  private:
    const Volume& other_;
    Volume& sums_;
    int threads_;
};

/// Replaces sums of `splits` squares by the root of their mean, and writes them.
void write_deviation(Volume& sums, int splits, ImageSink& sink, const ExecutionContext& context,
                     int threads) {
    const Shape3& shape = sums.shape();
    const index_t plane = shape.y * shape.x;
    parallel_for(shape.z, threads, [&](index_t z, int) {
        float* const values = sums.elements<float>() + z * plane;
        for (index_t i = 0; i < plane; ++i)
            values[i] = std::sqrt(values[i] / static_cast<float>(splits));
    });
    const PhaseTimer timer(context.timeline, Phase::write, -1, -1, sums.bytes());
    sink.write_box(0, 0, {{0, 0, 0}, shape}, std::as_const(sums).view());
}

/// Halves of the photons of one image.
class ImageHalves final : public HalfRestorer {
  public:
    ImageHalves(const SplitRunner& runner, CallerImages& image, const DeconvolveReport& report,
                int threads)
        : runner_(runner),
          half_(image, runner.problem, report.photons, threads),
          options_(runner.problem, report) {}
    void restore(int split, bool is_second, ImageSink& result, const DeconvolveRun& run,
                 const ExecutionContext& context) override {
        half_.choose(split, is_second);
        // Reading the image records its own time.
        ExecutionContext untimed;
        untimed.stop = context.stop;
        StreamedImages images(half_, result, untimed, {runner_.coarse_start, nullptr});
        runner_.runner.execute(runner_.problem, images, context, run);
    }

  private:
    const SplitRunner& runner_;
    HalfSource half_;
    const OptionsOfHalves options_;
};

}  // namespace

index_t split_sums_bytes(const Shape3& result) {
    return checked_multiply(2, bytes_of(result, PixelType::float32));
}

index_t half_bytes(const DeconvolutionProblem& problem) {
    // The half itself, and the planes that it is of.
    const index_t planes =
        std::min(problem.image.z, planes_in_group(problem.image, PixelType::float32));
    const Shape3 group{planes, problem.image.y, problem.image.x};
    const PixelType type = problem.options.image_type.value_or(PixelType::float64);
    return checked_add(
        bytes_of(group, type),
        StreamedImages::host_bytes(problem.image, PixelType::float32, PixelType::float32,
                                   *problem.options.coarse_start > 0));
}

index_t uncertainty_bytes(const DeconvolutionProblem& problem) {
    return checked_add(split_sums_bytes(problem.image), half_bytes(problem));
}

void check_uncertainty(const DeconvolutionProblem& problem, const ImageSink* sink) {
    if (sink == nullptr) return;
    if (problem.options.splits == 0)
        throw InvalidArgument(
            "the uncertainty was not planned: give a number of splits, such as 8");
    const StackFormat format = sink->format();
    if (format.shape != problem.image || format.volumes() != 1 || format.type != PixelType::float32)
        throw InvalidArgument(message("the uncertainty has the shape ", to_string(format.shape),
                                      " (z×y×x) and ", format.volumes(), " volumes of ",
                                      to_string(format.type), ": give one float32 volume of ",
                                      to_string(problem.image)));
}

void estimate_uncertainty(HalfRestorer& halves, int splits, const DeconvolveRun& run,
                          const ExecutionContext& context, int threads) {
    const Shape3 shape = run.uncertainty->format().shape;
    Volume first(shape, PixelType::float32), sums(shape, PixelType::float32);
    ViewSink kept(first.view());
    DifferenceSink compared(first, sums, threads);
    for (int number = 0; number < 2 * splits; ++number) {
        const int split = number / 2;
        const bool is_second = number % 2 == 1;
        DeconvolveRun own;
        own.start = run.start;
        own.pixel_weights = run.pixel_weights;
        own.reads_every = 0;
        if (run.on_iteration)
            own.on_iteration = [&](Iteration iteration, const EstimateReader&) {
                iteration.split = split + 1;
                run.on_iteration(iteration, [](const ImageView&) {
                    throw InvalidArgument(
                        "estimates of halves of the photons cannot be read: read those of the "
                        "result");
                });
            };
        ExecutionContext of_half;
        of_half.stop = context.stop;
        of_half.timeline = context.timeline;
        if (context.progress)
            of_half.progress = [&](double fraction) {
                context.progress((number + fraction) / (2 * splits));
            };
        halves.restore(split, is_second, is_second ? static_cast<ImageSink&>(compared) : kept, own,
                       of_half);
    }
    write_deviation(sums, splits, *run.uncertainty, context, threads);
}

void estimate_uncertainty(const SplitRunner& runner, CallerImages& image,
                          const DeconvolveReport& report, const DeconvolveRun& run,
                          const ExecutionContext& context, int threads) {
    const int splits = runner.problem.options.splits;
    ImageHalves halves(runner, image, report, threads);
    estimate_uncertainty(halves, splits, run, context, threads);
}

}  // namespace convolume::deconvolve
