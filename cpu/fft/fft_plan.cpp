// SPDX-License-Identifier: Apache-2.0
#include "cpu/fft/fft_plan.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "convolume/volume.hpp"
#include "core/fft_size.hpp"
#include "core/stop_scope.hpp"
#include "cpu/fft/own_fft.hpp"
#include "cpu/fftw.hpp"

namespace convolume::cpu {

namespace {

// Returns whether FFTW computes transforms whose library is chosen automatically. Its estimated
// plans were measured to be faster for short lengths of single or few rows. Lengths that own
// transforms compute by a chirp are always faster by FFTW.
template <class Real>
bool fftw_is_faster(const TransformBatch& transforms, TransformKind kind) {
    const index_t length = transforms.length, count = transforms.count;
    if (!OwnFft<Real>::takes(length)) return true;
    if (is_complex(kind)) return length < (count == 1 ? 192 : 64);
    return length < 128 && count < 4;
}

// Multiplies as the processor does: the operator of std::complex checks for infinities.
template <class Real>
std::complex<Real> product(std::complex<Real> a, std::complex<Real> b) {
    return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

TransformBatch single(index_t length) {
    return {length, 1, 1, length, 1, length};
}

std::size_t at(index_t i) {
    return static_cast<std::size_t>(i);
}

// Transforms of lengths with large prime factors, for which there is no other own transform. The
// transform is a convolution with a chirp, which transforms of a longer, good length compute (L. I.
// Bluestein, IEEE Trans. Audio Electroacoust. 18:451, 1970). They take some four times as long as a
// transform of a good length.
template <class Real>
class ChirpFft : public PlannedTransforms {
  public:
    ChirpFft(const TransformBatch& transforms, TransformKind kind);

    void execute(void* in, void* out) const override;

  private:
    using Complex = std::complex<Real>;

    /// Transforms forward samples 0 … length - 1 of `line`, an array of padded_ samples, in place.
    void transform(Complex* line, Complex* scratch) const;

    TransformBatch transforms_;
    TransformKind kind_;
    index_t padded_;  ///< length of the transforms that compute the convolution
    OwnFft<Real> forward_, inverse_;
    std::vector<Complex> chirp_;     // e^{-πi n²/length}
    std::vector<Complex> spectrum_;  // transform of the conjugate chirp, divided by padded_
};

template <class Real>
ChirpFft<Real>::ChirpFft(const TransformBatch& transforms, TransformKind kind)
    : transforms_(transforms),
      kind_(kind),
      padded_(good_fft_size(2 * transforms.length - 1)),
      forward_(single(padded_), TransformKind::forward),
      inverse_(single(padded_), TransformKind::inverse),
      chirp_(at(transforms.length)),
      spectrum_(at(padded_)) {
    const index_t length = transforms.length;
    std::vector<Complex> samples(at(padded_));
    index_t square = 0;  // n² modulo 2 length, so that angles are exact
    for (index_t n = 0; n < length; ++n) {
        const double angle =
            -std::numbers::pi * static_cast<double>(square) / static_cast<double>(length);
        chirp_[at(n)] = {static_cast<Real>(std::cos(angle)), static_cast<Real>(std::sin(angle))};
        samples[at(n)] = std::conj(chirp_[at(n)]) / static_cast<Real>(padded_);
        if (n > 0) samples[at(padded_ - n)] = samples[at(n)];
        square = (square + 2 * n + 1) % (2 * length);
    }
    forward_.execute(samples.data(), spectrum_.data());
}

template <class Real>
void ChirpFft<Real>::transform(Complex* line, Complex* scratch) const {
    const index_t length = transforms_.length;
    for (index_t n = 0; n < length; ++n) line[n] = product(line[n], chirp_[at(n)]);
    std::fill(line + length, line + padded_, Complex{});
    forward_.execute(line, scratch);
    for (index_t k = 0; k < padded_; ++k) scratch[k] = product(scratch[k], spectrum_[at(k)]);
    inverse_.execute(scratch, line);
    for (index_t k = 0; k < length; ++k) line[k] = product(line[k], chirp_[at(k)]);
}

// An inverse transform is a forward one between conjugations.
template <class Real>
void ChirpFft<Real>::execute(void* in, void* out) const {
    const index_t length = transforms_.length, bins = length / 2 + 1;
    Buffer memory(2 * padded_ * static_cast<index_t>(sizeof(Complex)), "a transform");
    Complex* const line = memory.as<Complex>();
    for (index_t i = 0; i < transforms_.count; ++i) {
        const index_t from = i * transforms_.in_distance, to = i * transforms_.out_distance;
        const auto source = [&](index_t n) {
            return static_cast<const Complex*>(in)[from + n * transforms_.in_stride];
        };
        for (index_t n = 0; n < length; ++n) switch (kind_) {
                case TransformKind::forward:
                    line[n] = source(n);
                    break;
                case TransformKind::inverse:
                    line[n] = std::conj(source(n));
                    break;
                case TransformKind::real_forward:
                    line[n] = static_cast<const Real*>(in)[from + n * transforms_.in_stride];
                    break;
                case TransformKind::real_inverse:
                    line[n] = n < bins ? std::conj(source(n)) : source(length - n);
                    break;
            }
        transform(line, line + padded_);
        const index_t stored = kind_ == TransformKind::real_forward ? bins : length;
        for (index_t k = 0; k < stored; ++k) {
            const index_t target = to + k * transforms_.out_stride;
            if (kind_ == TransformKind::real_inverse)
                static_cast<Real*>(out)[target] = line[k].real();
            else
                static_cast<Complex*>(out)[target] =
                    kind_ == TransformKind::inverse ? std::conj(line[k]) : line[k];
        }
    }
}

}  // namespace

template <class Real>
FftPlan<Real>::FftPlan(const TransformBatch& transforms, TransformKind kind, void* in, void* out,
                       const FftPlanning& planning)
    : uses_fftw_(planning.library == FftLibrary::fftw ||
                 (planning.library == FftLibrary::automatic && has_fftw() &&
                  fftw_is_faster<Real>(transforms, kind))) {
    throw_if_stopped();
    if (uses_fftw_)
        transforms_ = plan_by_fftw<Real>(transforms, kind, in, out, planning.effort);
    else if (OwnFft<Real>::takes(transforms.length))
        transforms_ = std::make_unique<const OwnFft<Real>>(transforms, kind);
    else
        transforms_ = std::make_unique<const ChirpFft<Real>>(transforms, kind);
}

template <class Real>
index_t fft_pair_bytes(index_t length, bool complex_data, int threads) {
    // Complex samples of a row; a real row of even length is transformed as half as many.
    const index_t samples = complex_data || length % 2 != 0 ? length : length / 2;
    const auto row_bytes = checked_multiply(samples, static_cast<index_t>(sizeof(Real)));
    // Twiddle factors of the row, of its columns, and of the step to the spectrum of real samples.
    const index_t table_bytes = checked_multiply(row_bytes, 4);
    // Two tiles, and a row in front of them. Each plan keeps the memory of all threads.
    const index_t scratch_bytes = checked_multiply(row_bytes, 6);
    return 2 * checked_add(table_bytes, checked_multiply(scratch_bytes, threads));
}

template class FftPlan<float>;
template class FftPlan<double>;
template index_t fft_pair_bytes<float>(index_t, bool, int);
template index_t fft_pair_bytes<double>(index_t, bool, int);

}  // namespace convolume::cpu
