// SPDX-License-Identifier: Apache-2.0
// Images beyond 2^31 bytes and voxels: pages of zeros that the system provides when they are read.
// A few voxels are set where 32-bit offsets would miss them.

#include <sys/mman.h>
#include <unistd.h>

#include <fstream>

#include "engines/engines.hpp"
#include "tests/catch.hpp"
#include "tests/support/convolver_case.hpp"
#include "volumes/convolver_factory.hpp"

using namespace convolume;
using namespace convolume::testing;

namespace {

/// Memory of zeros that takes no space until it is written.
class ZeroPages {
  public:
    explicit ZeroPages(index_t bytes)
        : bytes_(static_cast<std::size_t>(bytes)),
          data_(mmap(nullptr, bytes_, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {}
    ~ZeroPages() {
        if (data_ != MAP_FAILED) munmap(data_, bytes_);
    }
    ZeroPages(const ZeroPages&) = delete;
    ZeroPages& operator=(const ZeroPages&) = delete;

    bool mapped() const { return data_ != MAP_FAILED; }
    std::uint8_t* data() const { return static_cast<std::uint8_t*>(data_); }

  private:
    std::size_t bytes_;
    void* data_;
};

index_t available_bytes() {
    std::ifstream file("/proc/meminfo");
    std::string key, rest;
    index_t kib = 0;
    while (file >> key >> kib && std::getline(file, rest))
        if (key == "MemAvailable:") return kib * 1024;
    return 0;
}

constexpr index_t gib = index_t{1} << 30;

EngineList limited_cpu_engine(index_t memory) {
    EngineChoice choice;
    choice.device = EngineChoice::Device::cpu;
    choice.max_cpu_engine_bytes = memory;
    return make_engines(choice);
}

}  // namespace

TEST_CASE("voxels beyond 2^31 elements of a strided image are read where they are") {
    // 3 planes 1.2e9 elements apart: the last begins at 2.4e9.
    const index_t plane_stride = 1200000000, row_stride = 16777259;
    const ZeroPages pages(2 * plane_stride + 70 * row_stride);
    if (!pages.mapped()) SKIP("the system grants no mapping of 3.4 GiB");
    Random random(test_seed("large strides"));
    ConvolverCase c = make_case(random, {3, 70, 50}, {2, 5, 4});
    c.image = random.integers(c.image_shape, 0, 200);
    c.image_type = PixelType::uint8;
    const ImageView image{
        pages.data(), PixelType::uint8, c.image_shape, {plane_stride, row_stride, 1}};
    store(c.image, image);
    for (const Method method : {Method::in_core, Method::dif, Method::tiled, Method::direct}) {
        c.options.method = method;
        const Volume kernel = to_volume(c.kernel, PixelType::float32);
        const Convolver convolver = ConvolverFactory::make(c.image_shape, kernel.view(), c.options,
                                                           cpu_engines(), PixelType::uint8);
        Volume output(c.image_shape, PixelType::float32);
        poison(output.view());
        convolver.execute(image, output.view());
        const auto comparison = compare(c.expected(), to_array(output.view()));
        INFO(to_string(method) << "\n" << comparison.report);
        CHECK(comparison.within(Precision::float32));
    }
}

TEST_CASE("an image of more than 2^31 voxels is convolved correctly") {
    const Shape3 shape{5, 21000, 21000};  // 2.2e9 voxels
    const index_t voxels = element_count(shape);
    REQUIRE(voxels > (index_t{1} << 31));
    if (available_bytes() < 6 * gib) SKIP("less than 6 GiB of free memory");
    const ZeroPages image_pages(voxels);
    if (!image_pages.mapped()) SKIP("the system grants no mapping of 2.2 GiB");
    // Mode valid has one plane of results, because the kernel is as deep as the image.
    Options options;
    options.mode = Mode::valid;
    options.method = Method::direct;
    std::vector<float> kernel{0.5f, 0, 0, 0, 2};  // adds planes 4 apart along z
    const auto at = [&](index_t z, index_t y, index_t x) -> std::uint8_t& {
        return image_pages.data()[(z * shape.y + y) * shape.x + x];
    };
    at(0, 3, 7) = 10;
    at(4, 3, 7) = 4;
    at(4, 20999, 20999) = 8;  // the last voxel of the image
    at(0, 20999, 20998) = 6;
    at(4, 12345, 678) = 255;  // a voxel behind 2^31 others

    const ZeroPages output_pages(shape.y * shape.x);
    const ImageView output = view_of(output_pages.data(), Shape3{1, shape.y, shape.x});
    const ConstImageView image =
        view_of(static_cast<const std::uint8_t*>(image_pages.data()), shape);
    const Convolver convolver = ConvolverFactory::make(
        shape, view_of(static_cast<const float*>(kernel.data()), Shape3{5, 1, 1}), options,
        limited_cpu_engine(gib / 2), PixelType::uint8, PixelType::uint8);
    const ExecutionReport report = convolver.execute(image, output);
    std::cout << convolver.plan().to_string() << report.seconds << " s\n";
    const auto result = [&](index_t y, index_t x) {
        return int{output_pages.data()[y * shape.x + x]};
    };
    // full[n] = sum h[j] f(n - j) at n = 4: h[0] meets plane 4, h[4] plane 0.
    CHECK(result(3, 7) == 2 + 20);
    CHECK(result(20999, 20999) == 4);
    CHECK(result(20999, 20998) == 12);
    CHECK(result(12345, 678) == 128);
    CHECK(result(12345, 679) == 0);
    CHECK(result(0, 0) == 0);
    index_t sum = 0;
    for (index_t i = 0; i < shape.y * shape.x; ++i) sum += output_pages.data()[i];
    CHECK(sum == 22 + 4 + 12 + 128);
    CHECK(report.clamped_low + report.clamped_high == 0);
}
