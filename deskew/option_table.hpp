// SPDX-License-Identifier: Apache-2.0
#pragma once
// The table of options of deskewing (core/option_table.hpp).

#include "convolume/deskew.hpp"
#include "core/option_table.hpp"

namespace convolume {

template <>
inline constexpr auto names_of<Interpolation> = std::to_array<NamedValue<Interpolation>>(
    {{"linear", Interpolation::linear}, {"lanczos", Interpolation::lanczos}});

template <>
inline constexpr auto option_table<DeskewOptions> = std::tuple{
    nested_option<&DeskewOptions::scan, &StageScan::angle_deg>(
        "angle_deg", "--angle", "DEGREES",
        "Angle between the light sheet, which the camera sees, and the cover glass",
        {.keyword = "angle",
         .range = "above 0, up to 90",
         .unit = "degrees",
         .hides_default = true}),
    nested_option<&DeskewOptions::scan, &StageScan::step_um>(
        "step_um", "--step", "LENGTH", "Travel of the stage from plane to plane, e.g. 400nm",
        {.keyword = "step", .hides_default = true, .quantity = Quantity::length_um}),
    nested_option<&DeskewOptions::scan, &StageScan::axis>(
        "axis", "--axis", "y|x", "Axis of the camera along which planes are displaced", {},
        parse_shear_axis),
    nested_option<&DeskewOptions::scan, &StageScan::opposite>(
        "opposite", "", "BOOL", "Whether planes are displaced to lower indices of that axis"),
    option<&DeskewOptions::interpolation>(
        "interpolation", "--interpolation", "linear|lanczos",
        "Interpolation between samples: linear, or by a windowed sinc of 6 samples (lanczos)", {},
        parse_interpolation),
    option<&DeskewOptions::rotate>("rotate", "", "BOOL",
                                   "Whether the result is rotated to the cover glass"),
    option<&DeskewOptions::inverse>(
        "inverse", "", "BOOL",
        "Whether a straight image is brought to the voxels that the scan records"),
    option<&DeskewOptions::output_voxel_um>(
        "output_voxel_um", "--output-voxel", "Z,Y,X", "Edges of a voxel of a rotated result",
        {.keyword = "output_spacing", .if_unset = "the pixel's along the sheared axis"}),
    option<&DeskewOptions::fill>("fill", "--fill", "N",
                                 "Value outside the recorded volume, or nan for floats"),
    option<&DeskewOptions::max_host_bytes>("max_host_bytes", "--max-host-mem", "SIZE",
                                           "Limit of host memory for planes of image and result",
                                           {.keyword = "max_host_mem",
                                            .if_unset = "three quarters of free memory",
                                            .quantity = Quantity::bytes}),
    option<&DeskewOptions::threads>("threads", "--threads", "N", "CPU threads",
                                    {.keyword = "workers", .range = "from 1", .if_unset = "all"}),
};

}  // namespace convolume
