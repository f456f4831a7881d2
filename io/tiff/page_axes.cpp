// SPDX-License-Identifier: Apache-2.0
#include "io/tiff/page_axes.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>

#include "convolume/error.hpp"

namespace convolume::io {

PageAxes parse_page_axes(const std::string& text) {
    PageAxes axes;
    const char* at = text.data();
    const char* const end = at + text.size();
    while (at < end) {
        if (std::isalpha(static_cast<unsigned char>(*at)) == 0)
            throw InvalidArgument(
                message("axes are \"", text, "\"; give letters of T, C, Z, Y, X, slowest first, ",
                        "each with its extent if needed, such as ZYX or T2Z3C4YX"));
        axes.letters += static_cast<char>(std::toupper(static_cast<unsigned char>(*at++)));
        index_t extent = 0;
        const auto number = std::from_chars(at, end, extent);
        if (number.ec == std::errc() && number.ptr > at) {
            if (extent < 1)
                throw InvalidArgument(message("axes are \"", text, "\", with an extent of ", extent,
                                              "; extents are at least 1"));
            axes.has_extents = true;
            at = number.ptr;
        }
        axes.extents.push_back(extent);
    }
    return axes;
}

std::vector<index_t> page_extents(const PageAxes& axes, index_t pages, const std::string& what) {
    const std::size_t count = axes.letters.size() - 2;
    std::vector<index_t> extents(axes.extents.begin(),
                                 axes.extents.begin() + static_cast<std::ptrdiff_t>(count));
    const auto open = std::count(extents.begin(), extents.end(), 0);
    index_t product = 1;
    for (const index_t extent : extents)
        if (extent > 0) product = checked_multiply(product, extent);
    const bool fits = open == 0 ? product == pages : open == 1 && pages % product == 0;
    if (!fits)
        throw InvalidArgument(
            message("axes ", axes.letters, " with their extents stand for ",
                    open == 0 ? "" : "multiples of ", product, " pages, but ", what, " has ", pages,
                    "; give the extents of all axes before YX but one, such as T2Z3C4YX"));
    std::replace(extents.begin(), extents.end(), index_t{0}, pages / product);
    return extents;
}

}  // namespace convolume::io
