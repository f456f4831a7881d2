#include <omp.h>

#include <algorithm>

#include "convolume/convolver.hpp"
#include "convolume/cpu_engine.hpp"
#include "convolume/error.hpp"
#include "convolume/gpu.hpp"

namespace convolume {

EngineList make_engines(const EngineChoice& choice) {
    if (choice.cpu_engines < 1)
        throw InvalidArgument(
            message(choice.cpu_engines, " engines were asked for: at least 1 must work"));
    if (choice.threads < 0)
        throw InvalidArgument(
            message(choice.threads, " threads were asked for: give at least 1, or 0 for all"));
    if (choice.engine_memory_bytes && *choice.engine_memory_bytes < 1)
        throw InvalidArgument("an engine without memory cannot work: give it at least 1 MiB");
    const index_t limit = choice.engine_memory_bytes.value_or(0);

    const bool wants_gpu = choice.device == EngineChoice::Device::gpu;
    if (wants_gpu ||
        (choice.device == EngineChoice::Device::automatic && gpu_unavailable().empty()))
        return make_gpu_engines(choice.gpus, limit);

    const int threads = choice.threads > 0 ? choice.threads : omp_get_max_threads();
    EngineList engines;
    for (int i = 0; i < choice.cpu_engines; ++i)
        engines.push_back(make_cpu_engine(
            {message("cpu:", i), i, std::max(1, threads / choice.cpu_engines), limit}));
    return engines;
}

}  // namespace convolume
