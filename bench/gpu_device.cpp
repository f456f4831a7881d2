// SPDX-License-Identifier: Apache-2.0
// Times convolutions from device memory to device memory, and cuFFT's 3D transforms of the same
// sizes in the same run. Prints one JSON object a line; times are medians between events.

#include <cuda_runtime_api.h>
#include <cufft.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <iostream>
#include <nlohmann/json.hpp>
#include <random>

#include "convolume/device.hpp"
#include "convolume/engines.hpp"
#include "convolume/volume.hpp"
#include "core/threads.hpp"

namespace {

using namespace convolume;

void check(bool good, const char* what) {
    if (!good) throw std::runtime_error(std::string("failed: ") + what);
}

class DeviceArray {
  public:
    explicit DeviceArray(index_t bytes) {
        check(cudaMalloc(&data_, static_cast<std::size_t>(bytes)) == cudaSuccess, "cudaMalloc");
    }
    ~DeviceArray() { static_cast<void>(cudaFree(data_)); }
    DeviceArray(const DeviceArray&) = delete;
    DeviceArray& operator=(const DeviceArray&) = delete;
    void* data() const { return data_; }

  private:
    void* data_ = nullptr;
};

Volume random_volume(const Shape3& shape, unsigned seed) {
    Volume volume(shape, PixelType::float32);
    float* const samples = volume.elements<float>();
    const index_t count = element_count(shape);
    parallel_for(ceil_div(count, index_t{1} << 16), thread_count(0), [=](index_t block, int) {
        std::mt19937 engine(seed + static_cast<unsigned>(block));
        std::uniform_real_distribution<float> uniform(-0.5f, 1.f);
        for (index_t i = block << 16; i < std::min(count, (block + 1) << 16); ++i)
            samples[i] = uniform(engine);
    });
    return volume;
}

// Returns the median milliseconds between events around `work`.
template <class Work>
double median_ms(int repeats, const Work& work) {
    cudaEvent_t begin, end;
    check(cudaEventCreate(&begin) == cudaSuccess && cudaEventCreate(&end) == cudaSuccess, "events");
    work();
    work();
    std::vector<double> times;
    for (int i = 0; i < repeats; ++i) {
        check(cudaEventRecord(begin) == cudaSuccess, "recording");
        work();
        check(cudaEventRecord(end) == cudaSuccess && cudaEventSynchronize(end) == cudaSuccess,
              "running");
        float ms = 0;
        check(cudaEventElapsedTime(&ms, begin, end) == cudaSuccess, "reading a time");
        times.push_back(ms);
    }
    static_cast<void>(cudaEventDestroy(begin));
    static_cast<void>(cudaEventDestroy(end));
    std::sort(times.begin(), times.end());
    return times[times.size() / 2];
}

// Times cuFFT's forward and inverse 3D transforms, without the product of spectra between them.
double cufft_ms(const Shape3& grid, int repeats) {
    const index_t spectrum = grid.z * grid.y * (grid.x / 2 + 1);
    const DeviceArray data(spectrum * 8);
    cufftHandle forward, inverse;
    const int n[3] = {static_cast<int>(grid.z), static_cast<int>(grid.y), static_cast<int>(grid.x)};
    check(cufftPlan3d(&forward, n[0], n[1], n[2], CUFFT_R2C) == CUFFT_SUCCESS &&
              cufftPlan3d(&inverse, n[0], n[1], n[2], CUFFT_C2R) == CUFFT_SUCCESS,
          "planning cuFFT");
    check(cudaMemset(data.data(), 0, static_cast<std::size_t>(spectrum * 8)) == cudaSuccess,
          "clearing");
    const double ms = median_ms(repeats, [&] {
        check(cufftExecR2C(forward, static_cast<cufftReal*>(data.data()),
                           static_cast<cufftComplex*>(data.data())) == CUFFT_SUCCESS &&
                  cufftExecC2R(inverse, static_cast<cufftComplex*>(data.data()),
                               static_cast<cufftReal*>(data.data())) == CUFFT_SUCCESS,
              "running cuFFT");
    });
    static_cast<void>(cufftDestroy(forward));
    static_cast<void>(cufftDestroy(inverse));
    return ms;
}

struct Case {
    const char* name;
    Shape3 image, kernel;
    BoundaryKind boundary;
};
constexpr Case cases[] = {
    {"device512", {512, 1024, 1024}, {64, 64, 64}, BoundaryKind::wrap},
    {"device1024", {1024, 1024, 1024}, {64, 64, 64}, BoundaryKind::wrap},
    {"device257", {257, 1031, 1021}, {33, 33, 33}, BoundaryKind::zero},
    {"device512k64", {512, 1024, 1024}, {64, 64, 64}, BoundaryKind::zero},
};

// Returns the relative L2 error at random voxels, against sums in double precision.
double sampled_error(const Case& c, const Volume& image, const Volume& kernel,
                     const Volume& result) {
    std::mt19937 engine(7);
    double difference = 0, norm = 0;
    for (int sample = 0; sample < 100; ++sample) {
        index_t at[3];
        for (int a = 0; a < 3; ++a)
            at[a] = std::uniform_int_distribution<index_t>(0, c.image[a] - 1)(engine);
        double sum = 0;
        for (index_t z = 0; z < c.kernel.z; ++z)
            for (index_t y = 0; y < c.kernel.y; ++y)
                for (index_t x = 0; x < c.kernel.x; ++x) {
                    const index_t tap[3] = {z, y, x};
                    index_t from[3];
                    bool inside = true;
                    for (int a = 0; a < 3; ++a) {
                        from[a] = at[a] + c.kernel[a] / 2 - tap[a];
                        if (c.boundary == BoundaryKind::wrap)
                            from[a] = (from[a] + c.image[a]) % c.image[a];
                        inside = inside && from[a] >= 0 && from[a] < c.image[a];
                    }
                    if (inside)
                        sum += static_cast<double>(*static_cast<const float*>(
                                   image.view().at(from[0], from[1], from[2]))) *
                               static_cast<double>(
                                   *static_cast<const float*>(kernel.view().at(z, y, x)));
                }
        const double found = *static_cast<const float*>(result.view().at(at[0], at[1], at[2]));
        difference += (found - sum) * (found - sum);
        norm += sum * sum;
    }
    return std::sqrt(difference / norm);
}

void run_case(const Case& c, int repeats, bool keep) {
    const Volume image = random_volume(c.image, 1), kernel = random_volume(c.kernel, 2);
    const index_t bytes = image.bytes();
    const DeviceArray input(bytes), output(bytes);
    check(cudaMemcpy(input.data(), image.view().data, static_cast<std::size_t>(bytes),
                     cudaMemcpyHostToDevice) == cudaSuccess &&
              cudaMemset(output.data(), 0xff, static_cast<std::size_t>(bytes)) == cudaSuccess,
          "copying the image");
    Options options;
    options.boundary.kind = c.boundary;
    DeviceOptions device;
    device.keep_kernel_spectrum = keep;
    DeviceConvolver convolver(c.image, kernel.view(), options, device);
    const double ms = median_ms(repeats, [&] { convolver.execute(input.data(), output.data()); });
    Volume result(c.image, PixelType::float32);
    check(cudaMemcpy(result.view().data, output.data(), static_cast<std::size_t>(bytes),
                     cudaMemcpyDeviceToHost) == cudaSuccess,
          "copying the result");
    const Shape3 grid = convolver.grid();
    std::cout << nlohmann::json{{"name", c.name},
                                {"image_zyx", {c.image.z, c.image.y, c.image.x}},
                                {"kernel_zyx", {c.kernel.z, c.kernel.y, c.kernel.x}},
                                {"grid_zyx", {grid.z, grid.y, grid.x}},
                                {"boundary", to_string(c.boundary)},
                                {"may_keep_spectrum", keep},
                                {"ms", ms},
                                {"device_bytes", convolver.device_bytes()},
                                {"device_bytes_of_padded_image",
                                 static_cast<double>(convolver.device_bytes()) /
                                     (4 * static_cast<double>(element_count(grid)))},
                                {"relative_l2_error", sampled_error(c, image, kernel, result)}}
                     .dump()
              << std::endl;
}

}  // namespace

int main(int argc, char** argv) {
    CLI::App app("Times convolutions on a device.");
    std::vector<std::string> names;
    int repeats = 20;
    app.add_option("CASE", names, "device512, device1024, device257, device512k64; all");
    app.add_option("--repeats", repeats, "Timed executions (default 20)");
    CLI11_PARSE(app, argc, argv);
    if (const std::string why = gpu_unavailable(); !why.empty()) {
        std::cerr << why << '\n';
        return 2;
    }
    int failures = 0;
    for (const Case& c : cases) {
        if (!names.empty() && std::find(names.begin(), names.end(), c.name) == names.end())
            continue;
        try {
            for (const bool keep : {true, false}) run_case(c, repeats, keep);
            std::cout << nlohmann::json{{"name", std::string("cufft_") + c.name},
                                        {"ms", cufft_ms(c.image, repeats)}}
                             .dump()
                      << std::endl;
        } catch (const std::exception& error) {
            std::cout << nlohmann::json{{"name", c.name}, {"error", error.what()}}.dump()
                      << std::endl;
            ++failures;
        }
    }
    return failures > 0 ? 1 : 0;
}
