// SPDX-License-Identifier: Apache-2.0
#pragma once
// A simulated camera: the pixel grid on which it collects light, and the noise and rounding of its
// pixels.

#include <cstdint>

#include "convolume/export.hpp"
#include "convolume/image_view.hpp"
#include "convolume/shape.hpp"

namespace convolume {

/// A camera, which records S expected photons of the specimen in a pixel as analog-to-digital units
/// (ADU). λ is the mean charge in electrons:
///
///     λ         = quantum_efficiency (S + background_photons) + dark_e_per_s exposure_s
///     electrons = min(Poisson(λ), full_well_e) + read_noise_e Normal(0, 1)
///     ADU       = electrons / gain_e_per_adu + offset_adu
///
/// ADU are rounded and clipped to 0 … 2^bits − 1. The terms are those of the linear camera model of
/// the standard EMVA 1288. The defaults are those of a modern scientific CMOS camera.
/// @code{.cpp}
/// Camera camera;
/// camera.full_well_e = 20000;
/// camera.seed = 7;
/// camera.check();
/// std::cout << camera.signal_to_noise(100) << " at 100 photons\n";
/// @endcode
struct CONVOLUME_API Camera {
    double quantum_efficiency = 0.8;  ///< electrons that a photon releases, 0 to 1
    double background_photons = 0;    ///< background photons in a pixel
    double dark_e_per_s = 0.06;       ///< electrons that a dark pixel collects in a second
    double exposure_s = 0.1;          ///< exposure time in seconds
    double read_noise_e = 1.6;        ///< standard deviation of the read noise in electrons
    double full_well_e = 30000;       ///< electrons that a pixel can hold
    double gain_e_per_adu = 0.5;      ///< electrons that raise the converter's value by 1
    double offset_adu = 100;          ///< converter's value without electrons
    int bits = 16;                    ///< bits of the converter, 1 to 16
    bool noise = true;                ///< if false, the charge is exactly λ, without read noise
    std::uint64_t seed = 1;           ///< seed of the random numbers

    /// Returns λ, in electrons, for a pixel with `photons` expected photons of the specimen.
    double expected_electrons(double photons) const {
        return quantum_efficiency * (photons + background_photons) + dark_e_per_s * exposure_s;
    }
    /// Returns the signal divided by its standard deviation, for S = `photons`:
    ///
    ///     quantum_efficiency S / √(λ + read_noise_e²)
    double signal_to_noise(double photons) const;
    /// Throws InvalidArgument if a value is outside the range that cameras have.
    void check() const;
};

/// Figures about recorded pixels. Reports of several recordings can be added.
/// @code{.cpp}
/// CameraReport all;
/// const Volume light({1, 64, 64}, PixelType::float32);
/// Volume recorded(light.shape(), PixelType::uint16);
/// for (index_t plane = 0; plane < 3; ++plane)
///     all += expose({}, light.view(), plane, recorded.view());
/// assert(all.pixels == 3 * 64 * 64);
/// @endcode
struct CONVOLUME_API CameraReport {
    index_t pixels = 0;       ///< number of pixels
    index_t saturated = 0;    ///< number of full wells and of values above the converter's range
    index_t below_zero = 0;   ///< number of values below 0, recorded as 0
    double peak_photons = 0;  ///< expected photons of the specimen at its brightest pixel
    double signal = 0;  ///< Σ (quantum_efficiency S)² over pixels not saturated, electrons²
    double noise = 0;   ///< Σ (recorded electrons − λ)² over the same pixels, electrons²

    /// Returns 10 log₁₀(signal / noise), which is infinite without noise.
    double signal_to_noise_db() const;
    /// Adds counts and sums, and keeps the larger peak.
    CameraReport& operator+=(const CameraReport& other);
};

/// Records the expected photons of the specimen in each pixel. `photons` is float32 or float64, and
/// negative photons count as 0. `adu` has the same shape (z, y, x), and is uint8 for up to 8 bits,
/// uint16 or float32; it may be `photons` itself, but must not overlap them otherwise.
/// `first_plane` is the number of the first plane in the recording, counted over
/// all slices, channels and frames.
///
/// Noise depends on the camera's seed, the plane's number and the pixel alone. It is the same to
/// the last bit for any number of threads and any grouping of planes. Between machines the last bit
/// of log and cos may differ, and therefore, very rarely, a count. Throws InvalidArgument, and
/// BadData for photons that are not finite or beyond 1e15.
/// @code{.cpp}
/// Volume light({4, 64, 64}, PixelType::float32), recorded(light.shape(), PixelType::uint16);
/// std::fill_n(light.elements<float>(), element_count(light.shape()), 200.0F);
/// const CameraReport report = expose(Camera{}, light.view(), 0, recorded.view());
/// std::cout << report.signal_to_noise_db() << " dB\n";
/// @endcode
CONVOLUME_API CameraReport expose(const Camera& camera, const ConstImageView& photons,
                                  index_t first_plane, const ImageView& adu, int threads = 0);

/// A range [begin, end) of planes of an image.
struct PlaneRange {
    index_t begin = 0;
    index_t end = 0;
};

/// The grid of a camera's pixels over an image of voxels. Pixel (j, i) covers, from the corner of
/// voxel (0, 0),
///
///     [j, j+1) · pixel.y  ×  [i, i+1) · pixel.x
///
/// It holds the sum of the voxels that it covers, with their fractions at its edges, so that no
/// light is lost or counted twice. Plane k is the image at depth k · pixel.z, interpolated linearly
/// between the two nearest planes. The camera ends with the last pixel and plane that are wholly
/// inside the image.
/// @code{.cpp}
/// const Volume image({20, 90, 90}, PixelType::float32);
/// const CameraGrid grid(image.shape(), {0.1, 0.05, 0.05}, {0.3, 0.15, 0.15});
/// assert(grid.shape().y == 30 && grid.shape().x == 30);
/// std::vector<double> pixels(30 * 30);
/// grid.sample(image.view(), 2, pixels.data());
/// @endcode
class CONVOLUME_API CameraGrid {
  public:
    /// `image` is the shape of the image, and `voxel` its voxel. `pixel` is the camera's pixel,
    /// with the step of the focus as z. Throws InvalidArgument for pixels smaller than a voxel or
    /// larger than the image.
    CameraGrid(const Shape3& image, const VoxelSize& voxel, const VoxelSize& pixel);

    /// Returns the camera's extents (z, y, x) in planes and pixels.
    const Shape3& shape() const { return shape_; }

    /// Computes plane `plane` of the camera as y × x contiguous values `pixels`. `image` is float32
    /// or float64 with contiguous rows. Results are the same to the last bit for any number of
    /// threads. Throws InvalidArgument.
    void sample(const ConstImageView& image, index_t plane, double* pixels, int threads = 0) const;

    /// Returns the one or two planes of the image from which plane `plane` is interpolated.
    PlaneRange planes_below(index_t plane) const;
    /// Computes as sample() does, from an image that has the planes_below() alone.
    void sample_planes(const ConstImageView& planes, index_t plane, double* pixels,
                       int threads = 0) const;

  private:
    void check(const ConstImageView& image, index_t planes, index_t plane,
               const double* pixels) const;

    Shape3 image_;
    Shape3 shape_;
    double focus_step_;  // step of the focus, in planes of the image
    double height_;      // height of a pixel, in voxels
    double width_;       // width of a pixel, in voxels
};

}  // namespace convolume
