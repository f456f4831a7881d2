// SPDX-License-Identifier: Apache-2.0
// Tests the queue of many files: workers for GPUs, GPUs that fail, names of outputs. The steps are
// simulated, so no GPU is needed.

#include <atomic>
#include <filesystem>
#include <map>
#include <mutex>
#include <thread>

#include "cli/images/file_names.hpp"
#include "cli/images/image_run.hpp"
#include "tests/catch.hpp"
#include "tests/cli/command.hpp"
#include "tests/cli/images.hpp"
#include "tests/support/errors.hpp"

using namespace convolume;
using namespace convolume::cli;
using convolume::testing::Array;
using convolume::testing::contains;
using convolume::testing::message_of;
using convolume::testing::TemporaryFolder;
using Device = EngineChoice::Device;

namespace {

/// Records which worker has computed which file, and on which device.
struct FileLog {
    std::mutex mutex;
    std::map<std::string, std::vector<EngineChoice>> tried;
    std::atomic<int> committing{0};
    std::atomic<int> most_committing{0};
};

struct FakeSteps : ImageSteps {
    FakeSteps(const ListedFile& file, const EngineChoice& engines, FileLog& log)
        : ImageSteps(ImageFiles()),
          name(std::filesystem::path(file.image).filename()),
          choice(engines),
          log_(log) {}

    void open(const ExecutionContext&) override {}
    void plan(const ExecutionContext&) override {}
    WorkAmount work() const override { return {}; }
    void execute(const Console&, ProgressMeter&, const ExecutionContext&) override {
        {
            const std::lock_guard lock(log_.mutex);
            log_.tried[name].push_back(choice);
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
        // GPU 1 fails at its first file.
        if (choice.device != Device::cpu && choice.gpus == std::vector{1})
            throw DeviceFailure("GPU 1 fell off the bus");
    }
    void commit() override {
        const int now = ++log_.committing;
        log_.most_committing = std::max<int>(log_.most_committing, now);
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
        --log_.committing;
    }
    void tell_plan(const Facts&) const override {}
    void tell_result(const Facts&) const override {}
    void tell_output(const Facts&) const override {}

    std::string name;
    EngineChoice choice;
    FileLog& log_;
};

struct Files : TemporaryFolder {
    Files() {
        Array array;
        array.shape = {1, 2, 2};
        array.values.assign(4, 1.0);
        for (int i = 0; i < 6; ++i)
            testing::write_image(*this / ("image" + std::to_string(i) + ".npy"), array,
                                 PixelType::float32);
        testing::write_image(*this / "kernel.npy", array, PixelType::float32);
        request.kernel = *this / "kernel.npy";
        request.run.verbosity = Verbosity::quiet;
        many.images = {*this / "image?.npy"};
        many.output_folder = *this / "out";
        many.is_many = true;
        many.has_option = [](std::string_view) { return true; };
    }
    void run() {
        run_many_files(
            request, many,
            [this](const WorkerResources& choice, const ExpectedVolumes& expected) -> StepsFactory {
                CHECK(expected.size() == 1);
                CHECK(expected.begin()->second == 6);
                return [this, choice](const ListedFile& file) {
                    return std::make_unique<FakeSteps>(file, choice.engines, log);
                };
            });
    }

    ImageRequest request;
    ManyFilesRequest many;
    FileLog log;
};

}  // namespace

TEST_CASE("every chosen GPU computes files of its own") {
    Files files;
    files.request.engines.device = Device::gpu;
    files.request.engines.gpus = {0, 2, 3};
    files.run();
    CHECK(files.log.tried.size() == 6);
    for (const auto& [name, tried] : files.log.tried) {
        REQUIRE(tried.size() == 1);
        CHECK(tried[0].gpus.size() == 1);
        CHECK(tried[0].device == Device::gpu);
    }
}

TEST_CASE("at most one result waits to be written") {
    Files files;
    files.request.engines.device = Device::cpu;
    files.run();
    CHECK(files.log.most_committing == 1);
    CHECK(files.log.tried.size() == 6);
}

TEST_CASE("a GPU that fails is left out if the choice of devices was free") {
    Files files;
    files.request.engines.device = Device::automatic;
    files.request.engines.gpus = {0, 1};
    files.run();
    int on_failed_gpu = 0;
    for (const auto& [name, tried] : files.log.tried) {
        if (tried.size() == 1) continue;
        ++on_failed_gpu;
        CHECK(tried[0].gpus == std::vector{1});
        CHECK(tried[1].device == Device::cpu);
    }
    CHECK(on_failed_gpu == 1);
    CHECK(files.log.tried.size() == 6);
}

TEST_CASE("a required GPU that fails takes no files from the others") {
    Files files;
    files.request.engines.device = Device::gpu;
    files.request.engines.gpus = {0, 1};
    CHECK(contains(message_of<FilesFailed>([&] { files.run(); }), "1 of 6 files failed"));
    CHECK(files.log.tried.size() == 6);
}

TEST_CASE("if no required GPU is left, the other files fail for the same reason") {
    Files files;
    files.request.engines.device = Device::gpu;
    files.request.engines.gpus = {1};
    try {
        files.run();
        FAIL("nothing was thrown");
    } catch (const FilesFailed& error) {
        CHECK(contains(error.what(), "6 of 6 files failed"));
        CHECK(error.code() == ExitCode::unavailable);
    }
    CHECK(files.log.tried.size() == 1);
}

TEST_CASE("outputs are named by their pattern") {
    const auto name = [](const char* pattern, const char* image) {
        return output_name(pattern, {image, 7, 20});
    };
    CHECK(name("{stem}", "in/a.tif") == "a.tif");
    CHECK(name("{stem}", "in/a.b.ome.tiff") == "a.b.ome.tiff");
    CHECK(name("{stem}", "a.npy") == "a.npy");
    CHECK(name("{stem}", "a.hdf5") == "a.hdf5");
    CHECK(name("{stem}", "a.ims") == "a.h5");
    CHECK(name("{stem}", "a.lsm") == "a.tif");
    CHECK(name("{stem}", "noextension") == "noextension.tif");
    CHECK(name("{stem}", ".tif") == ".tif.tif");
    CHECK(name("{stem}_blurred.ome.tif", "in/a.tif") == "a_blurred.ome.tif");
    CHECK(name("{stem}_{dataset}", "in/a.h5:/run/1") == "a_run_1.h5");
    CHECK(name("{index}-{name}.npy", "in/a.tif") == "07-a.tif.npy");
    CHECK(name("{name}", "in/a.ome.tif") == "a.ome.tif");
    CHECK(name("all.h5:/{stem}", "in/a.tif") == "all.h5:/a");
    CHECK(name("{stem}_v1.2", "in/a.tif") == "a_v1.2.tif");
    CHECK(name("v1.0/{stem}", "in/a.npy") == "v1.0/a.npy");
    CHECK(name("../{stem}_x", "in/a.tif") == "../a_x.tif");
    CHECK(name("{stem}.tiff", "in/a.npy") == "a.tiff");
    CHECK(name("{stem}.png", "in/a.npy") == "a.png");  // refused when it is written
    for (const char* wrong : {"", "{stem", "stem}", "{stems}", "{{stem}}", "{}"})
        CHECK(contains(
            message_of<InvalidArgument>([&] { parse_output_name("--output-name", wrong); }),
            "--output-name"));
}
