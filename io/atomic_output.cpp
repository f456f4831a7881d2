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

/// Bytes that are written before the next start of write-back.
constexpr index_t writeback_interval_bytes = index_t{64} << 20;

std::string folder_of(const std::string& path) {
    const std::string parent = fs::path(path).parent_path().string();
    return parent.empty() ? "." : parent;
}

/// Returns the free bytes of the file system of `path`, or -1 if the system does not say.
index_t free_bytes(const std::string& path) {
    struct statvfs status {};
    if (::statvfs(folder_of(path).c_str(), &status) != 0) return -1;
    return checked_multiply(static_cast<index_t>(status.f_bavail),
                            static_cast<index_t>(status.f_frsize));
}

Sentence exists_message(const std::string& path) {
    return sentence(path, " exists already; choose another name or allow it to be overwritten (",
                    OptionName{"overwrite"}, ")");
}

/// Renames a file, but never replaces another. Returns 0 or an errno.
int rename_to_new(const std::string& from, const std::string& to) {
    constexpr unsigned no_replace = 1;  // RENAME_NOREPLACE of linux/fs.h
    if (::syscall(SYS_renameat2, AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), no_replace) == 0)
        return 0;
    if (errno != EINVAL && errno != ENOSYS) return errno;
    // Most file systems without this call have hard links, which never replace a file either.
    if (::link(from.c_str(), to.c_str()) == 0) return ::unlink(from.c_str()) == 0 ? 0 : errno;
    if (errno == EEXIST) return EEXIST;
    if (::access(to.c_str(), F_OK) == 0) return EEXIST;
    return std::rename(from.c_str(), to.c_str()) == 0 ? 0 : errno;
}

// Table of the outputs that are not complete yet. A signal handler may read it at any time.
enum PendingState : int { empty, changing, pending };

/// A row of the table: the path of a temporary file, and the process that writes it.
struct PendingOutput {
    std::atomic<int> state{empty};
    pid_t process = 0;
    std::array<char, 4096> path{};
};

static_assert(std::atomic<int>::is_always_lock_free, "signal handlers need lock-free atomics");
std::array<PendingOutput, 64> pending_outputs;

/// Adds `path` to the table and returns its index. Returns -1 if the table is full or the path too
/// long; then only the owner removes the file.
int register_pending(const std::string& path) noexcept {
    if (path.size() >= pending_outputs[0].path.size()) return -1;
    for (std::size_t i = 0; i < pending_outputs.size(); ++i) {
        int expected = empty;
        if (!pending_outputs[i].state.compare_exchange_strong(expected, changing)) continue;
        std::memcpy(pending_outputs[i].path.data(), path.c_str(), path.size() + 1);
        pending_outputs[i].process = ::getpid();
        pending_outputs[i].state.store(pending);
        return static_cast<int>(i);
    }
    return -1;
}

void unregister_pending(int index) noexcept {
    if (index >= 0) pending_outputs[static_cast<std::size_t>(index)].state.store(empty);
}

constexpr std::string_view temporary_mark = ".partial-";

/// Returns a text that identifies the machine or container that process numbers belong to. Others
/// may share a folder, but their numbers mean other processes. It is the FNV-1a hash of the
/// machine's id, its name and the PID namespace.
const std::string& machine_identity() {
    static const std::string identity = [] {
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
    return identity;
}

bool has_ended(std::string_view process) {
    pid_t number = 0;
    const auto parsed = std::from_chars(process.data(), process.data() + process.size(), number);
    return parsed.ec == std::errc() && number > 0 && ::kill(number, 0) != 0 && errno == ESRCH;
}

/// Tells whether a file was left by a process of this machine that has ended. Its name is then
///     .<name>.partial-<machine>-<process>-<number>
bool is_leftover(std::string_view name) {
    const std::size_t at = name.rfind(temporary_mark);
    if (!name.starts_with('.') || at == std::string_view::npos) return false;
    std::string_view rest = name.substr(at + temporary_mark.size());
    const std::string begin = machine_identity() + "-";
    return rest.starts_with(begin) && has_ended(rest.substr(begin.size()));
}

/// Returns a name beside `target` that is unique and contains the number of this process.
std::string temporary_name(const std::string& target) {
    static std::atomic<unsigned> counter{0};
    const fs::path path(target);
    // Linux allows names of at most 255 bytes.
    const std::string name = path.filename().string().substr(0, 200);
    return (path.parent_path() / message(".", name, temporary_mark, machine_identity(), "-",
                                         ::getpid(), "-", counter.fetch_add(1)))
        .string();
}

/// Removes the temporary files in a folder that ended processes of this machine have left. Does so
/// once for each folder. Files that cannot be inspected or removed stay.
void remove_leftovers(const std::string& folder) noexcept {
    try {
        static std::mutex mutex;
        static std::set<std::string> seen;
        const std::lock_guard lock(mutex);
        if (!seen.insert(folder).second) return;
        // Does not use fs::directory_iterator, which ends the process if memory is refused.
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
    } catch (...) {  // out of memory: the files stay
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
        if (!overwrite) throw OutputExists(exists_message(target));
        // A symbolic link stays: the file that it points to is replaced.
        target_ = fs::canonical(target).string();
    }
    remove_leftovers(folder_of(target_));
    const index_t available = free_bytes(target_);
    if (available >= 0 && expected_bytes > available)
        throw IoError(message("cannot write ", target, ": it needs ", format_bytes(expected_bytes),
                              " and ", folder_of(target_), " has ", format_bytes(available),
                              " free; free some space or write elsewhere"));
    temporary_ = temporary_name(target_);
    descriptor_ = ::open(temporary_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor_ < 0)
        throw CannotCreate(message("cannot create ", target, ": ", std::strerror(errno),
                                   "; check that the folder exists and may be written"));
    pending_index_ = register_pending(temporary_);
}

std::string AtomicOutput::folder() const {
    return folder_of(target_);
}

AtomicOutput::~AtomicOutput() {
    stop_writeback();
    if (descriptor_ < 0) return;
    ::close(descriptor_);
    ::unlink(temporary_.c_str());
    unregister_pending(pending_index_);
}

std::string AtomicOutput::failure(const std::string& reason) const {
    const index_t available = free_bytes(target_);
    return message("writing ", target_, " failed: ", reason, "; it needs ",
                   expected_bytes_ > 0 ? format_bytes(expected_bytes_) : "an unknown size",
                   " in all and ", folder_of(target_), " has ",
                   available >= 0 ? format_bytes(available) : "an unknown space", " free");
}

void AtomicOutput::reserve(index_t offset, index_t bytes) {
    // The file's size does not change: some writers find the end of the file by it.
    while (::fallocate(descriptor_, FALLOC_FL_KEEP_SIZE, offset, bytes) != 0) {
        if (errno == EINTR) continue;
        if (errno == ENOSPC || errno == EDQUOT) throw IoError(failure(std::strerror(errno)));
        return;  // this file system cannot reserve space; it is taken at each write
    }
}

void AtomicOutput::write(index_t offset, const void* data, index_t bytes) {
    const auto* from = static_cast<const char*>(data);
    const index_t all_bytes = bytes;
    // Without this mutex, threads would spin: file systems let one thread write to a file at a
    // time.
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
    if (written_bytes_ - begun_bytes_ < writeback_interval_bytes) return;
    // Starting write-back may block on the disk, so the writer's thread does not do it.
    if (!writeback_thread_.joinable()) writeback_thread_ = std::thread([this] { run_writeback(); });
    writeback_due_.notify_one();
}

void AtomicOutput::run_writeback() {
    std::unique_lock lock(writeback_mutex_);
    while (true) {
        writeback_due_.wait(lock, [&] {
            return is_stopped_ || written_bytes_ - begun_bytes_ >= writeback_interval_bytes;
        });
        if (is_stopped_) return;
        begun_bytes_ = written_bytes_;
        lock.unlock();
        // The call only starts write-back. fsync() reports errors.
        static_cast<void>(::sync_file_range(descriptor_, 0, 0, SYNC_FILE_RANGE_WRITE));
        lock.lock();
    }
}

void AtomicOutput::stop_writeback() {
    {
        const std::lock_guard lock(writeback_mutex_);
        is_stopped_ = true;
    }
    writeback_due_.notify_one();
    if (writeback_thread_.joinable()) writeback_thread_.join();
}

void AtomicOutput::commit() {
    stop_writeback();
    // fsync() reports delayed write errors.
    if (::fsync(descriptor_) != 0) throw IoError(failure(std::strerror(errno)));
    const int error = overwrite_
                          ? (std::rename(temporary_.c_str(), target_.c_str()) == 0 ? 0 : errno)
                          : rename_to_new(temporary_, target_);
    if (error == EEXIST) throw OutputExists(exists_message(target_));
    if (error != 0) throw IoError(failure(std::strerror(error)));
    unregister_pending(pending_index_);
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
    // A forked child inherits the table, but does not own the files.
    const pid_t process = ::getpid();
    for (PendingOutput& output : pending_outputs)
        if (output.state.load() == pending && output.process == process)
            ::unlink(output.path.data());
    errno = saved_errno;
}

}  // namespace convolume::io
