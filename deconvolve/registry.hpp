// SPDX-License-Identifier: Apache-2.0
#pragma once
// The methods of deconvolution. A generated header includes the files in deconvolve/methods, and
// names their structs in the tuple AllMethods (deconvolve/CMakeLists.txt).

#include <tuple>
#include <type_traits>

#include "convolume/error.hpp"
#include "deconvolve/all_methods.hpp"

namespace convolume::deconvolve {

/// Returns the value of a method: its enumerator, or its place behind all methods that have one.
template <class Method>
constexpr DeconvolveMethod value_of() {
    if constexpr (requires { Method::method; }) return Method::method;
    int value = 0;
    bool is_before = true;
    const auto count = [&](auto one) {
        is_before = is_before && !std::is_same_v<decltype(one), Method>;
        value += is_before || requires {
            decltype(one)::method;
        };
    };
    std::apply([&](auto... all) { (count(all), ...); }, AllMethods{});
    return static_cast<DeconvolveMethod>(value);
}

/// Returns visit(Method{}), where Method is the struct of the method.
template <class Visit>
auto visit_method(DeconvolveMethod method, const Visit& visit) {
    return std::apply(
        [&](auto first, auto... others) {
            using Result = decltype(visit(first));
            Result result{};
            const auto visit_if = [&](auto candidate) {
                if (value_of<decltype(candidate)>() != method) return false;
                result = visit(candidate);
                return true;
            };
            if (!(visit_if(first) || ... || visit_if(others)))
                throw InternalError("a method of deconvolution that is not registered");
            return result;
        },
        AllMethods{});
}

/// Whether passes can compute the iterations of a method.
template <class Method>
inline constexpr bool fits_passes = requires {
    requires Method::fits_passes;
};

/// Carries out one iteration of a method by an executor's operations.
template <class Operations>
void run_iteration(DeconvolveMethod method, Operations& operations) {
    visit_method(method, [&](auto of) {
        if constexpr (!Operations::fuses_passes || fits_passes<decltype(of)>)
            decltype(of)::iterate(operations);
        else
            throw InternalError("passes are fused for other methods only");
        return true;
    });
}

}  // namespace convolume::deconvolve
