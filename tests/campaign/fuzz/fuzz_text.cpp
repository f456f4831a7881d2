// SPDX-License-Identifier: Apache-2.0
// Parses the text of an option, or refuses it by a typed error. The first letter of the text
// chooses the parser.

#include <array>
#include <cstdint>
#include <string>

#include "cli/text/quantity.hpp"
#include "convolume/error.hpp"
#include "convolume/filter_options.hpp"
#include "convolume/image_file.hpp"
#include "convolume/options.hpp"
#include "convolume/signal_file.hpp"
#include "io/units.hpp"

namespace {

using namespace convolume;
using Text = const std::string&;

constexpr std::array<void (*)(Text), 15> parsers{
    [](Text text) { static_cast<void>(parse_byte_size(text)); },                       // a
    [](Text text) { static_cast<void>(parse_boundary(text)); },                        // b
    [](Text text) { static_cast<void>(parse_kernel_center(text)); },                   // c
    [](Text text) { static_cast<void>(parse_pixel_type(text)); },                      // d
    [](Text text) { static_cast<void>(io::parse_stored_type(text)); },                 // e
    [](Text text) { static_cast<void>(io::parse_path(text)); },                        // f
    [](Text text) { static_cast<void>(cli::parse_length_um("--option", text)); },      // g
    [](Text text) { static_cast<void>(cli::parse_lengths_um("--option", text)); },     // h
    [](Text text) { static_cast<void>(cli::parse_wavelength_um("--option", text)); },  // i
    [](Text text) { static_cast<void>(cli::parse_extents("--option", text)); },        // j
    [](Text text) { static_cast<void>(parse_window_post(text)); },                     // k
    [](Text text) { static_cast<void>(parse_sample_range(text)); },                    // l
    [](Text text) { static_cast<void>(parse_filter_origin(text)); },                   // m
    [](Text text) { static_cast<void>(io::micrometers_per(text)); },                   // n
    [](Text text) { static_cast<void>(io::utf8_from_imagej(text)); },                  // o
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0 || data[0] < 'a' || data[0] >= 'a' + parsers.size()) return -1;
    try {
        parsers[data[0] - 'a'](std::string(reinterpret_cast<const char*>(data) + 1, size - 1));
    } catch (const Error&) {
    }
    return 0;
}
