// SPDX-License-Identifier: Apache-2.0
// Simulates a microscope in memory: a specimen of beads, the PSF of an objective, a camera's
// recording, and its deconvolution. Fails unless the result is closer to the specimen than the
// recording.

#include <cmath>
#include <iostream>

#include "convolume/camera.hpp"
#include "convolume/convolver.hpp"
#include "convolume/deconvolver.hpp"
#include "convolume/phantom.hpp"
#include "convolume/psf.hpp"

using namespace convolume;

namespace {

/// Returns the root mean square difference, after `image` is scaled by the factor that fits best.
double distance(const Volume& image, const Volume& truth) {
    const float *a = image.elements<float>(), *b = truth.elements<float>();
    const index_t count = element_count(truth.shape());
    double products = 0, squares = 0, sum = 0;
    for (index_t i = 0; i < count; ++i) {
        products += static_cast<double>(a[i]) * static_cast<double>(b[i]);
        squares += static_cast<double>(a[i]) * static_cast<double>(a[i]);
    }
    for (index_t i = 0; i < count; ++i)
        sum +=
            std::pow(products / squares * static_cast<double>(a[i]) - static_cast<double>(b[i]), 2);
    return std::sqrt(sum / static_cast<double>(count));
}

}  // namespace

int main() {
    PhantomOptions specimen;
    specimen.kind = PhantomKind::beads;
    specimen.shape = {24, 80, 80};
    specimen.count = 40;
    specimen.radius_um = 0.2;
    Volume truth(specimen.shape, PixelType::float32);
    Phantom(specimen).draw(0, truth.view());

    PsfOptions objective;
    objective.objective.na = 1.2;
    objective.objective.ni = objective.objective.ni0 = 1.33;  // refractive index of water
    objective.voxel = specimen.voxel;
    objective.size = psf_size_for(objective, 0.9);
    const Psf psf = make_psf(objective);

    Options options;
    options.normalization = KernelNormalization::sum;
    Volume light(specimen.shape, PixelType::float32);
    Convolver(specimen.shape, psf.values.view(), options).execute(truth.view(), light.view());

    Camera camera;
    camera.background_photons = 3;
    Volume recorded(specimen.shape, PixelType::uint16);
    const CameraReport report = expose(camera, light.view(), 0, recorded.view());

    DeconvolveOptions restoration;
    restoration.iterations = 20;
    restoration.background =
        camera.offset_adu + camera.expected_electrons(0) / camera.gain_e_per_adu;
    Volume restored(specimen.shape, PixelType::float32);
    Deconvolver(specimen.shape, psf.values.view(), restoration)
        .execute(recorded.view(), restored.view());

    const double before = distance(light, truth), after = distance(restored, truth);
    std::cout << "PSF " << to_string(objective.size) << ", recorded at "
              << report.signal_to_noise_db() << " dB; distance to the specimen: " << before
              << " before noise, " << after << " deconvolved\n";
    return after < 0.8 * before ? 0 : 1;
}
