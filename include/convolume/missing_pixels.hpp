// SPDX-License-Identifier: Apache-2.0
#pragma once
// Pixels that say nothing of the object, or less than others: those without data, such as the
// margins of a registration, hot or dead pixels of a camera, and saturated ones. Deconvolver leaves
// them out of its estimates of background and noise, and of the likelihood; saturated ones are
// lower bounds there. Axes are z, y, x.

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "convolume/export.hpp"
#include "convolume/image_stream.hpp"

namespace convolume {

enum class DeconvolveMethod;  // deconvolve_options.hpp

/// Value of a float32 pixel that is left out. A Deconvolver for images with such pixels is planned
/// with DeconvolveOptions::saturation of at most this value.
inline constexpr float missing_pixel = std::numeric_limits<float>::max();

/// Pixels at the largest value of their type or camera.
struct SaturatedPixels {
    double value = 0;     ///< for DeconvolveOptions::saturation
    index_t count = 0;    ///< number of pixels that have it
    std::string finding;  ///< such as "262 pixels (0.5 %) are saturated, at 4095"
};

/// Returns whether `value` is the largest of an integer type, of a camera of 8, 10 to 14 or 16
/// bits, or of the camera whose largest value is given.
/// @code{.cpp}
/// assert(is_full_scale(4095, PixelType::uint16) && !is_full_scale(4094, PixelType::uint16));
/// assert(is_full_scale(127, PixelType::int8) && !is_full_scale(127, PixelType::uint8));
/// @endcode
CONVOLUME_API bool is_full_scale(double value, PixelType type,
                                 std::optional<double> camera_maximum = {});

/// Pixels of one volume that are left out: one bit for each pixel of planes that have any.
class CONVOLUME_API MissingPixels {
  public:
    MissingPixels() = default;
    explicit MissingPixels(const Shape3& shape)
        : shape_(shape), planes_(static_cast<std::size_t>(shape.z)) {}

    const Shape3& shape() const { return shape_; }
    /// Returns the number of pixels that are left out.
    index_t count() const { return count_; }
    bool contains(const Index3& pixel) const;
    bool has_plane(index_t z) const { return !planes_[static_cast<std::size_t>(z)].empty(); }
    /// Returns the smallest box around the pixels that are left out. If there are none, its end is
    /// below its beginning.
    Box3 box() const;

    /// Leaves out a pixel, or all pixels in a box.
    void add(const Index3& pixel);
    void add(const Box3& box);
    /// Leaves out the pixels that are 0 in a mask of the same shape. `name` is that of the mask.
    void add_mask(const ConstImageView& mask, const std::string& name);
    /// Leaves out what the other volume, of the same shape, leaves out.
    void add(const MissingPixels& other);
    /// Takes in again what the other volume, of the same shape, leaves out.
    void remove(const MissingPixels& other);
    /// Sets the pixels of `target` that are left out to missing_pixel. `target` is float32 and has
    /// the shape of `box`.
    void mark(const Box3& box, const ImageView& target) const;

    /// A kind of missing pixels that was found, such as
    ///     "4032 pixels (1 %) have no data: the value 0 at z 0-23, y 2-13, x 2-15"
    std::vector<std::string> findings;
    /// Saturated pixels, which are not left out, if so many were found that they matter.
    std::optional<SaturatedPixels> saturated;

  private:
    std::vector<std::uint64_t>& plane(index_t z);

    Shape3 shape_{0, 0, 0};
    std::vector<std::vector<std::uint64_t>> planes_;  ///< bits of pixels in C order
    index_t count_ = 0;
};

/// Ratios of a pixel's light and the mean of its eight neighbors in the plane that a PSF allows,
/// whatever the object is.
struct PsfSharpness {
    double least = 0;
    /// Largest ratio to the mean without the brightest neighbor, which adds up as light does: that
    /// of a sum is at least the sum of those of its terms.
    double most = std::numeric_limits<double>::infinity();

    /// Widens the limits to those of another PSF, whose light may be in the image, too.
    void include(const PsfSharpness& other) {
        least = std::min(least, other.least);
        most = std::max(most, other.most);
    }
};
/// Returns the sharpness of a PSF; one without limits if the PSF may be one pixel wide.
CONVOLUME_API PsfSharpness sharpness_of(const ConstImageView& psf);

/// Search for missing pixels.
struct MissingPixelOptions {
    /// Rule for pixels without data.
    struct NoDataRule {
        /// Whether regions of one constant value, which photons cannot repeat so, and margins
        /// that are darker than all of the image have no data.
        bool find = true;
        std::optional<double> value;  ///< all pixels of this value have no data
        bool operator==(const NoDataRule&) const = default;
    };
    NoDataRule no_data;
    /// Whether pixels that are brighter or darker beside their neighbors than the PSF and the
    /// noise allow are left out.
    bool find_hot_pixels = true;
    /// Whether NaN and infinities are left out. Otherwise nothing is found in an image that has
    /// any, which a deconvolution refuses.
    bool leave_out_nonfinite = false;
    bool find_saturated = true;            ///< whether saturated pixels are looked for
    std::optional<double> camera_maximum;  ///< largest value of the camera, if it is known
    /// Memory for planes that are read at once. More than 128 MiB are taken only for a plane for
    /// each thread.
    index_t most_bytes = index_t{1} << 30;
};

/// Returns the search that is of use to a method: one without a likelihood compares all pixels.
CONVOLUME_API MissingPixelOptions searched_by(DeconvolveMethod, MissingPixelOptions);

/// Finds the missing pixels of channel c at time t of an image. The sharpness of a
/// deconvolution's PSF limits how much a pixel may differ from its neighbors. Reads the image
/// twice.
/// @code{.cpp}
/// Volume image({4, 32, 32}, PixelType::float32), psf({1, 3, 3}, PixelType::float32);
/// for (index_t i = 0; i < 9; ++i) psf.elements<float>()[i] = 1;
/// for (index_t i = 0; i < 4 * 1024; ++i) image.elements<float>()[i] = 100 + (i * i) % 7;
/// for (index_t z = 0; z < 4; ++z) image.view().at<float>(z, 16, 16) = 5000;
/// ViewSource source(image.view());
/// const PsfSharpness sharpness = sharpness_of(psf.view());
/// const MissingPixels missing = find_missing_pixels(source, 0, 0, sharpness, {}, 1);
/// assert(missing.count() == 4 && missing.contains({2, 16, 16}));
/// @endcode
CONVOLUME_API MissingPixels find_missing_pixels(ImageSource& image, index_t t, index_t c,
                                                const PsfSharpness& sharpness,
                                                const MissingPixelOptions& options, int threads);

/// An image whose missing pixels are marked, as float32. The other source and the missing pixels,
/// which are those of all its volumes, must outlive it.
/// @code{.cpp}
/// Volume image({2, 8, 8}, PixelType::uint16);
/// MissingPixels missing(image.shape());
/// missing.add(Box3{{0, 0, 0}, {1, 8, 8}});
/// ViewSource source(image.view());
/// MarkedSource marked(source, missing);
/// Volume read({2, 8, 8}, PixelType::float32);
/// marked.read_box(0, 0, {{0, 0, 0}, {2, 8, 8}}, read.view());
/// assert(read.elements<float>()[0] == missing_pixel && read.elements<float>()[64] == 0);
/// @endcode
class CONVOLUME_API MarkedSource : public ImageSource {
  public:
    MarkedSource(ImageSource& source, const MissingPixels& missing)
        : source_(source), missing_(missing) {}
    StackFormat format() const override;
    void read_box(index_t t, index_t c, const Box3& box, const ImageView& target) override;

  private:
    ImageSource& source_;
    const MissingPixels& missing_;
};

}  // namespace convolume
