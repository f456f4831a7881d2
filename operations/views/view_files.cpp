// SPDX-License-Identifier: Apache-2.0
#include "operations/views/view_files.hpp"

#include <filesystem>
#include <fstream>
#include <sstream>

#include "convolume/error.hpp"
#include "operations/number_text.hpp"
#include "operations/views/transforms.hpp"

namespace convolume {

namespace {

constexpr const char* head_in_um = "z_um,y_um,x_um,psf";
constexpr const char* head_in_voxels = "z,y,x,psf";

std::string without_spaces_around(const std::string& text) {
    const std::size_t first = text.find_first_not_of(" \t\r");
    if (first == std::string::npos) return {};
    return text.substr(first, text.find_last_not_of(" \t\r") + 1 - first);
}

// Reads a line of three numbers and a name, which may have commas.
PlacedPsf placed_psf(const std::string& path, int number, const std::string& line) {
    PlacedPsf placed;
    std::istringstream fields(line);
    for (double& position : placed.at) {
        std::string field;
        std::getline(fields, field, ',');
        std::istringstream text(field);
        text.imbue(std::locale::classic());
        if (!(text >> position) || !(text >> std::ws).eof())
            throw BadData(message("line ", number, " of \"", path, "\" has \"",
                                  without_spaces_around(field).substr(0, 40),
                                  "\" where a position is expected: a line is z,y,x and the file "
                                  "of a PSF"));
    }
    std::getline(fields, placed.path);
    placed.path = without_spaces_around(placed.path);
    if (placed.path.empty())
        throw BadData(message("line ", number, " of \"", path,
                              "\" names no file of a PSF behind the positions z,y,x"));
    placed.path = (std::filesystem::path(path).parent_path() / placed.path).string();
    return placed;
}

}  // namespace

bool is_field_psf_list(const std::string& path) {
    return path.ends_with(".csv");
}

FieldPsfList read_field_psfs(const std::string& path) {
    std::ifstream file(path);
    if (!file) throw InputNotFound(message("cannot open the list of PSFs \"", path, "\""));
    FieldPsfList list;
    bool has_head = false;
    int number = 0;
    for (std::string line; std::getline(file, line);) {
        ++number;
        line = without_spaces_around(line);
        if (line.empty() || line.front() == '#') continue;
        if (has_head) {
            list.psfs.push_back(placed_psf(path, number, line));
            continue;
        }
        if (line != head_in_um && line != head_in_voxels)
            throw BadData(message("\"", path, "\" is no list of PSFs: its first line is ",
                                  head_in_um, " or ", head_in_voxels));
        has_head = true;
        list.in_um = line == head_in_um;
    }
    if (list.psfs.empty()) throw BadData(message("\"", path, "\" has no PSF"));
    return list;
}

std::vector<PlacedPsf> read_field_psfs(const std::string& path, const io::ImageMetadata& image) {
    FieldPsfList list = read_field_psfs(path);
    if (!list.in_um) return std::move(list.psfs);
    const std::optional<VoxelSize> voxel = known_voxel(image);
    if (!voxel)
        throw InvalidArgument(message('"', path,
                                      "\" has positions in µm, but the view does not say its voxel "
                                      "size; save it with that, or give positions in voxels under "
                                      "the head z,y,x,psf"));
    for (PlacedPsf& placed : list.psfs)
        for (int a = 0; a < 3; ++a) placed.at[static_cast<std::size_t>(a)] /= (*voxel)[a];
    return std::move(list.psfs);
}

std::string field_psfs_text(const FieldPsfList& list) {
    std::string text = message(list.in_um ? head_in_um : head_in_voxels, '\n');
    for (const PlacedPsf& one : list.psfs) {
        for (const double position : one.at) text += format_number(position, 12) + ',';
        text += one.path + '\n';
    }
    return text;
}

void check_view_mask(const std::string& path, const io::ImageMetadata& mask, const Shape3& view) {
    if (mask.shape == view && mask.channels == 1 && mask.frames == 1 && !is_complex(mask.type))
        return;
    throw BadData(message("the mask \"", path, "\" has z,y,x ", to_string(mask.shape), ", ",
                          mask.channels, mask.channels == 1 ? " channel and " : " channels and ",
                          mask.frames, mask.frames == 1 ? " time of " : " times of ",
                          to_string(mask.type), ", but one stack of real numbers of z,y,x ",
                          to_string(view), " is needed, one for each pixel of the view"));
}

}  // namespace convolume
