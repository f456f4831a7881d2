// SPDX-License-Identifier: Apache-2.0
#include "io/atomic_output.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "convolume/error.hpp"
#include "convolume/image_file.hpp"
#include "convolume/options.hpp"
#include "io/leftover_outputs.hpp"
#include "io/pending_outputs.hpp"

namespace convolume::io {
namespace {

namespace fs = std::filesystem;

/// The disk gets to work whenever so much was written.
constexpr index_t writeback_bytes = index_t{64} << 20;

std::string folder_of(const std::string& path) {
    const std::string parent = fs::path(path).parent_path().string();
    return parent.empty() ? "." : parent;
}

/// Bytes that may still be written beside `path`; -1 where the system does not say.
index_t free_bytes(const std::string& path) {
    struct statvfs status {};
    if (::statvfs(folder_of(path).c_str(), &status) != 0) return -1;
    return checked_multiply(static_cast<index_t>(status.f_bavail),
                            static_cast<index_t>(status.f_frsize));
}

Sentence exists_text(const std::string& path) {
    return sentence(path, " exists already; choose another name or allow it to be overwritten (",
                    OptionName{"overwrite"}, ")");
}

/// rename() that never replaces: 0, or an errno.
int rename_to_new(const std::string& from, const std::string& to) {
    constexpr unsigned no_replace = 1;  // RENAME_NOREPLACE of linux/fs.h
    if (::syscall(SYS_renameat2, AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), no_replace) == 0)
        return 0;
    if (errno != EINVAL && errno != ENOSYS) return errno;
    // File systems without it mostly have hard links, which never replace either.
    if (::link(from.c_str(), to.c_str()) == 0) return ::unlink(from.c_str()) == 0 ? 0 : errno;
    if (errno == EEXIST) return EEXIST;
    if (::access(to.c_str(), F_OK) == 0) return EEXIST;
    return std::rename(from.c_str(), to.c_str()) == 0 ? 0 : errno;
}

}  // namespace

AtomicOutput::AtomicOutput(const std::string& target, bool overwrite, index_t expected_bytes)
    : target_(target), overwrite_(overwrite), expected_bytes_(expected_bytes) {
    struct stat status {};
    if (::stat(target.c_str(), &status) == 0) {
        // Renaming over a device or a folder would destroy it.
        if (!S_ISREG(status.st_mode))
            throw CannotCreate(message("cannot create ", target,
                                       ": it is not a regular file; choose another name"));
        if (!overwrite) throw OutputExists(exists_text(target));
        // Replace what a symbolic link points to, not the link.
        target_ = fs::canonical(target).string();
    }
    remove_leftovers(folder_of(target_));
    const index_t available = free_bytes(target_);
    if (available >= 0 && expected_bytes > available)
        throw IoError(message("cannot write ", target, ": it needs ", format_bytes(expected_bytes),
                              " and ", folder_of(target_), " has ", format_bytes(available),
                              " free; free some space or write elsewhere"));
    temporary_ = unfinished_name(target_);
    descriptor_ = ::open(temporary_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor_ < 0)
        throw CannotCreate(message("cannot create ", target, ": ", std::strerror(errno),
                                   "; check that the folder exists and may be written"));
    slot_ = register_pending(temporary_);
}

std::string AtomicOutput::folder() const {
    return folder_of(target_);
}

AtomicOutput::~AtomicOutput() {
    end_writeback();
    if (descriptor_ < 0) return;
    ::close(descriptor_);
    ::unlink(temporary_.c_str());
    unregister_pending(slot_);
}

std::string AtomicOutput::failure(const std::string& reason) const {
    const index_t available = free_bytes(target_);
    return message("writing ", target_, " failed: ", reason, "; it needs ",
                   expected_bytes_ > 0 ? format_bytes(expected_bytes_) : "an unknown size",
                   " in all and ", folder_of(target_), " has ",
                   available >= 0 ? format_bytes(available) : "an unknown space", " free");
}

void AtomicOutput::reserve(index_t offset, index_t bytes) {
    // The size stays: some writers find the end of the file by it.
    while (::fallocate(descriptor_, FALLOC_FL_KEEP_SIZE, offset, bytes) != 0) {
        if (errno == EINTR) continue;
        if (errno == ENOSPC || errno == EDQUOT) throw IoError(failure(std::strerror(errno)));
        return;  // this file system cannot; space is taken as it is written
    }
}

void AtomicOutput::write(index_t offset, const void* data, index_t bytes) {
    const auto* from = static_cast<const char*>(data);
    const index_t all_bytes = bytes;
    // File systems let one thread write to a file at a time; those that wait would only spin.
    std::unique_lock lock(write_mutex_);
    while (bytes > 0) {
        const auto wanted = static_cast<std::size_t>(std::min<index_t>(bytes, index_t{1} << 30));
        const ssize_t done = ::pwrite(descriptor_, from, wanted, offset);
        if (done < 0 && errno == EINTR) continue;
        if (done < 0) throw IoError(failure(std::strerror(errno)));
        if (done == 0) throw IoError(failure("the system takes no more bytes"));
        from += done;
        offset += done;
        bytes -= done;
    }
    lock.unlock();
    count_written(all_bytes);
}

void AtomicOutput::count_written(index_t bytes) {
    const std::lock_guard lock(writeback_mutex_);
    written_bytes_ += bytes;
    if (written_bytes_ - begun_bytes_ < writeback_bytes) return;
    // Beginning it can wait for the disk, which would hold up whoever writes.
    if (!writeback_.joinable()) writeback_ = std::thread([this] { begin_writeback(); });
    writeback_due_.notify_one();
}

void AtomicOutput::begin_writeback() {
    std::unique_lock lock(writeback_mutex_);
    while (true) {
        writeback_due_.wait(
            lock, [&] { return ends_ || written_bytes_ - begun_bytes_ >= writeback_bytes; });
        if (ends_) return;
        begun_bytes_ = written_bytes_;
        lock.unlock();
        // Only begins it. What goes wrong is seen by fsync.
        static_cast<void>(::sync_file_range(descriptor_, 0, 0, SYNC_FILE_RANGE_WRITE));
        lock.lock();
    }
}

void AtomicOutput::end_writeback() {
    {
        const std::lock_guard lock(writeback_mutex_);
        ends_ = true;
    }
    writeback_due_.notify_one();
    if (writeback_.joinable()) writeback_.join();
}

void AtomicOutput::commit() {
    end_writeback();
    // Delayed write errors show up here at the latest.
    if (::fsync(descriptor_) != 0) throw IoError(failure(std::strerror(errno)));
    const int error = overwrite_
                          ? (std::rename(temporary_.c_str(), target_.c_str()) == 0 ? 0 : errno)
                          : rename_to_new(temporary_, target_);
    if (error == EEXIST) throw OutputExists(exists_text(target_));
    if (error != 0) throw IoError(failure(std::strerror(error)));
    unregister_pending(slot_);
    ::close(descriptor_);
    descriptor_ = -1;
}

void write_whole_file(const std::string& path, std::span<const char> bytes) {
    const auto size = static_cast<index_t>(bytes.size());
    AtomicOutput output(path, true, size);
    output.write(0, bytes.data(), size);
    output.commit();
}

}  // namespace convolume::io
