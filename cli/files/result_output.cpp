// SPDX-License-Identifier: Apache-2.0
#include "cli/files/result_output.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <mutex>
#include <numeric>
#include <type_traits>
#include <vector>

#include "cli/files/volumes.hpp"
#include "cli/run/output_path.hpp"
#include "cli/run/report.hpp"
#include "cli/text/option_help.hpp"
#include "convolume/engines.hpp"
#include "convolume/error.hpp"
#include "convolume/image_format.hpp"
#include "convolume/volume.hpp"
#include "core/report.hpp"

namespace convolume::cli {

namespace {

struct ResultRange {
    double least = std::numeric_limits<double>::infinity();
    double most = -std::numeric_limits<double>::infinity();
    bool finite = true;

    void add(const ResultRange& other) {
        least = std::min(least, other.least);
        most = std::max(most, other.most);
        finite = finite && other.finite;
    }
};

template <class T>
ResultRange range_of(const ConstImageView& image, int threads) {
    const auto range_of_row = [&](const T* row) {
        T least = std::numeric_limits<T>::infinity(), most = -least;
        int nonfinite = 0;
        for (index_t x = 0; x < image.shape.x; ++x) {
            const T value = row[x * image.strides.x];
            least = value < least ? value : least;
            most = value > most ? value : most;
            nonfinite |= !(std::abs(value) <= std::numeric_limits<T>::max());
        }
        return ResultRange{static_cast<double>(least), static_cast<double>(most), nonfinite == 0};
    };
    ResultRange range;
    for (const ResultRange& row : figures_of_rows<T>(image, threads, range_of_row)) range.add(row);
    return range;
}

/// A sink that stores a result in a scratch image and finds its range.
class RangeSink : public ImageSink {
  public:
    RangeSink(ScratchImage& image, int threads) : image_(image), threads_(threads) {}

    StackFormat format() const override { return image_.format(); }
    void write_box(index_t t, index_t c, const Box3& box, const ConstImageView& source) override {
        image_.write_box(t, c, box, source);
        const ResultRange range = source.type == PixelType::float64
                                      ? range_of<double>(source, threads_)
                                      : range_of<float>(source, threads_);
        const std::lock_guard lock(mutex_);
        range_.add(range);
    }
    const ResultRange& range() const { return range_; }

  private:
    ScratchImage& image_;
    int threads_;
    std::mutex mutex_;
    ResultRange range_;
};

/// Scales samples to integers of type T, rounded to the nearest.
template <class T, class Real>
void scale(const Real* from, index_t count, const io::ValueScaling& scaling, T* to) {
    constexpr int low = std::numeric_limits<T>::min(), high = std::numeric_limits<T>::max();
    const double factor = 1 / scaling.scale;
    for (index_t i = 0; i < count; ++i) {
        const double stored = (static_cast<double>(from[i]) - scaling.offset) * factor;
        // Shifted to at least 0, where the conversion to int rounds down.
        const int above_low = static_cast<int>(stored - low + 0.5);
        to[i] = static_cast<T>(std::clamp(above_low + low, low, high));
    }
}

void scale(const ConstImageView& from, const io::ValueScaling& scaling, const ImageView& to) {
    const index_t count = element_count(from.shape);
    const auto scale_to = [&](auto* target) {
        if (from.type == PixelType::float64)
            scale(static_cast<const double*>(from.data), count, scaling, target);
        else
            scale(static_cast<const float*>(from.data), count, scaling, target);
    };
    visit_pixel_type(to.type, [&](auto tag) {
        using T = typename decltype(tag)::type;
        if constexpr (std::is_integral_v<T> && sizeof(T) <= 2) scale_to(static_cast<T*>(to.data));
    });
}

/// A sink that counts NaN and infinities, and passes samples on to another sink.
class NonfiniteCountingSink : public ImageSink {
  public:
    NonfiniteCountingSink(ImageSink& sink, int threads) : sink_(sink), threads_(threads) {}
    StackFormat format() const override { return sink_.format(); }
    void write_box(index_t t, index_t c, const Box3& box, const ConstImageView& source) override {
        nonfinite_ += visit_pixel_type(source.type, [&](auto tag) {
            using T = typename decltype(tag)::type;
            const auto count_in = [&](const T* row, index_t stride) {
                index_t count = 0;
                // NaN or infinity minus itself is NaN.
                for (index_t x = 0; x < source.shape.x; ++x) {
                    const T value = row[x * stride], difference = value - value;
                    count += difference != difference;
                }
                return count;
            };
            // Compilers vectorize the loop over adjacent samples.
            const std::vector<index_t> rows =
                figures_of_rows<T>(source, threads_, [&](const T* row) {
                    return source.strides.x == 1 ? count_in(row, 1)
                                                 : count_in(row, source.strides.x);
                });
            return std::accumulate(rows.begin(), rows.end(), index_t{0});
        });
        sink_.write_box(t, c, box, source);
    }
    index_t nonfinite() const { return nonfinite_; }

  private:
    ImageSink& sink_;
    int threads_;
    std::atomic<index_t> nonfinite_{0};
};

}  // namespace

PixelType resolve_output_type(std::string_view name, PixelType image, PixelType kernel,
                              Precision precision) {
    const bool complex = is_complex(image) || is_complex(kernel);
    PixelType type = PixelType::float32;
    if (name.empty()) {
        if (precision == Precision::float64)
            type = complex ? PixelType::complex128 : PixelType::float64;
        else
            type = sample_type(Precision::float32, complex);
    } else {
        type = name == "same" ? image : parse_pixel_type(name);
    }
    if (complex && !is_complex(type))
        throw InvalidArgument(message("the result is complex and cannot be stored as ",
                                      to_string(type), ": use complex64 or complex128"));
    return type;
}

void add_compression_option(CLI::App& app, io::CreateOptions& create, const char* help) {
    add_parsed(app, "--compression", create.compression, io::parse_compression,
               "none|deflate|lzw|zstd|packbits", help);
}

void add_image_output_options(CLI::App& app, std::string& output, std::string& output_type,
                              io::CreateOptions& create, const std::string& usual_type) {
    add_value(app, "-o,--output", output, "OUT", "The result: " + io::usual_image_endings());
    add_image_storage_options(app, output_type, create, usual_type);
}

void add_image_storage_options(CLI::App& app, std::string& output_type, io::CreateOptions& create,
                               const std::string& usual_type) {
    const auto type = [](const std::string& text) {
        if (text != "same") static_cast<void>(parse_pixel_type(text));
        return text;
    };
    add_parsed(app, "--output-type", output_type, type, "same|float32|uint16|…",
               "Pixel type; integers are rounded and clamped (default: " + usual_type + ")");
    add_compression_option(app, create, "Compression of the output (default none)");
    app.add_flag("--overwrite", create.overwrite, "Replace an output that exists");
}

void report_output(const Console& console, const std::string& path, const io::ImageMetadata& image,
                   io::Compression compression) {
    console.fact("output",
                 message(path, path.empty() ? "" : ": ", "z,y,x ", to_string(image.shape), ' ',
                         to_string(image.type),
                         image.scaling ? ", " + scaling_text(*image.scaling) : std::string()));
    if (compression == io::Compression::zstd)
        console.warning(message("ImageJ without plug-ins does not open ", path,
                                ", since its compression is zstd; choose --compression deflate for "
                                "it"));
}

nlohmann::ordered_json output_json(const std::string& path, const io::ImageMetadata& image) {
    return {{"file", path.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(path)},
            {"shape", shape_json(image.shape)},
            {"type", to_string(image.type)},
            {"value_scaling", scaling_json(image)}};
}

void add_scale_output_option(CLI::App& app, bool& scale_output) {
    app.add_flag("--scale-output", scale_output,
                 "Fill the range of an integer type of 8 or 16 bits (default uint16); the file "
                 "says how to get the values back");
}

std::string scaled_output_type(const std::string& name, PixelType image) {
    const PixelType type = name.empty()     ? PixelType::uint16
                           : name == "same" ? image
                                            : parse_pixel_type(name);
    if (!is_integer(type) || size_of(type) > 2)
        throw InvalidArgument(
            message("--scale-output fills the range of uint8, int8, uint16 or "
                    "int16, not of ",
                    to_string(type), "; choose one of them as --output-type"));
    return to_string(type);
}

io::ValueScaling scaling_of(double least, double most, PixelType type) {
    const bool has_signs = type == PixelType::int8 || type == PixelType::int16;
    const double levels =
        std::ldexp(1, static_cast<int>(8 * size_of(type)) - (has_signs ? 1 : 0)) - 1;
    io::ValueScaling scaling;
    if (has_signs)
        scaling.scale = std::max(std::abs(least), std::abs(most)) / levels;
    else if (least >= -most / levels / 2)  // values a little below 0 are rounded to 0
        scaling.scale = most / levels;
    else
        scaling = {(most - least) / levels, least};
    if (!(scaling.scale > 0)) scaling.scale = 1;  // all values are equal
    return scaling;
}

index_t scaled_box_bytes(index_t host_limit_bytes) {
    // Two boxes of values and two of integers take less than a quarter of the limit.
    return std::clamp<index_t>(host_limit_bytes / 16, index_t{64} << 10, index_t{8} << 20);
}

std::unique_ptr<io::ImageWriter> write_result(const std::string& path, const ResultStorage& storage,
                                              const io::CreateOptions& create,
                                              const ExecutionContext& context,
                                              const std::function<void(ImageSink&)>& compute,
                                              io::ImageMetadata& metadata, index_t& nonfinite) {
    const auto create_writer = [&] {
        const PhaseTimer timer(context.timeline, Phase::open);
        return io::create_image(path, metadata, create);
    };
    if (!storage.scaled) {
        auto writer = create_writer();
        if (is_integer(metadata.type)) {
            compute(*writer);
        } else {
            NonfiniteCountingSink sink(*writer, storage.threads);
            compute(sink);
            nonfinite = sink.nonfinite();
        }
        return writer;
    }
    metadata.scaling.emplace();
    static_cast<void>(io::create_image(path, metadata, create));
    ScratchImage result({metadata.shape, storage.computed, metadata.frames, metadata.channels},
                        storage.place, folder_of(path));
    RangeSink sink(result, storage.threads);
    compute(sink);
    if (!sink.range().finite)
        throw BadData(
            "the result holds NaN or infinities, and integers cannot; write float32, without "
            "--scale-output");
    metadata.scaling = scaling_of(sink.range().least, sink.range().most, metadata.type);
    auto writer = create_writer();
    for_each_box(result, *writer, storage.box_bytes, without_progress(context),
                 [&](const ConstImageView& values, const ImageView& stored) {
                     scale(values, *metadata.scaling, stored);
                 });
    return writer;
}

void warn_of_nonfinite_result(const Console& console, index_t samples, PixelType type) {
    if (samples == 0) return;
    const bool widest = type == PixelType::float64 || type == PixelType::complex128;
    console.warning(message(samples, " values of the result are NaN or infinite: they are beyond ",
                            to_string(type),
                            widest ? "; scale the image or the kernel"
                                   : "; scale the image or the kernel, or choose --precision "
                                     "float64 and --output-type float64"));
}

ScratchImage::Place place_of_intermediate(index_t bytes, index_t limit, bool intermediate_fits) {
    return intermediate_fits && bytes <= limit / 4 ? ScratchImage::Place::memory
                                                   : ScratchImage::Place::file;
}

}  // namespace convolume::cli
