// SPDX-License-Identifier: Apache-2.0
// Implements Richardson-Lucy in a few lines. A Convolver blurs the estimate, and its exact adjoint
// projects the ratio back, for any boundary. Fails unless the error shrinks.

#include <algorithm>
#include <cmath>
#include <iostream>
#include <vector>

#include "convolume/convolver.hpp"

using namespace convolume;

namespace {

std::vector<float> pair_of_beads(const Shape3& shape) {
    std::vector<float> beads(static_cast<std::size_t>(element_count(shape)), 0.1F);
    for (const index_t x : {17, 23})
        beads[static_cast<std::size_t>((8 * shape.y + 20) * shape.x + x)] = 100;
    return beads;
}

std::vector<float> wide_spot(const Shape3& shape) {
    std::vector<float> spot;
    for (index_t z = 0; z < shape.z; ++z)
        for (index_t y = 0; y < shape.y; ++y)
            for (index_t x = 0; x < shape.x; ++x) {
                const double r2 = std::pow(x - shape.x / 2, 2) + std::pow(y - shape.y / 2, 2) +
                                  std::pow(z - shape.z / 2, 2);
                spot.push_back(static_cast<float>(std::exp(-r2 / 3)));
            }
    return spot;
}

double distance(const std::vector<float>& a, const std::vector<float>& b) {
    double sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i) sum += std::pow(a[i] - b[i], 2);
    return std::sqrt(sum);
}

}  // namespace

int main() {
    const Shape3 shape{16, 40, 40};
    const Shape3 psf_shape{7, 9, 9};
    const std::vector<float> truth = pair_of_beads(shape);
    const std::vector<float> psf = wide_spot(psf_shape);

    Options options;
    options.normalization = KernelNormalization::sum;
    options.boundary = {BoundaryKind::nearest};
    const Convolver blur(shape, view_of(psf.data(), psf_shape), options);
    options.operation = Operation::adjoint;
    const Convolver back(shape, view_of(psf.data(), psf_shape), options);

    std::vector<float> measured(truth.size());
    blur.execute(view_of(truth.data(), shape), view_of(measured.data(), shape));

    std::vector<float> weight(truth.size()), work(truth.size(), 1.0F), step(truth.size());
    back.execute(view_of(work.data(), shape), view_of(weight.data(), shape));
    std::vector<float> estimate = measured;
    for (int iteration = 0; iteration < 50; ++iteration) {
        blur.execute(view_of(estimate.data(), shape), view_of(work.data(), shape));
        for (std::size_t i = 0; i < work.size(); ++i)
            work[i] = measured[i] / std::max(work[i], 1e-6F);
        back.execute(view_of(work.data(), shape), view_of(step.data(), shape));
        for (std::size_t i = 0; i < step.size(); ++i) estimate[i] *= step[i] / weight[i];
    }
    const double before = distance(measured, truth);
    const double after = distance(estimate, truth);
    std::cout << "distance to the truth: " << before << " blurred, " << after << " deconvolved\n";
    return after < 0.7 * before ? 0 : 1;
}
