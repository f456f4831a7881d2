// SPDX-License-Identifier: Apache-2.0
#pragma once
// The options of several views of one object, for all commands that have views.

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/files/kernel_file.hpp"
#include "convolume/forward_model.hpp"
#include "convolume/image_file.hpp"
#include "operations/views/transforms.hpp"

namespace convolume::cli {

/// Options of views, as typed. Each is given not at all, once for all views, or once for each.
struct ViewRequest {
    std::vector<std::string> psfs;        ///< PSFs, or lists of those of the field
    std::vector<std::string> transforms;  ///< ViewTransforms::files
    TransformUnit unit = TransformUnit::unknown;
    std::vector<std::string> masks, backgrounds, lights;

    /// Returns the paths of all files that are read, with those that lists name.
    std::vector<std::string> inputs() const;
    /// Throws InvalidArgument if the numbers of values do not suit a number of views.
    void check(std::size_t views) const;
};

/// Texts of the help for options that commands use differently.
struct ViewHelp {
    const char* mask;
    const char* light;
};

/// Adds --transform, --transform-unit, --mask and --light.
void add_view_options(CLI::App& app, ViewRequest& request, const ViewHelp& help);

/// Returns the text for view v among those of an option, or null if none is given.
const std::string* text_of(const std::vector<std::string>& texts, std::size_t v);
/// Returns the number for view v, or nothing for none and for "auto".
std::optional<double> number_of(const std::vector<std::string>& texts, std::size_t v,
                                const char* option);

/// The PSF of a view, or those of places in its field, in voxels of the view.
struct ViewPsfs {
    std::vector<KernelFile> files;
    std::vector<std::array<double, 3>> places;  ///< empty for one PSF

    /// Returns the PSFs for a forward model, which refer to the files.
    std::vector<FieldPsf> field() const;
};

/// Loads the PSFs of a view whose recording is like `image`. Throws as load_kernel() and
/// read_field_psfs() do, and InvalidArgument if positions are in µm and voxels have no size.
ViewPsfs load_view_psfs(const std::string& path, const io::ImageMetadata& image,
                        const KernelOptions& options, Timeline& timeline);
void report_psfs(const Console& console, const ViewPsfs& psfs);
/// Returns one PSF as an object, those of a field as an array.
nlohmann::ordered_json to_json(const ViewPsfs& psfs);

/// Reads the mask of a view, in float32. Throws BadData if it is no single stack of real numbers
/// with the extents `shape`.
Volume load_mask(const std::string& path, const Shape3& shape);

}  // namespace convolume::cli
