// SPDX-License-Identifier: Apache-2.0
#pragma once
// The list of all methods. A new method needs a file, a value of DeconvolveMethod with its name
// (deconvolve/option_table.hpp), and a place in this list.

#include <tuple>

#include "convolume/error.hpp"
#include "deconvolve/methods/gradient_consensus.hpp"
#include "deconvolve/methods/heavy_ball.hpp"
#include "deconvolve/methods/nnls.hpp"
#include "deconvolve/methods/richardson_lucy.hpp"
#include "deconvolve/methods/total_variation.hpp"
#include "deconvolve/methods/wiener.hpp"
#include "deconvolve/methods/wiener_butterworth.hpp"

namespace convolume::deconvolve {

using AllMethods = std::tuple<RichardsonLucy, RichardsonLucyTv, HeavyBall, WienerButterworth,
                              GradientConsensus, NonNegativeLeastSquares, Wiener>;

/// Returns visit(Method{}), where Method is the struct of the method.
template <class Visit>
auto visit_method(DeconvolveMethod method, const Visit& visit) {
    return std::apply(
        [&](auto first, auto... others) {
            using Result = decltype(visit(first));
            Result result{};
            const auto visit_if = [&](auto candidate) {
                if (decltype(candidate)::method != method) return false;
                result = visit(candidate);
                return true;
            };
            if (!(visit_if(first) || ... || visit_if(others)))
                throw InternalError("a method of deconvolution that is not registered");
            return result;
        },
        AllMethods{});
}

}  // namespace convolume::deconvolve
