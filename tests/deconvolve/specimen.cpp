// SPDX-License-Identifier: Apache-2.0
#include "tests/deconvolve/specimen.hpp"

#include <cmath>

namespace convolume::testing {

namespace {

double uniform_sum(const Array& array) {
    double sum = 0;
    for (const Complex& value : array.values) sum += value.real();
    return sum;
}

Array normalized(Array array) {
    const double sum = uniform_sum(array);
    for (Complex& value : array.values) value /= sum;
    return array;
}

// Returns the brightness at distance d from a bead of standard deviation 0.8 samples.
double profile(double d) {
    return std::exp(-d * d / (2 * 0.8 * 0.8));
}

void add_bead(Array& object, const Bead& bead, const Index3& origin) {
    Array spot(object.shape);
    double sum = 0;
    for (index_t z = 0; z < object.shape.z; ++z)
        for (index_t y = 0; y < object.shape.y; ++y)
            for (index_t x = 0; x < object.shape.x; ++x) {
                const double value = profile(static_cast<double>(z - origin.z) - bead.at[0]) *
                                     profile(static_cast<double>(y - origin.y) - bead.at[1]) *
                                     profile(static_cast<double>(x - origin.x) - bead.at[2]);
                spot(z, y, x) = value;
                sum += value;
            }
    for (std::size_t i = 0; i < object.values.size(); ++i)
        object.values[i] += bead.photons * spot.values[i] / sum;
}

}  // namespace

Array gaussian_psf(const Shape3& shape, const Index3& center, const std::array<double, 3>& sigma) {
    Array psf(shape);
    for (index_t z = 0; z < shape.z; ++z)
        for (index_t y = 0; y < shape.y; ++y)
            for (index_t x = 0; x < shape.x; ++x) {
                const Index3 at{z, y, x};
                double exponent = 0;
                for (int a = 0; a < 3; ++a)
                    exponent += std::pow(
                        static_cast<double>(at[a] - center[a]) / sigma[static_cast<std::size_t>(a)],
                        2);
                psf(z, y, x) = std::exp(-exponent / 2);
            }
    return normalized(psf);
}

Array wide_psf() {
    return gaussian_psf({1, 13, 13}, {0, 6, 6}, {1, 2.5, 2.5});
}

Array random_psf(Random& random, const Shape3& shape) {
    return normalized(random.array(shape, false, 0.6));
}

Specimen bead_specimen(Random& random, const Shape3& shape, const Array& psf, const Index3& center,
                       int beads, double photons, double background, double margin) {
    Specimen specimen;
    for (int tries = 1; static_cast<int>(specimen.beads.size()) < beads; ++tries) {
        // The beads so far leave no room for another one: start again.
        if (tries % 1000 == 0) specimen.beads.clear();
        Bead bead{{}, photons * (0.5 + random.uniform())};
        for (int a = 0; a < 3; ++a)
            bead.at[static_cast<std::size_t>(a)] =
                margin + random.uniform() * (static_cast<double>(shape[a]) - 1 - 2 * margin);
        bool free = true;
        for (const Bead& other : specimen.beads) {
            double most = 0;
            for (std::size_t a = 0; a < 3; ++a)
                most = std::max(most, std::abs(bead.at[a] - other.at[a]));
            free = free && most > 9;
        }
        if (free) specimen.beads.push_back(bead);
    }

    Shape3 extended;
    Index3 origin;
    for (int a = 0; a < 3; ++a) {
        extended[a] = shape[a] + psf.shape[a] - 1;
        origin[a] = psf.shape[a] - 1 - center[a];
    }
    Array object(extended);
    for (const Bead& bead : specimen.beads) add_bead(object, bead, origin);

    specimen.truth = Array(shape);
    specimen.blurred = Array(shape);
    specimen.recorded = Array(shape);
    for (index_t z = 0; z < shape.z; ++z)
        for (index_t y = 0; y < shape.y; ++y)
            for (index_t x = 0; x < shape.x; ++x) {
                double sum = 0;
                for (index_t k = 0; k < psf.shape.z; ++k)
                    for (index_t j = 0; j < psf.shape.y; ++j)
                        for (index_t i = 0; i < psf.shape.x; ++i)
                            sum += psf(k, j, i).real() * object(z + psf.shape.z - 1 - k,
                                                                y + psf.shape.y - 1 - j,
                                                                x + psf.shape.x - 1 - i)
                                                             .real();
                specimen.truth(z, y, x) = object(z + origin.z, y + origin.y, x + origin.x);
                specimen.blurred(z, y, x) = sum;
                specimen.recorded(z, y, x) = poisson(random, sum + background);
            }
    return specimen;
}

Array specimen_image(Random& random, const Shape3& shape, const Array& psf, double photons) {
    const Index3 center{psf.shape.z / 2, psf.shape.y / 2, psf.shape.x / 2};
    return bead_specimen(random, shape, psf, center, 5, photons, 2, 2).recorded;
}

// Multiplies uniform numbers, in portions of the mean that do not underflow.
double poisson(Random& random, double mean) {
    double count = 0;
    while (mean > 0) {
        const double piece = std::min(mean, 500.0);
        const double end = std::exp(-piece);
        double product = random.uniform();
        while (product > end) {
            ++count;
            product *= random.uniform();
        }
        mean -= piece;
    }
    return count;
}

double psnr(const Array& truth, const Array& result) {
    double peak = 0;
    double squares = 0;
    for (std::size_t i = 0; i < truth.values.size(); ++i) {
        peak = std::max(peak, truth.values[i].real());
        squares += std::norm(truth.values[i] - result.values[i]);
    }
    return 10 * std::log10(peak * peak * static_cast<double>(truth.values.size()) / squares);
}

double centroid_shift(const Array& result, const Bead& bead, index_t reach) {
    Index3 nearest;
    for (int a = 0; a < 3; ++a) nearest[a] = std::llround(bead.at[static_cast<std::size_t>(a)]);
    double sum = 0;
    std::array<double, 3> moment{};
    for (index_t z = nearest.z - reach; z <= nearest.z + reach; ++z)
        for (index_t y = nearest.y - reach; y <= nearest.y + reach; ++y)
            for (index_t x = nearest.x - reach; x <= nearest.x + reach; ++x) {
                const double value = result(z, y, x).real();
                sum += value;
                moment[0] += value * static_cast<double>(z);
                moment[1] += value * static_cast<double>(y);
                moment[2] += value * static_cast<double>(x);
            }
    double square = 0;
    for (std::size_t a = 0; a < 3; ++a) square += std::pow(moment[a] / sum - bead.at[a], 2);
    return std::sqrt(square);
}

EngineChoice cpu_only(int threads) {
    EngineChoice choice;
    choice.device = EngineChoice::Device::cpu;
    choice.threads = threads;
    // Plans for 1 and 3 threads are equal with these, and so are results to the last bit.
    choice.calibrated = false;
    return choice;
}

Deconvolved deconvolved(const Array& image, const Array& psf, const DeconvolveOptions& options,
                        const EngineChoice& engines, const ConstImageView& pixel_weights) {
    Deconvolver deconvolver(image.shape, to_volume(psf, PixelType::float64).view(), options,
                            engines);
    Volume result(image.shape, PixelType::float32);
    poison(result.view());
    Deconvolved done;
    DeconvolveRun run;
    run.pixel_weights = pixel_weights;
    run.on_iteration = [&](const Iteration& iteration, const EstimateReader&) {
        done.likelihoods.push_back(iteration.likelihood);
    };
    done.report =
        deconvolver.execute(to_volume(image, PixelType::float32).view(), result.view(), run);
    done.result = to_array(result.view());
    return done;
}

}  // namespace convolume::testing
