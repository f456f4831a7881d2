// SPDX-License-Identifier: Apache-2.0
#include "optics/phantom_object.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "convolume/error.hpp"
#include "optics/random_draws.hpp"

namespace convolume::optics {

namespace {

constexpr index_t max_objects = 100'000'000;
constexpr double flatness = 0.6;      // height of a cell over its width
constexpr double shell_um = 0.3;      // thickness of a shell
constexpr double filament_um = 20;    // length of a filament
constexpr double path_step_um = 0.2;  // length of a filament between random bends

struct KindDefaults {
    double per_1000_um3;
    double radius_um;
    double radius_spread;
    double mixed_brightness;  // factor in mixed phantoms, so that thin objects are visible beside
                              // thick ones
};
constexpr KindDefaults defaults_of(PhantomKind kind) {
    switch (kind) {
        case PhantomKind::beads:
            return {10, 0.1, 0, 4};
        case PhantomKind::filaments:
            return {2, 0.06, 0, 4};
        case PhantomKind::shells:
            return {1.5, 2, 0.4, 0.5};
        case PhantomKind::cells:
            return {0.5, 5, 0.2, 0.25};
        case PhantomKind::mixed:
            break;
    }
    return {14, 0, 0, 1};
}

std::uint64_t draw_position(index_t number) {
    return static_cast<std::uint64_t>(number);
}

double extent_um(const PhantomOptions& options, int axis) {
    return static_cast<double>(options.shape[axis]) * options.voxel[axis];
}

/// Returns the kind of an object. Mixed phantoms choose it by multiples of the golden ratio, so
/// that consecutive numbers have all kinds in the right proportions.
PhantomKind kind_of(const PhantomOptions& options, index_t number) {
    if (options.kind != PhantomKind::mixed) return options.kind;
    const double revolutions = static_cast<double>(number) * std::numbers::phi;
    const double part = revolutions - std::floor(revolutions);
    return part < 0.72   ? PhantomKind::beads
           : part < 0.86 ? PhantomKind::filaments
           : part < 0.96 ? PhantomKind::shells
                         : PhantomKind::cells;
}

double middle_radius_um(const PhantomOptions& options, PhantomKind kind) {
    if (options.radius_um) return *options.radius_um;
    const double widest = std::max(extent_um(options, 1), extent_um(options, 2));
    return std::min(defaults_of(kind).radius_um, widest / 4);
}

std::vector<Point> filament_path(const PhantomOptions& options, index_t number,
                                 const PhantomObject& object) {
    RandomDraws draws(options.seed, DrawPurpose::path, draw_position(number));
    const double smallest = std::min({options.voxel.z_um, options.voxel.y_um, options.voxel.x_um});
    const double wanted_um =
        std::max({0.5 * object.radius_um, 0.5 * smallest, 1e-5 * object.length_um});
    const double beads = std::ceil(object.length_um / wanted_um);
    const double step_um = object.length_um / beads;
    std::vector<Point> path;
    path.reserve(static_cast<std::size_t>(beads));
    Point from = object.center_um;
    double azimuth = draws.uniform(0, 2 * std::numbers::pi);
    double elevation = draws.uniform(-0.2, 0.2);
    double bend = 0, next_um = step_um / 2;
    for (double begin_um = 0; next_um < object.length_um; begin_um += path_step_um) {
        const Point direction{std::sin(elevation), std::cos(elevation) * std::sin(azimuth),
                              std::cos(elevation) * std::cos(azimuth)};
        for (; next_um < std::min(begin_um + path_step_um, object.length_um); next_um += step_um) {
            Point& at = path.emplace_back(from);
            for (std::size_t axis = 0; axis < 3; ++axis)
                at[axis] += direction[axis] * (next_um - begin_um);
        }
        for (std::size_t axis = 0; axis < 3; ++axis) from[axis] += direction[axis] * path_step_um;
        bend = 0.95 * bend + draws.uniform(-0.035, 0.035);
        azimuth += bend;
        elevation = 0.98 * elevation + draws.uniform(-0.03, 0.03);
    }
    return path;
}

void for_each_cell_bodies(const PhantomOptions& options, index_t number,
                          const PhantomObject& object,
                          const std::function<void(const EqualBodies&)>& use) {
    RandomDraws draws(options.seed, DrawPurpose::path, draw_position(number));
    const auto flat = [&](double radius_um) {
        return Point{flatness * radius_um, radius_um, radius_um};
    };
    const auto near = [&](const Point& center, double reach_um) {
        Point point = center;
        for (std::size_t axis = 0; axis < 3; ++axis)
            point[axis] += (axis == 0 ? flatness : 1) * draws.uniform(-reach_um, reach_um);
        return point;
    };
    const double r = object.radius_um;
    const Point nucleus = near(object.center_um, 0.2 * r);
    std::vector<Point> nucleoli;
    for (int i = 0; i < 3; ++i) nucleoli.push_back(near(nucleus, 0.17 * r));
    use({flat(r), 0, 0.5 * object.brightness, true, {object.center_um}});
    use({flat(0.4 * r), 0, 0.5 * object.brightness, true, {nucleus}});
    use({flat(0.08 * r), 0, object.brightness, true, std::move(nucleoli)});
}

constexpr double grid_um = 0.8;
// Uniform numbers from −1 to 1, interpolated by cubic B-splines along three axes, have a standard
// deviation of about 0.19.
constexpr double contrast = 0.3 / 0.19;

/// Weights of the four cubic B-splines that are not zero at `position` (in grid steps), and the
/// grid index of the first.
struct SplineWeights {
    index_t first;
    std::array<double, 4> weight;

    explicit SplineWeights(double position) {
        const double whole = std::floor(position);
        const double t = position - whole, s = 1 - t;
        first = static_cast<index_t>(whole) - 1;
        weight = {s * s * s / 6, (4 - 6 * t * t + 3 * t * t * t) / 6,
                  (4 - 6 * s * s + 3 * s * s * s) / 6, t * t * t / 6};
    }
};

/// Returns the random number of a grid point, from −1 to 1. It depends on 21 bits of each index;
/// beyond, the numbers repeat.
double grid_value(std::uint64_t seed, index_t z, index_t y, index_t x) {
    constexpr std::uint64_t mask = (1u << 21) - 1;
    const auto part = [](index_t i) { return static_cast<std::uint64_t>(i) & mask; };
    const std::uint64_t packed_index = part(z) << 42 | part(y) << 21 | part(x);
    return RandomDraws(seed, DrawPurpose::texture, packed_index).uniform(-1, 1);
}

/// Returns the number of objects that the volume of a phantom would have.
double wanted_objects(const PhantomOptions& options) {
    const double volume = extent_um(options, 0) * extent_um(options, 1) * extent_um(options, 2);
    return std::round(volume / 1000 * defaults_of(options.kind).per_1000_um3);
}

}  // namespace

void check_phantom(const PhantomOptions& options) {
    const auto refuse_unless = [](bool good, const char* what, double value, const char* cure) {
        if (!good)
            throw InvalidArgument(message("the phantom's ", what, " is ", value, ": ", cure));
    };
    for (int axis = 0; axis < 3; ++axis) {
        refuse_unless(options.shape[axis] >= 1, "extent", static_cast<double>(options.shape[axis]),
                      "give whole numbers from 1");
        refuse_unless(options.voxel[axis] > 0 && options.voxel[axis] <= 1e4, "voxel size, in µm,",
                      options.voxel[axis], "give a positive length up to 10000");
    }
    static_cast<void>(element_count(options.shape));
    if (!options.count && wanted_objects(options) > static_cast<double>(max_objects))
        throw InvalidArgument(
            message("a phantom of ", to_string(options.shape), " voxels of ", options.voxel.z_um,
                    " × ", options.voxel.y_um, " × ", options.voxel.x_um, " µm would have ",
                    wanted_objects(options),
                    " objects: check the unit of the voxel size, or give the number of objects, up "
                    "to 100000000"));
    if (options.count)
        refuse_unless(*options.count >= 0 && *options.count <= max_objects, "number of objects",
                      static_cast<double>(*options.count), "give 0 to 100000000");
    if (options.radius_um) {
        if (options.kind == PhantomKind::mixed)
            throw InvalidArgument(
                "a radius was given for a mixed phantom, whose kinds have radii of their own; "
                "choose one kind or leave the radius out");
        const double largest =
            std::max({extent_um(options, 0), extent_um(options, 1), extent_um(options, 2)});
        refuse_unless(*options.radius_um > 0 && *options.radius_um <= largest, "radius, in µm,",
                      *options.radius_um, "give a positive length that the volume can hold");
    }
    refuse_unless(options.brightness >= 0 && options.brightness <= 1e30, "brightness",
                  options.brightness, "give 0 to 1e30");
    refuse_unless(options.brightness_spread >= 0 && options.brightness_spread < 1,
                  "spread of brightness", options.brightness_spread, "give 0 or more, below 1");
    refuse_unless(options.background >= 0 && options.background <= 1e30, "background",
                  options.background, "give 0 to 1e30");
}

index_t object_count(const PhantomOptions& options) {
    if (options.count) return *options.count;
    return static_cast<index_t>(std::max(wanted_objects(options), 1.0));
}

PhantomObject place_object(const PhantomOptions& options, index_t number) {
    RandomDraws draws(options.seed, DrawPurpose::placement, draw_position(number));
    PhantomObject object{kind_of(options, number), {}, 0, 0, 0};
    const double spread = defaults_of(object.kind).radius_spread;
    object.radius_um =
        middle_radius_um(options, object.kind) * draws.uniform(1 - spread, 1 + spread);
    object.brightness = options.brightness *
                        draws.uniform(1 - options.brightness_spread, 1 + options.brightness_spread);
    for (std::size_t i = 0; i < 3; ++i) {
        const int axis = static_cast<int>(i);
        const double voxel_um = options.voxel[axis], extent = extent_um(options, axis);
        const double height = object.kind == PhantomKind::cells && axis == 0 ? flatness : 1;
        // If there is room, the whole object is in the volume, with its soft edge.
        const double margin = std::min(object.radius_um * height + voxel_um, extent / 2);
        object.center_um[i] = draws.uniform(margin, extent - margin) - voxel_um / 2;
    }
    if (options.kind == PhantomKind::mixed)
        object.brightness *= defaults_of(object.kind).mixed_brightness;
    if (object.kind == PhantomKind::filaments) {
        const double widest = std::max(extent_um(options, 1), extent_um(options, 2));
        object.length_um = std::min(filament_um, 2 * widest);
    }
    return object;
}

void for_each_equal_bodies(const PhantomOptions& options, index_t number,
                           const PhantomObject& object,
                           const std::function<void(const EqualBodies&)>& use) {
    const double r = object.radius_um, brightness = object.brightness;
    const auto ball = [](double radius_um) { return Point{radius_um, radius_um, radius_um}; };
    switch (object.kind) {
        case PhantomKind::beads:
            use({ball(r), 0, brightness, false, {object.center_um}});
            break;
        case PhantomKind::filaments: {
            std::vector<Point> path = filament_path(options, number, object);
            // The balls of volume 4/3 π r³ share the light of a cylinder of volume π r² length.
            const double share = 0.75 * object.length_um / (r * static_cast<double>(path.size()));
            use({ball(r), 0, brightness * share, false, std::move(path)});
            break;
        }
        case PhantomKind::shells:
            use({ball(r), 1 - std::min(shell_um / r, 0.5), brightness, false, {object.center_um}});
            break;
        case PhantomKind::cells:
            for_each_cell_bodies(options, number, object, use);
            break;
        case PhantomKind::mixed:
            throw InternalError("an object of a mixed kind");
    }
}

std::array<double, 2> z_range_um(const PhantomOptions& options, index_t number,
                                 const PhantomObject& object) {
    double low = object.center_um[0], high = low;
    for_each_equal_bodies(options, number, object, [&](const EqualBodies& bodies) {
        for (const Point& center : bodies.centers_um) {
            low = std::min(low, center[0] - bodies.radius_um[0]);
            high = std::max(high, center[0] + bodies.radius_um[0]);
        }
    });
    return {low, high};
}

void PhantomTexture::multiply_row(index_t z, index_t y, index_t width, double* row) const {
    const auto position = [](index_t i, double voxel_um) {
        return static_cast<double>(i) * voxel_um / grid_um;
    };
    const SplineWeights in_z(position(z, voxel_.z_um)), in_y(position(y, voxel_.y_um));
    const index_t first = SplineWeights(0).first;
    const index_t last = SplineWeights(position(width - 1, voxel_.x_um)).first + 3;
    std::vector<double> along(static_cast<std::size_t>(last - first + 1));
    for (index_t x = first; x <= last; ++x) {
        double sum = 0;
        for (index_t i = 0; i < 4; ++i)
            for (index_t j = 0; j < 4; ++j)
                sum += in_z.weight[static_cast<std::size_t>(i)] *
                       in_y.weight[static_cast<std::size_t>(j)] *
                       grid_value(seed_, in_z.first + i, in_y.first + j, x);
        along[static_cast<std::size_t>(x - first)] = sum;
    }
    for (index_t x = 0; x < width; ++x) {
        const SplineWeights in_x(position(x, voxel_.x_um));
        const double* const values = along.data() + (in_x.first - first);
        double noise = 0;
        for (std::size_t i = 0; i < 4; ++i) noise += in_x.weight[i] * values[i];
        row[x] *= std::max(0.0, 1 + contrast * noise);
    }
}

}  // namespace convolume::optics
