// SPDX-License-Identifier: Apache-2.0
#pragma once
// The PSF that suits an image: the microscope in the metadata of its file, and the size that its
// extents require.

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "convolume/error.hpp"
#include "convolume/execution.hpp"
#include "convolume/image_file.hpp"
#include "convolume/psf.hpp"

namespace convolume {

/// The parameters of a PSF that metadata of images give.
struct MicroscopeParameters {
    std::optional<double> na;
    std::optional<double> ni;
    std::optional<Modality> modality;
    std::optional<double> wavelength_um;
    std::optional<double> excitation_um;
    std::optional<double> pinhole_au;
};

/// Names, as in the table of PsfOptions, and members of the parameters that are numbers.
inline constexpr std::array<std::pair<const char*, std::optional<double> MicroscopeParameters::*>,
                            5>
    microscope_numbers{{{"na", &MicroscopeParameters::na},
                        {"ni", &MicroscopeParameters::ni},
                        {"wavelength_um", &MicroscopeParameters::wavelength_um},
                        {"excitation_um", &MicroscopeParameters::excitation_um},
                        {"pinhole_au", &MicroscopeParameters::pinhole_au}}};

/// The microscope of an image.
struct RecordedOptics {
    MicroscopeParameters parameters;  ///< those of the image that the user has not given
    std::string text;  ///< "NA 1.4, ni 1.515 (Oil), emission 520 nm"; empty without parameters
    /// Parameters that neither the image nor the user gives, with their defaults, if `text` is not
    /// empty: "ni 1.515 assumed (the image does not say the immersion)".
    std::string assumed;
    std::vector<Sentence> warnings;  ///< warnings of improbable assumptions
};

/// Returns the parameters of an image for the PSF of a channel. Parameters that the user has given
/// are left out, and those that the modality, given or from the file, does not use.
///
/// Parameters in `others`, such as those of a side file, are not assumed if the image lacks them.
RecordedOptics recorded_optics(const io::ImageMetadata& image, index_t channel,
                               const MicroscopeParameters& given,
                               const MicroscopeParameters& others = {});

/// Returns the refractive index of a medium at 23 °C and about 550 nm: OME's "Oil", "WaterDipping",
/// …, and "air", "silicone", "glycerol". Capitals and spaces do not matter. Returns nothing for
/// other words.
std::optional<double> index_of_immersion(std::string_view medium);

/// Returns the voxel of a PSF for `image`, or nothing if its voxel size is not known. If the image
/// has one plane, its z may be unknown.
std::optional<VoxelSize> psf_voxel_for(const io::ImageMetadata& image);

/// Returns psf_size_for_image() for a share of light, or psf_size_for() without an image. The
/// default of the share is 0.95. For an image, a widefield PSF, whose far planes are wide, holds by
/// default 0.95 of the light of the middle plane and 0.5 of that of every other plane.
Shape3 automatic_psf_size(const PsfOptions& options, const std::optional<Shape3>& image,
                          std::optional<double> share, const ExecutionContext& context);

/// Returns the value from which beads count as saturated: the largest one of the stack (float32,
/// contiguous), if it is the largest of the recorded type or of a camera.
std::optional<double> bead_saturation(const ConstImageView& stack, PixelType recorded);

/// Returns the size of a PSF that is measured from beads: the given one or, as far as the stack
/// allows, five Airy radii of the model across and twice Rayleigh's distance along z, to either
/// side. Throws InvalidArgument if neither size nor model is given.
Shape3 bead_psf_size(const std::optional<Shape3>& given, const std::optional<PsfOptions>& model,
                     const Shape3& stack);

}  // namespace convolume
