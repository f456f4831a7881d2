// SPDX-License-Identifier: Apache-2.0
#include "io/axis_layout.hpp"

#include <algorithm>

#include "io/units.hpp"

namespace convolume::io {
namespace {

const std::string all_axes = "TCZYX";

void fit_rank(std::vector<index_t>& dims, std::size_t rank) {
    while (dims.size() > rank && dims.front() == 1) dims.erase(dims.begin());
    while (dims.size() < rank) dims.insert(dims.begin(), 1);
}

}  // namespace

int AxisLayout::dimension(char axis) const {
    const auto at = axes.find(axis);
    return at == std::string::npos ? -1 : static_cast<int>(at);
}

index_t AxisLayout::extent(char axis) const {
    const int d = dimension(axis);
    return d < 0 ? 1 : dims[static_cast<std::size_t>(d)];
}

std::vector<index_t> AxisLayout::position(index_t t, index_t c, index_t z) const {
    std::vector<index_t> at(dims.size(), 0);
    for (std::size_t d = 0; d < dims.size(); ++d)
        at[d] = axes[d] == 'T' ? t : axes[d] == 'C' ? c : axes[d] == 'Z' ? z : 0;
    return at;
}

bool is_axes(const std::string& axes) {
    for (std::size_t i = 0; i < axes.size(); ++i)
        if (all_axes.find(axes[i]) == std::string::npos ||
            axes.find(axes[i], i + 1) != std::string::npos)
            return false;
    return axes.find('X') != std::string::npos &&
           (axes.size() == 1 || axes.find('Y') != std::string::npos);
}

AxisLayout axis_layout(std::vector<index_t> dims, const std::string& file_axes,
                       const std::string& requested, const std::string& what) {
    for (const index_t extent : dims)
        if (extent < 1)
            throw BadData(message(what, " has no pixels: its shape is ", dims_text(dims)));
    std::string axes = upper_case(requested.empty() ? file_axes : requested);
    const bool assumed = requested.empty() && (axes.size() != dims.size() || !is_axes(axes));
    if (assumed) {
        fit_rank(dims, std::clamp<std::size_t>(dims.size(), 1, all_axes.size()));
        if (dims.size() > all_axes.size())
            throw BadData(message(what, " has ", dims.size(), " dimensions (", dims_text(dims),
                                  "); at most 5 (t, c, z, y, x) can be read"));
        axes = all_axes.substr(all_axes.size() - dims.size());
    }
    const std::string shape_text = dims_text(dims);
    fit_rank(dims, axes.size());
    if (axes.size() != dims.size() || !is_axes(axes))
        throw InvalidArgument(message("axes \"", requested, "\" do not fit ", what, " of shape ",
                                      shape_text,
                                      "; give one letter of T, C, Z, Y, X for each "
                                      "dimension, slowest first, such as ZYX"));
    return {axes, std::move(dims), assumed};
}

void set_extents(ImageMetadata& metadata, const AxisLayout& layout) {
    metadata.frames = layout.extent('T');
    metadata.channels = layout.extent('C');
    metadata.shape = {layout.extent('Z'), layout.extent('Y'), layout.extent('X')};
    metadata.axes = layout.axes;
}

std::string dims_text(const std::vector<index_t>& dims) {
    std::string text;
    for (const index_t extent : dims) text += (text.empty() ? "" : "×") + std::to_string(extent);
    return text.empty() ? "()" : text;
}

}  // namespace convolume::io
