// SPDX-License-Identifier: Apache-2.0
#include "io/raw_file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "convolume/error.hpp"

namespace convolume::io {

RawFile::RawFile(const std::string& path) : path_(path) {
    if (path.empty()) throw InputNotFound("an empty file name was given; name the file to read");
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0)
        throw InputNotFound(
            message("cannot open ", path, ": ", std::strerror(errno), "; check the path"));
    // Opening a pipe would block until a writer opens it.
    if (!S_ISREG(status.st_mode))
        throw InputNotFound(
            message(path, " is not a regular file; give the path of an image file"));
    if (status.st_size == 0)
        throw BadData(message(path, " is empty (0 bytes); write or copy it again"));
    descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor_ < 0)
        throw InputNotFound(message(
            "cannot open ", path, ": ", std::strerror(errno),
            errno == EMFILE ? "; raise the limit by ulimit -n" : "; check its permissions"));
    // The path may meanwhile name another file, so the state is that of the open descriptor.
    if (record_state()) return;
    ::close(descriptor_);
    throw InputNotFound(message(path, " was changed while it was opened; run it again"));
}

RawFile::RawFile(int descriptor, const std::string& path) : path_(path), descriptor_(descriptor) {
    if (record_state()) return;
    ::close(descriptor_);
    throw BadData(message(path, " is empty (0 bytes)"));
}

bool RawFile::record_state() {
    struct stat status {};
    if (::fstat(descriptor_, &status) != 0 || status.st_size == 0) return false;
    size_ = status.st_size;
    modified_ = status.st_mtim;
    identity_ = {status.st_dev, status.st_ino};
    return true;
}

RawFile::~RawFile() {
    ::close(descriptor_);
}

void RawFile::read(index_t offset, void* target, index_t bytes) const {
    if (offset < 0 || bytes < 0 || bytes > size_ || offset > size_ - bytes)
        throw BadData(message(path_, " ends after ", size_, " bytes, before the ", bytes,
                              " bytes at offset ", offset, " that it promises; copy it again"));
    auto* to = static_cast<char*>(target);
    while (bytes > 0) {
        // Linux transfers at most 2 GiB in one call.
        const auto wanted = static_cast<std::size_t>(std::min<index_t>(bytes, index_t{1} << 30));
        const ssize_t got = ::pread(descriptor_, to, wanted, offset);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0)
            throw IoError(message("reading ", path_, " at offset ", offset,
                                  " failed: ", std::strerror(errno)));
        if (got == 0)
            throw IoError(message(path_,
                                  " was changed while it was read: it became shorter; run it "
                                  "again when nothing writes the file"));
        to += got;
        offset += got;
        bytes -= got;
    }
}

void RawFile::check_unchanged() const {
    struct stat status {};
    if (::fstat(descriptor_, &status) != 0)
        throw IoError(message("reading ", path_, " failed: ", std::strerror(errno)));
    check_state({identity_, status.st_size, status.st_mtim});
}

void RawFile::check_state(const FileState& state) const {
    if (state.identity != identity_ || state.bytes != size_ ||
        state.modified.tv_sec != modified_.tv_sec || state.modified.tv_nsec != modified_.tv_nsec)
        throw IoError(message(path_,
                              " was changed while it was read; run it again when nothing "
                              "writes the file"));
}

bool RawFile::lock_shared() const {
    // Only a conflicting lock counts: some file systems have no locks.
    return ::flock(descriptor_, LOCK_SH | LOCK_NB) == 0 || errno != EWOULDBLOCK;
}

std::string RawFile::head(index_t bytes) const {
    std::string text(static_cast<std::size_t>(std::min(bytes, size_)), '\0');
    read(0, text.data(), static_cast<index_t>(text.size()));
    return text;
}

}  // namespace convolume::io
