// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "core/order_statistics.hpp"
#include "deconvolve/estimates/constants.hpp"
#include "deconvolve/missing/finders.hpp"

namespace convolume::deconvolve {

namespace {

// A run of equal pixels from (y, x) on, along y or x.
struct Run {
    index_t y, x, count;
    bool is_along_y;
};

// Calls use(run) for each run. A line that is shorter than the least run is one if all its pixels
// are equal.
template <class Use>
void for_each_run(const Plane& plane, const Use& use) {
    const index_t least_x = std::max<index_t>(2, std::min(no_data::least_run, plane.width));
    const index_t least_y = std::max<index_t>(2, std::min(no_data::least_run, plane.height));
    std::vector<index_t> first(static_cast<std::size_t>(plane.width));  // row of each column's run
    for (index_t y = 0; y <= plane.height; ++y) {
        const float* const row = plane.pixels + y * plane.width;
        const bool is_beyond = y == plane.height;
        for (index_t x = 0; y > 0 && x < plane.width; ++x) {
            if (!is_beyond && row[x] == row[x - plane.width]) continue;
            index_t& begin = first[static_cast<std::size_t>(x)];
            if (y - begin >= least_y) use(Run{begin, x, y - begin, true});
            begin = y;
        }
        if (is_beyond) break;
        for (index_t begin = 0; begin < plane.width;) {
            index_t end = begin + 1;
            while (end < plane.width && row[end] == row[begin]) ++end;
            if (end - begin >= least_x) use(Run{y, begin, end - begin, false});
            begin = end;
        }
    }
}

float quantile(std::vector<float>& values, double share) {
    const double rank = share * static_cast<double>(values.size() - 1);
    return value_of_rank(values, static_cast<std::size_t>(rank));
}

float median_of(std::vector<float> values) {
    return quantile(values, 0.5);
}

// Returns some pixels of a plane, from all its rows and columns: steps of the golden ratio fill an
// interval evenly, and meet no period of it.
std::vector<float> sample_of(const Plane& plane) {
    if (plane.count() <= static_cast<index_t>(no_data::samples))
        return {plane.pixels, plane.pixels + plane.count()};
    std::vector<float> sample(no_data::samples);
    double place = 0;
    for (float& pixel : sample) {
        pixel = plane.pixels[static_cast<index_t>(place * static_cast<double>(plane.count()))];
        place = std::fmod(place + std::numbers::phi, 1.0);
    }
    return sample;
}

}  // namespace

NoDataSearch::NoDataSearch(const Shape3& shape)
    : shape_(shape), planes_(static_cast<std::size_t>(shape.z)) {}

void NoDataSearch::add(const Plane& plane, index_t z) {
    PlaneFacts& facts = planes_[static_cast<std::size_t>(z)];
    const auto [least, most] = std::minmax_element(plane.pixels, plane.pixels + plane.count());
    facts.most = *most;
    if (*least == *most) facts.constant = *least;
    facts.sample = sample_of(plane);
    std::sort(facts.sample.begin(), facts.sample.end());
    if (facts.constant) return;

    // Follows a step from pixel (y, x), of a value, outward.
    const auto step = [&](Borders& borders, index_t y, index_t x, index_t dy, index_t dx) {
        std::array<float, border_steps> outward{};
        const float value = plane.at(y, x);
        if (borders.outward.size() >= no_data::samples) return;
        for (float& pixel : outward) {
            y += dy;
            x += dx;
            if (y < 0 || x < 0 || y >= plane.height || x >= plane.width) return;
            pixel = plane.at(y, x);
            if (pixel == value) return;
        }
        borders.outward.push_back(outward);
    };
    for_each_run(plane, [&](const Run& run) {
        // An image without noise may have runs of any number of values.
        const float value = plane.at(run.y, run.x);
        if (value == known_to_be_missing) return;
        if (facts.runs.size() >= no_data::samples && !facts.runs.contains(value)) return;
        Borders& borders = facts.runs[value];
        borders.pixels += run.count;
        const index_t dy = run.is_along_y ? 1 : 0, dx = 1 - dy;
        const index_t last = run.count - 1;
        step(borders, run.y, run.x, -dy, -dx);
        step(borders, run.y + dy * last, run.x + dx * last, dy, dx);
        for (index_t i = no_data::least_run / 2; i < run.count; i += no_data::least_run) {
            step(borders, run.y + dy * i, run.x + dx * i, -dx, -dy);
            step(borders, run.y + dy * i, run.x + dx * i, dx, dy);
        }
    });

    // Dark levels of rows and columns, from some of their pixels.
    const auto samples = static_cast<index_t>(no_data::samples);
    const index_t step_y = std::max<index_t>(1, plane.height / samples);
    const index_t step_x = std::max<index_t>(1, plane.width / samples);
    std::vector<float> line;
    for (index_t y = 0; y < plane.height; ++y) {
        line.clear();
        for (index_t x = 0; x < plane.width; x += step_x) line.push_back(plane.at(y, x));
        facts.levels[0].push_back(quantile(line, no_data::dark_share));
    }
    for (index_t x = 0; x < plane.width; ++x) {
        line.clear();
        for (index_t y = 0; y < plane.height; y += step_y) line.push_back(plane.at(y, x));
        facts.levels[1].push_back(quantile(line, no_data::dark_share));
    }
}

NoData NoDataSearch::find() const {
    NoData found;
    find_planes(found);
    find_values(found);
    find_margins(found);
    return found;
}

// A plane of one value has no data if the nearest other plane rarely has the value: photons would
// not leave out every pixel of a plane.
void NoDataSearch::find_planes(NoData& found) const {
    for (index_t z = 0; z < shape_.z; ++z) {
        const std::optional<float>& value = planes_[static_cast<std::size_t>(z)].constant;
        if (!value || *value == known_to_be_missing) continue;
        for (index_t away = 1; away < shape_.z; ++away) {
            const PlaneFacts* near = nullptr;
            for (const index_t other : {z - away, z + away})
                if (other >= 0 && other < shape_.z &&
                    !planes_[static_cast<std::size_t>(other)].constant)
                    near = &planes_[static_cast<std::size_t>(other)];
            if (near == nullptr) continue;
            const auto [begin, end] =
                std::equal_range(near->sample.begin(), near->sample.end(), *value);
            if (static_cast<double>(end - begin) <=
                (1 - common::noticeable) * static_cast<double>(near->sample.size()))
                found.planes.push_back(z);
            break;
        }
    }
}

// A value has no data if the pixels around its runs are far from it at once, and the value is rare
// elsewhere. Around regions that a program has cut off at a level, or a camera at its largest
// value, they come near to it; and where photons are few, the value is also found between others.
void NoDataSearch::find_values(NoData& found) const {
    constexpr double half = 0.5;
    const auto mixed = static_cast<float>(1 - common::noticeable);
    std::map<float, Borders> all;
    float most = -std::numeric_limits<float>::infinity();
    for (const PlaneFacts& plane : planes_) {
        most = std::max(most, plane.most);
        for (const auto& [value, borders] : plane.runs) {
            Borders& sum = all[value];
            sum.pixels += borders.pixels;
            sum.outward.insert(sum.outward.end(), borders.outward.begin(), borders.outward.end());
        }
    }
    for (const auto& [value, borders] : all) {
        if (borders.pixels < common::fewest ||
            static_cast<index_t>(borders.outward.size()) < common::few || value == most)
            continue;
        std::array<std::vector<float>, border_steps> away;
        for (const std::array<float, border_steps>& step : borders.outward)
            for (std::size_t i = 0; i < border_steps; ++i)
                away[i].push_back(std::abs(step[i] - value));
        std::size_t grown = 0;
        while (grown < no_data::most_grown &&
               median_of(away[grown]) < mixed * median_of(away[grown + 1]))
            ++grown;
        std::vector<float> between_data;
        std::size_t jumps = 0;  // paths whose first step is their largest
        for (const std::array<float, border_steps>& step : borders.outward) {
            float largest = 0;
            for (std::size_t i = grown; i + 1 < border_steps; ++i) {
                between_data.push_back(std::abs(step[i + 1] - step[i]));
                largest = std::max(largest, between_data.back());
            }
            jumps += std::abs(step[grown] - value) > largest;
        }
        // Nine of ten steps to the value are larger than nine of ten steps between data, twice:
        // 4.7 standard deviations of normal noise.
        constexpr double small = 0.1, large = 0.9;
        if (quantile(away[grown], small) > 2 * quantile(between_data, large))
            found.values.push_back({value, static_cast<index_t>(grown), common::rare, 1});
        // Where light varies, most paths show the jump, and a value that no other pixel has, nor
        // nearly has, is not one of the recording, unless it is that of the background.
        else if (2 * jumps > borders.outward.size() &&
                 static_cast<double>(quantile(away[grown], 0)) >
                     common::rare * static_cast<double>(median_of(away[grown])))
            found.values.push_back({value, static_cast<index_t>(grown), common::never, half});
    }
}

// Margins are two or more rows or columns at an end that are darker than all others, and about
// equally dark, behind a step that is sharper than all others. An object that ends at the image's
// edge makes no such step: blurred, it falls off most steeply at the edge itself.
void NoDataSearch::find_margins(NoData& found) const {
    for (std::size_t axis = 0; axis < 2; ++axis) {
        const index_t extent = axis == 0 ? shape_.y : shape_.x;
        const index_t most = std::min(no_data::most_margin, extent / 4);
        std::vector<float> levels, of_planes;
        for (std::size_t i = 0; i < static_cast<std::size_t>(extent); ++i) {
            of_planes.clear();
            for (const PlaneFacts& plane : planes_)
                if (!plane.constant) of_planes.push_back(plane.levels[axis][i]);
            if (!of_planes.empty()) levels.push_back(median_of(of_planes));
        }
        if (levels.empty() || most == 0) continue;
        const auto inner = [&](index_t i) { return levels[static_cast<std::size_t>(i)]; };
        float darkest = inner(most), largest_step = 0;
        for (index_t i = most; i + 1 < extent - most; ++i) {
            darkest = std::min(darkest, inner(i + 1));
            largest_step = std::max(largest_step, std::abs(inner(i + 1) - inner(i)));
        }
        const float least_step = std::max(2 * largest_step, 1e-3F * std::abs(darkest));
        for (std::size_t end = 0; end < 2; ++end) {
            const auto level = [&](index_t i) { return inner(end == 0 ? i : extent - 1 - i); };
            index_t dark = 0;
            while (dark < most && level(dark) < darkest - least_step) ++dark;
            if (dark < 2 || dark == most) continue;
            float low = level(0), high = level(0);
            for (index_t i = 1; i < dark; ++i) {
                low = std::min(low, level(i));
                high = std::max(high, level(i));
            }
            const float step = level(dark) - high;
            if (step > least_step && step > 2 * (high - low)) found.margins[axis][end] = dark;
        }
    }
}

std::vector<bool> run_pixels(const Plane& plane, const NoData::Value& value) {
    std::vector<bool> marked(static_cast<std::size_t>(plane.count()));
    const auto mark = [&](index_t y, index_t x) {
        for (index_t j = std::max<index_t>(0, y - value.grown);
             j <= std::min(plane.height - 1, y + value.grown); ++j)
            for (index_t i = std::max<index_t>(0, x - value.grown);
                 i <= std::min(plane.width - 1, x + value.grown); ++i)
                marked[static_cast<std::size_t>(j * plane.width + i)] = true;
    };
    for_each_run(plane, [&](const Run& run) {
        if (plane.at(run.y, run.x) != value.value) return;
        for (index_t i = 0; i < run.count; ++i)
            mark(run.y + (run.is_along_y ? i : 0), run.x + (run.is_along_y ? 0 : i));
    });
    return marked;
}

}  // namespace convolume::deconvolve
