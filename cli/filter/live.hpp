// SPDX-License-Identifier: Apache-2.0
#pragma once
// `convolume filter --latency` as the steps of a run: blocks of a live signal pass from standard
// input through a StreamFilter to standard output.

#include <memory>
#include <optional>
#include <vector>

#include "cli/filter/files.hpp"
#include "cli/filter/request.hpp"
#include "cli/run/run.hpp"
#include "cli/signals/push_times.hpp"
#include "convolume/frame_pipe.hpp"
#include "convolume/stream_filter.hpp"

namespace convolume::cli {

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
