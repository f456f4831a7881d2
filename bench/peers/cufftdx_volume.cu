// SPDX-License-Identifier: Apache-2.0
// Times DeviceConvolver and a circular convolution of a volume by cuFFTDx in turns:
//     convolume_cufftdx_volume_bench [rounds]

#include <cstdlib>

#include "bench/peers/cufftdx_volume.cuh"
#include "convolume/device_convolver.hpp"

using namespace convolume;
using namespace convolume::peers;

namespace {

constexpr unsigned image_seed = 5, kernel_seed = 6;
constexpr index_t kernel_extent = 64;

// Writes the kernel to an image of zeros, so that its middle is at element 0.
__global__ void place_kernel(float* image, int nz, int ny, int nx) {
    const int extent = static_cast<int>(kernel_extent), z = static_cast<int>(blockIdx.y),
              y = static_cast<int>(blockIdx.x), x = static_cast<int>(threadIdx.x);
    const index_t to_z = (z - extent / 2 + nz) % nz, to_y = (y - extent / 2 + ny) % ny,
                  to_x = (x - extent / 2 + nx) % nx;
    image[(to_z * ny + to_y) * nx + to_x] =
        random_value((index_t{z} * extent + y) * extent + x, kernel_seed);
}

// Returns the relative error of some results against sums in double precision.
double error_of(const float* results, const Shape3& n) {
    RelativeError error;
    for (const index_t position : positions_to_check(element_count(n), 20)) {
        const index_t z = position / (n.y * n.x), y = position / n.x % n.y, x = position % n.x;
        double sum = 0;
        for (index_t tap = 0; tap < kernel_extent * kernel_extent * kernel_extent; ++tap) {
            const index_t half = kernel_extent / 2;
            const index_t from_z = (z + half - tap / (kernel_extent * kernel_extent) + n.z) % n.z;
            const index_t from_y = (y + half - tap / kernel_extent % kernel_extent + n.y) % n.y;
            const index_t from_x = (x + half - tap % kernel_extent + n.x) % n.x;
            sum += static_cast<double>(random_value(tap, kernel_seed)) *
                   static_cast<double>(
                       random_value((from_z * n.y + from_y) * n.x + from_x, image_seed));
        }
        error.add(static_cast<double>(read_element<float>(results, position)), sum);
    }
    return error.value();
}

template <unsigned Nz, unsigned Ny, unsigned Nx>
class VolumeComparison {
  public:
    VolumeComparison() : image_(count), our_result_(count), their_result_(count) {
        fill_randomly(image_.get(), count, image_seed);
        const std::vector<float> kernel =
            random_values(kernel_extent * kernel_extent * kernel_extent, kernel_seed);
        Options options;
        options.boundary.kind = BoundaryKind::wrap;
        ours_.emplace(shape, view_of(kernel.data(), {kernel_extent, kernel_extent, kernel_extent}),
                      options);
    }

    int compare_with_fastest(int rounds) {
        try_variant<8, 16>();
        try_variant<16, 16>();
        try_variant<8, 8>();
        if (!fastest_.run) throw InternalError("no variant worked");
        return compare({"circular convolution", name(), 2 * 4 * count, rounds},
                       {{"convolume", [this] { ours_->execute(image_.get(), our_result_.get()); },
                         [this] { return error_of(our_result_.get(), shape); }},
                        {cufftdx_name() + ", five fused passes", fastest_.run,
                         [this] { return error_of(their_result_.get(), shape); }, fastest_.note}});
    }

    static std::string name() {
        return std::to_string(Nz) + "×" + std::to_string(Ny) + "×" + std::to_string(Nx);
    }

  private:
    static constexpr Shape3 shape{Nz, Ny, Nx};
    static constexpr index_t count = index_t{Nz} * Ny * Nx;

    template <unsigned Width, unsigned Elements>
    void try_variant() {
        const std::string note = std::to_string(Width) + " columns a block, " +
                                 std::to_string(Elements) + " elements a thread";
        try {
            gpu::check(cudaMemset(their_result_.get(), 0, their_result_.bytes()), "clearing");
            place_kernel<<<dim3(kernel_extent, kernel_extent), kernel_extent>>>(
                their_result_.get(), static_cast<int>(Nz), static_cast<int>(Ny),
                static_cast<int>(Nx));
            gpu::check(cudaGetLastError(), "placing a kernel");
            const auto volume =
                std::make_shared<FusedVolume<Nz, Ny, Nx, Width, Elements>>(their_result_.get());
            const auto run = [volume, this] { volume->run(image_.get(), their_result_.get()); };
            const double ms = quick_ms(run);
            std::fprintf(stderr, "%s, %s: %.3f ms\n", name().c_str(), note.c_str(), ms);
            if (ms < fastest_.ms) fastest_ = {ms, run, note};
        } catch (const std::exception& error) {
            std::fprintf(stderr, "%s, %s is left out: %s\n", name().c_str(), note.c_str(),
                         error.what());
        }
    }

    gpu::DeviceBuffer<float> image_, our_result_, their_result_;
    std::optional<DeviceConvolver> ours_;
    FastestBank fastest_;
};

template <unsigned Nz, unsigned Ny, unsigned Nx>
int compare_volumes(int rounds) {
    using Comparison = VolumeComparison<Nz, Ny, Nx>;
    try {
        return Comparison().compare_with_fastest(rounds);
    } catch (const std::exception& error) {
        report_failure("circular convolution", Comparison::name(), error.what());
        return 1;
    }
}

}  // namespace

int main(int argc, char** argv) {
    const int rounds = argc > 1 ? std::atoi(argv[1]) : 20;
    const int failures =
        compare_volumes<512, 512, 512>(rounds) + compare_volumes<512, 1024, 1024>(rounds);
    return failures == 0 ? 0 : 1;
}
