// SPDX-License-Identifier: Apache-2.0
#pragma once
// `convolume filter --latency` as the steps of a run: blocks of a live signal pass from standard
// input through a StreamFilter to standard output.

#include <array>
#include <memory>
#include <optional>
#include <vector>

#include "cli/filter/files.hpp"
#include "cli/filter/request.hpp"
#include "cli/run/run.hpp"
#include "convolume/frame_pipe.hpp"
#include "convolume/stream_filter.hpp"

namespace convolume::cli {

/// Times of the blocks of a stream, which may be endless: counts of times of about equal length.
class PushTimes {
  public:
    void add(double seconds);
    index_t blocks() const { return blocks_; }
    double longest() const { return longest_; }
    /// Returns a time that `part` of all blocks did not exceed, up to 4 %.
    double quantile(double part) const;

  private:
    static constexpr int steps_in_octave = 16;
    static constexpr double shortest = 1e-8;
    std::array<index_t, 32 * steps_in_octave> counts_{};
    index_t blocks_ = 0;
    double longest_ = 0;
};

class LiveSteps : public RunSteps {
  public:
    explicit LiveSteps(const FilterRequest& request) : request_(request) {}

    void open(const ExecutionContext& context) override;
    void plan(const ExecutionContext& context) override;
    WorkAmount work() const override { return {0, "sample"}; }
    void execute(const Console& console, ProgressMeter& meter,
                 const ExecutionContext& context) override;
    void commit() override {}
    void tell_plan(const Facts& facts) const override;
    void tell_result(const Facts& facts) const override;
    void tell_output(const Facts& facts) const override;

  private:
    /// Returns the filters as outputs × inputs × taps, or 1 × channels × taps.
    Volume filter_taps() const;
    std::optional<double> signal_rate_hz() const;
    io::FrameFormat result_format() const;
    void filter_blocks(const ExecutionContext& context);
    template <class Real>
    void filter_blocks_of(const ExecutionContext& context);

    const FilterRequest& request_;
    std::unique_ptr<io::FrameReader> reader_;
    std::unique_ptr<io::FrameWriter> writer_;
    std::vector<FilterFile> filters_;
    std::optional<StreamFilter> filter_;
    io::FrameFormat format_;
    PushTimes times_;
    index_t frames_ = 0;  ///< number of frames that were read
};

}  // namespace convolume::cli
