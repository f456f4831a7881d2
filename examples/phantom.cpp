#include "phantom.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace demo {

using convolume::index_t;

Phantom::Phantom(const convolume::Shape3& shape, const Point& voxel_um)
    : volume_(shape, convolume::PixelType::float32), voxel_um_(voxel_um) {
    for (int axis = 0; axis < 3; ++axis) {
        const auto a = static_cast<std::size_t>(axis);
        size_um_[a] = static_cast<double>(shape[axis]) * voxel_um[a];
    }
}

Point Phantom::random_point(double margin_um) {
    Point point{};
    for (std::size_t a = 0; a < 3; ++a)
        point[a] = margin_um + uniform() * (size_um_[a] - 2 * margin_um);
    return point;
}

void Phantom::add_beads(int count, double radius_um, double brightness) {
    for (int i = 0; i < count; ++i) add_shell(random_point(1), 0, radius_um, brightness);
}

void Phantom::add_filaments(int count, double length_um, double radius_um, double brightness) {
    const double step_um = 0.5 * radius_um;
    for (int i = 0; i < count; ++i) {
        Point point = random_point(1);
        double azimuth = 2 * std::numbers::pi * uniform();
        double elevation = 0.4 * (uniform() - 0.5);
        double bend = 0;
        for (double s = 0; s < length_um; s += step_um) {
            add_shell(point, 0, radius_um, brightness);
            bend = 0.98 * bend + 0.01 * (uniform() - 0.5);
            azimuth += bend;
            elevation = 0.99 * elevation + 0.02 * (uniform() - 0.5);
            point[0] += step_um * std::sin(elevation);
            point[1] += step_um * std::cos(elevation) * std::sin(azimuth);
            point[2] += step_um * std::cos(elevation) * std::cos(azimuth);
        }
    }
}

void Phantom::add_shells(int count, double least_radius_um, double largest_radius_um,
                         double thickness_um, double brightness) {
    for (int i = 0; i < count; ++i) {
        const double radius = least_radius_um + uniform() * (largest_radius_um - least_radius_um);
        add_shell(random_point(radius + 0.5), radius, thickness_um, brightness);
    }
}

void Phantom::add_shell(const Point& center_um, double radius_um, double thickness_um,
                        double brightness) {
    const double edge_um = 0.5 * voxel_um_[2];
    const double reach_um = radius_um + thickness_um + 2 * edge_um;
    convolume::Index3 begin;
    convolume::Index3 end;
    const convolume::Shape3 shape = volume_.shape();
    for (int axis = 0; axis < 3; ++axis) {
        const auto a = static_cast<std::size_t>(axis);
        begin[axis] = static_cast<index_t>(std::floor((center_um[a] - reach_um) / voxel_um_[a]));
        end[axis] = static_cast<index_t>(std::ceil((center_um[a] + reach_um) / voxel_um_[a])) + 1;
        begin[axis] = std::clamp<index_t>(begin[axis], 0, shape[axis]);
        end[axis] = std::clamp<index_t>(end[axis], 0, shape[axis]);
    }
    float* voxels = volume_.elements<float>();
    for (index_t z = begin.z; z < end.z; ++z)
        for (index_t y = begin.y; y < end.y; ++y)
            for (index_t x = begin.x; x < end.x; ++x) {
                const double dz = static_cast<double>(z) * voxel_um_[0] - center_um[0];
                const double dy = static_cast<double>(y) * voxel_um_[1] - center_um[1];
                const double dx = static_cast<double>(x) * voxel_um_[2] - center_um[2];
                const double depth =
                    thickness_um - std::abs(std::sqrt(dz * dz + dy * dy + dx * dx) - radius_um);
                const double inside = std::clamp(0.5 + depth / (2 * edge_um), 0.0, 1.0);
                float& voxel = voxels[(z * shape.y + y) * shape.x + x];
                voxel = std::max(voxel, static_cast<float>(inside * brightness));
            }
}

}  // namespace demo
