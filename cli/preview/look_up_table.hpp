// SPDX-License-Identifier: Apache-2.0
#pragma once
// Look-up tables (LUTs): the colors in which values are drawn, by name.

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/picture/drawing.hpp"

namespace convolume::cli {

/// Colors from the lowest value upwards, at equal distances and interpolated between.
struct LookUpTable {
    std::string name;
    std::vector<Color> colors;  ///< at least two
    double steps;               ///< distances of colors up to the highest value

    /// Makes a table from black to `color`, whose name is that of the color or its digits.
    explicit LookUpTable(Color color);
    LookUpTable(std::string table_name, std::vector<Color> table_colors, double table_steps);

    /// Returns whether the table goes from black to one color.
    bool is_ramp() const { return colors.size() == 2; }

    /// Returns the color, with parts from 0 to 255, of a level from 0 to 1.
    std::array<double, 3> at(double level) const;

    friend bool operator==(const LookUpTable&, const LookUpTable&) = default;
};

/// Returns the table from black to white.
LookUpTable gray_table();

/// Parses tables of channels such as "green,none,fire,ff8000"; nothing for a channel that is left
/// out. Throws InvalidArgument that lists the names.
std::vector<std::optional<LookUpTable>> parse_look_up_tables(std::string_view option,
                                                             const std::string& text);

}  // namespace convolume::cli
