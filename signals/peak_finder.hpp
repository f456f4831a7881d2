// SPDX-License-Identifier: Apache-2.0
#pragma once
// Search of peaks in the results of a bank of matched filters, as they arrive.

#include <optional>
#include <vector>

#include "convolume/correlation.hpp"
#include "signals/matched_template.hpp"
#include "signals/sample_recorder.hpp"

namespace convolume {

/// Everything that a search needs, except the results.
struct PeakSearch {
    const CorrelationOptions& options;
    index_t window;  ///< positions of a window
    const FilterBank& bank;
    const std::vector<MatchedTemplate>& templates;
    bool is_complex;  ///< ρ is complex
    int threads;
};

/// Takes the largest |ρ|² of each window, or all ρ, chunk by chunk, and reports peaks. All filters
/// of a signal's chunk must come one after the other, in order, and chunks and signals in order.
class PeakFinder : public ResultSink {
  public:
    /// `series` gets ρ if it is not null.
    PeakFinder(const PeakSearch& search, SampleMemory& memory, const PeakFunction& on_peaks,
               ResultSink* series);
    void write(index_t signal, index_t filter, index_t begin, index_t count,
               const void* from) override;
    void write_positions(index_t signal, index_t filter, index_t begin, index_t count,
                         const index_t* from) override;
    void cancel() override;
    /// Reports the last peaks of the current signal.
    void finish();

  private:
    /// The largest |ρ|² found so far in a window.
    struct Maximum {
        double power = -1;
        index_t position = 0;  ///< sample of the signal at which the template begins
        index_t template_index = 0;
    };
    /// The windows of one template, or of all that compete.
    struct Row {
        std::optional<Maximum> before;  ///< of the last finished window, until it is decided
        bool is_dominated = false;      ///< `before` is no peak, because of the window before it
        index_t window = -1;            ///< the window of `open`
        Maximum open;
    };

    template <class Value>
    void add_series(index_t filter, index_t begin, index_t count, const Value* from);
    void begin_chunk(index_t signal, index_t filter, index_t first_window, index_t windows);
    void add(index_t filter, index_t window, const Maximum& found);
    /// Takes the chunk's maxima after its last filter, and reports the peaks that are certain.
    void end_chunk(index_t filter);
    void close(Row& row);
    void report(bool is_end);
    CorrelationPeak refined(const Maximum& maximum) const;

    PeakSearch search_;
    SampleMemory& memory_;
    const PeakFunction& on_peaks_;
    ResultSink* series_;
    double smallest_power_;  ///< of a candidate, which is tested again in double precision
    index_t margin_;         ///< positions beside a peak that its refinement needs

    index_t signal_ = -1;
    std::vector<Row> rows_;
    index_t first_window_ = 0;       ///< first window of the chunk
    std::vector<Maximum> in_chunk_;  ///< maxima of the chunk, indexed [row][window]
    std::vector<double> powers_;     ///< maxima that wait for their positions
    std::vector<Maximum> decided_;   ///< peaks that wait for samples
};

}  // namespace convolume
