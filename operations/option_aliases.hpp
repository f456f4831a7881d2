// SPDX-License-Identifier: Apache-2.0
#pragma once
// Names of options that other programs of the field use. This is the only list of them.

#include <array>

namespace convolume {

/// Another name for an option, or for an option with a value.
struct OptionAlias {
    const char* typed;
    const char* option;
    const char* value = nullptr;  ///< value that the name stands for; null: the user gives it
};

/// An alias applies to subcommands, and as a hint to functions of Python, that have its option and
/// no option of its own name. The first one that applies is taken.
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
    {"--channels", "--signals"},
    {"--frames", "--frame"},
    {"--time", "--frame"},
    {"--algorithm", "--method"},
    {"-n", "--iterations"},
    {"--iter", "--iterations"},
    {"--iters", "--iterations"},
    {"--iteration", "--iterations"},
    {"--niter", "--iterations"},
    {"--num-iter", "--iterations"},
    {"--n-iter", "--iterations"},
    {"--bg", "--background"},
    {"--gpu", "--device", "gpu"},
    {"--cpu", "--device", "cpu"},
    {"-j", "--threads"},
    {"--jobs", "--threads"},
    {"--n-jobs", "--threads"},
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
    {"--cmap", "--lut"},
    {"--color", "--lut"},
    {"--zoom", "--scale"},
});

}  // namespace convolume
