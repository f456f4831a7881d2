// SPDX-License-Identifier: Apache-2.0
#include "cli/views/view_options.hpp"

#include "cli/text/option_help.hpp"
#include "convolume/error.hpp"
#include "convolume/image_format.hpp"
#include "operations/views/view_files.hpp"

namespace convolume::cli {

std::vector<std::string> ViewRequest::inputs() const {
    std::vector<std::string> paths = masks;
    for (const std::string& psf : psfs) {
        paths.push_back(psf);
        if (!is_field_psf_list(psf)) continue;
        for (const PlacedPsf& placed : read_field_psfs(psf).psfs) paths.push_back(placed.path);
    }
    return paths;
}

void ViewRequest::check(std::size_t views) const {
    check_view_counts(
        {views, psfs.size(), masks.size(), backgrounds.size(), lights.size(), transforms.size()});
}

void add_view_options(CLI::App& app, ViewRequest& request, const ViewHelp& help) {
    const auto add = [&app](const char* flags, std::vector<std::string>& values,
                            const char* placeholder, const std::string& text) {
        add_value(app, flags, values, placeholder, text)->allow_extra_args(false);
    };
    add("--transform", request.transforms, "FILE",
        "Where a view lies: an affine map to the first view, for each of the others, or to a "
        "common space, for all: 3 rows of 4 numbers (x, y, z), a transform of ITK, or "
        "dataset.xml:SETUP of BigStitcher");
    add_choice(app, "--transform-unit", request.unit,
               {{"um", TransformUnit::um}, {"voxel", TransformUnit::voxel}},
               "Unit of the positions that these files map");
    add("--mask", request.masks, "FILE", help.mask);
    add("--light", request.lights, "X", help.light);
}

const std::string* text_of(const std::vector<std::string>& texts, std::size_t v) {
    return texts.empty() ? nullptr : &texts[texts.size() == 1 ? 0 : v];
}

std::optional<double> number_of(const std::vector<std::string>& texts, std::size_t v,
                                const char* option) {
    const std::string* const text = text_of(texts, v);
    if (text == nullptr || *text == "auto") return {};
    return parse_number_or("auto", option, *text);
}

std::vector<FieldPsf> ViewPsfs::field() const {
    std::vector<FieldPsf> psfs;
    for (std::size_t k = 0; k < files.size(); ++k) {
        FieldPsf& one = psfs.emplace_back();
        one.psf = files[k].values.view();
        one.center = files[k].explicit_center();
        if (!places.empty()) one.at = places[k];
    }
    return psfs;
}

ViewPsfs load_view_psfs(const std::string& path, const io::ImageMetadata& image,
                        const KernelOptions& options, Timeline& timeline) {
    ViewPsfs loaded;
    if (!is_field_psf_list(path)) {
        loaded.files.push_back(load_kernel(path, image, options, timeline));
        return loaded;
    }
    for (const PlacedPsf& placed : read_field_psfs(path, image)) {
        loaded.files.push_back(load_kernel(placed.path, image, options, timeline));
        loaded.places.push_back(placed.at);
    }
    return loaded;
}

void report_psfs(const Console& console, const ViewPsfs& psfs) {
    if (psfs.places.empty()) {
        report_kernel(console, psfs.files.front(), "");
        return;
    }
    for (std::size_t k = 0; k < psfs.files.size(); ++k) {
        const std::array<double, 3>& at = psfs.places[k];
        report_kernel(console, psfs.files[k],
                      message(", at voxel ", format_number(at[0]), ",", format_number(at[1]), ",",
                              format_number(at[2])));
    }
}

nlohmann::ordered_json to_json(const ViewPsfs& psfs) {
    if (psfs.places.empty()) return to_json(psfs.files.front());
    nlohmann::ordered_json all = nlohmann::ordered_json::array();
    for (std::size_t k = 0; k < psfs.files.size(); ++k) {
        all.push_back(to_json(psfs.files[k]));
        all.back()["at_voxel"] = psfs.places[k];
    }
    return all;
}

Volume load_mask(const std::string& path, const Shape3& shape) {
    const auto reader = io::open_image(path);
    const io::ImageMetadata& found = reader->metadata();
    check_view_mask(path, found, shape);
    Volume read(shape, found.type), mask(shape, PixelType::float32);
    reader->read(0, 0, read.view());
    reader->check_unchanged();
    convert_pixels(std::as_const(read).view(), mask.view());
    return mask;
}

}  // namespace convolume::cli
