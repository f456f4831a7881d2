// SPDX-License-Identifier: Apache-2.0
// Runs the pass over planes on the host, and compares with circular convolutions by direct sums.

#include "gpu/fft/plan.hpp"
#include "gpu/fft/plane_kernel.hpp"
#include "tests/catch.hpp"
#include "tests/gpu/fft/fft_support.hpp"
#include "tests/gpu/fft/host_block.hpp"
#include "tests/support/short_samples.hpp"

namespace convolume::gpu {

namespace {

using Half = ShortPixel<SampleStorage::float16>;
using BrainFloat = ShortPixel<SampleStorage::bfloat16>;

template <class S>
S pixel_of(int value) {
    if constexpr (is_short_pixel<S>)
        return {testing::nearest_word(value, S::storage)};
    else
        return static_cast<S>(value);
}
template <class S>
double value_of(S pixel) {
    if constexpr (is_short_pixel<S>)
        return testing::value_of(pixel.word, S::storage);
    else
        return static_cast<double>(pixel);
}

template <class S>
std::vector<S> poisoned_pixels(index_t count) {
    if constexpr (is_short_pixel<S>)
        return std::vector<S>(static_cast<std::size_t>(count), S{0x7fff});  // NaN in both storages
    else
        return poisoned<S>(count);
}

/// Planes in memory, whose rows have `gap` pixels more than the image.
template <class S>
struct Planes {
    index_t planes, rows, width, gap;
    std::vector<S> pixels;

    index_t stride() const { return width + gap; }
    S& at(index_t plane, index_t y, index_t x) {
        return pixels[static_cast<std::size_t>((plane * rows + y) * stride() + x)];
    }
    PixelRows all() {
        if constexpr (is_short_pixel<S>)
            return {pixels.data(), PixelType::uint16, rows * stride(), stride(), S::storage};
        else
            return {pixels.data(), pixel_type_of_v<S>, rows * stride(), stride()};
    }
};

/// What differs between cases, beside the types of pixels.
struct PlaneCase {
    index_t loaded_y, loaded_x, kept_y, kept_x, kept_begin_y, kept_begin_x, gap;
    bool gathers;
};

template <std::size_t I>
struct PlanesCheck {
    using Shape = MeasuredPlaneBlock<I>;
    static constexpr index_t length = Shape::length, planes = Shape::planes + 2;

    /// Tables of the transforms, for a job.
    struct Tables {
        std::vector<Complex<float>> rows = plan_twiddles<float>(Shape::RowOfPlane::plan),
                                    columns = plan_twiddles<float>(Shape::ColumnOfPlane::plan);
        Tables() {
            const auto of_pairs = pair_twiddles<float>(Shape::pairs);
            rows.insert(rows.end(), of_pairs.begin(), of_pairs.end());
        }
        void run(PlaneJob<float> job) const {
            job.loads.twiddles = rows.data();
            job.column_twiddles = columns.data();
            run_on_host(2, Shape::threads, Shape::shared_bytes(job.rows),
                        [&](const HostBlock& block) { plane_pass<Shape>(block, job); });
        }
    };

    template <class S, class Stored>
    static void run(const PlaneCase& of) {
        Planes<S> image{planes, of.loaded_y + 1, of.loaded_x + 1, of.gap, {}};
        image.pixels.resize(static_cast<std::size_t>(planes * image.rows * image.stride()));
        std::mt19937 engine(7);
        std::uniform_int_distribution<int> values(0, 200);
        for (S& pixel : image.pixels) pixel = pixel_of<S>(values(engine));
        Planes<Stored> result{planes, of.kept_y, of.kept_x, of.gap, {}};
        result.pixels = poisoned_pixels<Stored>(planes * result.rows * result.stride());
        auto taps = random_samples<float>(length * length, 3);
        const Tables tables;
        auto spectrum = poisoned<std::complex<float>>(Shape::kernel_samples);
        RowSource kernel;
        kernel.pixels = {taps.data(), PixelType::float32, 0, length};
        kernel.loaded_y = kernel.loaded_x = length;
        tables.run(plane_kernel_job(length, kernel, as_complex_samples(spectrum.data())));

        RowSource source;
        source.pixels = image.all();
        source.planes = planes;
        source.loaded_y = of.loaded_y;
        source.loaded_x = of.loaded_x;
        std::vector<std::int32_t> gather_y, gather_x;
        for (index_t y = 0; y < of.loaded_y; ++y)
            gather_y.push_back(y % 5 == 2 ? -1 : static_cast<std::int32_t>(of.loaded_y - y));
        for (index_t x = 0; x < of.loaded_x; ++x)
            gather_x.push_back(x % 7 == 3 ? -1 : static_cast<std::int32_t>(of.loaded_x - x));
        if (of.gathers) {
            source.gather_y = gather_y.data();
            source.gather_x = gather_x.data();
            source.subtract = 1.5;
        }
        RowTarget target;
        target.pixels = result.all();
        target.planes = planes;
        target.kept_begin_y = of.kept_begin_y;
        target.kept_y = of.kept_y;
        target.kept_begin_x = of.kept_begin_x;
        target.kept_x = of.kept_x;
        target.add_real = 2.25;
        tables.run(plane_job<float>(length, source, as_complex_samples(spectrum.data()), target,
                                    1 / static_cast<double>(length * length)));

        Difference difference;
        int misrounded = 0;  // results of 16 bits
        const auto wrap = [](index_t i) { return (i % length + length) % length; };
        for (const index_t plane : {index_t{0}, planes - 1}) {
            Signal loaded(static_cast<std::size_t>(length * length));
            for (index_t y = 0; y < of.loaded_y; ++y)
                for (index_t x = 0; x < of.loaded_x; ++x) {
                    const index_t from_y = of.gathers ? gather_y[static_cast<std::size_t>(y)] : y;
                    const index_t from_x = of.gathers ? gather_x[static_cast<std::size_t>(x)] : x;
                    if (from_y >= 0 && from_x >= 0)
                        loaded[static_cast<std::size_t>(y * length + x)] =
                            value_of(image.at(plane, from_y, from_x)) - source.subtract;
                }
            for (index_t y = 0; y < of.kept_y; y += 3)
                for (index_t x = 0; x < of.kept_x; x += 2) {
                    double sum = target.add_real, magnitudes = 0;
                    for (index_t j = 0; j < of.loaded_y; ++j)
                        for (index_t i = 0; i < of.loaded_x; ++i) {
                            const double term =
                                loaded[static_cast<std::size_t>(j * length + i)].real() *
                                taps[static_cast<std::size_t>(wrap(of.kept_begin_y + y - j) *
                                                                  length +
                                                              wrap(of.kept_begin_x + x - i))];
                            sum += term;
                            magnitudes += std::abs(term);
                        }
                    const Stored found = result.at(plane, y, x);
                    if constexpr (std::is_integral_v<Stored>) sum = std::nearbyint(sum);
                    if constexpr (is_short_pixel<Stored>)
                        misrounded +=
                            testing::is_rounded(found.word, sum, 1e-6 * magnitudes, Stored::storage)
                                ? 0
                                : 1;
                    else
                        difference.add(static_cast<double>(found), sum);
                }
        }
        INFO(planes << " planes of " << of.loaded_y << "×" << of.loaded_x << " by transforms of "
                    << length);
        CHECK(misrounded == 0);
        if constexpr (is_short_pixel<Stored>) return;
        // A rounded sum may differ by 1, of thousands.
        CHECK(difference.relative() <
              (std::is_integral_v<Stored> ? 1e-4 : 3 * tolerance<float>(length)));
    }

    static void all() {
        // A kernel may have as many rows, on GPUs of compute capability 9.
        CHECK(Shape::shared_bytes(length) <= 232448);
        constexpr index_t half = length / 2;
        run<float, float>({half, half, half, half, half - 2, half - 2, 1, false});
        run<std::uint16_t, float>({half - 3, half - 5, half - 1, half - 7, 3, 5, 0, true});
        run<float, std::int32_t>({length, length, length, length, 0, 0, 0, false});
        run<float, float>({5, half, half + 1, 6, half - 1, 4, 3, false});
        // In pairs, and one by one: with a gather, or in rows of an odd number of pixels.
        run<BrainFloat, BrainFloat>({half, half, half, half, half - 2, half - 2, 3, false});
        run<Half, Half>({half - 3, half - 4, half - 1, half - 6, 3, 4, 1, false});
        run<BrainFloat, Half>({half - 3, half - 5, half - 1, half - 7, 3, 5, 0, true});
        run<Half, float>({7, half - 1, half, half, 0, 0, 0, false});
    }
};

template <std::size_t... I>
void check_planes(std::index_sequence<I...>) {
    (PlanesCheck<I>::all(), ...);
}

}  // namespace

TEST_CASE("a pass over no planes has a job, which makes tables") {
    RowSource source;
    RowTarget target;
    source.planes = target.planes = 0;
    CHECK(plane_job<float>(32, source, nullptr, target, 1).loads.planes == 0);
}

TEST_CASE("planes convolved in one pass agree with direct sums") {
    check_planes(std::make_index_sequence<std::size(measured_planes)>());
}

}  // namespace convolume::gpu
