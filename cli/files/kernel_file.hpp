// SPDX-License-Identifier: Apache-2.0
#pragma once
// Kernels from files, and PSFs that are computed. They are centered and resampled to the voxels of
// the image. Every subcommand that takes a PSF uses these functions.

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
#include "operations/kernel/fft_order.hpp"

namespace convolume::cli {

/// The treatment of kernels whose voxel sizes are known and differ from those of the image.
enum class PsfResample {
    automatic,  ///< resample the kernel
    never,      ///< throw an error
    ignore,     ///< use the kernel voxel by voxel, with a warning
};

/// Room for the samples of kernels.
struct KernelRoom {
    index_t most_bytes = INT64_MAX;  ///< largest memory for reading and resampling
    /// Folder on a disk for the samples of kernels that take more than a quarter of `most_bytes`.
    /// If empty, kernels must fit into memory.
    std::string scratch_directory;
};

/// Options for reading and preparing a kernel.
struct KernelOptions {
    std::string axes;   ///< io::OpenOptions::axes for the file
    std::string image;  ///< io::OpenOptions::image for the file
    KernelCenter center;
    KernelBackground background;
    PsfResample resample = PsfResample::automatic;
    KernelRoom room;
};

/// Adds --kernel-axes, --kernel-image, --kernel-center, --psf-background and --psf-resample.
void add_kernel_options(CLI::App& app, KernelOptions& options);

/// A kernel that is ready to use. "The file" also means the samples of a computed PSF.
struct KernelFile {
    std::string path;                ///< path of the file; empty for a computed kernel
    std::optional<PsfOptions> made;  ///< options of a computed PSF; nothing for files
    std::string gaussian;            ///< description of a Gaussian; empty for other kernels
    std::string optics;              ///< sentence on the parameters of a computed PSF
    io::ImageMetadata metadata;      ///< metadata of the file
    KernelOptions options;
    Volume values;                 ///< samples on the image's voxels; empty once a solver has them
    Shape3 shape;                  ///< shape of `values`, also when they are gone
    Index3 center;                 ///< index of the center in `values`
    Index3 file_center;            ///< center of the file's samples, in natural order
    Index3 file_peak;              ///< place of the file's largest magnitude, in natural order
    WrappedAxes wrapped;           ///< axes in FFT order that are used as they are
    double background = 0;         ///< value that was subtracted
    index_t negative_samples = 0;  ///< samples that a subcommand has set to 0
    bool resampled = false;
    std::vector<std::string> warnings;
    /// Distance of the kernel's plane from the image's first plane, and the kernels of greater
    /// depths; none if the kernel does not vary with depth.
    double depth_um = 0;
    std::vector<KernelFile> deeper;

    /// Returns the bytes of all samples that are in memory.
    index_t bytes() const;
    /// Releases all samples.
    void release_values();
    /// Returns the center of `values` as an option.
    KernelCenter explicit_center() const { return {KernelCenter::Kind::explicit_, center}; }
};

/// Opens the file of a kernel with the axes and the image of the options.
std::unique_ptr<io::ImageReader> open_kernel(const std::string& path, const KernelOptions& options);

/// Reads and prepares the stack `path` for images like `image`. Throws as io::open_image(). Throws
/// OutOfMemory if it takes more than options.room, and BadData for several channels or
/// frames and for NaN. Throws InvalidArgument for a center outside, for PsfResample::never, for
/// voxel sizes that leave nothing of the kernel, and for a background of complex kernels or of
/// stacks without outer faces.
KernelFile load_kernel(const std::string& path, const io::ImageMetadata& image,
                       const KernelOptions& options, Timeline& timeline);

/// Computes and prepares a PSF for images like `image`. If psf.size is {0, 0, 0}, the size is that
/// of automatic_psf_size(). Throws as make_psf() does.
KernelFile make_kernel(PsfOptions psf, std::optional<double> share, const io::ImageMetadata& image,
                       const KernelOptions& options, const ExecutionContext& context);

/// Reports the kernel: file, warnings, background, resampling, center. `more` ends the first line.
void report_kernel(const Console& console, const KernelFile& kernel, const std::string& more);

/// Prints by how much a kernel shifts the image, if it does.
void report_shift(const Console& console, const KernelFile& kernel);

/// Returns the object "kernel" of --json.
nlohmann::ordered_json to_json(const KernelFile& kernel);

/// Returns the name of a kernel in messages: "the PSF" or "the PSF "a.tif"".
std::string name_of(const KernelFile& kernel);

/// Adds a warning if the image has one plane and the kernel has several.
void warn_of_one_plane(const KernelFile& kernel, const io::ImageMetadata& image,
                       std::vector<std::string>& warnings);

}  // namespace convolume::cli
