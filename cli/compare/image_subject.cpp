// SPDX-License-Identifier: Apache-2.0
#include "cli/compare/image_subject.hpp"

#include <algorithm>
#include <utility>

#include "cli/compare/synthetic.hpp"

namespace convolume::cli {

namespace {

/// The method with what the plan chose for it.
std::string words_of(const PlanCandidate& chosen, const std::vector<std::string>& engines) {
    std::string text = to_string(chosen.method);
    if (chosen.algorithm == Algorithm::separable)
        text += message(" (", to_string(chosen.algorithm), ')');
    if (chosen.method == Method::dif)
        text += message(", ", chosen.parts, chosen.parts == 1 ? " part" : " parts");
    if (chosen.method == Method::tiled) text += message(", ", to_string(chosen.tiles), " tiles");
    if (chosen.slab_planes > 0) text += message(", slabs of ", chosen.slab_planes, " planes");
    if (chosen.algorithm == Algorithm::fft) text += message(", grid ", to_string(chosen.grid));
    text += ", on";
    for (const std::string& engine : engines) text += ' ' + engine;
    return text;
}

class PlannedConvolution : public PlannedWay {
  public:
    PlannedConvolution(Convolver convolver, const ConstImageView& image,
                       const NonfiniteSample::Place& first)
        : convolver_(std::move(convolver)), image_(image), first_(first) {}

    std::string plan() const override {
        const Plan plan = convolver_.plan();
        return words_of(plan.chosen, plan.engines);
    }
    double predicted_s() const override { return convolver_.plan().chosen.seconds; }
    MemoryFigures declared() const override {
        const PlanCandidate chosen = convolver_.plan().chosen;
        MemoryFigures memory;
        memory.declared_host = chosen.host_bytes;
        memory.declared_gpu = chosen.on_gpu ? chosen.engine_bytes : 0;
        return memory;
    }
    Volume make_result() const override {
        return Volume(convolver_.output_shape(), convolver_.natural_output_type());
    }
    void execute(const ImageView& result, const ExecutionContext& context) const override {
        try {
            convolver_.execute(image_, result, context);
        } catch (const NonfiniteSample& error) {
            NonfiniteSample::Place place = first_;
            for (int a = 0; a < 3; ++a) place.index[a] += error.place().index[a];
            throw error.at(place);
        }
    }

  private:
    Convolver convolver_;
    ConstImageView image_;
    NonfiniteSample::Place first_;
};

}  // namespace

ImageSubject::ImageSubject(Volume image, Volume kernel, const Options& options,
                           const NonfiniteSample::Place& first)
    : options_(options),
      image_shape_(image.shape()),
      kernel_shape_(kernel.shape()),
      image_type_(image.type()),
      kernel_type_(kernel.type()),
      image_(std::move(image)),
      kernel_(std::move(kernel)),
      prepared_(true),
      first_(first) {}

ImageSubject::ImageSubject(index_t size, index_t kernel_size, std::uint64_t seed,
                           const Options& options)
    : options_(options),
      size_(size),
      seed_(seed),
      image_shape_{size, size, size},
      kernel_shape_{kernel_size, kernel_size, kernel_size} {}

bool ImageSubject::complex() const {
    return is_complex(image_type_) || is_complex(kernel_type_);
}

std::string ImageSubject::name() const {
    return message(to_string(image_shape_), " * ", to_string(kernel_shape_));
}

void ImageSubject::prepare(index_t limit_bytes) {
    if (prepared_) return;
    if (input_bytes() > limit_bytes)
        throw OutOfMemory(message("image and kernel alone take ", format_bytes(input_bytes()),
                                  ", and ", format_bytes(std::max<index_t>(0, limit_bytes)),
                                  " are left for them"));
    image_ = synthetic_image(image_shape_, seed_);
    kernel_ = synthetic_kernel(kernel_shape_, seed_ + 1);
    prepared_ = true;
}

void ImageSubject::release() {
    if (size_ == 0) return;
    image_ = Volume();
    kernel_ = Volume();
    prepared_ = false;
}

index_t ImageSubject::input_bytes() const {
    const auto bytes = [](const Shape3& shape, PixelType type) {
        return checked_multiply(element_count(shape), static_cast<index_t>(size_of(type)));
    };
    return checked_add(bytes(image_shape_, image_type_), bytes(kernel_shape_, kernel_type_));
}

index_t ImageSubject::result_bytes() const {
    Shape3 shape = image_shape_;
    for (int axis = 0; axis < 3; ++axis) {
        if (options_.mode == Mode::full) shape[axis] += kernel_shape_[axis] - 1;
        if (options_.mode == Mode::valid)
            shape[axis] = std::max<index_t>(1, shape[axis] - kernel_shape_[axis] + 1);
    }
    return checked_multiply(element_count(shape), complex() ? 16 : 8);
}

double ImageSubject::products() const {
    return static_cast<double>(element_count(image_shape_)) *
           static_cast<double>(element_count(kernel_shape_));
}

std::unique_ptr<PlannedWay> ImageSubject::plan(const Way& way, index_t limit_bytes) const {
    Options options = options_;
    options.method = parse_method(way.method);
    options.parts = way.parts;
    options.precision = parse_precision(way.precision);
    // A limit of 0 would be a usage error of its own.
    options.max_host_bytes = std::max<index_t>(1, limit_bytes);
    const bool doubles = options.precision == Precision::float64;
    const PixelType result = complex() ? doubles ? PixelType::complex128 : PixelType::complex64
                             : doubles ? PixelType::float64
                                       : PixelType::float32;
    return std::make_unique<PlannedConvolution>(
        Convolver(image_shape_, kernel_.view(), options, engines_of(way), image_type_, result),
        image_.view(), first_);
}

}  // namespace convolume::cli
