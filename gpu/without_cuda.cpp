// The back end of builds without CUDA: it says so.

#include "convolume/engines.hpp"
#include "convolume/error.hpp"
#include "gpu/gpu_engines.hpp"
#include "gpu/signals/gpu_filter.hpp"
#include "gpu/volumes/device_program.hpp"

namespace convolume {

std::string gpu_unavailable() {
    return "built without CUDA: images are convolved on the CPU";
}

EngineList make_gpu_engines(const GpuOptions&) {
    throw Unavailable("built without CUDA: use the CPU (--device cpu)");
}

std::vector<GpuDevice> gpu_devices() {
    return {};
}
std::string cuda_driver_version() {
    return {};
}
std::string cuda_runtime_version() {
    return {};
}
GpuBandwidth measure_gpu_bandwidth(int) {
    throw Unavailable("built without CUDA: there is no GPU to measure");
}
double measure_concurrent_upload(const std::vector<int>&) {
    throw Unavailable("built without CUDA: there is no GPU to measure");
}

std::unique_ptr<DeviceProgram> make_device_program(const DeviceProgramSpec&) {
    throw Unavailable("built without CUDA: convolve from host memory instead");
}
index_t good_device_length(int, int, index_t least, bool, Precision) {
    return least;
}

FilterEngineList make_gpu_filter_engines(const GpuOptions&) {
    throw Unavailable("built without CUDA: use the CPU (--device cpu)");
}
std::unique_ptr<DeviceFilterProgram> make_device_filter_program(int, const FilterWork&, const void*,
                                                                index_t, index_t) {
    throw Unavailable("built without CUDA: filter signals in host memory instead");
}

}  // namespace convolume
