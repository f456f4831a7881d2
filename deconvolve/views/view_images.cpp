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
    /// Without `all`, pixels are not stored.
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
        parallel_ranges(count, threads(), [&](index_t begin, index_t end, int) {
            for (index_t i = begin; i < end; ++i)
                scaled_[static_cast<std::size_t>(i)] = scaled(values[i]);
        });
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

/// The weights of the pixels of a view in the likelihood: 0 outside the result, and elsewhere those
/// of its mask and its borders.
class ViewWeights {
  public:
    /// The arguments are kept by reference.
    ViewWeights(const ViewProblem& view, const Shape3& result)
        : view_(view), image_(view.problem.image), result_(result) {
        for (int a = 0; a < 3; ++a)
            factors_[static_cast<std::size_t>(a)] = border_factors(image_[a], view.border);
    }

    /// Writes those of row `i` of all rows, divided by `unit`.
    void write_row(index_t i, float unit, float* row) const {
        const index_t z = i / image_.y, y = i % image_.y;
        const float of_row =
            factors_[0][static_cast<std::size_t>(z)] * factors_[1][static_cast<std::size_t>(y)];
        for (index_t x = 0; x < image_.x; ++x)
            row[x] = of_row * factors_[2][static_cast<std::size_t>(x)];
        // A row whose ends are inside the result is inside it.
        if (!is_inside(z, y, 0) || !is_inside(z, y, image_.x - 1))
            for (index_t x = 0; x < image_.x; ++x)
                if (!is_inside(z, y, x)) row[x] = 0;
        if (view_.mask.shape() != Shape3{}) {
            const float* const mask = view_.mask.elements<float>() + i * image_.x;
            for (index_t x = 0; x < image_.x; ++x) row[x] *= mask[x];
        }
        for (index_t x = 0; x < image_.x; ++x) row[x] /= unit;
    }

    float largest(int threads) const {
        std::vector<float> of_rows(static_cast<std::size_t>(rows()));
        parallel_ranges(rows(), threads, [&](index_t begin, index_t end, int) {
            std::vector<float> row(static_cast<std::size_t>(image_.x));
            for (index_t i = begin; i < end; ++i) {
                write_row(i, 1, row.data());
                of_rows[static_cast<std::size_t>(i)] = *std::max_element(row.begin(), row.end());
            }
        });
        return *std::max_element(of_rows.begin(), of_rows.end());
    }

    /// Writes all weights, divided by `unit`, to those of the executor from `first` on.
    void write(Executor& executor, index_t first, float unit) const {
        constexpr index_t piece = index_t{1} << 22;
        const index_t at_once = std::clamp<index_t>(piece / image_.x, 1, rows());
        std::vector<float> weights(static_cast<std::size_t>(at_once * image_.x));
        for (index_t begin = 0; begin < rows(); begin += at_once) {
            const index_t count = std::min(at_once, rows() - begin);
            parallel_for(count, executor.threads(), [&](index_t i, int) {
                write_row(begin + i, unit, weights.data() + i * image_.x);
            });
            executor.write_pixel_weights(weights.data(), first + begin * image_.x,
                                         count * image_.x);
        }
    }

  private:
    index_t rows() const { return image_.z * image_.y; }
    bool is_inside(index_t z, index_t y, index_t x) const {
        const std::array<double, 3> at = view_.view.map(
            {static_cast<double>(z), static_cast<double>(y), static_cast<double>(x)});
        for (std::size_t a = 0; a < 3; ++a)
            if (at[a] < -0.5 || at[a] > static_cast<double>(result_[static_cast<int>(a)]) - 0.5)
                return false;
        return true;
    }

    const ViewProblem& view_;
    const Shape3& image_;
    const Shape3& result_;
    std::array<std::vector<float>, 3> factors_;
};

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

// Returns the levels that a problem gives.
LoadedImage given_levels(const DeconvolutionProblem& view) {
    LoadedImage given;
    given.background = view.options.background.value();
    given.photons = {view.options.gain.value(), view.options.offset.value()};
    return given;
}

}  // namespace

LoadedImage ViewImages::load(Executor& executor, const DeconvolutionProblem& problem,
                             const TimelineRow& row) {
    found_.clear();
    for (std::size_t v = 0; v < views_.size(); ++v) {
        PixelsOfView level_probe(executor, nullptr, 0, 1, 0);
        found_.push_back(knows_levels_ ? given_levels(views_[v].problem)
                                       : images_[v]->load(level_probe, views_[v].problem, row));
    }
    LoadedImage all;
    const PhotonScale& first = found_[0].photons;
    all.background = all.mean = found_[0].background - first.offset;
    all.photons.gain = all.noise.gain = first.gain;
    all.has_gain = true;
    float largest = 0;
    double full_weight = 0;
    std::vector<ViewWeights> weights;
    for (std::size_t v = 0; v < views_.size(); ++v) {
        LoadedImage& found = found_[v];
        const double factor = found.photons.gain / first.gain;
        const double background = factor * (found.background - found.photons.offset);
        scales_.set_scale(v, {static_cast<float>(factor * views_[v].light),
                              static_cast<float>(background - all.background)});
        const DeconvolutionProblem known = with_levels(views_[v].problem, found);
        PixelsOfView pixels(executor, &executor, scales_.first(v), factor, found.photons.offset);
        const LoadedImage loaded = images_[v]->load(pixels, known, row);
        if (knows_levels_) found = loaded;
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
        weights.emplace_back(views_[v], problem.image);
        largest = std::max(largest, weights.back().largest(executor.threads()));
        full_weight = std::max(full_weight, views_[v].full_weight);
    }
    if (!(largest > 0))
        throw BadData(
            "no pixel of the views is inside the result and has a weight above 0: check the "
            "transforms, whose direction may be the other one, and the masks");
    const float unit = full_weight > 0 ? static_cast<float>(full_weight) : largest;
    for (std::size_t v = 0; v < views_.size(); ++v)
        weights[v].write(executor, scales_.first(v), unit);
    return all;
}

ExecutionReport ViewImages::store(const Executor& executor, const DeconvolutionProblem& problem,
                                  const TimelineRow& row) {
    return images_.front()->store(executor, problem, row);
}

}  // namespace convolume::deconvolve

namespace convolume {

std::vector<float> border_factors(index_t extent, index_t border) {
    if (border < 0)
        throw InvalidArgument(
            message("the border of a view is ", border, " voxels wide: give a number from 0"));
    std::vector<float> factors(static_cast<std::size_t>(extent), 1.0F);
    if (extent == 1) return factors;
    for (index_t i = 0; i < extent; ++i) {
        const index_t from_border = std::min(i, extent - 1 - i);
        if (from_border >= border) continue;
        const double share = (static_cast<double>(from_border) + 0.5) / static_cast<double>(border);
        const double sine = std::sin(0.5 * std::numbers::pi * share);
        factors[static_cast<std::size_t>(i)] = static_cast<float>(sine * sine);
    }
    return factors;
}

}  // namespace convolume
