#pragma once
// What `convolume filter` tells about a run: sentences for people, JSON for programs.

#include "cli/filter/files.hpp"
#include "cli/filter/request.hpp"

namespace convolume::cli {

/// Facts gathered during a run.
struct FilterFacts {
    io::SignalInfo signal;
    std::vector<FilterFile> filters;
    std::vector<index_t> result_dims;
    double plan_s = 0;
    ExecutionReport executed;
};

/// Inputs and plan.
void report_plan(const Console& console, const FilterRequest& request, const FilterFacts& facts,
                 const FilterBank& bank);

/// Repaired samples, time per phase and where the output is.
void report_end(const Console& console, const FilterRequest& request, const FilterFacts& facts,
                const FilterBank& bank, const Timeline& timeline);

/// The object of --json; without a timeline, as in a dry run, there is no "report" in it.
std::string to_json(const FilterRequest& request, const FilterFacts& facts, const FilterBank& bank,
                    const Timeline* timeline);

}  // namespace convolume::cli
