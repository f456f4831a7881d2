// SPDX-License-Identifier: Apache-2.0
#include "io/atomic_output.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "convolume/error.hpp"
#include "convolume/image_file.hpp"
#include "convolume/options.hpp"

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

// The outputs that are not complete yet, in a table that a signal handler may walk.
enum State : int { empty, changing, pending };

struct Slot {
    std::atomic<int> state{empty};
    pid_t process = 0;
    std::array<char, 4096> path{};
};

static_assert(std::atomic<int>::is_always_lock_free, "signal handlers need lock-free atomics");
std::array<Slot, 64> slots;

/// Remembers `path`; the slot is -1 when the table is full or the path too long: such a file is
/// only removed by its owner.
int register_pending(const std::string& path) noexcept {
    if (path.size() >= slots[0].path.size()) return -1;
    for (std::size_t i = 0; i < slots.size(); ++i) {
        int expected = empty;
        if (!slots[i].state.compare_exchange_strong(expected, changing)) continue;
        std::memcpy(slots[i].path.data(), path.c_str(), path.size() + 1);
        slots[i].process = ::getpid();
        slots[i].state.store(pending);
        return static_cast<int>(i);
    }
    return -1;
}

void unregister_pending(int slot) noexcept {
    if (slot >= 0) slots[static_cast<std::size_t>(slot)].state.store(empty);
}

constexpr std::string_view unfinished_mark = ".partial-";

/// Tells apart whose process numbers are meant: those of other machines and containers that share
/// a folder are not ours. FNV-1a of the machine's number, its name and the namespace.
const std::string& place_of_processes() {
    static const std::string place = [] {
        std::string text;
        std::getline(std::ifstream("/etc/machine-id"), text);
        char name[256] = {};
        if (::gethostname(name, sizeof name - 1) == 0) text += name;
        struct stat status {};
        if (::stat("/proc/self/ns/pid", &status) == 0) text += message(" ", status.st_ino);
        std::uint32_t hash = 2166136261U;
        for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
        char digits[9] = {};
        std::snprintf(digits, sizeof digits, "%08x", hash);
        return std::string(digits);
    }();
    return place;
}

bool is_gone(std::string_view process) {
    pid_t number = 0;
    const auto parsed = std::from_chars(process.data(), process.data() + process.size(), number);
    return parsed.ec == std::errc() && number > 0 && ::kill(number, 0) != 0 && errno == ESRCH;
}

/// Of "<anything>.partial-<place>-<process>-<number>".
bool is_leftover(std::string_view name) {
    const std::size_t at = name.rfind(unfinished_mark);
    if (!name.starts_with('.') || at == std::string_view::npos) return false;
    std::string_view rest = name.substr(at + unfinished_mark.size());
    const std::string begin = place_of_processes() + "-";
    return rest.starts_with(begin) && is_gone(rest.substr(begin.size()));
}

/// A name beside `target` that no other output of any process uses, and by which others see when
/// its process is gone.
std::string unfinished_name(const std::string& target) {
    static std::atomic<unsigned> counter{0};
    const fs::path path(target);
    // Names end at 255 bytes on Linux.
    const std::string name = path.filename().string().substr(0, 200);
    return (path.parent_path() / message(".", name, unfinished_mark, place_of_processes(), "-",
                                         ::getpid(), "-", counter.fetch_add(1)))
        .string();
}

/// Removes unfinished files from a folder whose processes ran on this machine and are gone. Once a
/// folder and process; what cannot be looked at or removed stays.
void remove_leftovers(const std::string& folder) noexcept {
    try {
        static std::mutex mutex;
        static std::set<std::string> seen;
        const std::lock_guard lock(mutex);
        if (!seen.insert(folder).second) return;
        // Not by fs::directory_iterator, which ends the process where memory is refused.
        const auto close = [](DIR* opened) { ::closedir(opened); };
        const std::unique_ptr<DIR, decltype(close)> names(::opendir(folder.c_str()), close);
        if (!names) return;
        const int at = ::dirfd(names.get());
        while (const dirent* const entry = ::readdir(names.get())) {
            struct stat status {};
            if (is_leftover(entry->d_name) &&
                ::fstatat(at, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
                S_ISREG(status.st_mode))
                ::unlinkat(at, entry->d_name, 0);
        }
    } catch (...) {  // out of memory: they stay
    }
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

void remove_uncommitted_outputs() noexcept {
    const int saved_errno = errno;
    // A forked child inherits the table, not the files.
    const pid_t process = ::getpid();
    for (Slot& slot : slots)
        if (slot.state.load() == pending && slot.process == process) ::unlink(slot.path.data());
    errno = saved_errno;
}

}  // namespace convolume::io
