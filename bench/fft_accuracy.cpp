// SPDX-License-Identifier: Apache-2.0
// Measures errors of own transforms and of FFTW's as benchfft reports them: of random samples,
// relative to a transform in extended precision, by the norm of all results (L2) and by the largest
// result (L∞). Lengths are all up to 4096 that have no prime factor above 13, and 200 up to 2^18.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <random>
#include <vector>

#include "convolume/volume.hpp"
#include "cpu/fft/fft_plan.hpp"
#include "cpu/fft/own_fft.hpp"
#include "tests/support/reference_fft.hpp"

using namespace convolume;
using cpu::TransformKind;
using Extended = std::complex<long double>;

namespace {

/// Errors of many transforms.
struct Errors {
    std::vector<double> l2, largest;

    template <class Real>
    void add(const std::complex<Real>* results, const std::vector<Extended>& expected,
             std::size_t bins) {
        long double error = 0, norm = 0, largest_error = 0, largest_bin = 0;
        for (std::size_t k = 0; k < bins; ++k) {
            const Extended difference = Extended(results[k]) - expected[k];
            error += std::norm(difference);
            norm += std::norm(expected[k]);
            largest_error = std::max(largest_error, std::abs(difference));
            largest_bin = std::max(largest_bin, std::abs(expected[k]));
        }
        l2.push_back(static_cast<double>(std::sqrt(error / norm)));
        largest.push_back(static_cast<double>(largest_error / largest_bin));
    }
    void print(const char* name) {
        std::sort(l2.begin(), l2.end());
        std::sort(largest.begin(), largest.end());
        std::printf("| %s | %.2g | %.2g | %.2g | %.2g |\n", name, l2[l2.size() / 2], l2.back(),
                    largest[largest.size() / 2], largest.back());
    }
};

/// Errors of complex and real transforms in one precision.
template <class Real>
class Precision {
    using Complex = std::complex<Real>;

  public:
    void add(const std::vector<Extended>& samples, const std::vector<Extended>& spectrum) {
        const auto length = static_cast<index_t>(samples.size());
        const cpu::TransformBatch one{length, 1, 1, length, 1, length};
        const Buffer in(length * index_t{sizeof(Complex)});
        const Buffer out((length + 2) * index_t{sizeof(Complex)});
        const auto fill = [&] {
            std::transform(samples.begin(), samples.end(), in.as<Complex>(),
                           [](const Extended& x) { return Complex(x); });
        };
        const cpu::FftPlan<Real> fftw(one, TransformKind::forward, in.data(), out.data(),
                                      {FftLibrary::fftw});
        fill();
        cpu::OwnFft<Real>(one, TransformKind::forward).execute(in.as<Complex>(), out.as<Complex>());
        own_.add(out.as<Complex>(), spectrum, samples.size());
        fftw.execute(in.as<Complex>(), out.as<Complex>());
        fftw_.add(out.as<Complex>(), spectrum, samples.size());
    }
    void add_real(const std::vector<Extended>& samples, const std::vector<Extended>& spectrum) {
        const auto length = static_cast<index_t>(samples.size());
        const cpu::TransformBatch one{length, 1, 1, length, 1, length};
        const Buffer in(length * index_t{sizeof(Real)});
        const Buffer out((length + 2) * index_t{sizeof(Complex)});
        const cpu::FftPlan<Real> fftw(one, TransformKind::real_forward, in.data(), out.data(),
                                      {FftLibrary::fftw});
        std::transform(samples.begin(), samples.end(), in.as<Real>(),
                       [](const Extended& x) { return static_cast<Real>(x.real()); });
        const std::size_t bins = samples.size() / 2 + 1;
        cpu::OwnFft<Real>(one, TransformKind::real_forward)
            .execute(in.as<Real>(), out.as<Complex>());
        own_real_.add(out.as<Complex>(), spectrum, bins);
        fftw.execute(in.as<Real>(), out.as<Complex>());
        fftw_real_.add(out.as<Complex>(), spectrum, bins);
    }
    void print(const std::string& name) {
        own_.print((name + ", complex, own").c_str());
        fftw_.print((name + ", complex, FFTW").c_str());
        own_real_.print((name + ", real, own").c_str());
        fftw_real_.print((name + ", real, FFTW").c_str());
    }

  private:
    Errors own_, fftw_, own_real_, fftw_real_;
};

}  // namespace

int main() {
    std::mt19937 random(1);
    std::vector<index_t> lengths;
    for (index_t length = 2; length <= 4096; ++length)
        if (cpu::OwnFft<float>::takes(length)) lengths.push_back(length);
    std::uniform_real_distribution<double> exponent(12, 18);
    for (int i = 0; i < 200; ++i) {
        auto length = static_cast<index_t>(std::exp2(exponent(random)));
        while (!cpu::OwnFft<float>::takes(length)) ++length;
        lengths.push_back(length);
    }
    Precision<float> in_float;
    Precision<double> in_double;
    // Samples are exact in float.
    std::uniform_int_distribution<int> sample(-(1 << 20), 1 << 20);
    for (const index_t length : lengths) {
        std::vector<Extended> samples(static_cast<std::size_t>(length));
        for (Extended& x : samples)
            x = Extended(sample(random), sample(random)) / static_cast<long double>(1 << 20);
        std::vector<Extended> spectrum =
            testing::extended_transform(samples, testing::forward_sign);
        in_float.add(samples, spectrum);
        in_double.add(samples, spectrum);
        // The spectrum of the real part is the Hermitian part of the spectrum.
        std::vector<Extended> hermitian(spectrum.size());
        for (std::size_t k = 0; k < spectrum.size(); ++k)
            hermitian[k] =
                (spectrum[k] + std::conj(spectrum[(spectrum.size() - k) % spectrum.size()])) / 2.0L;
        in_float.add_real(samples, hermitian);
        in_double.add_real(samples, hermitian);
    }
    std::printf(
        "%zu lengths\n\n| transforms | L2, median | L2, largest | L∞, median | L∞, largest "
        "|\n|---|---|---|---|---|\n",
        lengths.size());
    in_float.print("float");
    in_double.print("double");
}
