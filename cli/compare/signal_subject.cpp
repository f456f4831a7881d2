// SPDX-License-Identifier: Apache-2.0
#include "cli/compare/signal_subject.hpp"

#include <algorithm>
#include <utility>

#include "cli/compare/synthetic.hpp"

namespace convolume::cli {

namespace {

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
    // Plans of filters only declare the memory of streams.
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

}  // namespace

SignalSubject::SignalSubject(Volume signals, std::vector<Volume> filters,
                             const FilterOptions& options)
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

SignalSubject::SignalSubject(index_t samples, index_t filters, index_t taps, std::uint64_t seed,
                             const FilterOptions& options)
    : options_(options),
      size_(samples),
      seed_(seed),
      signal_shape_{1, 1, samples},
      filter_count_(filters),
      taps_(taps) {}

std::string SignalSubject::name() const {
    const std::string signals =
        signal_shape_.y == 1 ? std::string() : message(signal_shape_.y, " signals of ");
    return message(signals, signal_shape_.x, " samples * ", filter_count_,
                   filter_count_ == 1 ? " filter of " : " filters of ", taps_, " taps");
}

index_t SignalSubject::work() const {
    return checked_multiply(element_count(signal_shape_), filter_count_);
}

void SignalSubject::prepare(index_t limit_bytes) {
    if (!filters_.empty()) return;
    if (input_bytes() > limit_bytes)
        throw OutOfMemory(message("signal and filters alone take ", format_bytes(input_bytes()),
                                  ", and ", format_bytes(std::max<index_t>(0, limit_bytes)),
                                  " are left for them"));
    signals_ = synthetic_rows(1, signal_shape_.x, seed_);
    filters_.push_back(synthetic_rows(filter_count_, taps_, seed_ + 1));
}

void SignalSubject::release() {
    if (size_ == 0) return;
    signals_ = Volume();
    filters_.clear();
}

index_t SignalSubject::input_bytes() const {
    index_t bytes =
        checked_multiply(element_count(signal_shape_), static_cast<index_t>(size_of(signal_type_)));
    if (filters_.empty()) return checked_add(bytes, 4 * checked_multiply(filter_count_, taps_));
    for (const Volume& rows : filters_) bytes += rows.bytes();
    return bytes;
}

index_t SignalSubject::result_bytes() const {
    const index_t longest = options_.mode == Mode::full ? signal_shape_.x + taps_ : signal_shape_.x;
    return checked_multiply(checked_multiply(signal_shape_.y, longest),
                            checked_multiply(filter_count_, complex_ ? 16 : 8));
}

double SignalSubject::products() const {
    return static_cast<double>(work()) * static_cast<double>(taps_);
}

std::unique_ptr<PlannedWay> SignalSubject::plan(const Way& way, index_t limit_bytes) const {
    // Results of the larger type and the input as the computation has it: what there must be.
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
    return std::make_unique<PlannedFilters>(FilterBank({signal_shape_.y, signal_shape_.x}, filters,
                                                       options, engines_of(way), signal_type_),
                                            signals_.view());
}

}  // namespace convolume::cli
