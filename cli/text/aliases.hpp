// SPDX-License-Identifier: Apache-2.0
#pragma once
// Names of options and subcommands that other programs of the field use. This is the only list of
// them: docs/commands/common.md has the same, and --help shows none.

#include <array>

namespace convolume::cli {

/// Another name for an option, or for an option with a value.
struct OptionAlias {
    const char* typed;
    const char* option;
    const char* value = nullptr;  ///< value that the name stands for; null: the user gives it
};

/// An alias applies to subcommands that have its option and no option of its own name. The first
/// one that applies is taken.
inline constexpr auto option_aliases = std::to_array<OptionAlias>({
    {"--NA", "--na"},
    {"--ri", "--ni"},
    {"--refractive-index", "--ni"},
    {"--emission", "--wavelength"},
    {"--lambda", "--wavelength"},
    {"--pixel-size", "--pixel"},
    {"--pixel-size", "--voxel"},
    {"--voxel-size", "--voxel"},
    {"--spacing", "--voxel"},
    {"--channels", "--channel"},
    {"--frames", "--frame"},
    {"--algorithm", "--method"},
    {"-n", "--iterations"},
    {"--iter", "--iterations"},
    {"--iters", "--iterations"},
    {"--iteration", "--iterations"},
    {"--niter", "--iterations"},
    {"--num-iter", "--iterations"},
    {"--bg", "--background"},
    {"--gpu", "--device", "gpu"},
    {"--cpu", "--device", "cpu"},
    {"-j", "--threads"},
    {"--jobs", "--threads"},
    {"--workers", "--threads"},
    {"--out", "--output"},
    {"-f", "--overwrite"},
    {"--force", "--overwrite"},
    {"--dtype", "--output-type"},
    {"--dtype", "--type"},
    {"--8bit", "--output-type", "uint8"},
    {"--16bit", "--output-type", "uint16"},
    {"--32bit", "--output-type", "float32"},
    {"--max", "--by", "max"},
    {"--mean", "--by", "mean"},
    {"--sum", "--by", "sum"},
    {"--cmap", "--color"},
    {"--lut", "--color"},
    {"--zoom", "--scale"},
});

/// An option of other programs that no option of this one stands for.
struct ForeignOption {
    const char* typed;
    const char* option;  ///< the entry applies to subcommands with this option
    const char* cure;    ///< what to type instead: the second half of a sentence
};

inline constexpr auto foreign_options = std::to_array<ForeignOption>({
    {"-p", "--psf-for",
     "name the PSF after the image, or one for each channel by --psf-for 0=a.tif,1=b.tif"},
    {"--psf", "--psf-for",
     "name the PSF after the image, or one for each channel by --psf-for 0=a.tif,1=b.tif"},
    {"--kernel", "--psf-for",
     "name the kernel after the image, or one for each channel by --psf-for 0=a.tif,1=b.tif"},
    {"-i", "--output", "name the input without an option"},
    {"--input", "--output", "name the input without an option"},
    {"--immersion", "--ni",
     "give its refractive index, e.g. --ni 1.518 for oil, or --objective \"60x/1.4 oil\""},
    {"--resxy", "--voxel", "give all edges of a voxel as --voxel Z,Y,X, e.g. --voxel 200,65,65nm"},
    {"--resz", "--voxel", "give all edges of a voxel as --voxel Z,Y,X, e.g. --voxel 200,65,65nm"},
    {"--slice", "--slices", "--slices draws the planes through the middle"},
    {"--title", "--after", "titles are file names; with --after they are before and after"},
    {"--scale-bar", "--scale", "pictures have a scale bar; --scale sets the size of pixels"},
    {"--composite", "--color", "channels are merged without an option, in the colors of --color"},
});

/// Another name for a subcommand.
struct CommandAlias {
    const char* typed;
    const char* command;
};

inline constexpr auto command_aliases = std::to_array<CommandAlias>({
    {"conv", "convolve"},
    {"decon", "deconvolve"},
    {"deconv", "deconvolve"},
    {"mip", "project"},
    {"show", "preview"},
    {"view", "preview"},
});

}  // namespace convolume::cli
