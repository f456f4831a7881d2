// SPDX-License-Identifier: Apache-2.0
// Checks that executions use at most the memory that their plan declares.

#include <cstring>
#include <memory_resource>
#include <mutex>

#include "convolume/cache.hpp"
#include "engines/engines.hpp"
#include "tests/catch.hpp"
#include "tests/support/convolver_case.hpp"
#include "tests/support/errors.hpp"
#include "volumes/convolver_factory.hpp"

using namespace convolume;
using namespace convolume::testing;

namespace {

/// Peak bytes of constructing a convolver and executing it twice, beyond image and output.
struct MeasuredPeak {
    index_t peak;
    Plan plan;
};
MeasuredPeak measure(const Shape3& image_shape, const Shape3& kernel_shape, const Options& options,
                     const EngineList& engines) {
    Random random(9);
    Volume image(image_shape, PixelType::float32);
    for (index_t i = 0; i < element_count(image_shape); ++i)
        image.elements<float>()[i] = static_cast<float>(i % 1013);
    Volume kernel(kernel_shape, PixelType::float32);
    for (index_t i = 0; i < element_count(kernel_shape); ++i)
        kernel.elements<float>()[i] = static_cast<float>(random.uniform());
    Volume output(image_shape, PixelType::float32);
    const index_t before = memory_use().current_bytes;
    reset_memory_peak();
    const Convolver convolver =
        ConvolverFactory::make(image_shape, kernel.view(), options, engines);
    for (int execution = 0; execution < 2; ++execution)
        convolver.execute(image.view(), output.view());
    return {memory_use().peak_bytes - before, convolver.plan()};
}

}  // namespace

TEST_CASE("dif takes at most 1.1 times the padded volume and the engines' limits", "[long]") {
    const Shape3 image{128, 160, 160}, kernel{17, 21, 21};
    index_t padded = 4;
    for (int a = 0; a < 3; ++a) padded *= image[a] + kernel[a] - 1;
    for (const int parts : {2, 4, 8, 16})
        for (const int count : {1, 2}) {
            const index_t limit = 24 * mib;
            Options options;
            options.method = Method::dif;
            options.parts = parts;
            const EngineList engines = cpu_engines(count, limit);
            try {
                const MeasuredPeak measured = measure(image, kernel, options, engines);
                const double beyond = static_cast<double>(measured.peak - count * limit) /
                                      static_cast<double>(padded);
                std::cout << "dif P=" << parts << ", " << count << " engines: peak "
                          << measured.peak / mib
                          << " MiB beyond image and output = engines' limits + " << beyond
                          << " of the padded volume\n";
                INFO(measured.plan.to_string());
                CHECK(beyond <= 1.1);
                // The peak stays within the bytes that the plan declares.
                const index_t declared =
                    measured.plan.chosen.host_bytes - 2 * 4 * element_count(image);
                CHECK(measured.peak <= declared);
            } catch (const OutOfMemory& error) {
                INFO(error.what());
                CHECK(parts < 4);
            }
        }
}

TEST_CASE("every method stays within the memory that its plan declares") {
    const Shape3 image{48, 100, 110}, kernel{9, 11, 13};
    for (const Method method :
         {Method::automatic, Method::in_core, Method::dif, Method::tiled, Method::direct})
        for (const int count : {1, 2}) {
            Options options;
            options.method = method;
            const EngineList engines = cpu_engines(
                count, method == Method::tiled ? std::optional<index_t>(4 * mib) : std::nullopt);
            const MeasuredPeak measured = measure(image, kernel, options, engines);
            const index_t declared = measured.plan.chosen.host_bytes - 2 * 4 * element_count(image);
            INFO(to_string(method) << ", " << count << " engines: peak " << measured.peak
                                   << " declared " << declared << "\n"
                                   << measured.plan.to_string());
            CHECK(measured.peak <= declared);
        }
}

TEST_CASE("the memory that a plan declares includes large kernels and continued images") {
    for (const BoundaryKind boundary : {BoundaryKind::zero, BoundaryKind::mirror})
        for (const Operation operation : {Operation::convolve, Operation::adjoint})
            for (const Method method : {Method::in_core, Method::dif, Method::direct}) {
                const Shape3 image{40, 60, 64},
                    kernel = method == Method::direct ? Shape3{5, 5, 5} : Shape3{31, 41, 41};
                Options options;
                options.method = method;
                options.operation = operation;
                options.boundary.kind = boundary;
                const MeasuredPeak measured = measure(image, kernel, options, cpu_engines(1, {}));
                const index_t declared =
                    measured.plan.chosen.host_bytes - 2 * 4 * element_count(image);
                INFO(to_string(operation) << " " << to_string(boundary) << ": peak "
                                          << measured.peak << " declared " << declared << "\n"
                                          << measured.plan.to_string());
                CHECK(measured.peak <= declared);
            }
}

TEST_CASE("an execution stays within its host limit") {
    const Shape3 image{48, 100, 110}, kernel{9, 11, 13};
    const index_t own = 2 * 4 * element_count(image);
    for (const index_t extra : {12 * mib, 6 * mib, 3 * mib}) {
        Options options;
        options.max_host_bytes = own + extra;
        const MeasuredPeak measured = measure(image, kernel, options, cpu_engines(1, {}));
        INFO(measured.plan.to_string());
        CHECK(measured.peak <= extra);
    }
}

TEST_CASE("convolvers free all memory that they allocated") {
    const EngineList engines = cpu_engines(2, {});
    const auto kept_after_use = [&] {
        Options options;
        options.method = Method::dif;
        measure({20, 30, 40}, {3, 4, 5}, options, engines);
        for (const auto& engine : engines) engine->release_workspaces();
        return memory_use().current_bytes;
    };
    // A thread keeps its buffer of the splitter until it ends, and no use need reach every thread.
    // Memory that a convolver did not free would grow with each use.
    index_t kept = kept_after_use();
    int unchanged = 0;
    for (int use = 0; use < 1000 && unchanged < 20; ++use) {
        const index_t now = kept_after_use();
        unchanged = now == kept ? unchanged + 1 : 0;
        kept = now;
    }
    CHECK(unchanged == 20);
}

namespace {

/// Memory of the system, of which it counts what is in use, and gives at most a limit.
class CountedMemory : public std::pmr::memory_resource {
  public:
    explicit CountedMemory(index_t most) : most_(most) {}
    index_t used() const { return used_; }
    index_t peak() const { return peak_; }

  private:
    void* do_allocate(std::size_t bytes, std::size_t alignment) override {
        const std::lock_guard lock(mutex_);
        if (used_ + static_cast<index_t>(bytes) > most_) throw std::bad_alloc();
        used_ += static_cast<index_t>(bytes);
        peak_ = std::max(peak_, used_);
        return std::pmr::new_delete_resource()->allocate(bytes, alignment);
    }
    void do_deallocate(void* data, std::size_t bytes, std::size_t alignment) override {
        const std::lock_guard lock(mutex_);
        used_ -= static_cast<index_t>(bytes);
        std::pmr::new_delete_resource()->deallocate(data, bytes, alignment);
    }
    bool do_is_equal(const memory_resource& other) const noexcept override {
        return this == &other;
    }

    std::mutex mutex_;
    index_t most_, used_ = 0, peak_ = 0;
};

/// Takes host memory from a resource during its own lifetime.
struct MemoryScope {
    explicit MemoryScope(std::pmr::memory_resource& resource)
        : before(set_host_memory_resource(&resource)) {}
    ~MemoryScope() { set_host_memory_resource(before); }
    std::pmr::memory_resource* before;
};

}  // namespace

TEST_CASE("images and workspaces take their memory from a caller's resource") {
    const Shape3 shape{64, 128, 160}, kernel_shape{17, 21, 21};
    Options options;
    options.method = GENERATE(Method::in_core, Method::dif, Method::tiled);
    if (options.method == Method::dif) options.parts = 4;
    const auto blur = [&] {
        Random random(4);
        Volume image(shape, PixelType::float32), kernel(kernel_shape, PixelType::float32);
        for (Volume* volume : {&image, &kernel})
            for (index_t i = 0; i < element_count(volume->shape()); ++i)
                volume->elements<float>()[i] = static_cast<float>(random.uniform());
        Volume result(shape, PixelType::float32);
        Convolver(shape, kernel.view(), options).execute(image.view(), result.view());
        return result;
    };
    {
        // Threads that keep memory for later may begin here, and outlive the resource.
        CountedMemory first(index_t{1} << 30);
        const MemoryScope scope(first);
        blur();
        clear_plan_cache();
        CHECK(first.used() == 0);
    }
    const Volume want = blur();
    clear_plan_cache();
    CountedMemory memory(index_t{1} << 30);
    {
        const MemoryScope scope(memory);
        const index_t before = memory_use().current_bytes;
        reset_memory_peak();
        Volume got = blur();
        clear_plan_cache();
        CHECK(memory.used() == got.bytes() + (Buffer::rounded_bytes(got.bytes()) - got.bytes()));
        CHECK(memory.peak() == memory_use().peak_bytes - before);
        CHECK(memory.peak() > 3 * got.bytes());
        CHECK(std::memcmp(got.view().data, want.view().data,
                          static_cast<std::size_t>(want.bytes())) == 0);
        Volume moved = std::move(got);
        moved = Volume({1, 1, 1}, PixelType::uint8);
        CHECK(memory.used() == Buffer::alignment);
    }
    CHECK(memory.used() == 0);
    CountedMemory little(index_t{1} << 20);
    const MemoryScope scope(little);
    CHECK(contains(message_of<OutOfMemory>(blur), "the memory resource refused"));
    CHECK(little.used() == 0);
}
