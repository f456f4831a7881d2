// SPDX-License-Identifier: Apache-2.0
// Texts of options and parameter files are understood, or refused by a typed error.

#include <cstdint>
#include <string>

#include "cli/psf/parameters.hpp"
#include "cli/text/quantity.hpp"
#include "convolume/error.hpp"
#include "convolume/image_file.hpp"
#include "convolume/options.hpp"
#include "convolume/signal_file.hpp"

namespace {

template <class Parse>
void attempt(const Parse& parse) {
    try {
        parse();
    } catch (const convolume::Error&) {
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace convolume;
    const std::string text(reinterpret_cast<const char*>(data), size);
    attempt([&] { static_cast<void>(parse_byte_size(text)); });
    attempt([&] { static_cast<void>(parse_boundary(text)); });
    attempt([&] { static_cast<void>(parse_kernel_center(text)); });
    attempt([&] { static_cast<void>(parse_pixel_type(text)); });
    attempt([&] { static_cast<void>(io::parse_stored_type(text)); });
    attempt([&] { static_cast<void>(io::parse_path(text)); });
    attempt([&] { static_cast<void>(cli::parse_length_um("--option", text)); });
    attempt([&] { static_cast<void>(cli::parse_lengths_um("--option", text)); });
    attempt([&] { static_cast<void>(cli::parse_wavelength_um("--option", text)); });
    attempt([&] { static_cast<void>(cli::parse_extents("--option", text)); });
    attempt([&] {
        const auto json = nlohmann::ordered_json::parse(text, nullptr, false);
        if (json.is_object()) static_cast<void>(cli::psf_options_of(json, "a text"));
    });
    return 0;
}
