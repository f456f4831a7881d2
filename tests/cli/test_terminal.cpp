// SPDX-License-Identifier: Apache-2.0
// Tests stderr on a terminal: it is colored unless NO_COLOR is set.

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/catch.hpp"
#include "tests/cli/command.hpp"
#include "tests/support/errors.hpp"

using namespace convolume::testing;

namespace {

// Returns what `convolume nonsense` prints on a terminal in the given environment.
std::string on_terminal(const std::string& environment) {
    const int terminal = posix_openpt(O_RDWR | O_NOCTTY);
    REQUIRE(terminal >= 0);
    REQUIRE(grantpt(terminal) == 0);
    REQUIRE(unlockpt(terminal) == 0);
    const TemporaryFolder folder;
    const std::string script = environment + " \"$0\" nonsense 2> \"$1\"";
    // The other end stays open, because the output would be lost if it closed with the command.
    const int kept = open(ptsname(terminal), O_RDWR | O_NOCTTY);
    run_program({"sh", "-c", script, convolume_path(), ptsname(terminal)}, folder);
    std::string text(4096, '\0');
    const ssize_t count = read(terminal, text.data(), text.size());
    close(kept);
    close(terminal);
    text.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
    return text;
}

}  // namespace

TEST_CASE("terminals get colors, except with NO_COLOR or if they have none") {
    CHECK(contains(on_terminal("NO_COLOR= TERM=xterm"), "\033[31merror"));
    CHECK(contains(on_terminal("NO_COLOR=1 TERM=xterm"), "convolume: error"));
    CHECK_FALSE(contains(on_terminal("NO_COLOR=1 TERM=xterm"), "\033"));
    CHECK_FALSE(contains(on_terminal("NO_COLOR= TERM=dumb"), "\033"));
    const TemporaryFolder folder;
    CHECK_FALSE(contains(convolume::testing::convolume({"nonsense"}, folder).err, "\033"));
}
