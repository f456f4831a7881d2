// SPDX-License-Identifier: Apache-2.0
#include "convolume/error.hpp"
#include "io/signal/formats.hpp"

namespace convolume::io {
namespace {

[[noreturn]] void refuse_wav(const std::string& path) {
    throw Unavailable(message(path,
                              " is a WAV file and convolume was built without libsndfile; install "
                              "libsndfile1-dev, then build it again"));
}

}  // namespace

std::unique_ptr<SignalReader> open_wav_signal(const std::string& path) {
    refuse_wav(path);
}

std::unique_ptr<SignalWriter> create_wav_signal(const std::string& path,
                                                const std::vector<index_t>&, SampleType,
                                                const CreateSignalOptions&) {
    refuse_wav(path);
}

}  // namespace convolume::io
