// SPDX-License-Identifier: Apache-2.0
#pragma once
// The end of the process where memory is refused and no error can be thrown.

namespace convolume::cli {

/// Removes unfinished outputs, says so in one sentence, and ends the process with the exit code of
/// lacking memory. Allocates nothing.
[[noreturn]] void end_without_memory() noexcept;

/// From now on a refused allocation that no handler is there for, such as one in a destructor or at
/// the start of a thread, ends the process by end_without_memory(), and so does one within FFTW.
void end_well_without_memory();

}  // namespace convolume::cli
