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

std::atomic<bool> contained{false};
bool is_helper = false;  // processes of one thread

// Sanitizers slow programs down, and take address space without bounds.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool sanitized = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
constexpr bool sanitized = true;
#else
constexpr bool sanitized = false;
#endif
#else
constexpr bool sanitized = false;
#endif

constexpr double most_waiting_s = 30;
constexpr double time_factor = sanitized ? 20 : 1;

/// Errors as a helper says them: a letter, then their sentence. More special ones are first.
struct ErrorKind {
    char letter;
    bool (*holds)(const std::exception&);
    void (*raise)(const std::string& text);
};
template <class Kind>
constexpr ErrorKind error_kind(char letter) {
    return {
        letter,
        [](const std::exception& error) { return dynamic_cast<const Kind*>(&error) != nullptr; },
        [](const std::string& text) { throw Kind(text); }};
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
        if (kind.holds(error)) return kind.letter;
    return other_letter;
}

[[noreturn]] void raise(char letter, const std::string& text) {
    for (const ErrorKind& kind : error_kinds)
        if (kind.letter == letter) kind.raise(text);
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

bool say(int descriptor, char letter, const char* text) {
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

void limit(int resource, rlim_t most) {
    rlimit now{};
    if (::getrlimit(static_cast<__rlimit_resource>(resource), &now) != 0) return;
    now.rlim_cur = std::min(now.rlim_cur, most);
    ::setrlimit(static_cast<__rlimit_resource>(resource), &now);
}

/// Lets the timer run for `seconds` of processor time from now on.
void set_timer_of_helper(double seconds) {
    itimerval when{};
    when.it_value.tv_sec = static_cast<time_t>(seconds);
    when.it_value.tv_usec =
        static_cast<suseconds_t>((seconds - static_cast<double>(when.it_value.tv_sec)) * 1e6);
    ::setitimer(ITIMER_PROF, &when, nullptr);
}

/// What ends the helper: its limits, a crash, the end of the process; not what the terminal sends,
/// whose handlers are the process's.
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
    limit(RLIMIT_CORE, 0);
    // What the C library says of a crash.
    const int nowhere = sanitized ? -1 : ::open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (nowhere >= 0) ::dup2(nowhere, STDERR_FILENO);
    if (!sanitized) limit(RLIMIT_AS, static_cast<rlim_t>(address_space_bytes() + limits.bytes));
}

[[noreturn]] void be_helper(int descriptor, const HelperLimits& limits,
                            const std::function<void()>& begin, const std::function<void()>& work) {
    bool said = false;
    is_helper = true;
    try {
        set_limits(limits);
        begin();
        work();
        said = say(descriptor, done_letter, "");
    } catch (const std::exception& error) {
        said = say(descriptor, letter_of(error), error.what());
    } catch (...) {
    }
    ::_exit(said ? 0 : 1);
}

class Pipe {
  public:
    Pipe() : open_(::pipe2(ends_, O_CLOEXEC) == 0) {}
    ~Pipe() {
        close_writing();
        if (open_) ::close(ends_[0]);
    }
    Pipe(const Pipe&) = delete;
    Pipe& operator=(const Pipe&) = delete;

    explicit operator bool() const { return open_; }
    int reading() const { return ends_[0]; }
    int writing() const { return ends_[1]; }
    void close_writing() {
        if (open_ && ends_[1] >= 0) ::close(ends_[1]);
        ends_[1] = -1;
    }

  private:
    int ends_[2] = {-1, -1};
    bool open_;
};

/// All that the helper says until it ends; false where it does not end in time.
bool listen(int descriptor, double most_s, std::string& said) {
    using Clock = std::chrono::steady_clock;
    const auto end = Clock::now() + std::chrono::duration<double>(most_s);
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
        said.append(part, static_cast<std::size_t>(got));
    }
}

}  // namespace

void contain_damage(bool on) {
    contained = on;
}

bool damage_is_contained() {
    return contained;
}

bool run_in_helper(const std::string& path, const HelperLimits& limits,
                   const std::function<void()>& begin, const std::function<void()>& work) {
    Pipe pipe;
    if (!pipe) return false;
    const pid_t helper = ::fork();
    if (helper < 0) return false;
    if (helper == 0) be_helper(pipe.writing(), limits, begin, work);
    pipe.close_writing();
    std::string said;
    bool ended = false;
    const double most_s = time_factor * limits.processor_s + most_waiting_s;
    try {
        ended = listen(pipe.reading(), most_s, said);
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
    if (!said.empty() && said[0] == done_letter) return true;
    if (!said.empty()) raise(said[0], said.substr(1));
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
    if (sanitized || ::getrlimit(RLIMIT_AS, &memory) != 0 || memory.rlim_cur == RLIM_INFINITY)
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
