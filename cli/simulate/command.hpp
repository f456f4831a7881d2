// SPDX-License-Identifier: Apache-2.0
#pragma once
// `convolume simulate`: its request, and what its two runs have in common. One run records a
// specimen as a microscope sees it, the other one several views of it.

#include <optional>
#include <vector>

#include "cli/images/image_request.hpp"
#include "cli/views/view_options.hpp"
#include "convolume/camera.hpp"

namespace convolume::cli {

/// The request of the command line. Its second result is the photons that are expected (--truth).
struct SimulateRequest : ImageRequest {
    SimulateRequest() { options.normalization = KernelNormalization::sum; }

    Options options;
    /// Side of a camera pixel in the sample; default: the phantom's voxel.
    std::optional<double> pixel_um;
    std::optional<double> step_um;  ///< focus step; default: distance of the phantom's planes
    double photons = 1000;          ///< expected photons at the brightest pixel
    std::optional<double> photons_per_unit;  ///< factor for the light, instead of `photons`
    Camera camera;
    int view_count = 0;  ///< number of views; 0 without --views
    ViewRequest views;
    std::vector<Shape3> view_sizes;
};

/// Checks the camera and the light. Throws InvalidArgument, or BadData if an image is complex.
void check_light(const SimulateRequest& request, PixelType phantom, PixelType psf);

/// Sets what the recording of a camera has instead of the phantom's metadata.
void set_recorded(const SimulateRequest& request, const Shape3& shape, io::ImageMetadata& output);

/// Returns the photons per unit of brightness for the value of the brightest pixel. Throws BadData
/// if it has no light.
double photons_for_peak(const SimulateRequest& request, double peak);

/// Light that was recorded.
struct RecordedLight {
    CameraReport camera;  ///< camera's report on all pixels
    double photons_per_unit = 0;
    index_t negative_samples = 0;  ///< number of negative samples of the phantom
};

void tell_camera(const Facts& facts, const Camera& camera, const io::ImageMetadata& recorded);
void tell_recorded(const Facts& facts, const Camera& camera, const RecordedLight& light);

/// Takes the PSFs of --psf for the views. Throws InvalidArgument if the request does not suit
/// views.
void take_view_psfs(SimulateRequest& request, const ManyFilesRequest& many);

/// Records several views of a phantom.
void simulate_views(const SimulateRequest& request);

}  // namespace convolume::cli
