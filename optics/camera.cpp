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

constexpr double most_photons = 1e15;  // counts beyond are no whole numbers in float64

void check_number(const char* what, double value, double lowest, double highest) {
    if (!(value >= lowest && value <= highest))
        throw InvalidArgument(
            message("the camera's ", what, " is ", value, ": give ", lowest, " to ", highest));
}

/// One row, from photons of type In to ADU of type Out.
template <class In, class Out>
CameraReport expose_row(const Camera& camera, const In* photons, index_t in_stride, Out* adu,
                        index_t out_stride, index_t count, index_t first_pixel) {
    CameraReport report;
    report.pixels = count;
    const double top = std::exp2(camera.bits) - 1;
    for (index_t x = 0; x < count; ++x) {
        const double expected = std::max(0.0, static_cast<double>(photons[x * in_stride]));
        const double mean = camera.expected_electrons(expected);
        double electrons = mean;
        if (camera.noise) {
            const auto pixel = static_cast<std::uint64_t>(first_pixel + x);
            electrons = optics::Draws(camera.seed, optics::Purpose::photons, pixel).poisson(mean);
        }
        bool saturated = electrons > camera.full_well_e;
        electrons = std::min(electrons, camera.full_well_e);
        if (camera.noise && camera.read_noise_e > 0) {
            const auto pixel = static_cast<std::uint64_t>(first_pixel + x);
            electrons += camera.read_noise_e *
                         optics::Draws(camera.seed, optics::Purpose::read_noise, pixel).normal();
        }
        const double value = std::nearbyint(electrons / camera.gain_e_per_adu + camera.offset_adu);
        const double recorded = std::clamp(value, 0.0, top);
        saturated = saturated || value > top;
        adu[x * out_stride] = static_cast<Out>(recorded);

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
void check_photons(const In* row, index_t stride, index_t count) {
    for (index_t x = 0; x < count; ++x)
        if (!(static_cast<double>(row[x * stride]) <= most_photons) || std::isinf(row[x * stride]))
            throw BadData(message("a pixel expects ", row[x * stride],
                                  " photons, and a camera can be hit by 0 to ", most_photons,
                                  "; scale the image"));
}

template <class In, class Out>
CameraReport expose_as(const Camera& camera, const ConstImageView& photons, index_t first_plane,
                       const ImageView& adu, int threads) {
    const Shape3 shape = photons.shape;
    const index_t rows = checked_multiply(shape.z, shape.y);
    for (index_t row = 0; row < rows; ++row)
        check_photons(static_cast<const In*>(photons.at(row / shape.y, row % shape.y, 0)),
                      photons.strides.x, shape.x);
    std::vector<CameraReport> reports(static_cast<std::size_t>(rows));
    parallel_for(rows, threads, [&](index_t row, int) {
        const index_t z = row / shape.y, y = row % shape.y;
        reports[static_cast<std::size_t>(row)] =
            expose_row(camera, static_cast<const In*>(photons.at(z, y, 0)), photons.strides.x,
                       static_cast<Out*>(adu.at(z, y, 0)), adu.strides.x, shape.x,
                       ((first_plane + z) * shape.y + y) * shape.x);
    });
    CameraReport total;
    for (const CameraReport& report : reports) total += report;
    return total;
}

template <class In>
CameraReport expose_from(const Camera& camera, const ConstImageView& photons, index_t first_plane,
                         const ImageView& adu, int threads) {
    if (adu.type == PixelType::uint8 && camera.bits <= 8)
        return expose_as<In, std::uint8_t>(camera, photons, first_plane, adu, threads);
    if (adu.type == PixelType::uint16)
        return expose_as<In, std::uint16_t>(camera, photons, first_plane, adu, threads);
    if (adu.type == PixelType::float32)
        return expose_as<In, float>(camera, photons, first_plane, adu, threads);
    throw InvalidArgument(message("values of ", camera.bits, " bits were asked for as ",
                                  to_string(adu.type),
                                  "; record uint8 (up to 8 bits), uint16 or float32"));
}

}  // namespace

double Camera::signal_to_noise(double photons) const {
    return quantum_efficiency * photons /
           std::sqrt(expected_electrons(photons) + read_noise_e * read_noise_e);
}

void Camera::check() const {
    check_number("quantum efficiency", quantum_efficiency, 0, 1);
    check_number("background, in photons,", background_photons, 0, most_photons);
    check_number("dark current, in electrons a second,", dark_e_per_s, 0, 1e9);
    check_number("exposure, in seconds,", exposure_s, 0, 1e6);
    check_number("read noise, in electrons,", read_noise_e, 0, 1e6);
    check_number("full well, in electrons,", full_well_e, 1, most_photons);
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
    threads = thread_count(threads);
    if (photons.type == PixelType::float32)
        return expose_from<float>(camera, photons, first_plane, adu, threads);
    if (photons.type == PixelType::float64)
        return expose_from<double>(camera, photons, first_plane, adu, threads);
    throw InvalidArgument(message("expected photons are float32 or float64, not ",
                                  to_string(photons.type), "; convert them"));
}

}  // namespace convolume
