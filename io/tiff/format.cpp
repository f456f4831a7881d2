// SPDX-License-Identifier: Apache-2.0
#include "io/tiff/format.hpp"

#include <algorithm>
#include <iterator>

#include "io/image_format.hpp"

namespace convolume::io {

bool is_tiff(std::string_view head) {
    using namespace std::string_view_literals;
    static constexpr std::string_view marks[] = {"II*\0"sv, "MM\0*"sv, "II+\0"sv, "MM\0+"sv};
    return std::any_of(std::begin(marks), std::end(marks),
                       [&](std::string_view mark) { return head.starts_with(mark); });
}

std::vector<ImageFormat> tiff_formats() {
    return {
        {.name = "TIFF",
         .endings = {".tif", ".tiff", ".tf2", ".tf8", ".btf"},
         .read_endings = {".lsm", ".stk"},
         .recognizes = [](const std::string&, std::string_view head) { return is_tiff(head); },
         .open = open_tiff,
         .create = create_tiff},
        {.name = "OME-TIFF",
         .endings = {".ome.tif", ".ome.tiff", ".ome.tf2", ".ome.tf8", ".ome.btf"},
         .recognizes = [](const std::string&,
                          std::string_view head) { return is_xml(head) && has_ome_element(head); },
         .open = open_ome_companion,
         .create = create_ome_tiff}};
}

}  // namespace convolume::io
