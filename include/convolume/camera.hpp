// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a camera records: the pixel grid on which it collects light, and the noise and rounding of
// its pixels.

#include <cstdint>

#include "convolume/export.hpp"
#include "convolume/image_view.hpp"
#include "convolume/shape.hpp"

namespace convolume {

/// A pixel that S photons of the specimen are expected to hit records, with mean charge
/// λ = quantum_efficiency (S + background_photons) + dark_e_per_s exposure_s electrons,
///   electrons = min(Poisson(λ), full_well_e) + read_noise_e Normal(0, 1)
///   ADU = electrons / gain_e_per_adu + offset_adu, rounded and clipped to 0 … 2^bits − 1.
/// The defaults are those of a scientific CMOS camera of today.
struct CONVOLUME_API Camera {
    double quantum_efficiency = 0.8;  ///< electrons a photon, 0 to 1
    double background_photons = 0;    ///< a pixel, on top of the specimen's
    double dark_e_per_s = 0.06;
    double exposure_s = 0.1;
    double read_noise_e = 1.6;  ///< standard deviation
    double full_well_e = 30000;
    double gain_e_per_adu = 0.5;
    double offset_adu = 100;
    int bits = 16;      ///< of the converter, 1 to 16
    bool noise = true;  ///< false: the mean charge instead of the Poisson count, no read noise
    std::uint64_t seed = 1;

    /// λ for a pixel that `photons` of the specimen are expected to hit.
    double expected_electrons(double photons) const {
        return quantum_efficiency * (photons + background_photons) + dark_e_per_s * exposure_s;
    }
    /// quantum_efficiency S / √(λ + read_noise_e²): the signal over its standard deviation.
    double signal_to_noise(double photons) const;
    /// Throws InvalidArgument for what no camera has.
    void check() const;
};

/// Facts about recorded pixels; those of several recordings add up.
struct CONVOLUME_API CameraReport {
    index_t pixels = 0;
    index_t saturated = 0;    ///< full wells, or values above the converter's range
    index_t below_zero = 0;   ///< values below 0, recorded as 0
    double peak_photons = 0;  ///< expected of the specimen at its brightest pixel
    double signal = 0;        ///< Σ (quantum_efficiency S)² where not saturated, electrons²
    double noise = 0;         ///< Σ (recorded − λ)² there, recorded in electrons

    /// 10 log₁₀(signal / noise); infinite without noise.
    double signal_to_noise_db() const;
    CameraReport& operator+=(const CameraReport& other);
};

/// Records `photons` (float32 or float64, expected of the specimen; negative ones count as 0) in
/// `adu` (uint8 for up to 8 bits, uint16 or float32), of the same shape. The planes have numbers
/// from `first_plane` on in the recording, over all slices, channels and frames: noise depends on
/// the camera's seed, that number and the pixel alone, so it is the same to the last bit for any
/// number of threads, and however planes are grouped. (Between machines the last bit of log and cos
/// may differ, and with it, very rarely, a count.) Throws InvalidArgument, and BadData for photons
/// that are not finite or beyond 1e15.
CONVOLUME_API CameraReport expose(const Camera& camera, const ConstImageView& photons,
                                  index_t first_plane, const ImageView& adu, int threads = 0);

/// Planes [begin, end) of an image.
struct PlaneRange {
    index_t begin = 0;
    index_t end = 0;
};

/// Pixel (j, i) covers [j, j+1) · pixel.y × [i, i+1) · pixel.x from the corner of voxel (0, 0), and
/// holds the sum of the voxels below it, those at its edges in part: no light is lost or counted
/// twice. Plane k is the image at depth k · pixel.z, interpolated between the two planes next to
/// it. The camera ends with the last pixel and plane that are wholly inside the image.
class CONVOLUME_API CameraGrid {
  public:
    /// `voxel` is the image's, `pixel` the camera's: its z the step of the focus. Throws
    /// InvalidArgument for pixels smaller than a voxel or larger than the image.
    CameraGrid(const Shape3& image, const VoxelSize& voxel, const VoxelSize& pixel);

    const Shape3& shape() const { return shape_; }

    /// Plane `plane` of the camera as the 1 × y × x float64 array `pixels`, from `image` (float32
    /// or float64, contiguous rows); the same to the last bit for any number of threads.
    void sample(const ConstImageView& image, index_t plane, double* pixels, int threads = 0) const;

    /// The one or two planes of the image that plane `plane` of the camera is made of.
    PlaneRange planes_below(index_t plane) const;
    /// sample() from an image of those planes alone.
    void sample_planes(const ConstImageView& planes, index_t plane, double* pixels,
                       int threads = 0) const;

  private:
    void check(const ConstImageView& image, index_t planes, index_t plane,
               const double* pixels) const;

    Shape3 image_;
    Shape3 shape_;
    double step_;    // in planes
    double height_;  // of a pixel, in voxels
    double width_;
};

}  // namespace convolume
