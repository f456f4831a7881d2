#pragma once
// What a run took, for people and for programs.

#include <nlohmann/json.hpp>
#include <string>

#include "convolume/execution.hpp"

namespace convolume::cli {

/// "plan 0.010 s, read 0.002 s, …; total 1.20 s, peak memory 50.0 MiB": the phases there were.
std::string times_text(double plan_s, const Timeline& timeline);

/// The "report" of --json.
nlohmann::ordered_json report_json(double plan_s, const ExecutionReport& executed,
                                   const Timeline& timeline);

}  // namespace convolume::cli
