// SPDX-License-Identifier: Apache-2.0
#pragma once
// Kernels from files, or PSFs that are made: read, brought to the image's voxel size, centered.
// Every subcommand that takes a PSF uses these.

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/files/kernel_samples.hpp"
#include "cli/text/console.hpp"
#include "convolume/execution.hpp"
#include "convolume/image_file.hpp"
#include "convolume/options.hpp"
#include "convolume/psf.hpp"
#include "convolume/volume.hpp"

namespace convolume::cli {

/// What to do where image and kernel both know their voxel sizes and these differ.
enum class PsfResample {
    automatic,  ///< resample the kernel
    never,      ///< refuse
    ignore,     ///< voxel by voxel, with a warning
};

struct KernelOptions {
    std::string axes;   ///< of the file, see io::OpenOptions
    std::string image;  ///< the same
    KernelCenter center;
    KernelBackground background;
    PsfResample resample = PsfResample::automatic;
    index_t most_bytes = INT64_MAX;  ///< of memory, for reading and resampling
};

/// --kernel-axes, --kernel-image, --kernel-center, --psf-background and --psf-resample.
void add_kernel_options(CLI::App& app, const char* group, KernelOptions& options);

struct KernelFile {
    std::string path;                ///< empty where it was made
    std::optional<PsfOptions> made;  ///< of what; nothing for files
    std::string optics;              ///< which parameters the image's metadata gave, and others
    io::ImageMetadata metadata;      ///< as the file says
    KernelOptions options;
    Volume values;          ///< on the image's voxels; may be emptied once a plan has its own copy
    Shape3 shape;           ///< of `values`
    Index3 center;          ///< of `values`
    Index3 file_center;     ///< of the file's samples, in natural order
    Index3 file_peak;       ///< largest magnitude of the file's samples, in natural order
    WrappedAxes wrapped;    ///< axes in FFT order that are used as they are
    double background = 0;  ///< that was subtracted
    index_t negative_samples = 0;  ///< that were set to 0, where a subcommand does so itself
    bool resampled = false;
    std::vector<std::string> warnings;

    /// How `values` is to be used: nothing is left to choose.
    KernelCenter explicit_center() const { return {KernelCenter::Kind::explicit_, center}; }
};

/// Opens a kernel's file as the options say.
std::unique_ptr<io::ImageReader> open_kernel(const std::string& path, const KernelOptions& options);

/// Reads the stack `path` for images like `image`. Throws what io::open_image() does, OutOfMemory
/// (more than options.most_bytes), BadData (several channels or frames, NaN), InvalidArgument (a
/// center outside, PsfResample::never, voxel sizes that leave nothing of the kernel, a background
/// of complex kernels or of stacks without faces).
KernelFile load_kernel(const std::string& path, const io::ImageMetadata& image,
                       const KernelOptions& options, Timeline& timeline);

/// Makes the PSF of `psf` for images like `image`: of its voxels and, where psf.size is {0, 0, 0},
/// of the size that automatic_psf_size() finds. Throws what make_psf() does.
KernelFile make_kernel(PsfOptions psf, std::optional<double> share, const io::ImageMetadata& image,
                       const KernelOptions& options, const ExecutionContext& context);

/// The file, what was resampled, where the center is and what that moves. `more` ends the first
/// line.
void report_kernel(const Console& console, const KernelFile& kernel, const std::string& more);

/// The "kernel" of --json.
nlohmann::ordered_json to_json(const KernelFile& kernel);

/// "the PSF" or "the PSF "a.tif""
std::string name_of(const KernelFile& kernel);

/// Adds a warning of a kernel of several planes for an image of one.
void warn_of_one_plane(const KernelFile& kernel, const io::ImageMetadata& image,
                       std::vector<std::string>& warnings);

/// Extents of a kernel before and after resampling, and the voxel sizes that these follow from.
struct Resampling {
    Shape3 before;
    Shape3 after;
    std::string sizes;  ///< how both voxel sizes differ, the begin of a sentence
};

/// Throws InvalidArgument if resampling leaves one sample across or multiplies an extent by more
/// than 100, as wrong units do. Returns a warning if it comes near to that; empty if not.
std::string check_resampling(const Resampling& resampling);

}  // namespace convolume::cli
