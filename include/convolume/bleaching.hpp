// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bleaching: each exposure destroys some of the fluorescence, so that later planes or times of a
// recording are darker. Its light is scaled back to that of the first exposure.

#include <optional>
#include <string>
#include <vector>

#include "convolume/execution.hpp"
#include "convolume/export.hpp"
#include "convolume/image_stream.hpp"

namespace convolume {

/// An exponential decay: light is in proportion to exp(−rate n) after n exposures.
struct Decay {
    double rate = 0;
    double error = 0;  ///< standard error of the rate; infinite if the exposures do not tell it
    /// Whether light changes by more than chance explains: twice the standard error.
    bool is_found() const { return rate > 2 * error || rate < -2 * error; }
};

/// Fits a decay to the light of exposures by least squares of its logarithm. Light that is not
/// above 0 counts as not measured. The error includes that neighboring exposures of a specimen
/// differ alike, by their correlation.
/// @code{.cpp}
/// const Decay decay = fit_decay({1000, 901, 812, 731, 659});
/// assert(std::abs(decay.rate - 0.104) < 0.001 && decay.is_found());
/// @endcode
CONVOLUME_API Decay fit_decay(const std::vector<double>& light);

/// Whether a PSF keeps the light of a point in every plane, as that of a widefield microscope does.
/// The planes of a recording then have equal light, whatever the object is, so that they tell
/// bleaching from depth. Planes at the PSF's ends must have at least half of the light of its
/// middle, since out of focus some light leaves the PSF's extents.
CONVOLUME_API bool keeps_light_of_planes(const ConstImageView& psf);

/// Bleaching of one channel.
struct CONVOLUME_API Bleaching {
    /// Decay from plane to plane, and from each time's first plane to the next time's.
    double per_plane = 0, per_time = 0;
    index_t planes = 1, times = 1;
    double offset = 0;    ///< value of a pixel without light
    std::string finding;  ///< such as "light falls by 23 % ± 2 % from the first plane to the last"

    bool is_found() const { return per_plane != 0 || per_time != 0; }
    /// Returns the light of a plane as a multiple of that of the brightest exposure.
    double factor(index_t t, index_t z) const;
};

/// Finds the bleaching of a channel. `along_z`: whether planes tell it (keeps_light_of_planes());
/// times always do. Pixels that are marked as missing (missing_pixel) are left out. If `offset` is
/// not given, it is seen from the noise of the first volume. Throws BadData if the noise does not
/// tell it.
/// @code{.cpp}
/// Volume image({12, 32, 32}, PixelType::float32);
/// for (index_t i = 0; i < 12 * 1024; ++i)
///     image.elements<float>()[i] = 100 + 50 * std::exp(-0.1F * static_cast<float>(i / 1024));
/// ViewSource source(image.view());
/// const Bleaching found = find_bleaching(source, 0, true, 100, 1);
/// assert(std::abs(found.factor(0, 11) - std::exp(-1.1)) < 1e-4);
/// @endcode
CONVOLUME_API Bleaching find_bleaching(ImageSource& image, index_t c, bool along_z,
                                       std::optional<double> offset, int threads);

/// One volume, whose light is scaled back to that of the brightest exposure, as float32. Missing
/// pixels stay marked. The other source and the bleaching must outlive it.
/// @code{.cpp}
/// Volume image({2, 8, 8}, PixelType::uint16);
/// std::fill_n(image.elements<std::uint16_t>(), 2 * 64, 300);
/// Bleaching bleaching{std::log(2), 0, 2, 1, 100};
/// ViewSource source(image.view());
/// UnbleachedVolume scaled(source, bleaching, 0);
/// Volume read({2, 8, 8}, PixelType::float32);
/// scaled.read_box(0, 0, {{0, 0, 0}, {2, 8, 8}}, read.view());
/// assert(read.elements<float>()[0] == 300 && read.elements<float>()[64] == 500);
/// @endcode
class CONVOLUME_API UnbleachedVolume : public ImageSource {
  public:
    /// `t`: number of the time that the volume is of. Pixels of at least `saturation` become bounds
    /// (saturation_of_bounds()).
    UnbleachedVolume(ImageSource& source, const Bleaching& bleaching, index_t t,
                     std::optional<double> saturation = {})
        : source_(source), bleaching_(bleaching), t_(t), saturation_(saturation) {}
    StackFormat format() const override;
    void read_box(index_t t, index_t c, const Box3& box, const ImageView& target) override;

    /// Returns the DeconvolveOptions::saturation of such a volume, whose saturated pixels hold
    /// bounds of their own.
    static double saturation_of_bounds();

  private:
    ImageSource& source_;
    const Bleaching& bleaching_;
    index_t t_;
    std::optional<double> saturation_;
};

}  // namespace convolume
