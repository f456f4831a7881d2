// SPDX-License-Identifier: Apache-2.0
#pragma once
// The request for a run that makes one image of another with a kernel, for one image or many, and
// the options of the command line that fill it.

#include <CLI/CLI.hpp>
#include <array>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/files/gaussian_kernel.hpp"
#include "cli/files/kernel_file.hpp"
#include "cli/files/selected_image.hpp"
#include "cli/images/image_steps.hpp"
#include "cli/run/errors.hpp"
#include "cli/run/output_path.hpp"
#include "convolume/engines.hpp"
#include "convolume/image_file.hpp"
#include "convolume/psf.hpp"
#include "operations/channels/channel_kernels.hpp"

namespace convolume::cli {

/// Options of a PSF that is computed because no file is named.
struct MadePsfRequest {
    /// Parameters that were typed, by the names in psf/parameters.hpp.
    nlohmann::ordered_json typed = nlohmann::ordered_json::object();
    std::vector<double> wavelengths_um;  ///< emission: none, one, or one for each channel
    std::optional<double> capture;       ///< share of light to contain, if typed
    /// Distance above and below the plane of a 2D image within which the specimen is estimated.
    std::optional<double> out_of_focus_um;
    /// Depths of the first and of the last plane, if the PSF varies with depth, and the number of
    /// PSFs at depths between them, if typed.
    std::optional<std::array<double, 2>> depth_range_um;
    std::optional<int> depth_psfs;
    bool is_offered = false;  ///< whether the subcommand has these options
    bool is_needed = false;   ///< whether a PSF is computed

    bool any_typed() const {
        return !typed.empty() || !wavelengths_um.empty() || capture || out_of_focus_um ||
               depth_range_um;
    }
};

/// Number of PSFs of MadePsfRequest::depth_range_um if none was typed.
inline constexpr int default_depth_psfs = 4;

/// Adds the options of the microscope, in a group of their own.
void add_made_psf_options(CLI::App& app, MadePsfRequest& request);

struct ImageChannel {
    const std::string& path;
    const io::ImageMetadata& metadata;  ///< metadata of the selected part of the image
    index_t channel;                    ///< number among the selected channels
};

struct MadePsf {
    PsfOptions options;
    /// Number of planes of the stack for which an automatic size is chosen, if not the image's.
    std::optional<index_t> stack_planes;
    std::string optics;  ///< sentence on what metadata gave and what was assumed; may be empty
    std::vector<std::string> warnings;
};

/// Returns the PSF for a channel, with the image's voxels. Parameters that were not typed come from
/// the image's metadata. The size is {0, 0, 0} if none was typed. Throws InvalidArgument if a
/// parameter is missing or does not fit.
MadePsf made_psf(const MadePsfRequest& request, const ImageChannel& image);

/// The source of a channel's kernel: a file, a Gaussian, or a PSF that is computed.
struct KernelSource {
    std::string path;                       ///< path of the file; empty for a computed kernel
    std::optional<GaussianWidth> gaussian;  ///< widths of a Gaussian kernel
    std::shared_ptr<const MadePsf> psf;     ///< computed PSF; null for other kernels
    /// Distance of the PSF's plane from the image's first plane, and the PSFs of greater depths;
    /// none if the PSF does not vary with depth.
    double depth_um = 0;
    std::vector<KernelSource> deeper;

    /// Returns a name that equal kernels have in common.
    std::string name() const;
};

/// A request to make one image of another with a kernel.
struct ImageRequest : ImageFiles {
    std::string kernel;  ///< kernel of channels that `channel_kernels` does not name; may be empty
    /// Kernels of some channels by number or name, or of all channels in their order.
    std::vector<ChannelKernel> channel_kernels;
    std::optional<GaussianWidth> gaussian;  ///< Gaussian of channels without a kernel file
    MadePsfRequest made_psf;                ///< PSF of channels without a kernel, if it is needed
    bool takes_depths = false;              ///< whether kernels may be named with depths
    KernelOptions kernel_options;
    EngineChoice engines;

    /// Returns the paths of all kernels that are files, each once.
    std::vector<std::string> kernels() const;
    /// Returns the number of kernels that are for all channels in their order.
    index_t ordered_kernels() const;
    /// Returns the paths of the image's files and of all kernels.
    std::vector<std::string> inputs() const;
    RunFiles files() const;
};

/// Returns the kernel for each selected channel of an image. Throws InvalidArgument if a channel
/// has no kernel or two, and if a named channel is not selected. Throws as made_psf() does.
std::vector<KernelSource> kernel_of_each_channel(const ImageRequest& request,
                                                 const SelectedImage& image);

/// Returns a text of all that a solver depends on within a run: the kernel, and shape, type and
/// voxels of the image. Images with equal texts share a solver.
std::string solver_key(const KernelSource& kernel, const io::ImageMetadata& image);

/// Number of volumes that each solver will compute, by solver_key().
using ExpectedVolumes = std::map<std::string, index_t>;

/// Adds the volumes of an image to `expected`.
void add_expected_volumes(ExpectedVolumes& expected, const std::vector<KernelSource>& kernels,
                          const io::ImageMetadata& image);

/// The images of a request that may name many.
struct ManyFilesRequest {
    std::vector<std::string> images;  ///< paths and patterns
    std::string list;                 ///< file with paths, "-" for standard input; may be empty
    std::string output_folder;        ///< folder of the results; may be empty in a dry run
    std::string output_name = "{stem}";
    bool resume = false;
    std::string image_name, kernel_name;  ///< names of the arguments in --help
    bool has_kernel_option = false;       ///< whether --psf was given
    HasOption has_option;                 ///< whether the subcommand has an option
    bool is_many = false;  ///< whether there may be several images, each with an output
};

/// Name and description of an argument in --help.
struct ArgumentHelp {
    const char* name;
    std::string help;
};

/// Adds the arguments IMAGE… KERNEL. What is typed is kept in `many` until divide_arguments().
void add_image_arguments(CLI::App& app, ManyFilesRequest& many, const ArgumentHelp& image,
                         const ArgumentHelp& kernel);

/// Adds --psf, which names a kernel for all channels or for each.
void add_channel_kernel_option(CLI::App& app, ImageRequest& request);

/// Adds --list, --output-dir, --output-name and --resume.
void add_many_files_options(CLI::App& app, ManyFilesRequest& many);

/// Decides which argument is the kernel, and whether there are many images. Throws InvalidArgument
/// if an argument is missing or options contradict each other.
void divide_arguments(const CLI::App& app, ImageRequest& request, ManyFilesRequest& many);

}  // namespace convolume::cli
