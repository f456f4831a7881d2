// SPDX-License-Identifier: Apache-2.0
#pragma once
// One way to run a problem: how it is cut into blocks, and what it takes. Bytes are exact, seconds
// come from the engines' models and the rates of the machine. The planner compares candidates.

#include <optional>
#include <vector>

#include "volumes/plan.hpp"

namespace convolume {

/// One axis cut into tiles that share a grid length.
struct AxisTiling {
    index_t grid = 1;
    std::vector<AxisWindow> windows;

    index_t count() const { return static_cast<index_t>(windows.size()); }
    /// Sizes no tile exceeds: what memory and time are predicted for.
    BlockAxis largest() const;
};

/// What decides grid lengths along one axis.
struct GridRule {
    const Engine* engine;  ///< null: sums in space, any length will do
    int axis;
    int parts = 1;
    bool complex_data = false;
    Precision precision = Precision::float32;
    bool may_be_periodic = true;  ///< a wrap boundary may be the grid's own period
};

/// Cuts the outputs of one axis into `count` tiles of equal size (to within one).
AxisTiling tile_axis(const AxisProblem& problem, index_t count, const GridRule& rule);

/// A way to run the problem: tiles, or one tile split into parts.
struct Layout {
    Method method = Method::in_core;
    Algorithm algorithm = Algorithm::fft;
    int parts = 1;
    bool walks = false;
    std::array<AxisTiling, 3> axes;

    Index3 tiles() const { return {axes[0].count(), axes[1].count(), axes[2].count()}; }
};

/// The block of `part` (of the layout's parts) whose undivided axes are `axes`.
Block part_block(const ConvolutionProblem& problem, const Layout& layout, int part,
                 const std::array<BlockAxis, 3>& axes);

/// Planes, rows and columns of the split volume; {0, 0, 0} where nothing is split.
Shape3 scratch_shape(const ConvolutionProblem& problem, const Layout& layout);
index_t scratch_bytes(const ConvolutionProblem& problem, const Layout& layout);

/// Fills plan.blocks, plan.tasks, plan.windows and the scratch volume.
void lay_out(const ConvolutionProblem& problem, const Layout& layout, TaskPlan& plan);

/// Bytes that a plan may take.
struct MemoryLimits {
    index_t host_bytes = 0;
    std::optional<index_t> engine_bytes;  ///< the least of the engines' limits
};

/// The blocks of a way to run a problem.
struct BlockDivision {
    Method method = Method::in_core;
    Algorithm algorithm = Algorithm::fft;
    int parts = 1;
    Index3 tiles;
    Shape3 grid;
    Shape3 scratch;             ///< of the split volume
    index_t scratch_bytes = 0;  ///< of the same
    Block first;                ///< part 0, or the largest tile
    Block other;                ///< all further parts
};

struct Prediction {
    PlanCandidate candidate;
    bool keep_kernels = true;  ///< between tasks and executions; false: the limit has no room
};

/// Predicts ways to run `problem` on `engines`, which are of one kind. All are kept by reference.
class Predictor {
  public:
    Predictor(const ConvolutionProblem& problem, const EngineList& engines,
              const MemoryLimits& limits)
        : problem_(problem),
          engines_(engines),
          limits_(limits),
          rates_(engines.front()->info().rates) {}

    Prediction predict(const BlockDivision& division) const;

  private:
    struct Costs;  // of one engine
    struct Course {
        double seconds;    // until all is written
        double writing_s;  // of these, since the first was
    };
    Costs costs_of(const Engine& engine, const BlockDivision& division) const;
    void add_memory(const Engine& engine, const BlockDivision& division, const Costs& costs,
                    Prediction& prediction) const;
    double prepare_seconds(const BlockDivision& division, const Costs& costs) const;
    Course course_of(const BlockDivision& division, const Costs& costs) const;
    void add_stages(const BlockDivision& division, const Costs& costs,
                    PlanCandidate& candidate) const;
    void make_fit(const BlockDivision& division, index_t beyond_one_kernel,
                  Prediction& prediction) const;
    void add_split(const BlockDivision& division, PlanCandidate& candidate) const;
    void add_start(PlanCandidate& candidate) const;
    void add_files(PlanCandidate& candidate) const;
    void add_commit(double writing_s, PlanCandidate& candidate) const;

    index_t tasks(const BlockDivision& division) const {
        return division.parts > 1 ? division.parts : element_count(division.tiles);
    }
    bool streams(const BlockDivision& division) const {
        return problem_.streamed && division.parts == 1;
    }
    /// Samples are read before a task and its results written after.
    bool holds(const BlockDivision& division) const {
        return streams(division) && !engines_.front()->info().streams;
    }
    bool counts_first_use() const { return problem_.executions > 0; }
    index_t images() const { return std::max<index_t>(problem_.executions, 1); }
    index_t held_bytes(const BlockDivision& division) const;  ///< boxes of streams
    index_t in_memory_bytes() const;  ///< image and result, where they are not streamed
    index_t image_bytes() const;
    index_t output_bytes() const;

    const ConvolutionProblem& problem_;
    const EngineList& engines_;
    const MemoryLimits& limits_;
    const MachineRates& rates_;
};

}  // namespace convolume
