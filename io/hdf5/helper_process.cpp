// SPDX-License-Identifier: Apache-2.0
#include "io/hdf5/helper_process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <new>

#include "convolume/error.hpp"
#include "convolume/image_file.hpp"
#include "convolume/options.hpp"

namespace convolume::io {
namespace {

std::atomic<bool> is_containment_on{false};
bool is_helper = false;  // set in helper processes, which have one thread

// Sanitizers slow programs down, and take unlimited address space.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool is_sanitized = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
constexpr bool is_sanitized = true;
#else
constexpr bool is_sanitized = false;
#endif
#else
constexpr bool is_sanitized = false;
#endif

constexpr double longest_wait_s = 30;
constexpr double time_factor = is_sanitized ? 20 : 1;

/// A type of errors that a helper process can report, as a letter and the message. In the table,
/// derived types precede their bases.
struct ErrorKind {
    char letter;
    bool (*matches)(const std::exception&);
    void (*rethrow)(const std::string& text);
};
template <class ErrorType>
constexpr ErrorKind error_kind(char letter) {
    return {letter,
            [](const std::exception& error) {
                return dynamic_cast<const ErrorType*>(&error) != nullptr;
            },
            [](const std::string& text) { throw ErrorType(text); }};
}
constexpr ErrorKind error_kinds[] = {
    {'M',
     [](const std::exception& error) {
         return dynamic_cast<const std::bad_alloc*>(&error) != nullptr;
     },
     [](const std::string&) { throw std::bad_alloc(); }},
    error_kind<OutOfMemory>('m'),
    error_kind<InvalidArgument>('a'),
    error_kind<BadData>('b'),
    error_kind<InputNotFound>('n'),
    error_kind<IoError>('i'),
    error_kind<Unavailable>('u'),
};
constexpr char done_letter = 'd';
constexpr char other_letter = 'o';

char letter_of(const std::exception& error) {
    for (const ErrorKind& kind : error_kinds)
        if (kind.matches(error)) return kind.letter;
    return other_letter;
}

[[noreturn]] void throw_reported(char letter, const std::string& text) {
    for (const ErrorKind& kind : error_kinds)
        if (kind.letter == letter) kind.rethrow(text);
    throw Error(text);
}

bool write_all(int descriptor, const char* text, std::size_t bytes) {
    while (bytes > 0) {
        const ssize_t written = ::write(descriptor, text, bytes);
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) return false;
        text += written;
        bytes -= static_cast<std::size_t>(written);
    }
    return true;
}

bool send_report(int descriptor, char letter, const char* text) {
    return write_all(descriptor, &letter, 1) && write_all(descriptor, text, std::strlen(text));
}

index_t address_space_bytes() {
    long pages = 0;
    if (std::FILE* const file = std::fopen("/proc/self/statm", "re")) {
        if (std::fscanf(file, "%ld", &pages) != 1) pages = 0;
        std::fclose(file);
    }
    return index_t{pages} * ::sysconf(_SC_PAGESIZE);
}

void lower_limit(int resource, rlim_t most) {
    rlimit now{};
    if (::getrlimit(static_cast<__rlimit_resource>(resource), &now) != 0) return;
    now.rlim_cur = std::min(now.rlim_cur, most);
    ::setrlimit(static_cast<__rlimit_resource>(resource), &now);
}

/// Sets the timer that ends the helper process after `seconds` of processor time.
void set_timer_of_helper(double seconds) {
    itimerval when{};
    when.it_value.tv_sec = static_cast<time_t>(seconds);
    when.it_value.tv_usec =
        static_cast<suseconds_t>((seconds - static_cast<double>(when.it_value.tv_sec)) * 1e6);
    ::setitimer(ITIMER_PROF, &when, nullptr);
}

/// Sets the causes that end the helper process: its limits, a crash, the end of this process.
/// Signals from the terminal do not end it, since their handlers belong to this process.
void set_limits(const HelperLimits& limits) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::prctl(PR_SET_DUMPABLE, 0);
    for (const int ignored : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) ::signal(ignored, SIG_IGN);
    for (const int deadly : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGPROF, SIGXCPU})
        ::signal(deadly, SIG_DFL);
    sigset_t timer;
    sigemptyset(&timer);
    sigaddset(&timer, SIGPROF);
    ::sigprocmask(SIG_UNBLOCK, &timer, nullptr);
    set_timer_of_helper(time_factor * limits.processor_s);
    lower_limit(RLIMIT_CORE, 0);
    // Messages of the C library about a crash are dropped.
    const int null_device = is_sanitized ? -1 : ::open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (null_device >= 0) ::dup2(null_device, STDERR_FILENO);
    if (!is_sanitized)
        lower_limit(RLIMIT_AS, static_cast<rlim_t>(address_space_bytes() + limits.bytes));
}

[[noreturn]] void run_helper(int descriptor, const HelperLimits& limits,
                             const std::function<void()>& begin,
                             const std::function<void()>& work) {
    bool is_reported = false;
    is_helper = true;
    try {
        set_limits(limits);
        begin();
        work();
        is_reported = send_report(descriptor, done_letter, "");
    } catch (const std::exception& error) {
        is_reported = send_report(descriptor, letter_of(error), error.what());
    } catch (...) {
    }
    ::_exit(is_reported ? 0 : 1);
}

class Pipe {
  public:
    Pipe() : is_open_(::pipe2(ends_, O_CLOEXEC) == 0) {}
    ~Pipe() {
        close_writing_end();
        if (is_open_) ::close(ends_[0]);
    }
    Pipe(const Pipe&) = delete;
    Pipe& operator=(const Pipe&) = delete;

    explicit operator bool() const { return is_open_; }
    int reading_end() const { return ends_[0]; }
    int writing_end() const { return ends_[1]; }
    void close_writing_end() {
        if (is_open_ && ends_[1] >= 0) ::close(ends_[1]);
        ends_[1] = -1;
    }

  private:
    int ends_[2] = {-1, -1};
    bool is_open_;
};

/// Reads the report of a helper process until it ends. Returns false if it does not end in time.
bool read_report(int descriptor, double longest_s, std::string& report) {
    using Clock = std::chrono::steady_clock;
    const auto end = Clock::now() + std::chrono::duration<double>(longest_s);
    while (true) {
        const auto left = std::chrono::duration<double, std::milli>(end - Clock::now()).count();
        if (left <= 0) return false;
        pollfd ready{descriptor, POLLIN, 0};
        const int events = ::poll(&ready, 1, static_cast<int>(left) + 1);
        if (events < 0 && errno != EINTR) return true;
        if (events <= 0) continue;
        char part[512];
        const ssize_t got = ::read(descriptor, part, sizeof part);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return true;
        report.append(part, static_cast<std::size_t>(got));
    }
}

}  // namespace

void contain_damage(bool on) {
    is_containment_on = on;
}

bool damage_is_contained() {
    return is_containment_on;
}

bool run_in_helper(const std::string& path, const HelperLimits& limits,
                   const std::function<void()>& begin, const std::function<void()>& work) {
    Pipe pipe;
    if (!pipe) return false;
    const pid_t helper = ::fork();
    if (helper < 0) return false;
    if (helper == 0) run_helper(pipe.writing_end(), limits, begin, work);
    pipe.close_writing_end();
    std::string report;
    bool ended = false;
    const double longest_s = time_factor * limits.processor_s + longest_wait_s;
    try {
        ended = read_report(pipe.reading_end(), longest_s, report);
    } catch (const std::bad_alloc&) {
        ::kill(helper, SIGKILL);
        ::waitpid(helper, nullptr, 0);
        throw;
    }
    if (!ended) ::kill(helper, SIGKILL);
    int status = 0;
    pid_t waited = -1;
    do waited = ::waitpid(helper, &status, 0);
    while (waited < 0 && errno == EINTR);
    if (!ended) return false;
    if (!report.empty() && report[0] == done_letter) return true;
    if (!report.empty()) throw_reported(report[0], report.substr(1));
    const bool too_long = waited == helper && WIFSIGNALED(status) && WTERMSIG(status) == SIGPROF;
    throw BadData(message(path, " cannot be read: the library for its format ",
                          too_long ? "does not come to an end" : "crashes",
                          " on it; the file is damaged, copy it again"));
}

void extend_helper_limits(const HelperLimits& more) {
    if (!is_helper) return;
    itimerval left{};
    ::getitimer(ITIMER_PROF, &left);
    set_timer_of_helper(static_cast<double>(left.it_value.tv_sec) +
                        static_cast<double>(left.it_value.tv_usec) * 1e-6 +
                        time_factor * more.processor_s);
    rlimit memory{};
    if (is_sanitized || ::getrlimit(RLIMIT_AS, &memory) != 0 || memory.rlim_cur == RLIM_INFINITY)
        return;
    memory.rlim_cur = std::min(memory.rlim_cur + static_cast<rlim_t>(more.bytes), memory.rlim_max);
    ::setrlimit(RLIMIT_AS, &memory);
}

SharedMemory::SharedMemory(index_t bytes)
    : data_(::mmap(nullptr, static_cast<std::size_t>(bytes), PROT_READ | PROT_WRITE,
                   MAP_SHARED | MAP_ANONYMOUS, -1, 0)),
      bytes_(bytes) {
    if (data_ == MAP_FAILED)
        throw OutOfMemory(message("the system refused ", format_bytes(bytes),
                                  " to read a file: free memory, or set a lower memory limit"));
}

SharedMemory::~SharedMemory() {
    ::munmap(data_, static_cast<std::size_t>(bytes_));
}

}  // namespace convolume::io
