// SPDX-License-Identifier: Apache-2.0
#include "core/scratch_file.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "convolume/options.hpp"
#include "core/system/system.hpp"

namespace convolume {

namespace {

std::string temporary_directory() {
    std::error_code failed;
    const auto path = std::filesystem::temp_directory_path(failed);
    return failed ? "/tmp" : path.string();
}

// Moves all bytes. `move(at, bytes)` reads or writes at most `bytes` at offset `at`, and returns
// how many bytes it moved.
template <class Move>
void move_all(const std::string& directory, const char* doing, index_t bytes, const Move& move) {
    for (index_t done = 0; done < bytes;) {
        const auto wanted = static_cast<std::size_t>(std::min(bytes - done, index_t{1} << 30));
        const index_t moved = move(done, wanted);
        if (moved < 0 && errno == EINTR) continue;
        if (moved <= 0)
            throw IoError(message(doing, " a scratch file in ", directory, " failed: ",
                                  moved < 0 ? std::strerror(errno) : "the file ends too early"));
        done += moved;
    }
}

}  // namespace

ScratchFile::ScratchFile(const std::string& directory, index_t bytes)
    : directory_(directory.empty() ? temporary_directory() : directory),
      descriptor_(system::open_nameless_file(directory_)) {
    if (descriptor_ < 0)
        throw CannotCreate(message("cannot create a scratch file in ", directory_, ": ",
                                   std::strerror(errno), "; choose another folder"));
    const int error = system::reserve_space(descriptor_, 0, std::max<index_t>(bytes, 1));
    if (error == 0 || error == EOPNOTSUPP || error == EINVAL) return;
    system::close_file(descriptor_);
    throw IoError(message("a scratch file of ", format_bytes(bytes), " cannot be made in ",
                          directory_, ": ", std::strerror(error),
                          "; free some space or choose another folder"));
}

ScratchFile::~ScratchFile() {
    system::close_file(descriptor_);
}

void ScratchFile::read(index_t offset, void* target, index_t bytes) const {
    move_all(directory_, "reading", bytes, [&](index_t done, std::size_t wanted) {
        return system::read_at(descriptor_, static_cast<char*>(target) + done, wanted,
                               offset + done);
    });
}

void ScratchFile::write(index_t offset, const void* source, index_t bytes) {
    move_all(directory_, "writing", bytes, [&](index_t done, std::size_t wanted) {
        return system::write_at(descriptor_, static_cast<const char*>(source) + done, wanted,
                                offset + done);
    });
}

void* ScratchFile::map(index_t bytes) {
    // Some file systems reserve no space: the last byte gives the file its size.
    const char last = 0;
    write(bytes - 1, &last, 1);
    if (void* const memory = system::map_file(descriptor_, bytes)) return memory;
    throw OutOfMemory(message("the system refused to map ", format_bytes(bytes),
                              " of a scratch file in ", directory_, ": ", std::strerror(errno),
                              "; raise the limit of address space (ulimit -v)"));
}

void ScratchFile::sync() {
    if (system::sync_file(descriptor_) != 0)
        throw IoError(
            message("writing a scratch file in ", directory_, " failed: ", std::strerror(errno)));
}

}  // namespace convolume
