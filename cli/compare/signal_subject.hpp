// SPDX-License-Identifier: Apache-2.0
#pragma once
// Signals and a bank of filters as what is compared.

#include <cstdint>

#include "cli/compare/subject.hpp"
#include "convolume/filter_bank.hpp"

namespace convolume::cli {

class SignalSubject : public Subject {
  public:
    /// From files, in memory already: signals 1 × signals × samples; files of filters.
    SignalSubject(Volume signals, std::vector<Volume> filters, const FilterOptions& options);
    /// Made by prepare(): one signal.
    SignalSubject(index_t samples, index_t filters, index_t taps, std::uint64_t seed,
                  const FilterOptions& options);

    std::string name() const override;
    index_t size() const override { return size_; }
    index_t work() const override;
    void prepare(index_t limit_bytes) override;
    void release() override;
    index_t input_bytes() const override;
    index_t result_bytes() const override;
    double products() const override;
    std::unique_ptr<PlannedWay> plan(const Way& way, index_t limit_bytes) const override;

  private:
    FilterOptions options_;
    index_t size_ = 0;
    std::uint64_t seed_ = 0;
    Shape3 signal_shape_;
    index_t filter_count_ = 0;
    index_t taps_ = 0;  ///< of the longest filter
    bool complex_ = false;
    PixelType signal_type_ = PixelType::float32;
    Volume signals_;
    std::vector<Volume> filters_;
};

}  // namespace convolume::cli
