// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include "convolume/volume.hpp"
#include "core/kernel_survey.hpp"
#include "core/order_statistics.hpp"
#include "core/threads.hpp"
#include "deconvolve/estimates/constants.hpp"
#include "deconvolve/missing/finders.hpp"

namespace convolume::deconvolve {

namespace {

constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();

// Pixels are grouped by the brightness of their neighbors: four groups an octave, which the
// exponent and the first two bits of the mantissa of a float tell.
constexpr std::size_t brightness_groups = 64;

std::uint32_t octave_quarter_of(float brightness) {
    return std::bit_cast<std::uint32_t>(brightness) >> 21;
}

std::size_t group_of(float brightness, float most) {
    if (!(brightness > 0)) return 0;
    const auto below = static_cast<std::size_t>(octave_quarter_of(most)) -
                       static_cast<std::size_t>(octave_quarter_of(std::min(brightness, most)));
    return below < brightness_groups ? brightness_groups - 1 - below : 0;
}

}  // namespace

namespace {

struct NeighborMeans {
    float of_all = not_a_number, without_brightest = not_a_number;
};

// Returns the means of the neighbors of pixel (y, x) that are used, in pairs on opposite sides of
// it: those of one side alone differ from it wherever the image rises, as it does at its edges.
// Pixels without a pair, as those in corners, have the neighbors of one side.
NeighborMeans means_around(const Plane& plane, const std::vector<bool>& left_out, index_t y,
                           index_t x) {
    const auto is_used = [&](index_t j, index_t k) {
        return j >= 0 && j < plane.height && k >= 0 && k < plane.width &&
               (left_out.empty() || !left_out[static_cast<std::size_t>(j * plane.width + k)]);
    };
    if (!is_used(y, x)) return {};
    for (const bool in_pairs : {true, false}) {
        float sum = 0, most = -std::numeric_limits<float>::infinity();
        int count = 0;
        for (index_t j = -1; j <= 1; ++j)
            for (index_t k = -1; k <= 1; ++k) {
                if ((j == 0 && k == 0) || !is_used(y + j, x + k)) continue;
                if (in_pairs && !is_used(y - j, x - k)) continue;
                sum += plane.at(y + j, x + k);
                most = std::max(most, plane.at(y + j, x + k));
                ++count;
            }
        if (count >= 2)
            return {sum / static_cast<float>(count), (sum - most) / static_cast<float>(count - 1)};
    }
    return {};
}

}  // namespace

void compare_neighbors(const Plane& plane, const std::vector<bool>& left_out,
                       Neighborhoods& pixels) {
    const index_t width = plane.width;
    pixels.values = plane.pixels;
    pixels.means.resize(static_cast<std::size_t>(plane.count()));
    // Sums and largest pixels of columns of three, for pixels that have all neighbors.
    std::vector<float> sums(static_cast<std::size_t>(width)), largest(sums.size());
    for (index_t y = 0; y < plane.height; ++y) {
        float* const means = pixels.means.data() + y * width;
        const auto compare = [&](index_t x) {
            means[x] = means_around(plane, left_out, y, x).without_brightest;
        };
        const bool is_inside = left_out.empty() && y > 0 && y + 1 < plane.height && width > 2;
        if (!is_inside) {
            for (index_t x = 0; x < width; ++x) compare(x);
            continue;
        }
        const float* const here = plane.pixels + y * width;
        const float* const above = here - width;
        const float* const below = here + width;
        for (std::size_t x = 0; x < sums.size(); ++x) {
            sums[x] = above[x] + here[x] + below[x];
            largest[x] = std::max(std::max(above[x], here[x]), below[x]);
        }
        for (std::size_t x = 1; x + 1 < sums.size(); ++x) {
            const float sum = sums[x - 1] + sums[x] + sums[x + 1] - here[x];
            const float most =
                std::max(std::max(largest[x - 1], largest[x + 1]), std::max(above[x], below[x]));
            means[x] = (sum - most) / 7;
        }
        compare(0);
        compare(width - 1);
    }
}

namespace {

// Noise allowed at each brightness of the neighbors, from some of the pixels.
class AllowedNoise {
  public:
    // Pixels that are outliers already are not counted.
    AllowedNoise(const Neighborhoods& pixels, const std::vector<bool>& is_outlier) {
        const std::size_t count = pixels.means.size();
        // An odd distance meets all columns of a camera.
        const std::size_t distance = count / static_cast<std::size_t>(common::enough) | 1;
        std::vector<float> dark;
        float most = -std::numeric_limits<float>::infinity();
        for (std::size_t i = 0; i < count; i += distance) {
            const float mean = pixels.means[i];
            if (std::isnan(mean)) continue;
            dark.push_back(mean);
            most = std::max(most, mean);
        }
        if (!is_enough(dark)) return;
        background_ = value_of_rank(dark, dark.size() / 100);
        brightest_ = most - background_;
        if (!is_known()) return;
        std::array<std::vector<float>, brightness_groups> deviations;
        for (std::size_t i = 0; i < count; i += distance) {
            const float around = pixels.means[i];
            if (std::isnan(around) || is_outlier[i]) continue;
            deviations[group_of(around - background_, brightest_)].push_back(
                std::abs(pixels.values[i] - around));
        }
        set_allowed(deviations);
    }

    bool is_known() const { return brightest_ > 0; }
    float background() const { return background_; }
    float at(float around) const { return allowed_[group_of(around - background_, brightest_)]; }
    float least() const { return *std::min_element(allowed_.begin(), allowed_.end()); }

  private:
    // Returns whether one in a hundred of the pixels makes as many as a rate can be judged by.
    static bool is_enough(const std::vector<float>& pixels) {
        return common::rare * static_cast<double>(pixels.size()) >=
               static_cast<double>(common::few);
    }
    // Groups of few pixels are joined from the brightest on, so that the little noise of dark
    // pixels is not allowed for bright ones.
    void set_allowed(const std::array<std::vector<float>, brightness_groups>& deviations) {
        float allowed = std::numeric_limits<float>::infinity();
        std::vector<float> joined;
        std::size_t end = brightness_groups;
        for (std::size_t g = brightness_groups; g-- > 0;) {
            joined.insert(joined.end(), deviations[g].begin(), deviations[g].end());
            if (!is_enough(joined) && g > 0) continue;
            if (is_enough(joined)) {
                const double larger = common::rare * static_cast<double>(joined.size());
                allowed =
                    camera_pixels::factor *
                    value_of_rank(joined, joined.size() - 1 - static_cast<std::size_t>(larger));
                // Pixels without any deviation say nothing of their noise.
                if (!(allowed > 0)) allowed = std::numeric_limits<float>::infinity();
            }
            std::fill(allowed_.begin() + static_cast<std::ptrdiff_t>(g),
                      allowed_.begin() + static_cast<std::ptrdiff_t>(end), allowed);
            end = g;
            joined.clear();
        }
    }

    float background_ = 0, brightest_ = 0;
    std::array<float, brightness_groups> allowed_{};
};

}  // namespace

std::vector<index_t> outliers_of(const Neighborhoods& pixels, const PsfSharpness& sharpness,
                                 Outliers kind) {
    std::vector<index_t> found;
    std::vector<bool> is_outlier(pixels.means.size());
    for (int round = 0; round < camera_pixels::most_rounds; ++round) {
        const AllowedNoise noise(pixels, is_outlier);
        if (!noise.is_known()) break;
        const std::size_t before = found.size();
        const auto sharpest =
            static_cast<float>(kind == Outliers::bright ? sharpness.most : sharpness.least);
        const float sign = kind == Outliers::bright ? 1 : -1;
        const float background = noise.background(), least = noise.least();
        for (std::size_t i = 0; i < pixels.means.size(); ++i) {
            const float around = pixels.means[i];
            // Pixels beside neighbors that are darker than most of the image may be as dark.
            const float dark = kind == Outliers::dark ? std::min(background, around) : background;
            const float light = pixels.values[i] - dark;
            const float away = sign * (light - sharpest * std::max(0.0F, around - dark));
            if (!(away > least) || is_outlier[i] || std::isnan(around) ||
                !(away > noise.at(around)))
                continue;
            is_outlier[i] = true;
            found.push_back(static_cast<index_t>(i));
        }
        if (found.size() == before) break;
    }
    return found;
}

void CameraPixels::add(const ConstImageView& planes, index_t first, const MissingPixels& hot,
                       const MissingPixels& left_out, int threads) {
    parallel_for(height_, threads, [&](index_t y, int) {
        PixelSums* const sums = pixels_.data() + y * width_;
        for (index_t k = 0; k < planes.shape.z; ++k) {
            const index_t z = first + k;
            const auto* const row = static_cast<const float*>(planes.at(k, y, 0));
            const bool may_be_hot = hot.has_plane(z), may_be_out = left_out.has_plane(z);
            for (index_t x = 0; x < width_; ++x) {
                if (may_be_out && left_out.contains({z, y, x})) continue;
                const bool is_hot = may_be_hot && hot.contains({z, y, x});
                ++(is_hot ? sums[x].hot_planes : sums[x].planes);
                sums[x].values += is_hot ? 0 : static_cast<double>(row[x]);
            }
        }
    });
}

std::vector<index_t> CameraPixels::find() const {
    std::vector<float> means(pixels_.size());
    std::vector<bool> left_out(pixels_.size());
    std::vector<index_t> found;
    for (std::size_t i = 0; i < pixels_.size(); ++i) {
        const PixelSums& sums = pixels_[i];
        const bool is_hot = sums.hot_planes > sums.planes;
        if (is_hot && sums.hot_planes >= camera_pixels::fewest_planes)
            found.push_back(static_cast<index_t>(i));
        left_out[i] = is_hot || sums.planes < camera_pixels::fewest_planes;
        if (!left_out[i])
            means[i] = static_cast<float>(sums.values / static_cast<double>(sums.planes));
    }
    // Hot pixels would make their neighbors look dead.
    Neighborhoods pixels;
    for (const Outliers kind : {Outliers::bright, Outliers::dark}) {
        compare_neighbors({means.data(), height_, width_}, left_out, pixels);
        for (const index_t i : outliers_of(pixels, sharpness_, kind)) {
            found.push_back(i);
            left_out[static_cast<std::size_t>(i)] = true;
        }
    }
    return found;
}

}  // namespace convolume::deconvolve

namespace convolume {

PsfSharpness sharpness_of(const ConstImageView& psf) {
    const Shape3& shape = psf.shape;
    if (element_count(shape) == 0 || is_complex(psf.type)) return {};
    const int threads = thread_count(0);
    const auto least =
        static_cast<float>(deconvolve::common::rare * survey_kernel(psf, threads).most);
    constexpr double unlimited = std::numeric_limits<double>::infinity();
    std::vector<PsfSharpness> of_planes(static_cast<std::size_t>(shape.z));
    std::vector<Volume> of_threads(static_cast<std::size_t>(threads));
    parallel_for(shape.z, threads, [&](index_t z, int thread) {
        Volume& values = of_threads[static_cast<std::size_t>(thread)];
        if (values.bytes() == 0) values = Volume({1, shape.y, shape.x}, PixelType::float32);
        convert_pixels(subview(psf, {{z, 0, 0}, {z + 1, shape.y, shape.x}}), values.view());
        const deconvolve::Plane plane{values.elements<float>(), shape.y, shape.x};
        PsfSharpness range{unlimited, 0};
        for (index_t y = 0; y < shape.y; ++y) {
            const float* const begin = plane.pixels + std::max<index_t>(0, y - 1) * shape.x;
            const float* const end = plane.pixels + std::min(shape.y, y + 2) * shape.x;
            if (std::none_of(begin, end, [&](float value) { return value >= least; })) continue;
            for (index_t x = 0; x < shape.x; ++x) {
                const auto means = deconvolve::means_around(plane, {}, y, x);
                const auto value = static_cast<double>(plane.at(y, x));
                if (plane.at(y, x) >= least)
                    range.most = std::max(range.most,
                                          means.without_brightest > 0
                                              ? value / static_cast<double>(means.without_brightest)
                                              : unlimited);
                if (means.of_all >= least)
                    range.least = std::min(range.least, value / static_cast<double>(means.of_all));
            }
        }
        of_planes[static_cast<std::size_t>(z)] = range;
    });
    PsfSharpness all{1, 0};
    for (const PsfSharpness& of_plane : of_planes) {
        all.least = std::min(all.least, of_plane.least);
        all.most = std::max(all.most, of_plane.most);
    }
    all.least = std::max(all.least, 0.0);
    if (!(all.most > 0)) return {};
    return all;
}

}  // namespace convolume
