// SPDX-License-Identifier: Apache-2.0
// Parses parameters of a PSF in JSON, or refuses them by a typed error.

#include <cstdint>

#include "cli/psf/parameters.hpp"
#include "convolume/error.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto json = nlohmann::ordered_json::parse(data, data + size, nullptr, false);
    if (!json.is_object()) return 0;
    try {
        static_cast<void>(convolume::cli::psf_options_of(json, "a text"));
    } catch (const convolume::Error&) {
    }
    return 0;
}
