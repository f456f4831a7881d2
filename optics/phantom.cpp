// SPDX-License-Identifier: Apache-2.0
#include "convolume/phantom.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "convolume/error.hpp"
#include "core/check_memory.hpp"
#include "core/option_names.hpp"
#include "core/thread_team.hpp"
#include "core/threads.hpp"
#include "optics/phantom_object.hpp"
#include "optics/phantom_texture.hpp"

namespace convolume {

namespace {

using optics::BodyLattice;
using optics::Point;

constexpr index_t band_voxels = index_t{1} << 16;  // drawn by one thread at a time, in cache

}  // namespace

struct Phantom::Impl {
    /// Planes that an object reaches: [begin, end).
    struct Reach {
        index_t begin;
        index_t end;
        index_t number;
    };

    /// A body that some of the planes to be drawn have a part of; lengths in voxels.
    struct DrawnBody {
        const BodyLattice* lattice;
        Point center;
        double value;
        bool textured;
    };

    PhantomOptions options;
    std::vector<PhantomObject> objects;
    std::vector<Reach> reaches;  // of the objects, ascending by begin
    index_t highest = 0;         // planes of the highest object

    explicit Impl(const PhantomOptions& given);

    /// The bodies that planes [z_begin, z_end) have a part of, and for each plane which.
    struct Scene {
        std::map<std::pair<Point, double>, BodyLattice> lattices;
        std::vector<DrawnBody> bodies;
        std::vector<std::vector<std::size_t>> in_plane;
    };
    Scene scene_of(index_t z_begin, index_t z_end) const;
    void draw_band(const Scene& scene, index_t z_begin, index_t z, index_t y_begin, index_t y_end,
                   double* plain, double* textured, const ImageView& planes) const;
};

Phantom::Impl::Impl(const PhantomOptions& given) : options(given) {
    optics::check_phantom(options);
    const index_t count = optics::object_count(options);
    reaches.reserve(static_cast<std::size_t>(count));
    for (index_t number = 0; number < count; ++number) {
        const PhantomObject object = optics::place_object(options, number);
        const auto [low, high] = optics::height_um(options, number, object);
        // Beyond its edge a body reaches almost a voxel.
        const Reach reach{static_cast<index_t>(std::floor(low / options.voxel.z_um)),
                          static_cast<index_t>(std::ceil(high / options.voxel.z_um)) + 1, number};
        highest = std::max(highest, reach.end - reach.begin);
        reaches.push_back(reach);
    }
    std::sort(reaches.begin(), reaches.end(), [](const Reach& a, const Reach& b) {
        return std::pair(a.begin, a.number) < std::pair(b.begin, b.number);
    });
    objects.reserve(reaches.size());
    for (const Reach& reach : reaches)
        objects.push_back(optics::place_object(options, reach.number));
}

Phantom::Impl::Scene Phantom::Impl::scene_of(index_t z_begin, index_t z_end) const {
    Scene scene;
    scene.in_plane.resize(static_cast<std::size_t>(z_end - z_begin));
    const auto first =
        std::lower_bound(reaches.begin(), reaches.end(), z_begin - highest,
                         [](const Reach& reach, index_t plane) { return reach.begin < plane; });
    for (auto reach = first; reach != reaches.end() && reach->begin < z_end; ++reach) {
        if (reach->end <= z_begin) continue;
        const PhantomObject& object = objects[static_cast<std::size_t>(reach - reaches.begin())];
        optics::for_each_bodies(options, reach->number, object, [&](const optics::Bodies& bodies) {
            Point radius = bodies.radius_um;
            for (std::size_t axis = 0; axis < 3; ++axis)
                radius[axis] /= options.voxel[static_cast<int>(axis)];
            const BodyLattice& lattice =
                scene.lattices.try_emplace({radius, bodies.hollow}, radius, bodies.hollow)
                    .first->second;
            for (Point center : bodies.centers_um) {
                for (std::size_t axis = 0; axis < 3; ++axis)
                    center[axis] /= options.voxel[static_cast<int>(axis)];
                const index_t begin =
                    std::max(z_begin, static_cast<index_t>(std::floor(center[0] - radius[0])));
                const index_t end =
                    std::min(z_end, static_cast<index_t>(std::ceil(center[0] + radius[0])) + 1);
                if (begin >= end) continue;
                for (index_t z = begin; z < end; ++z)
                    scene.in_plane[static_cast<std::size_t>(z - z_begin)].push_back(
                        scene.bodies.size());
                scene.bodies.push_back({&lattice, center, bodies.value, bodies.textured});
            }
        });
    }
    return scene;
}

void Phantom::Impl::draw_band(const Scene& scene, index_t z_begin, index_t z, index_t y_begin,
                              index_t y_end, double* plain, double* textured,
                              const ImageView& planes) const {
    const index_t width = options.shape.x;
    const index_t band = (y_end - y_begin) * width;
    std::fill_n(plain, band, 0.0);
    bool has_texture = false;
    for (const std::size_t number : scene.in_plane[static_cast<std::size_t>(z - z_begin)]) {
        const DrawnBody& body = scene.bodies[number];
        const double reach = body.lattice->radius()[1] + 1;
        if (body.center[1] + reach < static_cast<double>(y_begin) ||
            body.center[1] - reach > static_cast<double>(y_end))
            continue;
        if (body.textured && !has_texture) std::fill_n(textured, band, 0.0);
        has_texture = has_texture || body.textured;
        body.lattice->add(body.center, body.value, z, y_begin, y_end, width,
                          body.textured ? textured : plain);
    }
    const optics::PhantomTexture texture(options.seed, options.voxel);
    for (index_t y = y_begin; y < y_end; ++y) {
        const index_t begin = (y - y_begin) * width;
        double* const row = plain + begin;
        if (has_texture) {
            texture.multiply_row(z, y, width, textured + begin);
            for (index_t x = 0; x < width; ++x) row[x] += textured[begin + x];
        }
        float* const out = static_cast<float*>(planes.at(z - z_begin, y, 0));
        for (index_t x = 0; x < width; ++x)
            out[x * planes.strides.x] = static_cast<float>(options.background + row[x]);
    }
}

Phantom::Phantom(const PhantomOptions& options) : impl_(std::make_unique<Impl>(options)) {}
Phantom::~Phantom() = default;
Phantom::Phantom(Phantom&&) noexcept = default;
Phantom& Phantom::operator=(Phantom&&) noexcept = default;

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
    const Impl::Scene scene = impl_->scene_of(z_begin, z_begin + planes.shape.z);
    const index_t band_rows = std::clamp<index_t>(band_voxels / shape.x, 1, shape.y);
    const index_t bands = ceil_div(shape.y, band_rows);
    const index_t tasks = checked_multiply(planes.shape.z, bands);
    threads = thread_count(threads);
    const index_t scratch_elems = 2 * band_rows * shape.x;
    std::vector<double> scratch(static_cast<std::size_t>(checked_multiply(threads, scratch_elems)));
    parallel_for(tasks, threads, [&](index_t task, int thread) {
        const index_t y = task % bands * band_rows;
        double* const plain = scratch.data() + thread * scratch_elems;
        impl_->draw_band(scene, z_begin, z_begin + task / bands, y,
                         std::min(y + band_rows, shape.y), plain, plain + scratch_elems / 2,
                         planes);
    });
}

const char* to_string(PhantomKind kind) {
    return name_of(kind);
}

PhantomKind parse_phantom_kind(std::string_view text) {
    return parse_name<PhantomKind>(text, "phantoms are ");
}

}  // namespace convolume
