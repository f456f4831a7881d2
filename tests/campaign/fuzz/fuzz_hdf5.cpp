// SPDX-License-Identifier: Apache-2.0
// Reads an HDF5 file of any bytes, or refuses it by a typed error, without other harm. A process
// that reads many files does so (reading_process.hpp). Sometimes, and if the file ends that process
// in code for which the command has no helper process, it is read again as the command reads it.

#include <pthread.h>

#include <csignal>
#include <cstdio>
#include <cstring>

#include "convolume/image_file.hpp"
#include "tests/campaign/fuzz/read_input.hpp"
#include "tests/campaign/fuzz/reading_process.hpp"

// A function of the sanitizers, which is null in a build without sanitizers.
extern "C" void __sanitizer_set_death_callback(void (*)()) __attribute__((weak));

namespace {

using convolume::testing::ReadingProcess;

// Called in child processes: a file that crashes them is contained, so it must not become a
// finding.
void leave_no_findings() {
    if (__sanitizer_set_death_callback != nullptr) __sanitizer_set_death_callback(nullptr);
    for (const int signal : {SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV})
        std::signal(signal, SIG_DFL);
}

struct OutcomeCounts {
    long done = 0;
    long contained = 0;
    long unknown = 0;
    long as_command = 0;

    ~OutcomeCounts() {
        std::fprintf(stderr,
                     "hdf5: read or refused %ld, contained %ld, unknown %ld; %ld as the "
                     "command reads them\n",
                     done, contained, unknown, as_command);
    }
};

bool is_due(ReadingProcess::Outcome outcome, OutcomeCounts& counts) {
    constexpr long of_done = 2000;
    constexpr long of_contained = 200;
    switch (outcome) {
        case ReadingProcess::Outcome::done:
            return ++counts.done % of_done == 0;
        case ReadingProcess::Outcome::contained:
            return ++counts.contained % of_contained == 0;
        default:
            ++counts.unknown;
            return true;
    }
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
    return pthread_atfork(nullptr, nullptr, leave_no_findings);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static ReadingProcess process;
    static OutcomeCounts counts;
    if (size < 4 || std::memcmp(data, "\211HDF", 4) != 0) return -1;
    const ReadingProcess::Outcome outcome = process.read(data, size);
    if (is_due(outcome, counts)) {
        ++counts.as_command;
        convolume::io::contain_damage(true);
        convolume::testing::read_image(data, size);
    }
    // A file that ends the process is not mutated further: most of its mutants would end one, too,
    // and a new process takes as long as a hundred inputs.
    return outcome == ReadingProcess::Outcome::done ? 0 : -1;
}
