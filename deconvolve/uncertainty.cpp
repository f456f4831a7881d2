// SPDX-License-Identifier: Apache-2.0
#include "deconvolve/uncertainty.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "convolume/error.hpp"
#include "core/pixels/rows.hpp"
#include "core/threads.hpp"
#include "deconvolve/estimates/coarse_start.hpp"
#include "deconvolve/estimates/photons.hpp"
#include "volumes/stream_tasks.hpp"

namespace convolume::deconvolve {

namespace {

/// One half of the photons of an image, divided while it is read.
class HalfSource final : public ImageSource {
  public:
    HalfSource(CallerImages& image, const DeconvolutionProblem& problem, const PhotonScale& photons,
               int threads)
        : image_(image),
          shape_(problem.image),
          bounds_(problem.bounds()),
          seed_(problem.options.seed),
          gain_(static_cast<float>(photons.gain)),
          offset_(static_cast<float>(photons.offset)),
          threads_(threads) {}

    void choose(int split, bool second) {
        constexpr auto first_split = static_cast<std::uint32_t>(ThinningPurpose::splits);
        purpose_ = static_cast<ThinningPurpose>(first_split + static_cast<std::uint32_t>(split));
        second_ = second;
    }
    StackFormat format() const override { return {shape_, PixelType::float32}; }
    void read_box(index_t, index_t, const Box3& box, const ImageView& target) override {
        const Shape3 extents = box.shape();
        Volume pixels(extents, image_.type());
        image_.read(box, pixels.view());
        const pixels::RowGather gather(identity_indices(extents.x));
        parallel_ranges(extents.z * extents.y, threads_, [&](index_t first, index_t last, int) {
            std::vector<float> row(static_cast<std::size_t>(extents.x));
            for (index_t k = first; k < last; ++k) {
                const index_t z = k / extents.y, y = k % extents.y;
                pixels::load_row(pixels.view(), z, y, gather, {}, row.data());
                const index_t number =
                    ((box.begin.z + z) * shape_.y + box.begin.y + y) * shape_.x + box.begin.x;
                for (index_t x = 0; x < extents.x; ++x)
                    target.at<float>(z, y, x) =
                        half_of(row[static_cast<std::size_t>(x)], number + x);
            }
        });
    }

  private:
    float half_of(float value, index_t pixel) const {
        if (bounds_.apply_to(value)) return bounds_.in_halves(value);
        PixelRandomBits bits(seed_, purpose_, pixel);
        const PixelHalves halves = divide_pixel(value, gain_, offset_, bits);
        return second_ ? halves.second : halves.first;
    }

    CallerImages& image_;
    Shape3 shape_;
    PixelBounds bounds_;
    std::uint64_t seed_;
    float gain_, offset_;
    int threads_;
    ThinningPurpose purpose_ = ThinningPurpose::splits;
    bool second_ = false;
};

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

/// Gives a problem the options with which halves are deconvolved, until it is destroyed.
class OptionsOfHalves {
  public:
    OptionsOfHalves(DeconvolutionProblem& problem, const DeconvolveReport& report)
        : problem_(problem), planned_(problem.options), bounds_(problem.bounds()) {
        DeconvolveOptions& options = problem.options;
        options.splits = 0;
        options.hold_out = false;
        // Nothing but the number of iterations may end them: 0 is never reached.
        options.iterations = std::max(1, report.iterations);
        options.stop.reset();
        if (problem.traits.stops_by_residual) options.stop = 0;
        options.consensus = 0;
        options.background = report.background;
        // Twice the value of a half: gain and offset follow from gain (value / 2 - offset / 2).
        set_photons(options, {report.photons.gain / 2, report.photons.offset});
        if (problem.traits.penalizes_variation()) options.tv_weight = report.tv_weight;
        if (problem.traits.penalizes_roughness()) options.roughness = report.roughness;
        if (options.saturation) problem.set_bounds(encoded_bounds());
    }
    ~OptionsOfHalves() {
        problem_.options = planned_;
        problem_.set_bounds(bounds_);
    }
    OptionsOfHalves(const OptionsOfHalves&) = delete;
    OptionsOfHalves& operator=(const OptionsOfHalves&) = delete;

  private:
    DeconvolutionProblem& problem_;
    const DeconvolveOptions planned_;
    const PixelBounds bounds_;
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

}  // namespace

index_t uncertainty_bytes(const DeconvolutionProblem& problem) {
    // The first half's estimate and the sums, then the half itself and the planes that it is of.
    const index_t whole = bytes_of(problem.image, PixelType::float32);
    const Shape3 group{planes_in_group(problem.image, PixelType::float32), problem.image.y,
                       problem.image.x};
    const PixelType type = problem.options.image_type.value_or(PixelType::float64);
    return checked_add(
        checked_add(checked_multiply(2, whole), bytes_of(group, type)),
        StreamedImages::host_bytes(problem.image, PixelType::float32, PixelType::float32,
                                   *problem.options.coarse_start > 0));
}

void estimate_uncertainty(const SplitRunner& runner, CallerImages& image,
                          const DeconvolveReport& report, const DeconvolveRun& run,
                          const ExecutionContext& context, int threads) {
    DeconvolutionProblem& problem = runner.problem;
    const int splits = problem.options.splits;
    HalfSource half(image, problem, report.photons, threads);
    Volume first(problem.image, PixelType::float32), sums(problem.image, PixelType::float32);
    ViewSink kept(first.view());
    DifferenceSink compared(first, sums, threads);
    const OptionsOfHalves options(problem, report);
    for (int number = 0; number < 2 * splits; ++number) {
        const int split = number / 2;
        const bool is_second = number % 2 == 1;
        half.choose(split, is_second);
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
        // Reading the image records its own time.
        ExecutionContext untimed;
        untimed.stop = context.stop;
        StreamedImages images(half, is_second ? static_cast<ImageSink&>(compared) : kept, untimed,
                              {runner.coarse_start, nullptr});
        runner.runner.execute(problem, images, of_half, own);
    }
    write_deviation(sums, splits, *run.uncertainty, context, threads);
}

}  // namespace convolume::deconvolve
