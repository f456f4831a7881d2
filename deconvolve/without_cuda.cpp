// The device's side of builds without CUDA: it says so.

#include "convolume/error.hpp"
#include "deconvolve/runner.hpp"

namespace convolume::deconvolve {

std::unique_ptr<Runner> make_device_runner(const Problem&, const EngineChoice&) {
    throw Unavailable(gpu_unavailable());
}

}  // namespace convolume::deconvolve
