// SPDX-License-Identifier: Apache-2.0
#pragma once
// The tables of the options of PSFs, cameras and phantoms (core/option_table.hpp).

#include "convolume/camera.hpp"
#include "core/option_table.hpp"
#include "optics/option_names.hpp"

namespace convolume {

/// Entries are in the order of files with PSF parameters; their names are the keys of those files.
template <>
inline constexpr auto option_table<PsfOptions> = std::tuple{
    option<&PsfOptions::model>("model", "--model", "", "PSF model", {}, parse_psf_model),
    option<&PsfOptions::modality>("modality", "--modality", "", "Kind of microscope", {},
                                  parse_modality),
    nested_option<&PsfOptions::objective, &Objective::na>(
        "na", "--na", "NA", "Numerical aperture", {.range = "above 0", .hides_default = true}),
    option<&PsfOptions::wavelength_um>(
        "wavelength_um", "--wavelength", "LENGTH", "Emission wavelength in vacuum, e.g. 520nm",
        {.keyword = "wavelength", .hides_default = true, .quantity = Quantity::wavelength_um}),
    option<&PsfOptions::excitation_um>(
        "excitation_um", "--excitation", "LENGTH",
        "Excitation wavelength (confocal, two-photon, spinning-disc)",
        {.keyword = "excitation", .quantity = Quantity::wavelength_um}),
    option<&PsfOptions::pinhole_au>(
        "pinhole_au", "--pinhole", "AU",
        "Diameter of the pinhole in Airy units, 1.22 wavelength/NA (confocal, default 1)",
        {.keyword = "pinhole", .unit = "Airy units"}),
    option<&PsfOptions::sheet_fwhm_um>("sheet_fwhm_um", "--sheet", "LENGTH",
                                       "Thickness of the light sheet: full width at half maximum",
                                       {.keyword = "sheet_fwhm", .quantity = Quantity::length_um}),
    option<&PsfOptions::disc_pinhole_um>(
        "disc_pinhole_um", "--disc-pinhole", "LENGTH",
        "Diameter of the pinholes on the disc, e.g. 50um (spinning-disc)",
        {.keyword = "disc_pinhole", .quantity = Quantity::length_um}),
    option<&PsfOptions::disc_spacing_um>(
        "disc_spacing_um", "--disc-spacing", "LENGTH",
        "Distance between the centers of pinholes on the disc, e.g. 250um (spinning-disc)",
        {.keyword = "disc_spacing", .quantity = Quantity::length_um}),
    option<&PsfOptions::disc_magnification>(
        "disc_magnification", "--disc-magnification", "M",
        "Magnification between sample and disc: lengths in the sample are those on the "
        "disc divided by it (spinning-disc, default 1: lengths are those in the sample)"),
    nested_option<&PsfOptions::objective, &Objective::ni>("ni", "--ni", "N",
                                                          "Index of the immersion medium"),
    nested_option<&PsfOptions::objective, &Objective::ni0>(
        "ni0", "--ni0", "N", "Index of the immersion medium that the objective is designed for",
        {.if_unset = "--ni", .hides_default = true}),
    nested_option<&PsfOptions::objective, &Objective::ng>("ng", "--ng", "N",
                                                          "Index of the cover glass"),
    nested_option<&PsfOptions::objective, &Objective::ng0>(
        "ng0", "--ng0", "N", "Index of the cover glass that the objective is designed for",
        {.if_unset = "--ng", .hides_default = true}),
    nested_option<&PsfOptions::objective, &Objective::ns>(
        "ns", "--ns", "N", "Index of the sample",
        {.if_unset = "that of glycerol or oil as immersion, else 1.33", .hides_default = true}),
    nested_option<&PsfOptions::objective, &Objective::ti0_um>(
        "ti0_um", "--ti0", "LENGTH",
        "Working distance in the immersion medium that the objective is designed for",
        {.keyword = "ti0", .remark = "um", .quantity = Quantity::length_um}),
    nested_option<&PsfOptions::objective, &Objective::tg_um>(
        "tg_um", "--tg", "LENGTH", "Thickness of the cover glass",
        {.keyword = "tg", .remark = "um", .quantity = Quantity::length_um}),
    nested_option<&PsfOptions::objective, &Objective::tg0_um>(
        "tg0_um", "--tg0", "LENGTH", "Cover glass thickness that the objective is designed for",
        {.keyword = "tg0",
         .if_unset = "--tg",
         .hides_default = true,
         .quantity = Quantity::length_um}),
    option<&PsfOptions::depth_um>(
        "depth_um", "--depth", "LENGTH", "Depth of the source below the cover glass",
        {.keyword = "depth", .remark = "um", .quantity = Quantity::length_um}),
    option<&PsfOptions::voxel>(
        "voxel_um", "--voxel",
        "Z,Y,X", "Edges of a voxel, e.g. 200,65,65nm",
        {.keyword = "spacing", .if_unset = "those of --like", .hides_default = true}),
    option<&PsfOptions::size>("size", "", "Z,Y,X", "Number of voxels along each axis, odd",
                              {.keyword = "shape"}),
    option<&PsfOptions::oversampling>(
        "oversampling", "--oversampling", "N",
        "Points along each axis of a voxel whose intensities are averaged", {.range = "from 1"}),
    option<&PsfOptions::threads>("threads", "--threads", "N", "CPU threads",
                                 {.keyword = "workers", .range = "from 1", .if_unset = "all"}),
    option<&PsfOptions::scan_angle_deg>(
        "scan_angle_deg", "--scan-angle", "DEGREES",
        "For a stage scan, as of deskew: angle between light sheet and cover glass. The PSF gets "
        "the skewed voxels of the scan, whose z is the step of the stage",
        {.keyword = "scan_angle", .range = "above 0, up to 90", .unit = "degrees"}),
    option<&PsfOptions::scan_axis>(
        "scan_axis", "--scan-axis", "y|x",
        "Axis of the camera along which planes of the scan are displaced", {}, parse_shear_axis),
    option<&PsfOptions::scan_opposite>(
        "scan_opposite", "", "BOOL", "Whether planes are displaced to lower indices of that axis"),
    option<&PsfOptions::center_z_um>(
        "focus_um", "", "LENGTH",
        "z of the middle plane: distance by which the objective is farther from the cover glass "
        "than designed",
        {.keyword = "center_z",
         .if_unset = "the brightest plane",
         .quantity = Quantity::length_um}),
};

template <>
inline constexpr auto option_table<Camera> = std::tuple{
    option<&Camera::background_photons>("background_photons", "--background", "N",
                                        "Photons added at every pixel",
                                        {.range = "from 0", .unit = "photons"}),
    option<&Camera::quantum_efficiency>("quantum_efficiency", "--qe", "Q",
                                        "Quantum efficiency, electrons per photon",
                                        {.range = "0 to 1", .unit = "electrons per photon"}),
    option<&Camera::exposure_s>("exposure_s", "--exposure", "SECONDS", "Exposure time",
                                {.range = "from 0", .unit = "s"}),
    option<&Camera::dark_e_per_s>("dark_e_per_s", "--dark", "E/S",
                                  "Dark current, electrons per second",
                                  {.range = "from 0", .unit = "electrons/s"}),
    option<&Camera::read_noise_e>("read_noise_e", "--read-noise", "E",
                                  "Read noise, standard deviation in electrons",
                                  {.range = "from 0", .unit = "electrons"}),
    option<&Camera::full_well_e>("full_well_e", "--full-well", "E",
                                 "Full well capacity, electrons per pixel",
                                 {.range = "above 0", .unit = "electrons"}),
    option<&Camera::gain_e_per_adu>("gain_e_per_adu", "--gain", "E/ADU",
                                    "Electrons per count of the converter",
                                    {.range = "above 0", .unit = "electrons/ADU"}),
    option<&Camera::offset_adu>("offset_adu", "--offset", "ADU", "Offset: counts without charge",
                                {.unit = "ADU"}),
    option<&Camera::bits>("bits", "--bits", "1...16",
                          "Bits of the converter; up to 8 are written as uint8, more as uint16",
                          {.range = "1 to 16"}),
    option<&Camera::seed>("seed", "--seed", "N", "Seed of the noise"),
    option<&Camera::noise>("noise", "", "BOOL", "Photon and read noise"),
};

template <>
inline constexpr auto option_table<PhantomOptions> = std::tuple{
    option<&PhantomOptions::kind>("kind", "--kind", "", "Kind of objects",
                                  {.remark = ": some of each"}, parse_phantom_kind),
    option<&PhantomOptions::shape>("shape", "--size", "Z,Y,X", "Number of voxels along each axis"),
    option<&PhantomOptions::voxel>("voxel", "--voxel", "Z,Y,X", "Edges of a voxel with their unit",
                                   {.keyword = "spacing"}),
    option<&PhantomOptions::seed>("seed", "--seed", "N", "Seed of the random specimen"),
    option<&PhantomOptions::count>(
        "count", "--count", "N", "Number of objects",
        {.range = "from 1", .if_unset = "depends on the volume and the kind"}),
    option<&PhantomOptions::radius_um>(
        "radius_um", "--radius", "LENGTH", "Radius of objects; half the thickness of filaments",
        {.keyword = "radius",
         .if_unset = "beads 100nm, filaments 60nm, shells 2um, cells 5um",
         .quantity = Quantity::length_um}),
    option<&PhantomOptions::brightness>("brightness", "--brightness", "B",
                                        "Brightness of voxels inside objects"),
    option<&PhantomOptions::brightness_spread>(
        "brightness_spread", "--brightness-spread", "S",
        "Largest relative deviation of an object's brightness", {.range = "0 to 1"}),
    option<&PhantomOptions::background>("background", "--background", "B",
                                        "Background of every voxel"),
};

}  // namespace convolume
