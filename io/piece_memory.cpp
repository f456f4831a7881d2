// SPDX-License-Identifier: Apache-2.0
#include "io/piece_memory.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "convolume/error.hpp"

namespace convolume::io {
namespace {

constexpr index_t page_bytes = 1 << 16;  // a multiple of every system's
/// One mapping has many pieces: the system limits the number of mappings.
constexpr index_t least_mapping_bytes = index_t{64} << 20;

int open_nameless(const std::string& folder) {
    const int descriptor = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (descriptor >= 0) return descriptor;
    // File systems without it.
    std::string name = folder + "/.convolume-XXXXXX";
    const int named = ::mkostemp(name.data(), O_CLOEXEC);
    if (named >= 0) ::unlink(name.c_str());
    return named;
}

}  // namespace

PieceMemory::PieceMemory(std::string folder, index_t piece_bytes, index_t most_bytes)
    : folder_(std::move(folder)),
      piece_bytes_(piece_bytes),
      most_own_(std::max<index_t>(most_bytes / piece_bytes, 1)),
      mapping_bytes_(round_up(std::max(piece_bytes, least_mapping_bytes), page_bytes)) {}

PieceMemory::~PieceMemory() {
    for (void* const mapping : mapped_) ::munmap(mapping, static_cast<std::size_t>(mapping_bytes_));
    if (descriptor_ >= 0) ::close(descriptor_);
}

char* PieceMemory::take() {
    if (free_.empty()) {
        if (static_cast<index_t>(own_.size()) < most_own_) {
            own_.emplace_back(new char[static_cast<std::size_t>(piece_bytes_)]);
            free_.push_back(own_.back().get());
        } else {
            add_mapping();
        }
    }
    char* const piece = free_.back();
    free_.pop_back();
    ++used_pieces_;
    return piece;
}

void PieceMemory::give_back(char* piece) {
    free_.push_back(piece);
    --used_pieces_;
}

void PieceMemory::add_mapping() {
    const auto refuse = [&](int reason) {
        throw IoError(message("pieces of a compressed image wait for their other samples, and ",
                              folder_, " has no space for them: ", std::strerror(reason),
                              "; free some space, or write without compression"));
    };
    if (descriptor_ < 0) descriptor_ = open_nameless(folder_);
    if (descriptor_ < 0) refuse(errno);
    const index_t offset = file_bytes();
    // Without space, writing to the mapping would end the process.
    if (const int error = ::posix_fallocate(descriptor_, offset, mapping_bytes_); error != 0)
        refuse(error);
    mapped_.reserve(mapped_.size() + 1);
    void* const mapping = ::mmap(nullptr, static_cast<std::size_t>(mapping_bytes_),
                                 PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_, offset);
    if (mapping == MAP_FAILED) refuse(errno);
    mapped_.push_back(mapping);
    for (index_t at = 0; at <= mapping_bytes_ - piece_bytes_; at += piece_bytes_)
        free_.push_back(static_cast<char*>(mapping) + at);
}

}  // namespace convolume::io
