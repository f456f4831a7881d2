// SPDX-License-Identifier: Apache-2.0
// Times filter banks on the CPU, one case a line of stdin, so that a driver can alternate with
// other programs in one run (bench/filter_cpu.py):
//   prepare SAMPLES FILTERS TAPS [KEY=VALUE …]   answers with the plan
//   run                                          executes once; answers with milliseconds
//   one-fft THREADS         2^20 with 2^20 samples by one transform of FFTW; milliseconds
//   quit
// Keys: method, segment, threads, precision, post, window, complex=1, mode, origin. With arguments
// instead of stdin, `convolume_filter_cpu_bench [--json] SAMPLES FILTERS TAPS [KEY=VALUE …]` prints
// the median of some runs.

#include <fftw3.h>

#include <algorithm>
#include <chrono>
#include <complex>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "convolume/error.hpp"
#include "convolume/filter_bank.hpp"
#include "core/threads.hpp"

using namespace convolume;

namespace {

struct FilterCase {
    Volume signal;
    Volume results;
    std::vector<index_t> positions;
    std::unique_ptr<FilterBank> bank;
};

void fill_random(Volume& volume) {
    std::uint32_t state = 1;
    const auto next = [&state] {
        state = state * 1664525u + 1013904223u;
        return static_cast<float>(state >> 8) / 16777216.0f - 0.5f;
    };
    visit_pixel_type(volume.type(), [&](auto tag) {
        using T = typename decltype(tag)::type;
        if constexpr (!std::is_integral_v<T>) {
            T* const elements = volume.elements<T>();
            const index_t count = element_count(volume.shape());
            for (index_t i = 0; i < count; ++i) elements[i] = T(next());
        }
    });
}

FilterCase prepare_case(std::istream& words) {
    index_t samples = 0, filters = 0, taps = 0;
    if (!(words >> samples >> filters >> taps))
        throw InvalidArgument("a case is given as SAMPLES FILTERS TAPS [KEY=VALUE …]");
    std::map<std::string, std::string> settings;
    for (std::string word; words >> word;)
        settings[word.substr(0, word.find('='))] = word.substr(word.find('=') + 1);
    const auto setting = [&](const char* key, const char* otherwise) {
        const auto found = settings.find(key);
        return found == settings.end() ? std::string(otherwise) : found->second;
    };
    FilterOptions options;
    options.mode = parse_mode(setting("mode", "same"));
    options.origin = parse_filter_origin(setting("origin", "center"));
    options.method = parse_filter_method(setting("method", "auto"));
    options.segment = std::stoll(setting("segment", "0"));
    options.precision = parse_precision(setting("precision", "float32"));
    options.post = parse_point_post(setting("post", "none"));
    options.window = parse_window_post(setting("window", "none"));
    const bool complex_data = setting("complex", "0") == "1";
    const bool single = options.precision == Precision::float32;
    const PixelType type = complex_data ? (single ? PixelType::complex64 : PixelType::complex128)
                                        : (single ? PixelType::float32 : PixelType::float64);
    EngineChoice choice;
    choice.device = EngineChoice::Device::cpu;
    choice.threads = std::stoi(setting("threads", "0"));

    FilterCase work{Volume({1, 1, samples}, type), {}, {}, {}};
    Volume bank({1, filters, taps}, type);
    fill_random(work.signal);
    fill_random(bank);
    work.bank = std::make_unique<FilterBank>(
        SignalShape{1, samples}, std::vector<ConstImageView>{bank.view()}, options, choice, type);
    work.results = Volume({1, filters, work.bank->result_samples()}, work.bank->result_type());
    if (options.window.kind == WindowPost::Kind::peak)
        work.positions.resize(static_cast<std::size_t>(element_count(work.results.shape())));
    return work;
}

double run_ms(FilterCase& work) {
    return 1e3 * work.bank
                     ->execute(work.signal.view(), work.results.view(),
                               work.positions.empty() ? nullptr : work.positions.data())
                     .seconds;
}

/// The peer, one padded transform of FFTW, for 2^20 with 2^20 samples. The filter is transformed
/// first.
class FftwFilter {
  public:
    explicit FftwFilter(int threads)
        : samples_({1, 1, length}, PixelType::float32),
          results_({1, 1, length}, PixelType::float32),
          filter_({1, 1, bins}, PixelType::complex64),
          spectrum_({1, 1, bins}, PixelType::complex64) {
#ifdef CONVOLUME_BENCH_FFTW_THREADS
        fftwf_init_threads();
        fftwf_plan_with_nthreads(threads);
#endif
        threads_ = threads;
        forward_ = fftwf_plan_dft_r2c_1d(length, samples(), as_fftw_complex(spectrum_),
                                         FFTW_ESTIMATE | FFTW_PRESERVE_INPUT);
        inverse_ =
            fftwf_plan_dft_c2r_1d(length, as_fftw_complex(spectrum_), results_.elements<float>(),
                                  FFTW_ESTIMATE | FFTW_DESTROY_INPUT);
        fill_random(samples_);
        std::fill(samples() + length / 2, samples() + length, 0.0f);
        fftwf_execute_dft_r2c(forward_, samples(), as_fftw_complex(filter_));
    }
    FftwFilter(const FftwFilter&) = delete;
    FftwFilter& operator=(const FftwFilter&) = delete;
    ~FftwFilter() {
        fftwf_destroy_plan(forward_);
        fftwf_destroy_plan(inverse_);
    }

    double run_ms() {
        const auto start = std::chrono::steady_clock::now();
        fftwf_execute(forward_);
        const auto* const h = filter_.elements<std::complex<float>>();
        auto* const x = spectrum_.elements<std::complex<float>>();
        parallel_ranges(bins, threads_, [=](index_t begin, index_t end, int) {
            for (index_t i = begin; i < end; ++i)
                x[i] = {x[i].real() * h[i].real() - x[i].imag() * h[i].imag(),
                        x[i].real() * h[i].imag() + x[i].imag() * h[i].real()};
        });
        fftwf_execute(inverse_);
        return 1e3 *
               std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    }

  private:
    static constexpr int length = 1 << 21;
    static constexpr int bins = length / 2 + 1;
    float* samples() {
        return samples_.elements<float>();
    }
    static fftwf_complex* as_fftw_complex(Volume& volume) {
        return reinterpret_cast<fftwf_complex*>(volume.elements<std::complex<float>>());
    }

    Volume samples_, results_, filter_, spectrum_;
    int threads_ = 1;
    fftwf_plan forward_, inverse_;
};

nlohmann::json describe_plan(const FilterCase& work) {
    const FilterPlan& plan = work.bank->plan();
    return {{"method", to_string(plan.method)},
            {"segment", plan.segment},
            {"predicted_ms", plan.seconds * 1e3}};
}

int run_once(int count, char** arguments) {
    bool json = false;
    std::stringstream words;
    for (int i = 1; i < count; ++i) {
        if (std::string(arguments[i]) == "--json")
            json = true;
        else
            words << arguments[i] << ' ';
    }
    FilterCase work = prepare_case(words);
    std::vector<double> times;
    for (int i = 0; i < 12; ++i) times.push_back(run_ms(work));
    std::sort(times.begin(), times.end());
    nlohmann::json report = describe_plan(work);
    report["ms"] = times[times.size() / 2];
    report["best_ms"] = times.front();
    if (json)
        std::cout << report.dump() << '\n';
    else
        std::cout << report["ms"] << " ms (best " << times.front() << ", predicted "
                  << work.bank->plan().seconds * 1e3 << ") " << to_string(work.bank->plan().method)
                  << " " << work.bank->plan().segment << '\n';
    return 0;
}

}  // namespace

int main(int count, char** arguments) try {
    if (count > 1) return run_once(count, arguments);
    FilterCase work;
    std::map<int, FftwFilter> one_transform;  // FFTW's transforms by number of threads
    std::string line;
    while (std::getline(std::cin, line)) {
        std::istringstream words(line);
        std::string verb;
        words >> verb;
        try {
            if (verb == "quit") return 0;
            if (verb == "prepare") {
                work = {};
                work = prepare_case(words);
                std::cout << describe_plan(work).dump() << std::endl;
            } else if (verb == "run" && work.bank) {
                std::cout << nlohmann::json{{"ms", run_ms(work)}}.dump() << std::endl;
            } else if (verb == "one-fft") {
                int threads = 1;
                words >> threads;
                FftwFilter& peer = one_transform.try_emplace(threads, threads).first->second;
                std::cout << nlohmann::json{{"ms", peer.run_ms()}}.dump() << std::endl;
            } else {
                throw InvalidArgument(
                    message("'", line, "' is no request: write prepare CASE, run or quit"));
            }
        } catch (const std::exception& error) {
            std::cout << nlohmann::json{{"error", error.what()}}.dump() << std::endl;
        }
    }
    return 0;
} catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
}
