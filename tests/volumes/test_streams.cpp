// SPDX-License-Identifier: Apache-2.0
// Images that are read and written box by box: in memory, several volumes, failures of both sides.

#include <algorithm>
#include <thread>

#include "tests/catch.hpp"
#include "tests/support/convolver_case.hpp"
#include "tests/support/streams.hpp"
#include "volumes/convolver_factory.hpp"

using namespace convolume;
using namespace convolume::testing;

namespace {

Volume ramp(const Shape3& shape, PixelType type, index_t period) {
    Volume volume(shape, type);
    Volume floats(shape, PixelType::float32);
    for (index_t i = 0; i < element_count(shape); ++i)
        floats.elements<float>()[i] = static_cast<float>(i % period);
    convert_pixels(floats.view(), volume.view());
    return volume;
}

Options streamed_options(index_t memory) {
    Options options;
    options.streamed = true;
    options.max_host_bytes = memory;
    return options;
}

/// Returns the distance of b from a, as a fraction of the largest value of a.
double largest_difference(const Volume& a, const Volume& b) {
    double largest = 0, value = 0;
    for (index_t i = 0; i < element_count(a.shape()); ++i) {
        const double expected = a.elements<float>()[i];
        largest = std::max(largest, std::abs(expected - b.elements<float>()[i]));
        value = std::max(value, std::abs(expected));
    }
    return largest / value;
}

/// Convolves in memory, as a whole.
void convolve_once(const Volume& image, const Volume& kernel, Volume& result) {
    Options options;
    options.method = Method::in_core;
    ConvolverFactory::make(image.shape(), kernel.view(), options, cpu_engines(1))
        .execute(image.view(), result.view());
}

}  // namespace

TEST_CASE("streams: parts that do not fit in memory go through scratch files", "[long]") {
    const Shape3 shape{150, 48, 100}, kernel_shape{9, 11, 13};
    const Volume kernel = ramp(kernel_shape, PixelType::float32, 7);
    for (const BoundaryKind boundary :
         {BoundaryKind::zero, BoundaryKind::mirror, BoundaryKind::wrap})
        for (const auto& split :
             {std::tuple{PixelType::uint16, 4, 1}, std::tuple{PixelType::uint16, 16, 2},
              std::tuple{PixelType::complex64, 8, 1}, std::tuple{PixelType::float64, 8, 1}}) {
            // Clang before 16 does not capture structured bindings.
            const PixelType type = std::get<0>(split);
            const int parts = std::get<1>(split), engines = std::get<2>(split);
            Options options;
            options.method = Method::dif;
            options.parts = parts;
            options.boundary.kind = boundary;
            if (type == PixelType::float64) options.precision = Precision::float64;
            const PixelType out = sample_type(options.precision, type == PixelType::complex64);
            const Volume image = ramp(shape, type, 997);
            const Convolver in_memory = ConvolverFactory::make(shape, kernel.view(), options,
                                                               cpu_engines(engines), type, out);
            Volume expected(shape, out);
            in_memory.execute(image.view(), expected.view());

            options.streamed = true;
            const auto streamed = [&] {
                return ConvolverFactory::make(shape, kernel.view(), options, cpu_engines(engines),
                                              type, out);
            };
            // If it fits, the split volume is in memory, and image and result never are as a whole.
            const PlanCandidate with_room = streamed().plan().chosen;
            CHECK(with_room.scratch_file_bytes == 0);
            // With less memory, kernels are no longer kept, and then the split volume goes to disk.
            index_t limit = with_room.host_bytes;
            const auto on_disk = [&] {
                options.max_host_bytes = limit -= with_room.host_bytes / 20;
                return streamed().plan().chosen.image_in_files;
            };
            while (!on_disk()) REQUIRE(limit > with_room.host_bytes / 4);
            const Convolver convolver = streamed();
            INFO(convolver.plan().to_string());
            const PlanCandidate chosen = convolver.plan().chosen;
            CHECK(chosen.scratch_file_bytes ==
                  convolver.plan().scratch_bytes +
                      (chosen.kernel_in_files ? chosen.split_kernel_bytes : 0));
            REQUIRE(convolver.plan().chosen.host_bytes < *options.max_host_bytes);

            TestSource source({&image});
            TestSink sink({shape, out});
            const index_t before = memory_use().current_bytes;
            reset_memory_peak();
            convolver.execute(source, sink);
            CHECK(memory_use().peak_bytes - before <= convolver.plan().chosen.host_bytes);
            CHECK(sink.defect().empty());
            CHECK(same_bytes(expected, sink.volume(0)));
        }
}

TEST_CASE("streams: an image larger than the limit is convolved within it", "[long]") {
    const Shape3 shape{80, 96, 200}, kernel_shape{9, 11, 13};
    const Volume image = ramp(shape, PixelType::uint16, 997);
    const Volume kernel = ramp(kernel_shape, PixelType::float32, 7);
    for (const BoundaryKind boundary :
         {BoundaryKind::zero, BoundaryKind::reflect, BoundaryKind::wrap})
        for (const Operation operation : {Operation::convolve, Operation::adjoint})
            for (const int engines : {1, 2}) {
                Options options;
                options.boundary.kind = boundary;
                options.operation = operation;
                const Convolver in_memory = ConvolverFactory::make(
                    shape, kernel.view(), options, cpu_engines(engines), image.type());
                Volume expected(shape, PixelType::float32);
                in_memory.execute(image.view(), expected.view());

                // Image and result alone would need 8.8 MiB.
                const index_t limit = 5 * mib;
                options.streamed = true;
                options.max_host_bytes = limit;
                options.expected_executions = 1;
                TestSource source({&image});
                TestSink sink({shape, PixelType::float32});
                const index_t before = memory_use().current_bytes;
                reset_memory_peak();
                const Convolver convolver = ConvolverFactory::make(
                    shape, kernel.view(), options, cpu_engines(engines), image.type());
                convolver.execute(source, sink);
                INFO(to_string(boundary) << " " << to_string(operation) << "\n"
                                         << convolver.plan().to_string());
                CHECK(sink.defect() == "");
                // Results of two plans may each be off by 1e-6.
                CHECK(largest_difference(expected, sink.volume(0)) < 2e-6);
                CHECK(convolver.plan().chosen.host_bytes <= limit);
                const index_t folding = operation == Operation::adjoint ? 64 * mib : 0;
                CHECK(memory_use().peak_bytes - before <=
                      convolver.plan().chosen.host_bytes + folding);
                CHECK(convolver.plan().tasks > 1);
            }
}

TEST_CASE("streams: channels and times are convolved one after the other") {
    const Shape3 shape{6, 20, 24};
    std::vector<Volume> volumes;
    std::vector<const Volume*> pointers;
    for (index_t i = 0; i < 6; ++i) volumes.push_back(ramp(shape, PixelType::float32, 90 + i));
    for (const Volume& volume : volumes) pointers.push_back(&volume);
    const Volume kernel = ramp({3, 5, 5}, PixelType::float32, 11);
    const Convolver convolver =
        ConvolverFactory::make(shape, kernel.view(), streamed_options(8 * mib), cpu_engines(1));
    TestSource source(pointers, 2);
    TestSink sink({shape, PixelType::float32, 3, 2});
    double last = 0;
    ExecutionContext context;
    context.progress = [&](double fraction) {
        CHECK(fraction >= last);
        last = fraction;
    };
    convolver.execute(source, sink, context);
    CHECK(last == 1);
    CHECK(sink.defect() == "");
    for (index_t i = 0; i < 6; ++i) {
        Volume expected(shape, PixelType::float32);
        convolver.execute(volumes[static_cast<std::size_t>(i)].view(), expected.view());
        CHECK(same_bytes(expected, sink.volume(i)));
    }

    TestSink fewer({shape, PixelType::float32, 2, 2});
    CHECK_THROWS_AS(convolver.execute(source, fewer), InvalidArgument);
    TestSink larger({{6, 20, 25}, PixelType::float32, 3, 2});
    CHECK_THROWS_AS(convolver.execute(source, larger), InvalidArgument);
}

TEST_CASE("streams: the next volume is read while one is convolved") {
    const Shape3 shape{4, 64, 64};
    const Volume image = ramp(shape, PixelType::float32, 100);
    const Volume kernel = ramp({3, 5, 5}, PixelType::float32, 11);
    Options options = streamed_options(8 * mib);
    options.method = Method::in_core;
    const Convolver convolver =
        ConvolverFactory::make(shape, kernel.view(), options, cpu_engines(1));
    TestSource source({&image, &image, &image, &image});
    TestSink sink({shape, PixelType::float32, 4});
    // The first result is not written before the next image is read.
    std::atomic<index_t> reads{0};
    bool waited_in_vain = false;
    source.before_read = [&](index_t) { ++reads; };
    sink.before_write = [&](index_t number) {
        for (int i = 0; number == 0 && reads < 2; ++i) {
            if (i == 2000) {
                waited_in_vain = true;
                return;
            }
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
        }
    };
    convolver.execute(source, sink);
    CHECK(!waited_in_vain);
    CHECK(sink.defect() == "");
}

TEST_CASE("streams: a read that fails during a split ends it, and the next execution works") {
    const Shape3 shape{64, 40, 36};
    const Volume image = ramp(shape, PixelType::float32, 100),
                 kernel = ramp({63, 39, 35}, PixelType::float32, 11);
    for (const int parts : {2, 16})
        for (const bool in_files : {false, true}) {
            if (in_files && parts == 2) continue;  // two of two parts are in memory
            Options options = streamed_options(64 * mib);
            options.method = Method::dif;
            options.parts = parts;
            const auto make = [&] {
                return ConvolverFactory::make(shape, kernel.view(), options, cpu_engines(1));
            };
            while (in_files && !make().plan().chosen.image_in_files)
                options.max_host_bytes = make().plan().chosen.host_bytes - 1;
            const Convolver convolver = make();
            INFO(convolver.plan().to_string());
            TestSource failing({&image});
            failing.before_read = [](index_t) { throw IoError("the disk is gone"); };
            TestSink unused({shape, PixelType::float32});
            CHECK_THROWS_WITH(convolver.execute(failing, unused), "the disk is gone");
            Volume expected(shape, PixelType::float32);
            convolve_once(image, kernel, expected);
            for (int execution = 1; execution <= 2; ++execution) {
                TestSource source({&image});
                TestSink sink({shape, PixelType::float32});
                convolver.execute(source, sink);
                CHECK(sink.defect() == "");
                CHECK(largest_difference(expected, sink.volume(0)) < 2e-6);
            }
        }
}

TEST_CASE("streams: tiles with large halos read every sample once") {
    const Shape3 shape{48, 60, 56};
    const Volume image = ramp(shape, PixelType::uint16, 997),
                 other = ramp(shape, PixelType::uint16, 613);
    const Volume kernel = ramp({25, 31, 27}, PixelType::float32, 11);
    for (const BoundaryKind boundary :
         {BoundaryKind::zero, BoundaryKind::reflect, BoundaryKind::wrap})
        for (const int engines : {1, 2}) {
            Options options;
            options.method = Method::tiled;
            options.boundary.kind = boundary;
            const Convolver in_memory = ConvolverFactory::make(
                shape, kernel.view(), options, cpu_engines(engines, 1 * mib), image.type());
            options.streamed = true;
            const Convolver convolver = ConvolverFactory::make(
                shape, kernel.view(), options, cpu_engines(engines, 1 * mib), image.type());
            INFO(to_string(boundary) << "\n" << convolver.plan().to_string());
            if (boundary == BoundaryKind::wrap && convolver.plan().chosen.tiles.z > 1) {
                CHECK(convolver.plan().chosen.ring_planes == 0);  // ends need each other's planes
                continue;
            }
            REQUIRE(convolver.plan().chosen.ring_planes > 0);
            TestSource source({&image, &other});
            TestSink sink({shape, PixelType::float32, 2});
            const index_t before = memory_use().current_bytes;
            reset_memory_peak();
            convolver.execute(source, sink);
            CHECK(memory_use().peak_bytes - before <= convolver.plan().chosen.host_bytes);
            CHECK(source.samples_read() == 2 * element_count(shape));
            CHECK(sink.defect() == "");
            Volume expected(shape, PixelType::float32);
            for (const index_t volume : {0, 1}) {
                in_memory.execute(volume == 0 ? image.view() : other.view(), expected.view());
                CHECK(largest_difference(expected, sink.volume(volume)) < 2e-6);
            }
            // Without memory for shared planes, each tile reads its own box.
            options.max_host_bytes = convolver.plan().chosen.host_bytes - 1;
            const Convolver apart = ConvolverFactory::make(
                shape, kernel.view(), options, cpu_engines(engines, 1 * mib), image.type());
            if (apart.plan().chosen.ring_planes > 0) continue;  // the plan has other tiles
            TestSource again({&image});
            TestSink once({shape, PixelType::float32});
            apart.execute(again, once);
            CHECK(again.samples_read() > element_count(shape));
            in_memory.execute(image.view(), expected.view());
            CHECK(largest_difference(expected, once.volume(0)) < 2e-6);

            TestSource failing({&image, &other});
            failing.before_read = [](index_t read) {
                if (read == 1) throw IoError("the disk is gone");
            };
            TestSink ended({shape, PixelType::float32, 2});
            CHECK_THROWS_WITH(convolver.execute(failing, ended), "the disk is gone");
        }
}

TEST_CASE("streams: slabs of a deep image share planes, for every boundary") {
    const Shape3 shape{400, 24, 20};
    const Volume image = ramp(shape, PixelType::float32, 997),
                 kernel = ramp({41, 9, 7}, PixelType::float32, 11);
    for (const BoundaryKind boundary :
         {BoundaryKind::zero, BoundaryKind::reflect, BoundaryKind::wrap})
        for (const Mode mode : {Mode::same, Mode::full})
            for (const std::optional<index_t> executions : {std::optional<index_t>(1), {}}) {
                Options options;
                options.boundary.kind = boundary;
                options.mode = boundary == BoundaryKind::wrap ? Mode::same : mode;
                const Convolver whole = ConvolverFactory::make(shape, kernel.view(), options,
                                                               cpu_engines(1), image.type());
                Volume expected(whole.output_shape(), PixelType::float32);
                whole.execute(image.view(), expected.view());
                options.method = Method::tiled;
                options.streamed = true;
                options.expected_executions = executions;
                const Convolver convolver = ConvolverFactory::make(
                    shape, kernel.view(), options, cpu_engines(2, mib / 2), image.type());
                INFO(to_string(boundary) << "\n" << convolver.plan().to_string());
                // More volumes than expected are convolved as well.
                TestSource source({&image, &image, &image});
                TestSink sink({whole.output_shape(), PixelType::float32, 3});
                convolver.execute(source, sink);
                CHECK(sink.defect() == "");
                for (const index_t volume : {0, 1, 2})
                    CHECK(largest_difference(expected, sink.volume(volume)) < 2e-6);
            }
}

TEST_CASE("streams: an exception of a source or sink ends the execution") {
    const Shape3 shape{80, 64, 64};
    const Volume image = ramp(shape, PixelType::float32, 100);
    const Volume kernel = ramp({3, 5, 5}, PixelType::float32, 11);
    for (const int engines : {1, 2}) {
        const Convolver convolver = ConvolverFactory::make(
            shape, kernel.view(), streamed_options(1 * mib), cpu_engines(engines));
        REQUIRE(convolver.plan().tasks > 4);
        for (const index_t number : {0, 1, 3}) {
            TestSource failing({&image});
            failing.before_read = [&](index_t read) {
                if (read == number) throw IoError("the disk is gone");
            };
            TestSink sink({shape, PixelType::float32});
            CHECK_THROWS_WITH(convolver.execute(failing, sink), "the disk is gone");

            // Only reads that had begun are completed. A thread that is suspended as its write
            // fails tells the others later, but not every time.
            const index_t in_flight = element_count(shape) * 6 * 2 / convolver.plan().tasks;
            index_t least_read = element_count(shape) * 2;
            for (int attempt = 0; attempt < 10 && least_read >= in_flight; ++attempt) {
                TestSource source({&image});
                TestSink full({shape, PixelType::float32});
                index_t read_before_failure = 0;
                full.before_write = [&](index_t write) {
                    if (write != number) return;
                    read_before_failure = source.samples_read();
                    throw IoError("the disk is full");
                };
                CHECK_THROWS_WITH(convolver.execute(source, full), "the disk is full");
                least_read = std::min(least_read, source.samples_read() - read_before_failure);
            }
            CHECK(least_read < in_flight);
            TestSource starved({&image});
            starved.before_read = [&](index_t read) {
                if (read == number) throw OutOfMemory("there is no memory");
            };
            TestSink begun({shape, PixelType::float32});
            CHECK_THROWS_AS(convolver.execute(starved, begun), OutOfMemory);
        }
        std::stop_source stop;
        TestSource source({&image});
        TestSink sink({shape, PixelType::float32});
        sink.before_write = [&](index_t) { stop.request_stop(); };
        ExecutionContext context;
        context.stop = stop.get_token();
        CHECK_THROWS_AS(convolver.execute(source, sink, context), Cancelled);
        // The convolver can be used again.
        TestSink again({shape, PixelType::float32});
        convolver.execute(source, again);
        CHECK(again.defect() == "");
    }
}

TEST_CASE("streams: NaN is named, read as zero and counted once, or kept") {
    const Shape3 shape{80, 64, 64};
    std::vector<Volume> images;
    images.push_back(ramp(shape, PixelType::float32, 100));
    images.push_back(ramp(shape, PixelType::float32, 100));
    const auto at = [&](index_t z, index_t y, index_t x) -> float& {
        return images[1].elements<float>()[(z * 64 + y) * 64 + x];
    };
    at(17, 30, 31) = std::numeric_limits<float>::quiet_NaN();
    at(20, 0, 63) = std::numeric_limits<float>::infinity();
    const Volume kernel = ramp({9, 5, 5}, PixelType::float32, 11);
    Options options = streamed_options(1 * mib);
    const auto run = [&](TestSink& sink) {
        const Convolver convolver =
            ConvolverFactory::make(shape, kernel.view(), options, cpu_engines(2));
        REQUIRE(convolver.plan().tasks > 4);
        TestSource source({&images[0], &images[1]}, 2);
        return convolver.execute(source, sink);
    };
    TestSink refused({shape, PixelType::float32, 1, 2});
    CHECK_THROWS_WITH(run(refused),
                      "in frame 0, channel 1 (from 0): the image holds nan at z,y,x = 17,30,31: "
                      "repair it, or choose to read such samples as zero or to propagate them");
    options.nan = NanPolicy::zero;
    TestSink zeroed({shape, PixelType::float32, 1, 2});
    CHECK(run(zeroed).nonfinite_inputs == 2);
    CHECK(zeroed.defect() == "");
    at(17, 30, 31) = at(20, 0, 63) = 0;
    TestSink clean({shape, PixelType::float32, 1, 2});
    CHECK(run(clean).nonfinite_inputs == 0);
    CHECK(same_bytes(clean.volume(1), zeroed.volume(1)));
}

TEST_CASE("streams: clamped values are counted, and bad options are refused") {
    const Shape3 shape{10, 16, 16};
    const Volume image = ramp(shape, PixelType::uint16, 300);
    Volume kernel({1, 1, 1}, PixelType::float32);
    kernel.elements<float>()[0] = 1;
    Options options = streamed_options(64 * mib);
    TestSource source({&image});
    TestSink sink({shape, PixelType::uint8});
    const Convolver convolver = ConvolverFactory::make(
        shape, kernel.view(), options, cpu_engines(1), PixelType::uint16, PixelType::uint8);
    index_t above = 0;
    for (index_t i = 0; i < element_count(shape); ++i) above += i % 300 > 255;
    const ExecutionReport report = convolver.execute(source, sink);
    CHECK(report.clamped_high == above);
    CHECK(report.clamped_low == 0);

    options.expected_executions = 0;
    CHECK_THROWS_AS(ConvolverFactory::make(shape, kernel.view(), options, cpu_engines(1)),
                    InvalidArgument);

    // The adjoint of a continued image needs a scratch file.
    options = streamed_options(64 * mib);
    options.boundary.kind = BoundaryKind::nearest;
    options.operation = Operation::adjoint;
    options.scratch_directory = "/nowhere/at/all";
    const Volume wide = ramp({3, 3, 3}, PixelType::float32, 5);
    const Convolver adjoint =
        ConvolverFactory::make(shape, wide.view(), options, cpu_engines(1), PixelType::uint16);
    TestSink floats({shape, PixelType::float32});
    CHECK_THROWS_AS(adjoint.execute(source, floats), CannotCreate);
}
