// SPDX-License-Identifier: Apache-2.0
#include "convolume/phantom.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numbers>
#include <utility>
#include <vector>

#include "convolume/error.hpp"
#include "core/stop_scope.hpp"
#include "core/threads.hpp"
#include "core/views.hpp"
#include "optics/option_names.hpp"
#include "optics/phantom_object.hpp"

namespace convolume {

namespace {

using optics::Point;

/// Number of voxels of the band of rows that one thread draws in its cache.
constexpr index_t voxels_per_band = index_t{1} << 16;

/// Returns the largest number of lattice steps, `fineness` a voxel, that lie within `radius`.
index_t steps_within(double radius, index_t fineness) {
    return static_cast<index_t>(radius * static_cast<double>(fineness));
}

/// The ellipsoid that all phantoms are made of, with half axes `radius` in voxels. A concentric
/// ellipsoid, smaller by the factor `hollow`, is left out of its middle. The ellipsoid is a lattice
/// of points around its center with a whole number of steps in a voxel. Each point adds its light
/// to the eight voxels around it, with the weights of linear interpolation. Hence the interior is
/// exactly even, since these weights add up to 1 on such a lattice. Total and center of mass are
/// exact at any position.
class BodyLattice {
  public:
    explicit BodyLattice(const Point& radius, double hollow)
        : radius_(radius),
          volume_(4.0 / 3 * std::numbers::pi * radius[0] * radius[1] * radius[2] *
                  (1 - hollow * hollow * hollow)) {
        // Small bodies get about eight points across; large ones need one point a voxel.
        for (std::size_t axis = 0; axis < 3; ++axis)
            fineness_[axis] =
                radius[axis] < 64
                    ? std::clamp<index_t>(static_cast<index_t>(std::ceil(4 / radius[axis])), 2, 8)
                    : 1;
        layers_ = steps_within(radius[0], fineness_[0]);
        for (index_t i = -layers_; i <= layers_; ++i) {
            first_row_.push_back(rows_.size());
            const double z = static_cast<double>(i) / static_cast<double>(fineness_[0]) / radius[0];
            const double across = std::sqrt(std::max(0.0, 1 - z * z));
            const index_t rows = steps_within(radius[1] * across, fineness_[1]);
            for (index_t j = -rows; j <= rows; ++j) {
                const double y =
                    static_cast<double>(j) / static_cast<double>(fineness_[1]) / radius[1];
                const double outside = 1 - z * z - y * y;
                const double inside = hollow * hollow - z * z - y * y;
                LatticeRow row{
                    j, steps_within(radius[2] * std::sqrt(std::max(0.0, outside)), fineness_[2]),
                    -1};
                if (hollow > 0 && inside >= 0)
                    row.hollow = steps_within(radius[2] * std::sqrt(inside), fineness_[2]);
                rows_.push_back(row);
                points_ += static_cast<double>(2 * (row.points - row.hollow) - (row.hollow < 0));
            }
        }
        first_row_.push_back(rows_.size());
        if (points_ > 0) return;
        // The body is so small that only its middle point is left.
        rows_.front().hollow = -1;
        points_ = 1;
    }

    const Point& radius() const { return radius_; }

    /// Adds an ellipsoid of `value` at `center` (in voxels) to rows [y_begin, y_end) of plane z:
    /// `rows` has `width` elements each.
    void add(const Point& center, double value, index_t z, index_t y_begin, index_t y_end,
             index_t width, double* rows) const {
        const Point step{1 / static_cast<double>(fineness_[0]),
                         1 / static_cast<double>(fineness_[1]),
                         1 / static_cast<double>(fineness_[2])};
        const double light = value * volume_ / points_;
        const double plane = static_cast<double>(z);
        const auto layer_at = [&](double position) {
            return std::clamp((position - center[0]) / step[0], -1e9, 1e9);
        };
        const index_t first =
            std::max(-layers_, static_cast<index_t>(std::ceil(layer_at(plane - 1))));
        const index_t last =
            std::min(layers_, static_cast<index_t>(std::floor(layer_at(plane + 1))));
        for (index_t i = first; i <= last; ++i) {
            const double share_z =
                1 - std::abs(center[0] + static_cast<double>(i) * step[0] - plane);
            if (share_z <= 0) continue;
            const auto layer = static_cast<std::size_t>(i + layers_);
            for (std::size_t r = first_row_[layer]; r < first_row_[layer + 1]; ++r) {
                const double y = center[1] + static_cast<double>(rows_[r].y) * step[1];
                const index_t upper = static_cast<index_t>(std::floor(y));
                if (upper + 1 < y_begin || upper >= y_end) continue;
                const double below = y - static_cast<double>(upper);
                for (index_t k = 0; k < 2; ++k) {
                    const index_t row = upper + k;
                    if (row < y_begin || row >= y_end) continue;
                    const double share = light * share_z * (k == 0 ? 1 - below : below);
                    double* const target = rows + (row - y_begin) * width;
                    for (index_t p = -rows_[r].points; p <= rows_[r].points; ++p) {
                        if (std::abs(p) <= rows_[r].hollow) p = rows_[r].hollow + 1;
                        if (p > rows_[r].points) break;
                        const double x = center[2] + static_cast<double>(p) * step[2];
                        const double left = std::floor(x);
                        const index_t column = static_cast<index_t>(left);
                        const double right = x - left;
                        if (column >= 0 && column < width) target[column] += share * (1 - right);
                        if (column >= -1 && column + 1 < width) target[column + 1] += share * right;
                    }
                }
            }
        }
    }

  private:
    struct LatticeRow {
        index_t y;       // number of the row in the lattice, from the center
        index_t points;  // number of points on either side of the middle one
        index_t hollow;  // number of points on either side that are left out with the middle one;
                         // -1: none
    };

    Point radius_;
    double volume_;
    std::array<index_t, 3> fineness_;  // lattice points per voxel
    index_t layers_;                   // number of layers on either side of the middle one
    std::vector<LatticeRow> rows_;
    std::vector<std::size_t>
        first_row_;  // index of each layer's first row, then the number of rows
    double points_ = 0;
};

/// The bodies of which planes [z_begin, z_end) of a phantom contain a part.
class PlaneBodies {
  public:
    PlaneBodies(const PhantomOptions& options, index_t z_begin, index_t z_end)
        : options_(options),
          z_begin_(z_begin),
          z_end_(z_end),
          in_plane_(static_cast<std::size_t>(z_end - z_begin)) {}

    void add(const optics::EqualBodies& bodies) {
        const auto in_voxels = [&](Point point) {
            for (std::size_t axis = 0; axis < 3; ++axis)
                point[axis] /= options_.voxel[static_cast<int>(axis)];
            return point;
        };
        const Point radius = in_voxels(bodies.radius_um);
        const BodyLattice& lattice =
            lattices_.try_emplace({radius, bodies.hollow}, radius, bodies.hollow).first->second;
        for (const Point& center_um : bodies.centers_um) {
            const Point center = in_voxels(center_um);
            const index_t begin =
                std::max(z_begin_, static_cast<index_t>(std::floor(center[0] - radius[0])));
            const index_t end =
                std::min(z_end_, static_cast<index_t>(std::ceil(center[0] + radius[0])) + 1);
            if (begin >= end) continue;
            for (index_t z = begin; z < end; ++z)
                in_plane_[static_cast<std::size_t>(z - z_begin_)].push_back(bodies_.size());
            bodies_.push_back({&lattice, center, bodies.value, bodies.textured});
        }
    }

    /// Draws rows [y_begin, y_end) of plane z into `planes`, which begin at z_begin.
    /// `scratch` has two elements for each voxel of the band.
    void draw_band(index_t z, index_t y_begin, index_t y_end, double* scratch,
                   const ImageView& planes) const {
        const index_t width = options_.shape.x;
        const index_t band = (y_end - y_begin) * width;
        double *const plain = scratch, *const textured = scratch + band;
        std::fill_n(plain, band, 0.0);
        bool has_texture = false;
        for (const std::size_t number : in_plane_[static_cast<std::size_t>(z - z_begin_)]) {
            const PlacedBody& body = bodies_[number];
            const double reach = body.lattice->radius()[1] + 1;
            if (body.center[1] + reach < static_cast<double>(y_begin) ||
                body.center[1] - reach > static_cast<double>(y_end))
                continue;
            if (body.textured && !has_texture) std::fill_n(textured, band, 0.0);
            has_texture = has_texture || body.textured;
            body.lattice->add(body.center, body.value, z, y_begin, y_end, width,
                              body.textured ? textured : plain);
        }
        const optics::PhantomTexture texture(options_.seed, options_.voxel);
        for (index_t y = y_begin; y < y_end; ++y) {
            const index_t begin = (y - y_begin) * width;
            double* const row = plain + begin;
            if (has_texture) {
                texture.multiply_row(z, y, width, textured + begin);
                for (index_t x = 0; x < width; ++x) row[x] += textured[begin + x];
            }
            float* const out = static_cast<float*>(planes.at(z - z_begin_, y, 0));
            for (index_t x = 0; x < width; ++x)
                out[x * planes.strides.x] = static_cast<float>(options_.background + row[x]);
        }
    }

  private:
    /// A body at its position in the volume. Lengths are in voxels.
    struct PlacedBody {
        const BodyLattice* lattice;
        Point center;
        double value;
        bool textured;
    };

    const PhantomOptions& options_;
    index_t z_begin_, z_end_;
    std::map<std::pair<Point, double>, BodyLattice> lattices_;
    std::vector<PlacedBody> bodies_;
    std::vector<std::vector<std::size_t>> in_plane_;  // for each plane, indices into bodies_
};

}  // namespace

/// Objects are placed without a look at a requested stop: some milliseconds.
static constexpr index_t objects_between_stops = 4096;

struct Phantom::Impl {
    /// Range [begin, end) of the planes that object `number` may touch.
    struct ObjectPlaneRange {
        index_t begin;
        index_t end;
        index_t number;
    };

    PhantomOptions options;
    std::vector<PhantomObject> objects;
    std::vector<ObjectPlaneRange> plane_ranges;  // ranges of `objects`, ascending by begin
    index_t max_planes = 0;                      // largest number of planes of an object

    explicit Impl(const PhantomOptions& given);

    void add_bodies(index_t z_begin, index_t z_end, PlaneBodies& plane_bodies) const;
};

Phantom::Impl::Impl(const PhantomOptions& given) : options(given) {
    optics::check_phantom(options);
    const index_t count = optics::object_count(options);
    plane_ranges.reserve(static_cast<std::size_t>(count));
    for (index_t number = 0; number < count; ++number) {
        if (number % objects_between_stops == 0) throw_if_stopped();
        const PhantomObject object = optics::place_object(options, number);
        const auto [low, high] = optics::z_range_um(options, number, object);
        // A body adds light up to almost one voxel beyond its edge.
        const ObjectPlaneRange reach{static_cast<index_t>(std::floor(low / options.voxel.z_um)),
                                     static_cast<index_t>(std::ceil(high / options.voxel.z_um)) + 1,
                                     number};
        max_planes = std::max(max_planes, reach.end - reach.begin);
        plane_ranges.push_back(reach);
    }
    std::sort(plane_ranges.begin(), plane_ranges.end(),
              [](const ObjectPlaneRange& a, const ObjectPlaneRange& b) {
                  return std::pair(a.begin, a.number) < std::pair(b.begin, b.number);
              });
    objects.reserve(plane_ranges.size());
    for (const ObjectPlaneRange& reach : plane_ranges) {
        if (objects.size() % objects_between_stops == 0) throw_if_stopped();
        objects.push_back(optics::place_object(options, reach.number));
    }
}

/// Adds the bodies of all objects that may touch planes [z_begin, z_end).
void Phantom::Impl::add_bodies(index_t z_begin, index_t z_end, PlaneBodies& plane_bodies) const {
    const auto first = std::lower_bound(
        plane_ranges.begin(), plane_ranges.end(), z_begin - max_planes,
        [](const ObjectPlaneRange& reach, index_t plane) { return reach.begin < plane; });
    for (auto reach = first; reach != plane_ranges.end() && reach->begin < z_end; ++reach) {
        const auto number = static_cast<std::size_t>(reach - plane_ranges.begin());
        if (number % objects_between_stops == 0) throw_if_stopped();
        if (reach->end <= z_begin) continue;
        const PhantomObject& object = objects[number];
        optics::for_each_equal_bodies(
            options, reach->number, object,
            [&](const optics::EqualBodies& bodies) { plane_bodies.add(bodies); });
    }
}

Phantom::Phantom(const PhantomOptions& options) : impl_(std::make_unique<Impl>(options)) {}

const PhantomOptions& Phantom::options() const {
    return impl_->options;
}

const std::vector<PhantomObject>& Phantom::objects() const {
    return impl_->objects;
}

void Phantom::draw(index_t z_begin, const ImageView& planes, int threads) const {
    const Shape3& shape = impl_->options.shape;
    if (planes.type != PixelType::float32 || planes.shape.y != shape.y ||
        planes.shape.x != shape.x || z_begin < 0 || planes.shape.z > shape.z - z_begin)
        throw InvalidArgument(message("planes from ", z_begin, " on as ", to_string(planes.shape),
                                      " ", to_string(planes.type), " were asked of a phantom of ",
                                      to_string(shape), " float32; ask for planes it has"));
    check_memory(planes, "what planes are drawn into");
    PlaneBodies plane_bodies(impl_->options, z_begin, z_begin + planes.shape.z);
    impl_->add_bodies(z_begin, z_begin + planes.shape.z, plane_bodies);
    const index_t band_rows = std::clamp<index_t>(voxels_per_band / shape.x, 1, shape.y);
    const index_t bands = ceil_div(shape.y, band_rows);
    const index_t tasks = checked_multiply(planes.shape.z, bands);
    threads = thread_count(threads);
    const index_t scratch_elems = 2 * band_rows * shape.x;
    std::vector<double> scratch(static_cast<std::size_t>(checked_multiply(threads, scratch_elems)));
    parallel_for(tasks, threads, [&](index_t task, int thread) {
        const index_t y = task % bands * band_rows;
        plane_bodies.draw_band(z_begin + task / bands, y, std::min(y + band_rows, shape.y),
                               scratch.data() + thread * scratch_elems, planes);
    });
}

CONVOLUME_NAMES(PhantomKind, parse_phantom_kind, parse_name, "phantoms are ")

}  // namespace convolume
