// SPDX-License-Identifier: Apache-2.0
// Convolves an image that is not in memory. A source makes it box by box (or reads it from a
// camera, or a store on the network), and a sink receives the result. Fails unless the light of two
// beads arrives.

#include <algorithm>
#include <cmath>
#include <iostream>
#include <mutex>

#include "convolume/convolver.hpp"

using namespace convolume;

namespace {

constexpr Shape3 shape{300, 256, 256};  // z, y, x

class TwoBeads : public ImageSource {
  public:
    StackFormat format() const override { return {shape, PixelType::float32}; }
    void read_box(index_t /*t*/, index_t /*c*/, const Box3& box, const ImageView& to) override {
        for (index_t z = box.begin.z; z < box.end.z; ++z)
            for (index_t y = box.begin.y; y < box.end.y; ++y)
                for (index_t x = box.begin.x; x < box.end.x; ++x) {
                    const bool bead = (z == 40 || z == 250) && y == 128 && x == 128;
                    *static_cast<float*>(to.at(z - box.begin.z, y - box.begin.y, x - box.begin.x)) =
                        bead ? 1000 : 0;
                }
    }
};

class Light : public ImageSink {
  public:
    StackFormat format() const override { return {shape, PixelType::float32}; }
    // Several threads write boxes, in any order.
    void write_box(index_t /*t*/, index_t /*c*/, const Box3& box,
                   const ConstImageView& from) override {
        double sum = 0;
        for (index_t z = 0; z < box.shape().z; ++z)
            for (index_t y = 0; y < box.shape().y; ++y)
                for (index_t x = 0; x < box.shape().x; ++x)
                    sum += *static_cast<const float*>(from.at(z, y, x));
        const std::lock_guard lock(mutex_);
        sum_ += sum;
    }
    double sum() const { return sum_; }

  private:
    std::mutex mutex_;
    double sum_ = 0;
};

}  // namespace

int main() {
    Volume kernel({9, 9, 9}, PixelType::float32);
    std::fill_n(kernel.elements<float>(), element_count(kernel.shape()), 1.0f);

    Options options;
    options.normalization = KernelNormalization::sum;
    options.streamed = true;
    options.max_host_bytes = parse_byte_size("32MiB");  // the image alone has 75 MiB
    options.expected_executions = 1;
    const Convolver blur(shape, kernel.view(), options);
    TwoBeads image;
    Light light;
    blur.execute(image, light);

    std::cout << "in " << blur.plan().tasks << " parts, " << light.sum() << " of 2000 photons\n";
    return std::abs(light.sum() - 2000) < 0.1 ? 0 : 1;
}
