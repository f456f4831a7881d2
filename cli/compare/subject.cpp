// SPDX-License-Identifier: Apache-2.0
#include "cli/compare/subject.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "cli/files/result_output.hpp"
#include "convolume/filter_bank.hpp"
#include "convolume/image_stream.hpp"

namespace convolume::cli {

namespace {

/// SplitMix64 random numbers, which are the same with every C++ library.
class SplitMix64 {
  public:
    explicit SplitMix64(std::uint64_t seed) : state_(seed) {}

    /// Returns a number in [0, 1) of 53 bits.
    double uniform() {
        state_ += 0x9e3779b97f4a7c15;
        std::uint64_t bits = state_;
        bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9;
        bits = (bits ^ (bits >> 27)) * 0x94d049bb133111eb;
        return static_cast<double>((bits ^ (bits >> 31)) >> 11) * 0x1p-53;
    }

  private:
    std::uint64_t state_;
};

void check_input_fits(const char* input, index_t bytes, index_t limit_bytes) {
    if (bytes > limit_bytes)
        throw OutOfMemory(message(input, " alone take ", format_bytes(bytes), ", and ",
                                  format_bytes(std::max<index_t>(0, limit_bytes)),
                                  " are left for them"));
}

/// Describes a plan in a few words: the method, its parts, tiles or slabs, and the engines.
std::string plan_text(const PlanCandidate& chosen, const std::vector<std::string>& engines) {
    std::string text = to_string(chosen.method);
    if (chosen.algorithm == Algorithm::separable)
        text += message(" (", to_string(chosen.algorithm), ')');
    if (chosen.method == Method::dif)
        text += message(", ", chosen.parts, chosen.parts == 1 ? " part" : " parts");
    if (chosen.method == Method::tiled) text += message(", ", to_string(chosen.tiles), " tiles");
    if (chosen.slab_planes > 0) text += message(", slabs of ", chosen.slab_planes, " planes");
    if (chosen.gpus_per_block > 1)
        text += message(", spread over ", chosen.gpus_per_block, " GPUs");
    if (chosen.algorithm == Algorithm::fft) text += message(", grid ", to_string(chosen.grid));
    text += ", on";
    for (const std::string& engine : engines) text += ' ' + engine;
    return text;
}

class PlannedConvolution : public PlannedWay {
  public:
    PlannedConvolution(Convolver convolver, const ConstImageView& image,
                       const NonfiniteSample::Location& first)
        : convolver_(std::move(convolver)), image_(image), first_(first) {}

    std::string plan() const override {
        const Plan plan = convolver_.plan();
        return plan_text(plan.chosen, plan.engines);
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
            NonfiniteSample::Location place = first_;
            for (int a = 0; a < 3; ++a) place.index[a] += error.place().index[a];
            throw error.at(place);
        }
    }

  private:
    Convolver convolver_;
    ConstImageView image_;
    NonfiniteSample::Location first_;
};

class ImageSubject : public Subject {
  public:
    ImageSubject(Volume image, Volume kernel, const Options& options,
                 const NonfiniteSample::Location& first)
        : options_(options),
          image_shape_(image.shape()),
          kernel_shape_(kernel.shape()),
          image_type_(image.type()),
          kernel_type_(kernel.type()),
          image_(std::move(image)),
          kernel_(std::move(kernel)),
          is_ready_(true),
          first_(first) {}
    ImageSubject(index_t size, index_t kernel_size, std::uint64_t seed, const Options& options)
        : options_(options),
          size_(size),
          seed_(seed),
          image_shape_{size, size, size},
          kernel_shape_{kernel_size, kernel_size, kernel_size} {}

    std::string name() const override {
        return message(to_string(image_shape_), " * ", to_string(kernel_shape_));
    }
    index_t size() const override { return size_; }
    index_t work() const override { return element_count(image_shape_); }

    void prepare(index_t limit_bytes) override {
        if (is_ready_) return;
        check_input_fits("image and kernel", input_bytes(), limit_bytes);
        image_ = synthetic_image(image_shape_, seed_);
        kernel_ = synthetic_kernel(kernel_shape_, seed_ + 1);
        is_ready_ = true;
    }
    void release() override {
        if (size_ == 0) return;
        image_ = Volume();
        kernel_ = Volume();
        is_ready_ = false;
    }

    index_t input_bytes() const override {
        return checked_add(StackFormat{image_shape_, image_type_}.bytes(),
                           StackFormat{kernel_shape_, kernel_type_}.bytes());
    }
    index_t result_bytes() const override {
        Shape3 shape = image_shape_;
        for (int axis = 0; axis < 3; ++axis) {
            if (options_.mode == Mode::full) shape[axis] += kernel_shape_[axis] - 1;
            if (options_.mode == Mode::valid)
                shape[axis] = std::max<index_t>(1, shape[axis] - kernel_shape_[axis] + 1);
        }
        return StackFormat{shape, result_type(Precision::float64)}.bytes();
    }
    double products() const override {
        return static_cast<double>(element_count(image_shape_)) *
               static_cast<double>(element_count(kernel_shape_));
    }

    std::unique_ptr<PlannedWay> plan(const Way& way, index_t limit_bytes) const override {
        Options options = options_;
        options.method = parse_method(way.method);
        options.parts = way.parts;
        options.precision = parse_precision(way.precision);
        // A limit of 0 would be refused as an invalid option.
        options.max_host_bytes = std::max<index_t>(1, limit_bytes);
        return std::make_unique<PlannedConvolution>(
            Convolver(image_shape_, kernel_.view(), options, way.engines(), image_type_,
                      result_type(options.precision)),
            image_.view(), first_);
    }

  private:
    PixelType result_type(Precision precision) const {
        const bool doubles = precision == Precision::float64;
        if (is_complex(image_type_) || is_complex(kernel_type_))
            return doubles ? PixelType::complex128 : PixelType::complex64;
        return doubles ? PixelType::float64 : PixelType::float32;
    }

    Options options_;
    index_t size_ = 0;
    std::uint64_t seed_ = 0;
    Shape3 image_shape_;
    Shape3 kernel_shape_;
    PixelType image_type_ = PixelType::uint16;
    PixelType kernel_type_ = PixelType::float32;
    Volume image_;
    Volume kernel_;
    bool is_ready_ = false;
    NonfiniteSample::Location first_;
};

class PlannedFilters : public PlannedWay {
  public:
    PlannedFilters(FilterBank bank, const ConstImageView& signals)
        : bank_(std::move(bank)), signals_(signals) {}

    std::string plan() const override {
        const FilterPlan plan = bank_.plan();
        std::string text = to_string(plan.method);
        if (plan.segment > 0) text += message(", segments of ", plan.segment);
        return text + ", on " + plan.engine;
    }
    double predicted_s() const override { return bank_.plan().seconds; }
    // Plans of filters declare the memory of streams only.
    MemoryFigures declared() const override { return {}; }
    Volume make_result() const override {
        return Volume({bank_.signal_shape().signals, bank_.filters(), bank_.result_samples()},
                      bank_.result_type());
    }
    void execute(const ImageView& result, const ExecutionContext& context) const override {
        bank_.execute(signals_, result, nullptr, context);
    }

  private:
    FilterBank bank_;
    ConstImageView signals_;
};

class SignalSubject : public Subject {
  public:
    SignalSubject(Volume signals, std::vector<Volume> filters, const FilterOptions& options)
        : options_(options),
          signal_shape_(signals.shape()),
          complex_(is_complex(signals.type())),
          signal_type_(signals.type()),
          signals_(std::move(signals)),
          filters_(std::move(filters)) {
        for (const Volume& rows : filters_) {
            filter_count_ += rows.shape().y;
            taps_ = std::max(taps_, rows.shape().x);
            complex_ = complex_ || is_complex(rows.type());
        }
    }
    SignalSubject(index_t samples, index_t filters, index_t taps, std::uint64_t seed,
                  const FilterOptions& options)
        : options_(options),
          size_(samples),
          seed_(seed),
          signal_shape_{1, 1, samples},
          filter_count_(filters),
          taps_(taps) {}

    std::string name() const override {
        const std::string signals =
            signal_shape_.y == 1 ? std::string() : message(signal_shape_.y, " signals of ");
        return message(signals, signal_shape_.x, " samples * ", filter_count_,
                       filter_count_ == 1 ? " filter of " : " filters of ", taps_, " taps");
    }
    index_t size() const override { return size_; }
    index_t work() const override {
        return checked_multiply(element_count(signal_shape_), filter_count_);
    }

    void prepare(index_t limit_bytes) override {
        if (!filters_.empty()) return;
        check_input_fits("signal and filters", input_bytes(), limit_bytes);
        signals_ = synthetic_rows(1, signal_shape_.x, seed_);
        filters_.push_back(synthetic_rows(filter_count_, taps_, seed_ + 1));
    }
    void release() override {
        if (size_ == 0) return;
        signals_ = Volume();
        filters_.clear();
    }

    index_t input_bytes() const override {
        index_t bytes = StackFormat{signal_shape_, signal_type_}.bytes();
        if (filters_.empty()) return checked_add(bytes, 4 * checked_multiply(filter_count_, taps_));
        for (const Volume& rows : filters_) bytes += rows.bytes();
        return bytes;
    }
    index_t result_bytes() const override {
        const index_t longest =
            options_.mode == Mode::full ? signal_shape_.x + taps_ : signal_shape_.x;
        return checked_multiply(checked_multiply(signal_shape_.y, longest),
                                checked_multiply(filter_count_, complex_ ? 16 : 8));
    }
    double products() const override {
        return static_cast<double>(work()) * static_cast<double>(taps_);
    }

    std::unique_ptr<PlannedWay> plan(const Way& way, index_t limit_bytes) const override {
        // Every plan takes at least the memory of the results and the input.
        const index_t result = way.precision == "float64" ? result_bytes() : result_bytes() / 2;
        if (checked_add(result, input_bytes()) > limit_bytes)
            throw OutOfMemory(message("signals and results take ",
                                      format_bytes(checked_add(result, input_bytes())),
                                      ", and the limit is ", format_bytes(limit_bytes)));
        FilterOptions options = options_;
        options.method = parse_filter_method(way.method);
        options.segment = way.segment;
        options.precision = parse_precision(way.precision);
        std::vector<ConstImageView> filters;
        for (const Volume& rows : filters_) filters.push_back(rows.view());
        return std::make_unique<PlannedFilters>(
            FilterBank({signal_shape_.y, signal_shape_.x}, filters, options, way.engines(),
                       signal_type_),
            signals_.view());
    }

  private:
    FilterOptions options_;
    index_t size_ = 0;
    std::uint64_t seed_ = 0;
    Shape3 signal_shape_;
    index_t filter_count_ = 0;
    index_t taps_ = 0;  ///< taps of the longest filter
    bool complex_ = false;
    PixelType signal_type_ = PixelType::float32;
    Volume signals_;
    std::vector<Volume> filters_;
};

}  // namespace

std::unique_ptr<Subject> image_subject(Volume image, Volume kernel, const Options& options,
                                       const NonfiniteSample::Location& first) {
    return std::make_unique<ImageSubject>(std::move(image), std::move(kernel), options, first);
}

std::unique_ptr<Subject> image_subject(index_t size, index_t kernel_size, std::uint64_t seed,
                                       const Options& options) {
    return std::make_unique<ImageSubject>(size, kernel_size, seed, options);
}

std::unique_ptr<Subject> signal_subject(Volume signals, std::vector<Volume> filters,
                                        const FilterOptions& options) {
    return std::make_unique<SignalSubject>(std::move(signals), std::move(filters), options);
}

std::unique_ptr<Subject> signal_subject(index_t samples, index_t filters, index_t taps,
                                        std::uint64_t seed, const FilterOptions& options) {
    return std::make_unique<SignalSubject>(samples, filters, taps, seed, options);
}

Volume synthetic_image(const Shape3& shape, std::uint64_t seed) {
    Volume image(shape, PixelType::uint16);
    SplitMix64 random(seed);
    auto* const voxels = image.elements<std::uint16_t>();
    for (index_t i = 0; i < element_count(shape); ++i) {
        const double u = random.uniform();
        const double square = u * u;
        voxels[i] = static_cast<std::uint16_t>(std::lround(100 + 3995 * square * square));
    }
    return image;
}

Volume synthetic_kernel(const Shape3& shape, std::uint64_t seed) {
    Volume kernel(shape, PixelType::float32);
    SplitMix64 random(seed);
    auto* sample = kernel.elements<float>();
    // Returns the distance from the middle in standard deviations.
    const auto deviations = [](index_t i, index_t extent) {
        return (static_cast<double>(i) - static_cast<double>(extent - 1) / 2) /
               (static_cast<double>(extent) / 6);
    };
    for (index_t z = 0; z < shape.z; ++z)
        for (index_t y = 0; y < shape.y; ++y)
            for (index_t x = 0; x < shape.x; ++x) {
                const double dz = deviations(z, shape.z);
                const double dy = deviations(y, shape.y);
                const double dx = deviations(x, shape.x);
                const double envelope = std::exp(-(dz * dz + dy * dy + dx * dx) / 2);
                *sample++ = static_cast<float>(envelope * (0.5 + random.uniform()));
            }
    return kernel;
}

Volume synthetic_rows(index_t rows, index_t samples, std::uint64_t seed) {
    Volume volume({1, rows, samples}, PixelType::float32);
    SplitMix64 random(seed);
    auto* const values = volume.elements<float>();
    for (index_t i = 0; i < element_count(volume.shape()); ++i)
        values[i] = static_cast<float>(2 * random.uniform() - 1);
    return volume;
}

}  // namespace convolume::cli
