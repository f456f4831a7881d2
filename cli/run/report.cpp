#include "cli/run/report.hpp"

#include <sys/resource.h>

#include <sstream>

#include "cli/text/format.hpp"
#include "convolume/options.hpp"
#include "convolume/volume.hpp"

namespace convolume::cli {

namespace {

constexpr Phase phases[] = {
    Phase::read,           Phase::pad,      Phase::decompose,      Phase::allocate,
    Phase::host_to_device, Phase::convolve, Phase::device_to_host, Phase::compose,
    Phase::write};

index_t peak_resident_bytes() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return index_t{usage.ru_maxrss} * 1024;
}

}  // namespace

std::string times_text(double plan_s, const Timeline& timeline) {
    std::ostringstream times;
    times << "plan " << format_duration(plan_s);
    for (const Phase phase : phases)
        if (const double seconds = timeline.total_s(phase); seconds > 0)
            times << ", " << to_string(phase) << ' ' << format_duration(seconds);
    times << "; total " << format_duration(timeline.now_s()) << ", peak memory "
          << format_bytes(peak_resident_bytes());
    return times.str();
}

nlohmann::ordered_json report_json(double plan_s, const ExecutionReport& executed,
                                   const Timeline& timeline) {
    nlohmann::ordered_json seconds;
    seconds["plan"] = plan_s;
    for (const Phase phase : phases) seconds[to_string(phase)] = timeline.total_s(phase);
    seconds["execute"] = executed.seconds;
    seconds["total"] = timeline.now_s();
    return {{"seconds", seconds},
            {"clamped_low", executed.clamped_low},
            {"clamped_high", executed.clamped_high},
            {"nonfinite_inputs", executed.nonfinite_inputs},
            {"peak_buffer_bytes", memory_use().peak_bytes},
            {"peak_resident_bytes", peak_resident_bytes()}};
}

}  // namespace convolume::cli
