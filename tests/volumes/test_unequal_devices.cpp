// SPDX-License-Identifier: Apache-2.0
// Four and eight emulated devices of unequal speed: none is idle while there are tasks, and the
// result is that of one device.

#include <chrono>
#include <mutex>
#include <thread>

#include "convolume/convolver.hpp"
#include "tests/catch.hpp"
#include "tests/support/array.hpp"
#include "tests/support/random.hpp"
#include "tests/support/reference_engine.hpp"
#include "volumes/convolver_factory.hpp"

using namespace convolume;
using namespace convolume::testing;

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// Times at which blocks were handed to devices, of all devices of one process.
struct HandoutTimes {
    std::mutex mutex;
    Clock::time_point first = Clock::time_point::max(), last = Clock::time_point::min();

    void hand(Clock::time_point now) {
        const std::lock_guard lock(mutex);
        first = std::min(first, now);
        last = std::max(last, now);
    }
    double seconds() const { return std::chrono::duration<double>(last - first).count(); }
};

// A device that computes one block at a time, each in `pace`, and accepts the next block meanwhile.
class PacedDevice : public ReferenceEngine {
  public:
    PacedDevice(const std::string& name, milliseconds pace, HandoutTimes& handouts)
        : ReferenceEngine({name, true, index_t{1} << 12, 2}), pace_(pace), handouts_(handouts) {}

    ExecutionReport convolve(const Block& block, const EngineKernel& kernel,
                             const BlockInput& input, const BlockOutput& output, int task,
                             const ExecutionContext& context) override {
        handouts_.hand(Clock::now());
        const std::lock_guard lock(computing_);
        const auto begin = Clock::now();
        auto report = ReferenceEngine::convolve(block, kernel, input, output, task, context);
        std::this_thread::sleep_until(begin + pace_);
        spans_.emplace_back(begin, Clock::now());
        return report;
    }

    /// Returns the share of the time between the first and last block in which the device was idle.
    double idle_share() const {
        double busy = 0;
        for (const auto& [begin, end] : spans_)
            busy += std::max(
                0.0, std::chrono::duration<double>(std::min(end, handouts_.last) - begin).count());
        return 1 - busy / handouts_.seconds();
    }

  private:
    milliseconds pace_;
    HandoutTimes& handouts_;
    std::mutex computing_;
    std::vector<std::pair<Clock::time_point, Clock::time_point>> spans_;
};

Array convolved(const Array& image, const Array& kernel, const EngineList& engines) {
    Options options;
    options.method = Method::tiled;
    const Volume pixels = to_volume(image, PixelType::float32);
    const Convolver convolver = ConvolverFactory::make(
        image.shape, to_volume(kernel, PixelType::float32).view(), options, engines);
    CHECK(convolver.plan().tasks >= 96);
    Volume result(image.shape, PixelType::float32);
    convolver.execute(pixels.view(), result.view());
    return to_array(result.view());
}

}  // namespace

TEST_CASE("devices of unequal speed all work while there are tasks, and agree with one device",
          "[long]") {
    Random random(test_seed("unequal devices"));
    const Array image = random.array({448, 10, 10}, false);
    const Array kernel = random.array({3, 3, 3}, false);
    HandoutTimes alone_course;
    const EngineList alone{std::make_shared<PacedDevice>("gpu:0", milliseconds(0), alone_course)};
    const Array wanted = convolved(image, kernel, alone);
    for (const int count : {4, 8}) {
        INFO(count << " devices");
        HandoutTimes handouts;
        std::vector<std::shared_ptr<PacedDevice>> devices;
        for (int i = 0; i < count; ++i)
            devices.push_back(std::make_shared<PacedDevice>("gpu:" + std::to_string(i),
                                                            milliseconds(15 + 12 * i), handouts));
        const EngineList engines(devices.begin(), devices.end());
        CHECK(convolved(image, kernel, engines).values == wanted.values);
        for (const auto& device : devices) CHECK(device->idle_share() < 0.05);
        // The fastest device has computed most blocks.
        CHECK(devices.front()->blocks_convolved() > devices.back()->blocks_convolved());
    }
}
