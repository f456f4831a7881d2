// SPDX-License-Identifier: Apache-2.0
#include "tests/campaign/fuzz/reading_process.hpp"

#include <sys/syscall.h>

#include "io/hdf5/library.hpp"
#include "tests/campaign/fuzz/read_input.hpp"

// Includes the whole source, so that the linker does not take these functions from the library.
#define run_in_helper run_in_forked_helper
#include "io/hdf5/helper_process.cpp"
#undef run_in_helper

// The beginning and end of libFuzzer's counters; null without it. In sources that have counters
// themselves, Clang would confuse them with variables of its own.
extern "C" {
extern std::uint8_t __start___sancov_cntrs[] __attribute__((weak, visibility("hidden")));
extern std::uint8_t __stop___sancov_cntrs[] __attribute__((weak, visibility("hidden")));
}

namespace {

enum class CurrentWork : int { for_caller, for_helper };

/// In a reading process, the shared variable that tells on whose behalf it works; else null.
std::atomic<CurrentWork>* current_work = nullptr;

/// Limits of processor time in microseconds. Helpers that do not end would take most of the time;
/// callers may read many samples.
constexpr suseconds_t helper_limit_us = 40'000;
constexpr suseconds_t caller_limit_us = 400'000;

void set_timer(suseconds_t most) {
    const itimerval value{{}, {0, most}};
    ::syscall(SYS_setitimer, ITIMER_PROF, &value, nullptr);
}

void set_current_work(CurrentWork work) {
    *current_work = work;
    set_timer(work == CurrentWork::for_helper ? helper_limit_us : caller_limit_us);
}

}  // namespace

// Replaces the C library's function, for helper processes that are forked.
extern "C" int setitimer(__itimer_which_t which, const itimerval* value, itimerval* old) noexcept {
    if (which != ITIMER_PROF) return static_cast<int>(::syscall(SYS_setitimer, which, value, old));
    set_timer(helper_limit_us);
    return 0;
}

namespace convolume::io {

bool run_in_helper(const std::string& path, const HelperLimits& limits,
                   const std::function<void()>& begin, const std::function<void()>& work) {
    if (current_work == nullptr) return run_in_forked_helper(path, limits, begin, work);
    struct HelperScope {
        HelperScope() { set_current_work(CurrentWork::for_helper); }
        ~HelperScope() { set_current_work(CurrentWork::for_caller); }
    } const mark;
    work();
    return true;
}

}  // namespace convolume::io

// Freed memory is kept for a while, but not so much that each file is read into fresh pages. Sizes
// that only a damaged file can request are refused, as a helper process's limit refuses them:
// otherwise, pages of the sanitizer's own memory would take most of the time.
extern "C" const char* __asan_default_options() {
    return "quarantine_size_mb=16:malloc_context_size=5:max_allocation_size_mb=128:"
           "allocator_may_return_null=1";
}

// Skips the sanitizers' reports, which take longer than all else. If there is something to report,
// it is seen when the file is read again, in a process that does not end here.
extern "C" void __asan_on_error() {
    if (current_work != nullptr) ::_exit(1);
}

namespace convolume::testing {
namespace {

constexpr std::size_t most_input_bytes = std::size_t{1} << 20;
/// With HDF5 chunks of one sample, larger images take long.
constexpr index_t most_image_bytes = index_t{1} << 16;
constexpr std::size_t most_counters = std::size_t{1} << 20;
/// Number of files after which a reader ends, because HDF5 leaks memory of damaged files.
constexpr int files_per_reader = 2000;
constexpr int most_waiting_ms = 20'000;
// Exit codes of readers that end by themselves, not because of a file.
constexpr int exit_many_files = 40;
constexpr int exit_not_needed = 41;

std::size_t counters() {
    return std::min(static_cast<std::size_t>(__stop___sancov_cntrs - __start___sancov_cntrs),
                    most_counters);
}

void close_both(int (&ends)[2]) {
    for (int& end : ends) {
        if (end >= 0) ::close(end);
        end = -1;
    }
}

bool holds_nothing_open() {
    const io::Hdf5Lock lock;
    return H5Fget_obj_count(static_cast<hid_t>(H5F_OBJ_ALL), H5F_OBJ_ALL) == 0;
}

}  // namespace

struct ReadingProcess::Shared {
    std::atomic<std::uint64_t> asked{0};
    std::atomic<std::uint64_t> answered{0};
    std::atomic<CurrentWork> work{CurrentWork::for_caller};
    std::size_t size = 0;
    std::uint8_t input[most_input_bytes];
    std::uint8_t counters[most_counters];
};

ReadingProcess::ReadingProcess() {
    void* const memory =
        ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) std::abort();
    shared_ = new (memory) Shared;
    start_keeper();
}

ReadingProcess::~ReadingProcess() {
    end_keeper();
    ::munmap(shared_, sizeof(Shared));
}

void ReadingProcess::start_keeper() {
    shared_->answered = shared_->asked.load();
    if (::pipe2(requests_, O_CLOEXEC) != 0 || ::pipe2(replies_, O_CLOEXEC) != 0) std::abort();
    keeper_ = ::fork();
    if (keeper_ < 0) std::abort();
    if (keeper_ == 0) keep_readers();
    ::close(std::exchange(requests_[0], -1));
    ::close(std::exchange(replies_[1], -1));
}

void ReadingProcess::end_keeper() {
    close_both(requests_);  // the reader that waits for a request then ends
    ::waitpid(keeper_, nullptr, 0);
    close_both(replies_);
}

/// Forks one reader after another. This process has read no input, so its forks are fast.
void ReadingProcess::keep_readers() {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (const int ignored : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) ::signal(ignored, SIG_IGN);
    ::close(requests_[1]);
    ::close(replies_[0]);
    {
        const io::Hdf5Lock lock;
        H5open();
        // The cache of metadata, about 500 kB for each file, is larger than what HDF5 keeps by
        // default.
        constexpr int kept = 4 << 20;
        H5set_free_list_limits(kept, kept, kept, kept, kept, kept);
    }
    io::contain_damage(true);
    while (true) {
        const pid_t reader = ::fork();
        if (reader < 0) ::_exit(1);
        if (reader == 0) run_reader();
        int status = 0;
        while (::waitpid(reader, &status, 0) < 0 && errno == EINTR) {
        }
        const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
        if (code == exit_not_needed) ::_exit(0);
        if (code == exit_many_files || shared_->answered == shared_->asked) continue;
        shared_->answered = shared_->asked.load();
        if (!io::send_report(replies_[1], '\0', "")) ::_exit(0);
    }
}

void ReadingProcess::run_reader() {
    constexpr index_t bytes = index_t{512} << 20;
    io::set_limits({1, bytes});
    const int nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (nowhere >= 0) ::dup2(nowhere, STDERR_FILENO);
    current_work = &shared_->work;
    for (int files = 0; files < files_per_reader; ++files) {
        char request = 0;
        if (::read(requests_[0], &request, 1) != 1) ::_exit(exit_not_needed);
        set_current_work(CurrentWork::for_caller);
        std::memset(__start___sancov_cntrs, 0, counters());
        read_image(shared_->input, shared_->size, most_image_bytes);
        std::memcpy(shared_->counters, __start___sancov_cntrs, counters());
        const bool good = holds_nothing_open();
        shared_->answered = shared_->asked.load();
        if (!io::send_report(replies_[1], io::done_letter, "")) ::_exit(exit_not_needed);
        if (!good) break;
    }
    ::_exit(exit_many_files);
}

/// Requests that the reader reads the shared input. Returns whether it survived that.
bool ReadingProcess::request_read() {
    const char request = 'r';
    pollfd reply{replies_[0], POLLIN, 0};
    char said = 0;
    if (io::write_all(requests_[1], &request, 1)) {
        int events = 0;
        do events = ::poll(&reply, 1, most_waiting_ms);
        while (events < 0 && errno == EINTR);
        if (events > 0 && ::read(replies_[0], &said, 1) == 1) return said == io::done_letter;
    }
    ::kill(keeper_, SIGKILL);  // this also ends the keeper's reader
    end_keeper();
    shared_->work = CurrentWork::for_caller;
    start_keeper();
    return false;
}

ReadingProcess::Outcome ReadingProcess::read(const std::uint8_t* data, std::size_t size) {
    if (size > most_input_bytes) return Outcome::unknown;
    std::memcpy(shared_->input, data, size);
    shared_->size = size;
    ++shared_->asked;
    if (!request_read())
        return shared_->work == CurrentWork::for_helper ? Outcome::contained : Outcome::unknown;
    std::memcpy(__start___sancov_cntrs, shared_->counters, counters());
    return Outcome::done;
}

}  // namespace convolume::testing
