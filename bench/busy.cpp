// SPDX-License-Identifier: Apache-2.0
// Measures how much longer work takes when other programs keep all processors busy.
//   convolume_busy_bench [--loops] [--rounds N] [--neighbors N] [--json FILE]
//                        [-- COMMAND [ARGUMENT...]]
// The cases are small problems; with --loops, loops of threads and a larger convolution instead.
// Every case runs in turns quietly and beside busy loops, one for each processor. With COMMAND,
// that command is the only case. Fair shares of the processors make a ratio of 2.

#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <thread>

#include "convolume/convolver.hpp"
#include "convolume/deconvolver.hpp"
#include "core/threads.hpp"

using namespace convolume;

namespace {

/// Processes that compute without end, except while they are stopped.
class BusyProcesses {
  public:
    explicit BusyProcesses(int count) {
        for (int i = 0; i < count; ++i) {
            const pid_t child = fork();
            if (child == 0) {
                use_processors_of_starter();
                prctl(PR_SET_PDEATHSIG, SIGKILL);  // the child also ends if this program is killed
                for (std::atomic<unsigned> n{0};;) ++n;
            }
            if (child > 0) children_.push_back(child);
        }
        busy();  // gives the processes time to begin
        quiet();
    }
    ~BusyProcesses() {
        for (const pid_t child : children_) {
            kill(child, SIGKILL);
            waitpid(child, nullptr, 0);
        }
    }
    BusyProcesses(const BusyProcesses&) = delete;
    BusyProcesses& operator=(const BusyProcesses&) = delete;

    void busy() const { signal_all(SIGCONT); }
    void quiet() const { signal_all(SIGSTOP); }

  private:
    // With OMP_PROC_BIND, this program and what it forks are bound to one processor.
    static void use_processors_of_starter() {
        const pid_t bench = getppid();
        std::ifstream status("/proc/" + std::to_string(bench) + "/status");
        pid_t starter = 0;
        for (std::string word; status >> word;)
            if (word == "PPid:") status >> starter;
        cpu_set_t processors;
        if (sched_getaffinity(starter, sizeof(processors), &processors) == 0)
            sched_setaffinity(0, sizeof(processors), &processors);
    }
    void signal_all(int signal) const {
        for (const pid_t child : children_) kill(child, signal);
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    std::vector<pid_t> children_;
};

Volume patterned_volume(const Shape3& shape) {
    Volume volume(shape, PixelType::float32);
    float* const values = volume.elements<float>();
    for (index_t i = 0; i < element_count(shape); ++i)
        values[i] = static_cast<float>(1 + i * 7919 % 1000);
    return volume;
}

EngineChoice cpu_engine_choice() {
    EngineChoice choice;
    choice.device = EngineChoice::Device::cpu;
    return choice;
}

void convolve_repeatedly(const Shape3& shape, int repeats) {
    const Volume image = patterned_volume(shape), kernel = patterned_volume({9, 9, 9});
    const Convolver convolver(shape, kernel.view(), {}, cpu_engine_choice());
    Volume result(convolver.output_shape(), PixelType::float32);
    for (int i = 0; i < repeats; ++i) convolver.execute(image.view(), result.view());
}

void run_tiny_convolutions() {
    for (int i = 0; i < 20; ++i) convolve_repeatedly({16, 32, 32}, 1);
}

void deconvolve() {
    const Shape3 shape{24, 96, 96};
    const Volume image = patterned_volume(shape), psf = patterned_volume({9, 15, 15});
    DeconvolveOptions options;
    options.background = 0;
    options.iterations = 10;
    const Deconvolver deconvolver(shape, psf.view(), options, cpu_engine_choice());
    Volume result(shape, PixelType::float32);
    deconvolver.execute(image.view(), result.view());
}

void convolve_from_three_threads() {
    std::vector<std::jthread> callers;
    for (int i = 0; i < 3; ++i) callers.emplace_back([] { convolve_repeatedly({32, 96, 96}, 5); });
}

/// Computes for about a microsecond.
double short_item(index_t i) {
    double value = static_cast<double>(i);
    for (int step = 0; step < 250; ++step) value = value * 0.999 + 1;
    return value;
}

class ItemLoops {
  public:
    void run(index_t items, index_t length) {
        parallel_for(items, threads_, [&](index_t i, int thread) {
            for (index_t j = 0; j < length; ++j)
                sums_[static_cast<std::size_t>(thread * padding)] += short_item(i + j);
        });
    }

  private:
    static constexpr int padding = 16;  // numbers between two threads' own
    int threads_ = thread_count(0);
    std::vector<double> sums_ = std::vector<double>(static_cast<std::size_t>(threads_) * padding);
};

void run_small_loops() {
    ItemLoops loops;
    for (int i = 0; i < 500; ++i) loops.run(64, 2);
}

void run_large_loops() {
    ItemLoops loops;
    for (int i = 0; i < 10; ++i) loops.run(256, 40);
}

void run_nested_loops() {
    const int threads = thread_count(0);
    for (int i = 0; i < 5; ++i)
        parallel_for(4, threads, [](index_t, int) {
            ItemLoops loops;
            for (int j = 0; j < 5; ++j) loops.run(128, 20);
        });
}

void run_loops_of_four_callers() {
    std::vector<std::jthread> callers;
    for (int i = 0; i < 4; ++i)
        callers.emplace_back([] {
            ItemLoops loops;
            for (int j = 0; j < 10; ++j) loops.run(128, 20);
        });
}

void convolve_larger() {
    const Shape3 shape{96, 256, 256};
    static const Volume image = patterned_volume(shape), kernel = patterned_volume({15, 15, 15});
    static const Convolver convolver(shape, kernel.view(), {}, cpu_engine_choice());
    static Volume result(convolver.output_shape(), PixelType::float32);
    for (int i = 0; i < 4; ++i) convolver.execute(image.view(), result.view());
}

void fill_memory(bool spread) {
    Buffer buffer(index_t{256} << 20);
    if (spread) buffer.spread();
    std::memset(buffer.data(), 1, static_cast<std::size_t>(buffer.bytes()));
}

void run_command(std::vector<std::string> words) {
    const pid_t child = fork();
    if (child == 0) {
        std::vector<char*> arguments;
        for (std::string& word : words) arguments.push_back(word.data());
        arguments.push_back(nullptr);
        if (!std::freopen("/dev/null", "w", stdout)) _exit(126);
        execvp(arguments[0], arguments.data());
        _exit(127);
    }
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
        throw std::runtime_error("the command failed");
}

struct Case {
    std::string name;
    std::function<void()> run;
    std::vector<double> quiet_s, busy_s;
};

double seconds_of(const std::function<void()>& run) {
    const auto start = std::chrono::steady_clock::now();
    run();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

int run(int argc, char** argv) {
    CLI::App app("Times small problems beside busy loops");
    int rounds = 7;
    cpu_set_t processors;
    sched_getaffinity(0, sizeof(processors), &processors);
    int neighbors = CPU_COUNT(&processors);
    bool of_loops = false;
    std::string json_file;
    std::vector<std::string> command;
    app.add_flag("--loops", of_loops, "Time loops of threads and a larger convolution");
    app.add_option("--rounds", rounds)->check(CLI::Range(1, 1000))->capture_default_str();
    app.add_option("--neighbors", neighbors)->check(CLI::Range(0, 4096))->capture_default_str();
    app.add_option("--json", json_file, "File for the results");
    app.add_option("command", command, "What to time instead");
    CLI11_PARSE(app, argc, argv);

    const BusyProcesses loops(neighbors);  // forks, so it comes before this program's threads
    std::vector<Case> cases;
    if (of_loops) {
        cases.push_back({"500 loops of 0.1 ms", run_small_loops, {}, {}});
        cases.push_back({"10 loops of 10 ms", run_large_loops, {}, {}});
        cases.push_back({"nested loops", run_nested_loops, {}, {}});
        cases.push_back({"loops of 4 callers", run_loops_of_four_callers, {}, {}});
        cases.push_back({"4 larger convolutions", convolve_larger, {}, {}});
        cases.push_back({"256 MiB filled", [] { fill_memory(false); }, {}, {}});
        cases.push_back({"256 MiB spread, filled", [] { fill_memory(true); }, {}, {}});
    } else if (command.empty()) {
        cases.push_back({"20 tiny Convolvers", run_tiny_convolutions, {}, {}});
        cases.push_back({"40 convolutions", [] { convolve_repeatedly({32, 64, 64}, 40); }, {}, {}});
        cases.push_back({"small deconvolution", deconvolve, {}, {}});
        cases.push_back({"3 Convolvers at once", convolve_from_three_threads, {}, {}});
    } else {
        cases.push_back({command[0], [&] { run_command(command); }, {}, {}});
    }
    for (const Case& c : cases) c.run();
    for (int round = 0; round < rounds; ++round)
        for (Case& c : cases) {
            c.quiet_s.push_back(seconds_of(c.run));
            loops.busy();
            c.busy_s.push_back(seconds_of(c.run));
            loops.quiet();
        }

    nlohmann::json json{{"neighbors", neighbors},
                        {"thread_backend", thread_backend()},
                        {"threads", thread_count(0)},
                        {"cases", nlohmann::json::array()}};
    std::printf("%d busy loops, %d threads by %s, medians of %d rounds\n%-22s %10s %10s %6s\n",
                neighbors, thread_count(0), thread_backend(), rounds, "case", "quiet ms", "busy ms",
                "ratio");
    for (const Case& c : cases) {
        const double quiet = 1e3 * median(c.quiet_s), busy = 1e3 * median(c.busy_s);
        std::printf("%-22s %10.2f %10.2f %6.2f\n", c.name.c_str(), quiet, busy, busy / quiet);
        json["cases"].push_back({{"name", c.name}, {"quiet_ms", quiet}, {"busy_ms", busy}});
    }
    if (!json_file.empty()) std::ofstream(json_file) << json.dump(2) << '\n';
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    try {
        return run(argc, argv);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "convolume_busy_bench: %s\n", error.what());
        return 1;
    }
}
