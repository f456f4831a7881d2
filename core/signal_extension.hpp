// SPDX-License-Identifier: Apache-2.0
#pragma once
// Samples beyond the ends of a signal, on the host and on devices.

#include "convolume/cuda/detail/complex.hpp"
#include "convolume/resample_options.hpp"
#include "convolume/shape.hpp"

namespace convolume {

/// The place of an index in repetitions of a period: index = turn · period + rest.
struct Turn {
    index_t turn, rest;
};
CONVOLUME_DEVICE Turn turn_of(index_t index, index_t period) {
    const index_t cut = index / period;
    const index_t turn = cut * period > index ? cut - 1 : cut;
    return {turn, index - turn * period};
}

/// A signal of `count` samples as it continues beyond its ends.
template <class Sample>
struct ExtendedSignal {
    SignalExtension extension = SignalExtension::constant;
    Sample value{};     ///< value of SignalExtension::constant
    index_t count = 1;  ///< at least 1

    /// Returns sample `i`, which is not in [0, count). at(k) returns sample k of the signal.
    template <class At>
    CONVOLUME_DEVICE Sample operator()(index_t i, const At& at) const {
        const index_t last = count - 1;
        switch (extension) {
            case SignalExtension::constant:
                return value;
            case SignalExtension::edge:
                return at(i < 0 ? 0 : last);
            case SignalExtension::wrap:
                return at(turn_of(i, count).rest);
            case SignalExtension::symmetric:
            case SignalExtension::antisymmetric: {
                const Turn place = turn_of(i, count);
                const bool is_odd = (place.turn & 1) != 0;
                const Sample sample = at(is_odd ? last - place.rest : place.rest);
                return is_odd && extension == SignalExtension::antisymmetric ? Sample{} - sample
                                                                             : sample;
            }
            case SignalExtension::reflect: {
                if (last == 0) return at(0);
                const Turn place = turn_of(i, last);
                return at((place.turn & 1) != 0 ? last - place.rest : place.rest);
            }
            case SignalExtension::antireflect:
                return antireflected(i, at);
            case SignalExtension::smooth: {
                if (last == 0) return at(0);
                return i < 0 ? on_line(at(0), at(1) - at(0), i)
                             : on_line(at(last), at(last) - at(last - 1), i - last);
            }
            case SignalExtension::line: {
                if (last == 0) return at(0);
                const Sample slope = scaled(at(last) - at(0), 1.0 / static_cast<double>(last));
                return on_line(at(i < 0 ? 0 : last), slope, i < 0 ? i : i - last);
            }
        }
        return value;
    }

  private:
    CONVOLUME_DEVICE static float scaled(float a, double factor) {
        return static_cast<float>(a * factor);
    }
    CONVOLUME_DEVICE static double scaled(double a, double factor) { return a * factor; }
    template <class Complex>
    CONVOLUME_DEVICE static Complex scaled(Complex a, double factor) {
        if constexpr (requires { a.re; })
            return {scaled(a.re, factor), scaled(a.im, factor)};
        else
            return {scaled(a.real(), factor), scaled(a.imag(), factor)};
    }
    CONVOLUME_DEVICE static Sample on_line(Sample start, Sample slope, index_t steps) {
        return start + scaled(slope, static_cast<double>(steps));
    }

    template <class At>
    CONVOLUME_DEVICE Sample antireflected(index_t i, const At& at) const {
        const index_t last = count - 1;
        if (last == 0) return at(0);
        if (i < 0 && -i <= last) return at(0) - (at(-i) - at(0));
        if (i > last && i <= 2 * last) return at(last) - (at(2 * last - i) - at(last));
        const Turn place = turn_of(i, last);
        const Sample start = on_line(at(0), at(last) - at(0), place.turn);
        if ((place.turn & 1) != 0) return start + (at(last) - at(last - place.rest));
        return start + (at(place.rest) - at(0));
    }
};

}  // namespace convolume
