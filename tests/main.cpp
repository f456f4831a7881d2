// SPDX-License-Identifier: Apache-2.0
// The main() of test programs, for Catch2 2 and 3. Prints which test cases were skipped and why.
// The exit code is 0 if no case failed, 77 (which ctest shows as skipped) if all chosen cases were
// skipped, and 1 otherwise. Catch2's own exit code may be the number of failures, and thus any of
// these. CONVOLUME_SKIPS=fail in the environment turns skipped cases into failures.
// CONVOLUME_INSTRUCTIONS=AVX2 (SSE4, …: names of Highway's targets) has all vector code use these
// instructions instead of the best ones of the machine, "baseline" those that every machine has.
#define CATCH_CONFIG_RUNNER
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "core/instruction_sets.hpp"
//
#include <hwy/highway.h>

#include "tests/catch.hpp"

namespace {

struct Progress {
    std::string test_case;                                 // name of the test case that runs now
    std::set<std::string> skipped;                         // test cases with a skipped section
    std::map<std::string, std::set<std::string>> reasons;  // skipped test cases, by reason
    std::size_t cases = 0, failed = 0;
};

Progress& progress() {
    static Progress progress;
    return progress;
}

void add_skip(const std::string& reason) {
    progress().skipped.insert(progress().test_case);
    progress().reasons[reason].insert(progress().test_case);
}

#if __has_include(<catch2/catch_all.hpp>)
using ListenerBase = Catch::EventListenerBase;
#else
using ListenerBase = Catch::TestEventListenerBase;
#endif

struct SkipListener : ListenerBase {
    using ListenerBase::ListenerBase;

    void testCaseStarting(const Catch::TestCaseInfo& info) override {
        progress().test_case = info.name;
    }
#if CONVOLUME_CATCH_SKIPS
    void assertionEnded(const Catch::AssertionStats& stats) override {
        if (stats.assertionResult.getResultType() == Catch::ResultWas::ExplicitSkip)
            add_skip(std::string(stats.assertionResult.getMessage()));
    }
#endif
    void testRunEnded(const Catch::TestRunStats& stats) override {
        progress().cases = stats.totals.testCases.total();
        progress().failed = stats.totals.testCases.failed;
    }
};
CATCH_REGISTER_LISTENER(SkipListener)

/// Restricts all vector code to one of Highway's targets. Returns false if the machine or this
/// build does not have it.
bool use_only_instructions(std::string_view name) {
    if (name == "baseline") {
        hwy::SetSupportedTargetsForTest(HWY_STATIC_TARGET);
        return true;
    }
    for (std::uint64_t targets = HWY_TARGETS; targets != 0; targets &= targets - 1) {
        const auto target = static_cast<std::int64_t>(targets & ~(targets - 1));
        if (hwy::TargetName(target) != name) continue;
        if ((target & hwy::SupportedTargets()) == 0) return false;
        hwy::SetSupportedTargetsForTest(target);
        return true;
    }
    return false;
}

}  // namespace

#if !CONVOLUME_CATCH_SKIPS
void convolume::testing::note_skip(const std::string& reason) {
    add_skip(reason);
}
#endif

int main(int argc, char* argv[]) {
    const char* const instructions = std::getenv("CONVOLUME_INSTRUCTIONS");
    if (instructions != nullptr && !use_only_instructions(instructions)) {
        std::cerr << "SKIPPED: no instructions " << instructions
                  << " in this machine or this build\n";
        return 77;
    }
    const int code = Catch::Session().run(argc, argv);
    const std::size_t skipped = progress().skipped.size();
    for (const auto& [reason, cases] : progress().reasons) {
        std::cerr << "SKIPPED: " << cases.size() << " of " << progress().cases
                  << " test cases: " << reason << '\n';
        for (const std::string& name : cases) std::cerr << "    " << name << '\n';
    }
    const char* const skips = std::getenv("CONVOLUME_SKIPS");
    const bool fails_if_skipped = skips != nullptr && std::string_view(skips) == "fail";
    if (skipped > 0 && fails_if_skipped)
        std::cerr << "Skipped test cases are failures: CONVOLUME_SKIPS is fail\n";
    if (skipped > 0 && progress().failed == 0) {
        if (fails_if_skipped) return 1;
        if (skipped == progress().cases) return 77;
    }
    return code == 0 ? 0 : 1;
}
