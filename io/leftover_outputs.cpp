// SPDX-License-Identifier: Apache-2.0
#include "io/leftover_outputs.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <memory>
#include <mutex>
#include <set>

#include "convolume/error.hpp"

namespace convolume::io {
namespace {

namespace fs = std::filesystem;

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

}  // namespace

std::string unfinished_name(const std::string& target) {
    static std::atomic<unsigned> counter{0};
    const fs::path path(target);
    // Names end at 255 bytes on Linux.
    const std::string name = path.filename().string().substr(0, 200);
    return (path.parent_path() / message(".", name, unfinished_mark, place_of_processes(), "-",
                                         ::getpid(), "-", counter.fetch_add(1)))
        .string();
}

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

}  // namespace convolume::io
