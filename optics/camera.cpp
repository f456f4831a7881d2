// SPDX-License-Identifier: Apache-2.0
#include "convolume/camera.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "convolume/error.hpp"
#include "core/threads.hpp"
#include "core/views.hpp"
#include "optics/random_draws.hpp"

namespace convolume {

namespace {

constexpr double max_photons = 1e15;  // float64 does not hold all larger whole numbers

void check_number(const char* what, double value, double lowest, double highest) {
    if (!(value >= lowest && value <= highest))
        throw InvalidArgument(
            message("the camera's ", what, " is ", value, ": give ", lowest, " to ", highest));
}

/// Records a row of type In as type Out.
template <class In, class Out>
CameraReport expose_row(const Camera& camera, const ConstImageView& photons, index_t first_plane,
                        const ImageView& adu, index_t z, index_t y) {
    const Shape3& shape = photons.shape;
    const auto* const in = static_cast<const In*>(photons.at(z, y, 0));
    auto* const out = static_cast<Out*>(adu.at(z, y, 0));
    const index_t first_pixel = ((first_plane + z) * shape.y + y) * shape.x;
    const auto draws = [&](optics::DrawPurpose purpose, index_t x) {
        return optics::RandomDraws(camera.seed, purpose,
                                   static_cast<std::uint64_t>(first_pixel + x));
    };
    CameraReport report;
    report.pixels = shape.x;
    const double top = std::exp2(camera.bits) - 1;
    for (index_t x = 0; x < shape.x; ++x) {
        const double expected = std::max(0.0, static_cast<double>(in[x * photons.strides.x]));
        const double mean = camera.expected_electrons(expected);
        double electrons = mean;
        if (camera.noise) electrons = draws(optics::DrawPurpose::photons, x).poisson(mean);
        bool saturated = electrons > camera.full_well_e;
        electrons = std::min(electrons, camera.full_well_e);
        if (camera.noise && camera.read_noise_e > 0)
            electrons += camera.read_noise_e * draws(optics::DrawPurpose::read_noise, x).normal();
        const double value = std::nearbyint(electrons / camera.gain_e_per_adu + camera.offset_adu);
        const double recorded = std::clamp(value, 0.0, top);
        saturated = saturated || value > top;
        out[x * adu.strides.x] = static_cast<Out>(recorded);

        const double signal = camera.quantum_efficiency * expected;
        const double error = (recorded - camera.offset_adu) * camera.gain_e_per_adu - mean;
        report.saturated += saturated;
        report.below_zero += value < 0;
        report.peak_photons = std::max(report.peak_photons, expected);
        if (saturated) continue;
        report.signal += signal * signal;
        report.noise += error * error;
    }
    return report;
}

template <class In>
void check_photons(const ConstImageView& photons) {
    for (index_t z = 0; z < photons.shape.z; ++z)
        for (index_t y = 0; y < photons.shape.y; ++y)
            for (index_t x = 0; x < photons.shape.x; ++x) {
                const In value = *static_cast<const In*>(photons.at(z, y, x));
                if (!(static_cast<double>(value) <= max_photons) || std::isinf(value))
                    throw BadData(message("a pixel expects ", value,
                                          " photons, and a camera can be hit by 0 to ", max_photons,
                                          "; scale the image"));
            }
}

template <class In>
CameraReport expose_from(const Camera& camera, const ConstImageView& photons, index_t first_plane,
                         const ImageView& adu, int threads) {
    const bool as_uint8 = adu.type == PixelType::uint8 && camera.bits <= 8;
    if (!as_uint8 && adu.type != PixelType::uint16 && adu.type != PixelType::float32)
        throw InvalidArgument(message("values of ", camera.bits, " bits were asked for as ",
                                      to_string(adu.type),
                                      "; record uint8 (up to 8 bits), uint16 or float32"));
    check_photons<In>(photons);
    const auto record = as_uint8                        ? expose_row<In, std::uint8_t>
                        : adu.type == PixelType::uint16 ? expose_row<In, std::uint16_t>
                                                        : expose_row<In, float>;
    const index_t rows = checked_multiply(photons.shape.z, photons.shape.y);
    std::vector<CameraReport> reports(static_cast<std::size_t>(rows));
    parallel_for(rows, threads, [&](index_t row, int) {
        reports[static_cast<std::size_t>(row)] =
            record(camera, photons, first_plane, adu, row / photons.shape.y, row % photons.shape.y);
    });
    CameraReport total;
    for (const CameraReport& report : reports) total += report;
    return total;
}

constexpr double ratio_tolerance = 1e-9;  // relative rounding error of ratios of decimal lengths

/// Returns the nearest whole number if `ratio` differs from it by rounding only, else `ratio`.
double rounded_if_close(double ratio) {
    const double whole = std::nearbyint(ratio);
    return std::abs(ratio - whole) <= ratio_tolerance * ratio ? whole : ratio;
}

index_t pixels_within(index_t voxels, double ratio) {
    return static_cast<index_t>(static_cast<double>(voxels) / ratio * (1 + ratio_tolerance));
}

/// Samples [begin, end) that a pixel covers, and the covered shares of the first and last sample.
struct PixelFootprint {
    index_t begin;
    index_t end;
    double first;
    double last;

    PixelFootprint(index_t pixel, double ratio, index_t samples) {
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

double Camera::signal_to_noise(double photons) const {
    return quantum_efficiency * photons /
           std::sqrt(expected_electrons(photons) + read_noise_e * read_noise_e);
}

void Camera::check() const {
    check_number("quantum efficiency", quantum_efficiency, 0, 1);
    check_number("background, in photons,", background_photons, 0, max_photons);
    check_number("dark current, in electrons a second,", dark_e_per_s, 0, 1e9);
    check_number("exposure, in seconds,", exposure_s, 0, 1e6);
    check_number("read noise, in electrons,", read_noise_e, 0, 1e6);
    check_number("full well, in electrons,", full_well_e, 1, max_photons);
    check_number("gain, in electrons per ADU,", gain_e_per_adu, 1e-6, 1e6);
    check_number("number of bits", bits, 1, 16);
    check_number("offset, in ADU,", offset_adu, 0, std::exp2(bits) - 1);
}

double CameraReport::signal_to_noise_db() const {
    return 10 * std::log10(signal / noise);
}

CameraReport& CameraReport::operator+=(const CameraReport& other) {
    pixels += other.pixels;
    saturated += other.saturated;
    below_zero += other.below_zero;
    peak_photons = std::max(peak_photons, other.peak_photons);
    signal += other.signal;
    noise += other.noise;
    return *this;
}

CameraReport expose(const Camera& camera, const ConstImageView& photons, index_t first_plane,
                    const ImageView& adu, int threads) {
    camera.check();
    if (photons.shape != adu.shape)
        throw InvalidArgument(message("photons of ", to_string(photons.shape),
                                      " cannot be recorded in an image of ", to_string(adu.shape)));
    check_memory(photons, "the image of photons");
    check_memory(adu, "the recorded image");
    const bool is_in_place =
        photons.data == adu.data && photons.type == adu.type && photons.strides == adu.strides;
    if (!is_in_place && overlap(photons, adu))
        throw InvalidArgument(
            "photons and recorded image overlap in memory: record into memory of its own");
    if (may_repeat_elements(adu))
        throw InvalidArgument(
            "pixels of the recorded image are in the same memory: give strides that keep them "
            "apart");
    threads = thread_count(threads);
    if (photons.type == PixelType::float32)
        return expose_from<float>(camera, photons, first_plane, adu, threads);
    if (photons.type == PixelType::float64)
        return expose_from<double>(camera, photons, first_plane, adu, threads);
    throw InvalidArgument(message("expected photons are float32 or float64, not ",
                                  to_string(photons.type), "; convert them"));
}

CameraGrid::CameraGrid(const Shape3& image, const VoxelSize& voxel, const VoxelSize& pixel)
    : image_(image) {
    double ratio[3];
    for (int axis = 0; axis < 3; ++axis) {
        if (!(voxel[axis] > 0) || !(pixel[axis] > 0) || !std::isfinite(pixel[axis] / voxel[axis]))
            throw InvalidArgument(message("voxels of ", voxel[axis], " µm and camera pixels of ",
                                          pixel[axis], " µm were given along ", axis_name(axis),
                                          "; give positive lengths"));
        ratio[axis] = rounded_if_close(pixel[axis] / voxel[axis]);
        if (axis > 0 && ratio[axis] < 1)
            throw InvalidArgument(message("camera pixels of ", pixel[axis],
                                          " µm are smaller than the image's voxels of ",
                                          voxel[axis], " µm along ", axis_name(axis),
                                          "; make the phantom finer or the pixels larger"));
    }
    focus_step_ = ratio[0];
    height_ = ratio[1];
    width_ = ratio[2];
    shape_ = {pixels_within(image.z - 1, focus_step_) + 1, pixels_within(image.y, height_),
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
    const double depth = static_cast<double>(plane) * focus_step_;
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
    const double share =
        static_cast<double>(plane) * focus_step_ - static_cast<double>(below.begin);
    const index_t lower = planes.shape.z - 1;
    threads = thread_count(threads);
    std::vector<double> rows(static_cast<std::size_t>(checked_multiply(threads, image_.x)));
    parallel_for(shape_.y, threads, [&](index_t j, int thread) {
        double* const row = rows.data() + thread * image_.x;
        std::fill_n(row, image_.x, 0.0);
        const PixelFootprint in_y(j, height_, image_.y);
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
            const PixelFootprint in_x(i, width_, image_.x);
            double sum = 0;
            for (index_t x = in_x.begin; x < in_x.end; ++x) sum += in_x.weight(x) * row[x];
            pixels[j * shape_.x + i] = sum;
        }
    });
}

}  // namespace convolume
