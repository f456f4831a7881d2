// SPDX-License-Identifier: Apache-2.0
#include "deconvolve/views/view_images.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "convolume/error.hpp"
#include "deconvolve/formulas.hpp"

namespace convolume::deconvolve {

namespace {

/// Takes the pixels of one view for an executor that holds those of all views.
class PixelsOfView final : public Executor {
  public:
    /// Without `all`, pixels are only looked at.
    PixelsOfView(const Executor& host, Executor* all, index_t first, double factor, double offset)
        : host_(host),
          all_(all),
          first_(first),
          factor_(static_cast<float>(factor)),
          offset_(static_cast<float>(offset)) {}

    HostMemory staging() const override { return host_.staging(); }
    int threads() const override { return host_.threads(); }
    void write_image(const float* values, index_t first, index_t count) override {
        if (all_ == nullptr) return;
        scaled_.resize(static_cast<std::size_t>(count));
        for (index_t i = 0; i < count; ++i)
            scaled_[static_cast<std::size_t>(i)] = scaled(values[i]);
        all_->write_image(scaled_.data(), first_ + first, count);
    }
    void write_estimate(const float*, index_t, index_t) override { refuse(); }
    void read_estimate(float*, index_t, index_t) const override { refuse(); }
    void hold_out(const PhotonScale&, int) override { refuse(); }
    void put_back() override { refuse(); }
    void begin(const LoadedImage&, float) override { refuse(); }
    StepResult iterate(const StepStart&, const IterationProgress&) override { refuse(); }

  private:
    [[noreturn]] static void refuse() {
        throw InternalError("iterations on the pixels of one of several views");
    }
    /// Scales what is above the offset; marks of pixels remain marks.
    float scaled(float pixel) const {
        const auto above = [this](float value) {
            return factor_ * std::max(value - offset_, 0.0F);
        };
        if (richardson_lucy::is_saturated(pixel))
            return richardson_lucy::saturated_mark(above(richardson_lucy::saturated_mark(pixel)));
        return richardson_lucy::is_measured(pixel) ? above(pixel) : pixel;
    }

    const Executor& host_;
    Executor* all_;
    index_t first_;
    float factor_, offset_;
    std::vector<float> scaled_;
};

// Returns the weight of a pixel at the borders of a recording.
double border_weight(const Shape3& image, const Index3& at, index_t border) {
    double weight = 1;
    for (int a = 0; a < 3 && border > 0; ++a) {
        if (image[a] == 1) continue;
        const index_t from_border = std::min(at[a], image[a] - 1 - at[a]);
        if (from_border >= border) continue;
        const double share = (static_cast<double>(from_border) + 0.5) / static_cast<double>(border);
        const double sine = std::sin(0.5 * std::numbers::pi * share);
        weight *= sine * sine;
    }
    return weight;
}

bool is_inside(const std::array<double, 3>& at, const Shape3& result) {
    for (std::size_t a = 0; a < 3; ++a)
        if (at[a] < -0.5 || at[a] > static_cast<double>(result[static_cast<int>(a)]) - 0.5)
            return false;
    return true;
}

// Returns the weights of the pixels of a view in the likelihood.
Volume weights_of(const ViewProblem& view, const Shape3& result, int threads) {
    const Shape3& image = view.problem.image;
    Volume weights(image, PixelType::float32);
    parallel_for(image.z * image.y, threads, [&](index_t i, int) {
        float* const row = weights.elements<float>() + i * image.x;
        for (index_t x = 0; x < image.x; ++x) {
            const Index3 at{i / image.y, i % image.y, x};
            const std::array<double, 3> voxel{static_cast<double>(at.z), static_cast<double>(at.y),
                                              static_cast<double>(at.x)};
            if (!is_inside(view.view.map(voxel), result)) continue;
            row[x] = static_cast<float>(border_weight(image, at, view.border));
            if (view.mask.shape() != Shape3{})
                row[x] *= view.mask.elements<float>()[i * image.x + x];
        }
    });
    return weights;
}

// Returns the problem of loading an image whose levels are known.
DeconvolutionProblem with_levels(const DeconvolutionProblem& view, const LoadedImage& found) {
    DeconvolutionProblem known;
    known.options = view.options;
    known.traits = view.traits;
    known.image = view.image;
    known.encodes_bounds = view.encodes_bounds;
    known.options.background = found.background;
    set_photons(known.options, found.photons);
    return known;
}

}  // namespace

LoadedImage ViewImages::load(Executor& executor, const DeconvolutionProblem& problem,
                             const TimelineRow& row) {
    found_.clear();
    for (std::size_t v = 0; v < views_.size(); ++v) {
        PixelsOfView looked_at(executor, nullptr, 0, 1, 0);
        HostImages image(images_[v], {});
        found_.push_back(image.load(looked_at, views_[v].problem, row));
    }
    LoadedImage all;
    const PhotonScale& first = found_[0].photons;
    all.background = all.mean = found_[0].background - first.offset;
    all.photons.gain = all.noise.gain = first.gain;
    all.has_gain = true;
    float largest = 0;
    std::vector<Volume> weights;
    for (std::size_t v = 0; v < views_.size(); ++v) {
        const LoadedImage& found = found_[v];
        const double factor = found.photons.gain / first.gain;
        const double background = factor * (found.background - found.photons.offset);
        scales_.set_scale(v, {static_cast<float>(factor * views_[v].light),
                              static_cast<float>(background - all.background)});
        const DeconvolutionProblem known = with_levels(views_[v].problem, found);
        PixelsOfView pixels(executor, &executor, scales_.first(v), factor, found.photons.offset);
        HostImages(images_[v], {}).load(pixels, known, row);
        // Views count by their numbers of pixels.
        const double share = static_cast<double>(element_count(views_[v].problem.image)) /
                             static_cast<double>(problem.pixels());
        all.mean += share * (found.mean - found.background) / views_[v].light;
        all.bright_level += share * found.bright_level / views_[v].light;
        all.negative_pixels += found.negative_pixels;
        all.saturated_pixels += found.saturated_pixels;
        all.missing_pixels += found.missing_pixels;
        all.has_gain = all.has_gain && found.has_gain;
        all.is_filtered = all.is_filtered || found.is_filtered;
        weights.push_back(weights_of(views_[v], problem.image, executor.threads()));
        const float* const values = weights.back().elements<float>();
        largest = std::max(largest,
                           *std::max_element(values, values + element_count(weights[v].shape())));
    }
    if (!(largest > 0))
        throw BadData(
            "no pixel of the views is inside the result and has a weight above 0: check the "
            "transforms, whose direction may be the other one, and the masks");
    for (std::size_t v = 0; v < views_.size(); ++v) {
        float* const values = weights[v].elements<float>();
        const index_t count = element_count(weights[v].shape());
        std::transform(values, values + count, values,
                       [largest](float weight) { return weight / largest; });
        executor.write_pixel_weights(values, scales_.first(v), count);
    }
    return all;
}

ExecutionReport ViewImages::store(const Executor& executor, const DeconvolutionProblem& problem,
                                  const TimelineRow& row) {
    const PhaseTimer timer = row.time_work();
    return store_estimate(executor, problem, result_);
}

}  // namespace convolume::deconvolve
