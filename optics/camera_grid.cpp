// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <vector>

#include "convolume/camera.hpp"
#include "convolume/error.hpp"
#include "core/threads.hpp"
#include "core/views.hpp"

namespace convolume {

namespace {

constexpr double rounding = 1e-9;  // what ratios of decimal lengths may be off

/// `ratio`, or the whole number that it is but for rounding.
double snapped(double ratio) {
    const double whole = std::nearbyint(ratio);
    return std::abs(ratio - whole) <= rounding * ratio ? whole : ratio;
}

index_t pixels_within(index_t voxels, double ratio) {
    return static_cast<index_t>(static_cast<double>(voxels) / ratio * (1 + rounding));
}

/// Samples [begin, end) that a pixel covers, and how much of the first and the last.
struct Cover {
    index_t begin;
    index_t end;
    double first;
    double last;

    Cover(index_t pixel, double ratio, index_t samples) {
        const double low = static_cast<double>(pixel) * ratio, high = low + ratio;
        begin = std::min(static_cast<index_t>(low), samples - 1);
        end = std::clamp(static_cast<index_t>(std::ceil(high)), begin + 1, samples);
        first = std::min(static_cast<double>(begin + 1), high) - low;
        last = high - static_cast<double>(end - 1);
    }

    double weight(index_t sample) const {
        return sample == begin ? first : sample == end - 1 ? std::min(last, 1.0) : 1;
    }
};

template <class T>
void add_row(const T* from, index_t count, double weight, double* to) {
    if (weight == 0) return;
    for (index_t x = 0; x < count; ++x) to[x] += weight * static_cast<double>(from[x]);
}

}  // namespace

CameraGrid::CameraGrid(const Shape3& image, const VoxelSize& voxel, const VoxelSize& pixel)
    : image_(image) {
    double ratio[3];
    for (int axis = 0; axis < 3; ++axis) {
        if (!(voxel[axis] > 0) || !(pixel[axis] > 0) || !std::isfinite(pixel[axis] / voxel[axis]))
            throw InvalidArgument(message("voxels of ", voxel[axis], " µm and camera pixels of ",
                                          pixel[axis], " µm were given along ", axis_name(axis),
                                          "; give positive lengths"));
        ratio[axis] = snapped(pixel[axis] / voxel[axis]);
        if (axis > 0 && ratio[axis] < 1)
            throw InvalidArgument(message("camera pixels of ", pixel[axis],
                                          " µm are smaller than the image's voxels of ",
                                          voxel[axis], " µm along ", axis_name(axis),
                                          "; make the phantom finer or the pixels larger"));
    }
    step_ = ratio[0];
    height_ = ratio[1];
    width_ = ratio[2];
    shape_ = {pixels_within(image.z - 1, step_) + 1, pixels_within(image.y, height_),
              pixels_within(image.x, width_)};
    if (shape_.y < 1 || shape_.x < 1)
        throw InvalidArgument(message("camera pixels of z,y,x ", pixel.z_um, ",", pixel.y_um, ",",
                                      pixel.x_um, " µm are larger than the whole image of ",
                                      to_string(image), " voxels; make them smaller"));
    static_cast<void>(element_count(shape_));
}

void CameraGrid::check(const ConstImageView& image, index_t planes, index_t plane,
                       const double* pixels) const {
    const bool floating = image.type == PixelType::float32 || image.type == PixelType::float64;
    const Shape3 wanted{planes, image_.y, image_.x};
    if (!floating || image.shape != wanted || image.strides.x != 1)
        throw InvalidArgument(message("plane ", plane, " of a camera was asked for from ",
                                      to_string(image.shape), " ", to_string(image.type),
                                      ", but it looks at ", to_string(wanted),
                                      " floating-point voxels"));
    check_memory(image, "the image");
    check_memory({pixels, PixelType::float64, {1, shape_.y, shape_.x}, {}}, "the array of pixels");
}

PlaneRange CameraGrid::planes_below(index_t plane) const {
    if (plane < 0 || plane >= shape_.z)
        throw InvalidArgument(message("plane ", plane, " was asked for of a camera that records ",
                                      shape_.z, " planes"));
    const double depth = static_cast<double>(plane) * step_;
    const index_t upper = std::min(static_cast<index_t>(depth), image_.z - 1);
    const bool between = depth > static_cast<double>(upper) && upper + 1 < image_.z;
    return {upper, upper + (between ? 2 : 1)};
}

void CameraGrid::sample(const ConstImageView& image, index_t plane, double* pixels,
                        int threads) const {
    const PlaneRange below = planes_below(plane);
    check(image, image_.z, plane, pixels);
    sample_planes(subview(image, {{below.begin, 0, 0}, {below.end, image_.y, image_.x}}), plane,
                  pixels, threads);
}

void CameraGrid::sample_planes(const ConstImageView& planes, index_t plane, double* pixels,
                               int threads) const {
    const PlaneRange below = planes_below(plane);
    check(planes, below.end - below.begin, plane, pixels);
    const bool single = planes.type == PixelType::float32;
    const double share = static_cast<double>(plane) * step_ - static_cast<double>(below.begin);
    const index_t lower = planes.shape.z - 1;
    threads = thread_count(threads);
    std::vector<double> rows(static_cast<std::size_t>(checked_multiply(threads, image_.x)));
    parallel_for(shape_.y, threads, [&](index_t j, int thread) {
        double* const row = rows.data() + thread * image_.x;
        std::fill_n(row, image_.x, 0.0);
        const Cover in_y(j, height_, image_.y);
        for (index_t y = in_y.begin; y < in_y.end; ++y) {
            const double weight = in_y.weight(y);
            const auto add = [&](index_t z, double part) {
                if (single)
                    add_row(static_cast<const float*>(planes.at(z, y, 0)), image_.x, part, row);
                else
                    add_row(static_cast<const double*>(planes.at(z, y, 0)), image_.x, part, row);
            };
            add(0, weight * (1 - share));
            add(lower, weight * share);
        }
        for (index_t i = 0; i < shape_.x; ++i) {
            const Cover in_x(i, width_, image_.x);
            double sum = 0;
            for (index_t x = in_x.begin; x < in_x.end; ++x) sum += in_x.weight(x) * row[x];
            pixels[j * shape_.x + i] = sum;
        }
    });
}

}  // namespace convolume
