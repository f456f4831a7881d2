// SPDX-License-Identifier: Apache-2.0
// Messages of the library name no option of the command; the command adds its own.

#include "cli/run/error_hint.hpp"
#include "convolume/error.hpp"
#include "tests/catch.hpp"

using namespace convolume;
using namespace convolume::cli;

namespace {

// A subcommand that has every option, and one that has none.
bool all(std::string_view) {
    return true;
}
bool none(std::string_view) {
    return false;
}

template <class E>
std::string hinted(const std::string& text, const HasOption& has_option = all) {
    return with_option_hint(text, E(text), has_option);
}

}  // namespace

TEST_CASE("errors are followed by the options that help") {
    CHECK(hinted<Unavailable>("built without CUDA: use the CPU") ==
          "built without CUDA: use the CPU (--device cpu)");
    CHECK(hinted<DeviceFailure>("the GPU failed; use the CPU") ==
          "the GPU failed; use the CPU (--device cpu)");
    CHECK(hinted<OutputExists>("\"a.tif\" exists: replace it") ==
          "\"a.tif\" exists: replace it (--overwrite)");
    CHECK(hinted<OutOfMemory>("2 GiB do not fit: allow more") ==
          "2 GiB do not fit: allow more (--max-host-mem)");
    CHECK(hinted<OutOfMemory>("the GPU has no memory left") ==
          "the GPU has no memory left (--max-gpu-mem)");
    CHECK(hinted<OutOfMemory>("neither the GPU nor the host has 2 GiB: allow more") ==
          "neither the GPU nor the host has 2 GiB: allow more (--max-host-mem, --max-gpu-mem)");
    CHECK(hinted<Unavailable>("built without HDF5") == "built without HDF5");
    CHECK(hinted<BadData>("no GPU is at fault") == "no GPU is at fault");
}

TEST_CASE("options that are named already are not named twice") {
    CHECK(hinted<Unavailable>("no GPU: use the CPU (--device cpu)") ==
          "no GPU: use the CPU (--device cpu)");
    CHECK(hinted<OutOfMemory>("set --max-gpu-mem") == "set --max-gpu-mem");
}

TEST_CASE("options that the subcommand lacks are not named") {
    CHECK(hinted<OutOfMemory>("too large", none) == "too large");
    const auto only_host = [](std::string_view name) { return name == "--max-host-mem"; };
    CHECK(hinted<OutOfMemory>("too large for GPU and host", only_host) ==
          "too large for GPU and host (--max-host-mem)");
}

TEST_CASE("options of the library become those of the command") {
    CHECK(hinted<OutOfMemory>("allow 3 GiB (max_gpu_bytes)") == "allow 3 GiB (--max-gpu-mem)");
    CHECK(hinted<OutOfMemory>("allow more (max_host_bytes, max_cpu_engine_bytes)") ==
          "allow more (--max-host-mem, --engine-mem)");
    CHECK(hinted<InvalidArgument>("say what it holds (raw_type)") == "say what it holds (--raw)");
    CHECK(hinted<InvalidArgument>("leave that out (raw_header, raw_byte_order)") ==
          "leave that out (--header, --byte-order)");
    CHECK(hinted<InvalidArgument>("choose another (stored), longer (segment)") ==
          "choose another (--output-type), longer (--segment)");
    CHECK(hinted<InvalidArgument>("(segments of 4)") == "(segments of 4)");
    CHECK(hinted<OutputExists>("replace it (overwrite)") == "replace it (--overwrite)");
    // Other words and other parentheses stay.
    CHECK(hinted<IoError>("cannot overwrite \"raw_type\" (errno 5)") ==
          "cannot overwrite \"raw_type\" (errno 5)");
}
