// SPDX-License-Identifier: Apache-2.0
// Times own transforms beside FFTW's measured plans, in turns, on one thread: for the lengths and
// batches that plans of images and signals use. Prints nanoseconds a sample and FFTW's time in
// units of the own time, which is above 1 if own transforms are faster.
//
// Arguments choose groups: signals, rows, columns, long. Without arguments all groups run. With
// --wait as the first argument, it waits for a line of its input after each case (fft_peers.py).

#include <fftw3.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "convolume/volume.hpp"
#include "cpu/fft/fft_plan.hpp"
#include "cpu/fft/own_fft.hpp"

using namespace convolume;
using cpu::TransformBatch;
using cpu::TransformKind;

namespace {

bool wait_after_case = false;
constexpr int rounds = 7;
constexpr double least_seconds = 2e-3;

double measure_seconds(const std::function<void()>& work, int repeats) {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < repeats; ++i) work();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() /
           repeats;
}

const char* name_of(TransformKind kind) {
    switch (kind) {
        case TransformKind::forward:
            return "complex";
        case TransformKind::inverse:
            return "complex, inverse";
        case TransformKind::real_forward:
            return "real";
        default:
            return "real, inverse";
    }
}

/// Ratios of a group of cases.
struct Ratios {
    std::vector<double> all;

    void print(const char* group) const {
        if (all.empty()) return;
        const auto faster = std::count_if(all.begin(), all.end(), [](double r) { return r >= 1; });
        auto sorted = all;
        std::sort(sorted.begin(), sorted.end());
        std::printf(
            "%s: own transforms are as fast or faster in %.0f %% of %zu cases; median %.2f, "
            "minimum %.2f\n",
            group, 100.0 * static_cast<double>(faster) / static_cast<double>(all.size()),
            all.size(), sorted[sorted.size() / 2], sorted.front());
    }
};

template <class Real>
class Contest {
  public:
    using Complex = std::complex<Real>;

    Contest(const TransformBatch& batch, TransformKind kind)
        : batch_(batch),
          kind_(kind),
          in_(bytes(batch.in_distance, batch.in_stride)),
          out_(bytes(batch.out_distance, batch.out_stride)),
          own_(batch, kind),
          fftw_(plan()) {
        // Transforms of zeros are zeros, so that values do not grow in repeated runs.
        std::memset(in_.data(), 0, static_cast<std::size_t>(in_.bytes()));
        std::memset(out_.data(), 0, static_cast<std::size_t>(out_.bytes()));
    }

    double ratio() const {
        const std::function<void()> contestants[] = {[this] { execute(own_); },
                                                     [this] { execute(fftw_); }};
        double best[2];
        int repeats[2];
        for (int i = 0; i < 2; ++i) {
            best[i] = measure_seconds(contestants[i], 1);
            best[i] = measure_seconds(contestants[i], 1);
            repeats[i] = std::max(1, static_cast<int>(least_seconds / best[i]));
        }
        for (int round = 0; round < rounds; ++round)
            for (int i = 0; i < 2; ++i)
                best[i] = std::min(best[i], measure_seconds(contestants[i], repeats[i]));
        const double samples = 1e-9 * static_cast<double>(batch_.length * batch_.count);
        std::printf("| %s, %s | %ld | %ld | %.2f | %.2f | %.2f |\n",
                    sizeof(Real) == 4 ? "float" : "double", name_of(kind_),
                    static_cast<long>(batch_.length), static_cast<long>(batch_.count),
                    best[0] / samples, best[1] / samples, best[1] / best[0]);
        std::fflush(stdout);
        if (wait_after_case) std::getchar();
        return best[1] / best[0];
    }

  private:
    index_t bytes(index_t distance, index_t stride) const {
        return ((batch_.count - 1) * distance + (batch_.length + 2) * stride) *
               index_t{sizeof(Complex)};
    }
    Real* reals(const Buffer& buffer) const { return buffer.as<Real>(); }
    Complex* complex(const Buffer& buffer) const { return buffer.as<Complex>(); }

    cpu::FftPlan<Real> plan() const {
        const cpu::FftPlanning measured{FftLibrary::fftw, cpu::PlanningEffort::measured};
        return {batch_, kind_, in_.data(), out_.data(), measured};
    }
    template <class Fft>
    void execute(const Fft& fft) const {
        if (kind_ == TransformKind::real_forward)
            fft.execute(reals(in_), complex(out_));
        else if (kind_ == TransformKind::real_inverse)
            fft.execute(complex(in_), reals(out_));
        else
            fft.execute(complex(in_), complex(out_));
    }

    TransformBatch batch_;
    TransformKind kind_;
    Buffer in_, out_;
    cpu::OwnFft<Real> own_;
    cpu::FftPlan<Real> fftw_;
};

/// Runs a set of rows, whose distances are whole cache lines as in images and signals.
template <class Real>
void run_rows(Ratios& ratios, index_t length, index_t count, TransformKind kind) {
    const auto whole_lines = [](index_t samples, std::size_t bytes) {
        return round_up(samples, static_cast<index_t>(64 / bytes));
    };
    const index_t complex_row = whole_lines(length, sizeof(std::complex<Real>));
    const index_t half_row = whole_lines(length / 2 + 1, sizeof(std::complex<Real>));
    const index_t real_row = whole_lines(length, sizeof(Real));
    const index_t in = kind == TransformKind::real_forward   ? real_row
                       : kind == TransformKind::real_inverse ? half_row
                                                             : complex_row;
    const index_t out = kind == TransformKind::real_forward   ? half_row
                        : kind == TransformKind::real_inverse ? real_row
                                                              : complex_row;
    ratios.all.push_back(Contest<Real>({length, count, 1, in, 1, out}, kind).ratio());
}

constexpr TransformKind kinds[] = {TransformKind::forward, TransformKind::inverse,
                                   TransformKind::real_forward, TransformKind::real_inverse};

void run_signals(Ratios& ratios) {
    for (index_t length = 512; length <= 65536; length *= 2)
        for (const TransformKind kind : kinds) {
            for (const index_t count : {1, 8, 64})
                if (length * count <= 1 << 18) run_rows<float>(ratios, length, count, kind);
            run_rows<double>(ratios, length, 1, kind);
        }
    for (const index_t length : {1000, 1536, 3072, 5000, 6000, 12288, 40000}) {
        run_rows<float>(ratios, length, 1, TransformKind::forward);
        run_rows<float>(ratios, length, 1, TransformKind::real_forward);
    }
}

void run_image_rows(Ratios& ratios) {
    constexpr index_t lengths[] = {64,   80,   96,   108,  128,  160,  180,  192,  216,
                                   256,  270,  288,  320,  360,  384,  420,  512,  540,
                                   576,  600,  640,  720,  768,  840,  960,  1024, 1080,
                                   1152, 1280, 1536, 2048, 2160, 2304, 2560, 3072, 4096};
    for (const index_t length : lengths) {
        for (const TransformKind kind : {TransformKind::real_forward, TransformKind::real_inverse})
            run_rows<float>(ratios, length, 16, kind);
        run_rows<float>(ratios, length, 16, TransformKind::forward);
        run_rows<double>(ratios, length, 16, TransformKind::real_forward);
        run_rows<double>(ratios, length, 16, TransformKind::inverse);
    }
}

void run_columns(Ratios& ratios) {
    for (const index_t length : {64, 128, 270, 512, 540, 1024}) {
        const index_t pitch = round_up(length / 2 + 1, index_t{16});
        const TransformBatch batch{length, 16, pitch, 1, pitch, 1};
        ratios.all.push_back(Contest<float>(batch, TransformKind::forward).ratio());
        ratios.all.push_back(Contest<double>(batch, TransformKind::forward).ratio());
    }
}

void run_long(Ratios& ratios) {
    for (index_t length = 1 << 17; length <= 1 << 22; length *= 2) {
        run_rows<float>(ratios, length, 1, TransformKind::forward);
        run_rows<float>(ratios, length, 1, TransformKind::real_forward);
        run_rows<float>(ratios, length, 1, TransformKind::real_inverse);
        run_rows<double>(ratios, length, 1, TransformKind::forward);
    }
}

}  // namespace

int main(int count, char** arguments) {
    std::vector<std::string> chosen(arguments + 1, arguments + count);
    wait_after_case = !chosen.empty() && chosen.front() == "--wait";
    if (wait_after_case) chosen.erase(chosen.begin());
    const std::pair<const char*, void (*)(Ratios&)> groups[] = {{"signals", run_signals},
                                                                {"rows", run_image_rows},
                                                                {"columns", run_columns},
                                                                {"long", run_long}};
    std::vector<Ratios> results;
    std::printf(
        "| transform | length | batch | own, ns | FFTW, ns | FFTW / own |\n"
        "|---|---|---|---|---|---|\n");
    Ratios all;
    for (const auto& [name, run] : groups) {
        Ratios& ratios = results.emplace_back();
        if (!chosen.empty() && std::find(chosen.begin(), chosen.end(), name) == chosen.end())
            continue;
        run(ratios);
        all.all.insert(all.all.end(), ratios.all.begin(), ratios.all.end());
    }
    std::printf("\n");
    for (std::size_t i = 0; i < results.size(); ++i) results[i].print(groups[i].first);
    all.print("all");
}
