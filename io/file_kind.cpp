// SPDX-License-Identifier: Apache-2.0
#include "io/file_kind.hpp"

#include <algorithm>
#include <cctype>

namespace convolume::io {
namespace {

bool is_tiff(const std::string& head) {
    static const std::string marks[] = {{"II*\0", 4}, {"MM\0*", 4}, {"II+\0", 4}, {"MM\0+", 4}};
    return std::any_of(std::begin(marks), std::end(marks),
                       [&](const std::string& mark) { return head.compare(0, 4, mark) == 0; });
}

/// XML begins with a tag, after a byte order mark and blanks.
bool is_xml(std::string_view head) {
    if (head.starts_with("\xEF\xBB\xBF")) head.remove_prefix(3);
    const auto first = head.find_first_not_of(" \t\r\n");
    if (first == std::string_view::npos || head[first] != '<') return false;
    const std::string_view tag = head.substr(first + 1);
    return !tag.empty() &&
           (tag[0] == '?' || tag[0] == '!' || std::isalpha(static_cast<unsigned char>(tag[0])));
}

/// HDF5's signature stands at 0 or, after a user block, at 512, 1024, 2048, …
bool is_hdf5(const RawFile& file) {
    static const std::string mark("\211HDF\r\n\032\n", 8);
    std::string found(8, '\0');
    for (index_t at = 0; at <= file.size() - 8; at = at == 0 ? 512 : at * 2) {
        file.read(at, found.data(), 8);
        if (found == mark) return true;
    }
    return false;
}

}  // namespace

FileKind kind_of(const RawFile& file) {
    if (is_hdf5(file)) return FileKind::hdf5;
    const std::string head = file.head(8);
    if (is_tiff(head)) return FileKind::tiff;
    if (head.compare(0, 6, "\x93NUMPY") == 0) return FileKind::npy;
    return is_xml(file.head(64)) ? FileKind::xml : FileKind::other;
}

bool has_extension(const std::string& path, std::string_view extension) {
    if (path.size() <= extension.size()) return false;
    return std::equal(extension.rbegin(), extension.rend(), path.rbegin(), [](char a, char b) {
        const auto lower = [](char letter) {
            return std::tolower(static_cast<unsigned char>(letter));
        };
        return lower(a) == lower(b);
    });
}

bool names_hdf5(const std::string& path) {
    return has_extension(path, ".h5") || has_extension(path, ".hdf5");
}

}  // namespace convolume::io
