// SPDX-License-Identifier: Apache-2.0
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <utility>

#include "convolume/error.hpp"
#include "convolume/options.hpp"

namespace convolume {

index_t parse_byte_size(std::string_view text) {
    const auto fail = [&]() -> InvalidArgument {
        return InvalidArgument(
            message("'", text,
                    "' is no size in bytes: write a number and a unit, as in 8GiB, 512M or 1.5GB"));
    };
    double number = 0;
    const char* const end = text.data() + text.size();
    const auto parsed = std::from_chars(text.data(), end, number);
    if (parsed.ec != std::errc() || !(number >= 0)) throw fail();

    const char* first_of_unit = parsed.ptr;
    while (first_of_unit != end && *first_of_unit == ' ') ++first_of_unit;
    std::string unit(first_of_unit, end);
    for (char& c : unit) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    double factor = 1;
    if (!unit.empty() && unit != "B") {
        const std::size_t power = std::string_view("KMGTP").find(unit.front());
        const std::string_view rest = std::string_view(unit).substr(1);
        if (power == std::string_view::npos || !(rest.empty() || rest == "B" || rest == "IB"))
            throw fail();
        factor = std::pow(rest == "B" ? 1000.0 : 1024.0, static_cast<double>(power + 1));
    }
    const double bytes = number * factor;
    if (!(bytes < 9.2e18)) throw fail();
    return static_cast<index_t>(bytes);
}

std::string format_bytes(index_t bytes) {
    if (bytes < 1024) return message(bytes, " B");
    double value = static_cast<double>(bytes);
    const char* unit = "KiB";
    for (const char* next : {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"}) {
        unit = next;
        value /= 1024;
        if (value < 1023.95) break;
    }
    char text[48];
    std::snprintf(text, sizeof text, value < 9.995 ? "%.2f %s" : "%.1f %s", value, unit);
    return text;
}

std::string format_limit(index_t bytes) {
    constexpr index_t kib = 1024;
    constexpr index_t least_units = 100;  // rounding up then adds less than 1 %
    for (const auto& [unit, name] :
         {std::pair{kib * kib * kib, "GiB"}, {kib * kib, "MiB"}, {kib, "KiB"}})
        if (bytes >= least_units * unit || (unit == kib && bytes >= unit))
            return message((bytes - 1) / unit + 1, " ", name);
    return message(bytes, " B");
}

}  // namespace convolume
