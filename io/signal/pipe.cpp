// SPDX-License-Identifier: Apache-2.0
#include "io/signal/pipe.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <vector>

#include "convolume/error.hpp"

namespace convolume::io {

namespace {

constexpr index_t most_bytes = index_t{1} << 30;

bool is_regular_file(int descriptor) {
    struct stat status {};
    return ::fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode);
}

}  // namespace

CancellableDescriptor::CancellableDescriptor(int descriptor)
    : descriptor_(descriptor), cancel_event_(::eventfd(0, EFD_CLOEXEC)) {
    if (cancel_event_ < 0)
        throw IoError(message("the system refuses an event: ", std::strerror(errno),
                              "; close other programs"));
}

CancellableDescriptor::~CancellableDescriptor() {
    ::close(cancel_event_);
}

void CancellableDescriptor::await(short events, const char* what) const {
    std::array<pollfd, 2> polled{{{descriptor_, events, 0}, {cancel_event_, POLLIN, 0}}};
    while (::poll(polled.data(), polled.size(), -1) < 0)
        if (errno != EINTR)
            throw IoError(message("waiting for ", what, " failed: ", std::strerror(errno)));
    if (polled[1].revents != 0) throw Cancelled(message(what, " is not needed any more"));
}

void CancellableDescriptor::cancel() const {
    const std::uint64_t one = 1;
    // The write fails only if the event's counter is at its maximum, which also wakes poll().
    [[maybe_unused]] const ssize_t written = ::write(cancel_event_, &one, sizeof(one));
}

index_t InputPipe::read(void* to, index_t bytes) const {
    index_t taken = 0;
    while (taken < bytes) {
        await(POLLIN, "standard input");
        const ssize_t got = ::read(descriptor(), static_cast<char*>(to) + taken,
                                   static_cast<std::size_t>(std::min(bytes - taken, most_bytes)));
        if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
        if (got < 0)
            throw IoError(message("reading standard input failed: ", std::strerror(errno)));
        if (got == 0) break;
        taken += got;
    }
    return taken;
}

index_t InputPipe::skip(index_t bytes) const {
    std::vector<char> unused(static_cast<std::size_t>(std::clamp<index_t>(bytes, 0, 1 << 16)));
    index_t skipped = 0;
    while (skipped < bytes) {
        const index_t now = std::min<index_t>(bytes - skipped, static_cast<index_t>(unused.size()));
        const index_t taken = read(unused.data(), now);
        skipped += taken;
        if (taken < now) break;
    }
    return skipped;
}

void InputPipe::skip_header(index_t bytes) const {
    if (const index_t there = skip(bytes); there < bytes)
        throw BadData(message("standard input ended after ", there, " of the ", bytes,
                              " bytes of its header"));
}

OutputPipe::OutputPipe(int descriptor)
    : CancellableDescriptor(descriptor), is_file_(is_regular_file(descriptor)) {
    if (is_file_) begin_ = std::max<index_t>(0, ::lseek(descriptor, 0, SEEK_CUR));
}

void OutputPipe::write(const void* from, index_t bytes) const {
    // A pipe that is ready takes PIPE_BUF bytes without blocking.
    const index_t at_once = is_file_ ? most_bytes : PIPE_BUF;
    for (const char* next = static_cast<const char*>(from); bytes > 0;) {
        await(POLLOUT, "standard output");
        const ssize_t put =
            ::write(descriptor(), next, static_cast<std::size_t>(std::min(bytes, at_once)));
        if (put < 0 && (errno == EINTR || errno == EAGAIN)) continue;
        if (put < 0 && errno == EPIPE) throw PipeClosed("nobody reads standard output any more");
        if (put < 0)
            throw IoError(message("writing to standard output failed: ", std::strerror(errno)));
        next += put;
        bytes -= put;
    }
}

void OutputPipe::write_again(index_t at, const void* from, index_t bytes) const {
    // A file to which the shell appends (>>) takes bytes at its end only.
    if ((::fcntl(descriptor(), F_GETFL) & O_APPEND) != 0) return;
    if (::pwrite(descriptor(), from, static_cast<std::size_t>(bytes), begin_ + at) != bytes)
        throw IoError(message("writing to standard output failed: ", std::strerror(errno)));
}

}  // namespace convolume::io
