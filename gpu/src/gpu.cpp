#include "convolume/gpu.hpp"

#include "convolume/error.hpp"

static_assert(!CONVOLUME_HAVE_CUDA, "a build with CUDA replaces this file");

namespace convolume {

std::string gpu_unavailable() {
    return "built without CUDA: images are convolved on the CPU";
}

EngineList make_gpu_engines(const std::vector<int>&, index_t) {
    throw Unavailable("built without CUDA: use the CPU (--device cpu)");
}

}  // namespace convolume
