// SPDX-License-Identifier: Apache-2.0
// Direct sums over small images, for which a plan, threads and workspaces would take most of the
// time.
#include <algorithm>
#include <complex>
#include <vector>

#include "convolume/convolver.hpp"
#include "core/pixels/rows.hpp"
#include "core/views.hpp"
#include "cpu/volumes/vector_loops.hpp"
#include "volumes/axis.hpp"
#include "volumes/problem.hpp"

namespace convolume {

namespace {

// Taps of the longest sum. Longer sums are divided, because the error of a float sum grows with its
// length.
constexpr index_t longest_sum = 256;

// Returns the sources of all samples along an axis that taps reach, in the order of flipped taps.
std::vector<index_t> reached_sources(const AxisProblem& axis) {
    const AxisWindow taps = trim_kernel(axis);
    const index_t first = axis.out_begin - (taps.kernel_end - 1);
    const index_t end = axis.out_end - taps.kernel_begin;
    std::vector<index_t> sources(static_cast<std::size_t>(end - first));
    for (std::size_t i = 0; i < sources.size(); ++i)
        sources[i] = source_index(first + static_cast<index_t>(i), axis.image, axis.boundary);
    return sources;
}

/// A small convolution: the image's rows, continued along x, in memory of its own.
template <class Sample>
class SmallSums {
  public:
    SmallSums(const ResolvedProblem& resolved, const ConstImageView& image, const Options& options)
        : add_(resolved.add), kernel_(resolved.taps->shape()) {
        for (int a = 0; a < 3; ++a)
            sources_[static_cast<std::size_t>(a)] = reached_sources(resolved.problem.axis(a));
        const Sample* const taps = resolved.taps->template elements<Sample>();
        taps_.assign(taps, taps + element_count(kernel_));
        std::reverse(taps_.begin(), taps_.end());
        load(image, {resolved.subtract, options.nan == NanPolicy::zero});
    }

    /// Writes all results.
    ExecutionReport write(const ImageView& output) {
        ExecutionReport report;
        report.nonfinite_inputs = nonfinite_;
        std::vector<Sample> out(static_cast<std::size_t>(output.shape.x + cpu::row_padding));
        std::vector<const Sample*> rows(static_cast<std::size_t>(kernel_.z * kernel_.y));
        const index_t at_once = std::max<index_t>(1, longest_sum / kernel_.x);
        const auto count = static_cast<index_t>(rows.size());
        for (index_t z = 0; z < output.shape.z; ++z)
            for (index_t y = 0; y < output.shape.y; ++y) {
                for (index_t r = 0; r < count; ++r)
                    rows[static_cast<std::size_t>(r)] = row(z + r / kernel_.y, y + r % kernel_.y);
                for (index_t r = 0; r < count; r += at_once)
                    cpu::correlate_rows(rows.data() + r, std::min(at_once, count - r),
                                        taps_.data() + r * kernel_.x, kernel_.x, r > 0, out.data(),
                                        output.shape.x);
                const ClampCount clamped =
                    pixels::store_row(out.data(), output.shape.x, add_, output, z, y);
                report.clamped_low += clamped.low;
                report.clamped_high += clamped.high;
            }
        return report;
    }

  private:
    void load(const ConstImageView& image, const pixels::LoadOptions& options) {
        const pixels::RowGather gather(sources_[2]);
        line_ = gather.size() + cpu::row_padding;
        image_rows_ = image.shape.y;
        samples_.resize(static_cast<std::size_t>((image.shape.z * image_rows_ + 1) * line_));
        Sample* row = samples_.data() + line_;  // the first row is zero
        for (index_t z = 0; z < image.shape.z; ++z)
            for (index_t y = 0; y < image_rows_; ++y, row += line_)
                nonfinite_ += pixels::load_row(image, z, y, gather, options, row);
    }

    /// Returns a row of the continued image.
    const Sample* row(index_t z, index_t y) const {
        const index_t plane = sources_[0][static_cast<std::size_t>(z)];
        const index_t line = sources_[1][static_cast<std::size_t>(y)];
        const bool is_inside = plane >= 0 && line >= 0;
        return samples_.data() + (is_inside ? plane * image_rows_ + line + 1 : 0) * line_;
    }

    std::complex<double> add_;
    Shape3 kernel_;
    std::vector<Sample> taps_;                     ///< flipped taps in order z, y, x
    std::array<std::vector<index_t>, 3> sources_;  ///< along z, y, x; -1 is outside
    std::vector<Sample> samples_;
    index_t line_ = 0;  ///< samples of a padded row
    index_t image_rows_ = 0;
    index_t nonfinite_ = 0;
};

// Whether the extents alone tell that a convolution has too many products, or too many samples.
bool has_many_products(const Shape3& image, const Shape3& kernel, const Shape3& output) {
    index_t products = 1;
    for (int a = 0; a < 3; ++a) {
        if (image[a] < 1 || kernel[a] < 1 || output[a] < 1) return true;  // an error, or nothing
        products = checked_multiply(products, checked_multiply(output[a], kernel[a]));
        if (products > most_small_products) return true;
    }
    return element_count(image) > most_small_products;
}

}  // namespace

std::optional<ExecutionReport> convolve_small(const ConstImageView& image,
                                              const ConstImageView& kernel, const Options& options,
                                              const ImageView& output) {
    const bool may_sum = options.method == Method::automatic || options.method == Method::direct;
    if (!may_sum || options.parts > 0 || options.operation == Operation::adjoint ||
        has_many_products(image.shape, kernel.shape, output.shape) || overlap(image, output) ||
        may_repeat_elements(output))
        return std::nullopt;
    const ResolvedProblem resolved =
        resolve_problem(image.shape, kernel, options, image.type, output.type);
    const bool is_complex_sum = resolved.problem.complex_data;
    if (output.shape != resolved.output_shape)
        throw InvalidArgument(message("the output has the shape ", to_string(output.shape),
                                      " (z×y×x) where the result has ",
                                      to_string(resolved.output_shape)));
    check_result_type(is_complex_sum, output.type);
    const bool needs_finite = options.nan == NanPolicy::error || options.nan == NanPolicy::missing;
    if (needs_finite && !is_integer(image.type) && pixels::find_nonfinite(image, 1))
        return std::nullopt;
    const auto run = [&](auto zero) {
        return SmallSums<decltype(zero)>(resolved, image, options).write(output);
    };
    const bool single = options.precision == Precision::float32;
    if (is_complex_sum) return single ? run(std::complex<float>()) : run(std::complex<double>());
    return single ? run(float()) : run(double());
}

}  // namespace convolume
