// SPDX-License-Identifier: Apache-2.0
#include "deconvolve/views/view_images.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "convolume/error.hpp"
#include "deconvolve/staged_planes.hpp"

namespace convolume::deconvolve {

namespace {

/// Takes the pixels of one view for an executor that holds those of all views.
class PixelsOfView final : public Executor {
  public:
    PixelsOfView(Executor& all, index_t first) : all_(all), first_(first) {}

    HostMemory staging() const override { return all_.staging(); }
    int threads() const override { return all_.threads(); }
    void write_image(const float* values, index_t first, index_t count) override {
        all_.write_image(values, first_ + first, count);
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

    Executor& all_;
    index_t first_;
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

    /// Whether all are 1.
    bool are_one() const {
        if (view_.mask.shape() != Shape3{} || view_.border > 0) return false;
        // A box is inside another one if its corners are.
        for (const index_t z : {index_t{0}, image_.z - 1})
            for (const index_t y : {index_t{0}, image_.y - 1})
                for (const index_t x : {index_t{0}, image_.x - 1})
                    if (!is_inside(z, y, x)) return false;
        return true;
    }

    /// Writes all weights to those of the executor from `first` on, and returns the largest.
    float write(Executor& executor, index_t first) const {
        if (are_one()) {
            executor.fill_pixel_weights(1, first, element_count(image_));
            return 1;
        }
        StagedPlanes staged(executor.staging(), image_);
        std::vector<float> of_rows(static_cast<std::size_t>(image_.z * image_.y));
        staged.fill_and_copy(
            image_.z,
            [&](const IndexRange& planes, float* values) {
                const index_t before = planes.begin * image_.y;
                parallel_for(planes.count() * image_.y, executor.threads(), [&](index_t i, int) {
                    float* const row = values + i * image_.x;
                    write_row(before + i, row);
                    of_rows[static_cast<std::size_t>(before + i)] =
                        *std::max_element(row, row + image_.x);
                });
            },
            [&](const float* values, index_t at, index_t count) {
                executor.write_pixel_weights(values, first + at, count);
            });
        return *std::max_element(of_rows.begin(), of_rows.end());
    }

  private:
    /// Writes those of row `i` of all rows.
    void write_row(index_t i, float* row) const {
        const index_t z = i / image_.y, y = i % image_.y;
        const float of_row =
            factors_[0][static_cast<std::size_t>(z)] * factors_[1][static_cast<std::size_t>(y)];
        for (index_t x = 0; x < image_.x; ++x)
            row[x] = of_row * factors_[2][static_cast<std::size_t>(x)];
        const IndexRange inside = inside_of_row(z, y);
        std::fill(row, row + inside.begin, 0.0F);
        std::fill(row + inside.end, row + image_.x, 0.0F);
        if (view_.mask.shape() != Shape3{}) {
            const float* const mask = view_.mask.elements<float>() + i * image_.x;
            for (index_t x = 0; x < image_.x; ++x) row[x] *= mask[x];
        }
    }
    /// Returns the pixels of a row that are inside the result.
    IndexRange inside_of_row(index_t z, index_t y) const {
        const auto map = [&](index_t x) {
            return view_.view.map(
                {static_cast<double>(z), static_cast<double>(y), static_cast<double>(x)});
        };
        const std::array<double, 3> start = map(0), end = map(image_.x - 1);
        // Solved for x, up to rounding: start + x step is between both faces on every axis.
        double least = 0, most = static_cast<double>(image_.x - 1);
        for (std::size_t a = 0; a < 3; ++a) {
            const double step = (end[a] - start[a]) / std::max(most_x(), 1.0);
            const double far = static_cast<double>(result_[static_cast<int>(a)]) - 0.5;
            if (step == 0) continue;  // is_inside() decides for the whole row
            const double to_near = (-0.5 - start[a]) / step, to_far = (far - start[a]) / step;
            least = std::max(least, std::min(to_near, to_far));
            most = std::min(most, std::max(to_near, to_far));
        }
        IndexRange inside{static_cast<index_t>(std::clamp(least, 0.0, most_x() + 1)),
                          static_cast<index_t>(std::clamp(most + 2, 0.0, most_x() + 1))};
        while (inside.begin < inside.end && !is_inside(z, y, inside.begin)) ++inside.begin;
        while (inside.begin < inside.end && !is_inside(z, y, inside.end - 1)) --inside.end;
        return inside;
    }
    double most_x() const { return static_cast<double>(image_.x - 1); }
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

}  // namespace

bool weighs_all_alike(const std::vector<ViewProblem>& views, const Shape3& result) {
    return std::all_of(views.begin(), views.end(), [&](const ViewProblem& view) {
        const bool has_unit = view.full_weight == 0 || view.full_weight == 1;
        return has_unit && ViewWeights(view, result).are_one();
    });
}

LoadedImage ViewImages::load(Executor& executor, const DeconvolutionProblem& problem,
                             const TimelineRow& row) {
    found_.clear();
    for (std::size_t v = 0; v < views_.size(); ++v) {
        PixelsOfView pixels(executor, scales_.first(v));
        found_.push_back(images_[v]->load(pixels, views_[v].problem, row));
    }
    LoadedImage all;
    const PhotonScale& first = found_[0].photons;
    all.background = all.mean = found_[0].background - first.offset;
    all.photons.gain = all.noise.gain = first.gain;
    all.has_gain = true;
    for (std::size_t v = 0; v < views_.size(); ++v) {
        const LoadedImage& found = found_[v];
        const double factor = found.photons.gain / first.gain;
        const double background = factor * (found.background - found.photons.offset);
        scales_.set_scale(v, {static_cast<float>(factor * views_[v].light),
                              static_cast<float>(background - all.background)});
        if (factor != 1 || found.photons.offset != 0)
            executor.scale_image(scales_.first(v), scales_.count(v), static_cast<float>(factor),
                                 static_cast<float>(found.photons.offset));
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
    }
    if (problem.options.has_pixel_weights) write_weights(executor, problem.image);
    return all;
}

void ViewImages::write_weights(Executor& executor, const Shape3& result) const {
    float largest = 0;
    double full_weight = 0;
    for (std::size_t v = 0; v < views_.size(); ++v) {
        largest =
            std::max(largest, ViewWeights(views_[v], result).write(executor, scales_.first(v)));
        full_weight = std::max(full_weight, views_[v].full_weight);
    }
    if (!(largest > 0))
        throw BadData(
            "no pixel of the views is inside the result and has a weight above 0: check the "
            "transforms, whose direction may be the other one, and the masks");
    const float unit = full_weight > 0 ? static_cast<float>(full_weight) : largest;
    if (unit != 1) executor.divide_pixel_weights(unit);
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
