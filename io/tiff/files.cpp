// SPDX-License-Identifier: Apache-2.0
#include "io/tiff/files.hpp"

#include <bit>

namespace convolume::io {
namespace {

/// libtiff's own tables may take this much whatever the file's size.
constexpr index_t table_bytes = index_t{64} << 20;
/// Sets can have more files than a process may have open.
constexpr std::size_t most_open_files = 64;

bool has_other_byte_order(const RawFile& file) {
    return (file.head(1) == "I") != (std::endian::native == std::endian::little);
}

}  // namespace

OpenTiff::OpenTiff(const std::string& path)
    : file(path),
      handles(file, checked_add(checked_multiply(file.size(), 64), table_bytes)),
      is_swapped(has_other_byte_order(file)) {}

index_t TiffFiles::add(const std::string& path) {
    auto tiff = std::make_shared<OpenTiff>(path);
    const auto [entry, is_new] =
        numbers_.try_emplace(tiff->file.identity(), static_cast<index_t>(known_.size()));
    if (!is_new) return entry->second;
    try {
        auto handle = tiff->handles.take();
        std::vector<TiffPage> pages = scan_pages(*handle, tiff->file);
        tiff->handles.give_back(std::move(handle));
        known_.push_back({path, std::move(pages), tiff->file.state(), nullptr});
    } catch (...) {
        numbers_.erase(entry);
        throw;
    }
    const std::lock_guard lock(mutex_);
    keep_open(known_.size() - 1, std::move(tiff));
    return static_cast<index_t>(known_.size()) - 1;
}

std::shared_ptr<OpenTiff> TiffFiles::open(index_t file) const {
    const std::lock_guard lock(mutex_);
    Known& known = known_[at(file)];
    if (known.open) return known.open;
    auto tiff = std::make_shared<OpenTiff>(known.path);
    tiff->file.check_state(known.state);
    keep_open(at(file), tiff);
    return tiff;
}

void TiffFiles::keep_open(std::size_t file, std::shared_ptr<OpenTiff> tiff) const {
    known_[file].open = std::move(tiff);
    open_.push_back(file);
    if (open_.size() > most_open_files) {
        known_[open_.front()].open.reset();
        open_.pop_front();
    }
}

void TiffFiles::check_unchanged() const {
    for (std::size_t file = 0; file < known_.size(); ++file)
        open(static_cast<index_t>(file))->file.check_unchanged();
}

}  // namespace convolume::io
