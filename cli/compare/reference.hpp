// SPDX-License-Identifier: Apache-2.0
#pragma once
// The result that all others are compared with.

#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "cli/compare/subject.hpp"

namespace convolume::cli {

enum class ReferenceKind {
    automatic,  ///< direct sums where these are few, else Fourier
    direct,     ///< direct sums in float64
    fft,        ///< in float64 on the CPU, by the method that its plan chooses
    none,
};
/// "auto", "direct", "fft", "none"; throws InvalidArgument that lists them.
ReferenceKind parse_reference(std::string_view text);
const char* to_string(ReferenceKind kind);

/// Products up to which direct sums are the automatic reference: some seconds of a few cores.
inline constexpr double most_direct_products = 4e9;

struct Reference {
    std::optional<Volume> result;
    std::string description;  ///< what it is, or why there is none
};

/// Computes it on the CPU, in float64, within `limit_bytes`. A reference that takes too much memory
/// is none. Throws what the library does where the problem itself is wrong; Cancelled.
Reference make_reference(const Subject& subject, ReferenceKind kind, index_t limit_bytes,
                         const std::stop_token& stop);

}  // namespace convolume::cli
