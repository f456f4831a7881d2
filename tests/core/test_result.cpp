// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <system_error>

#include "convolume/result.hpp"
#include "tests/catch.hpp"

namespace convolume {

namespace {

template <class Thrown>
Failure failure_of_call(const Thrown& thrown) {
    const auto result = try_call([&]() -> int { throw thrown; });
    REQUIRE(!result);
    CHECK(!result.has_value());
    CHECK(result.code() == result.error().code);
    return result.error();
}

}  // namespace

TEST_CASE("a call gives its value") {
    const auto number = try_call([] { return 7; });
    REQUIRE(number);
    CHECK(*number == 7);
    CHECK(number.code() == ErrorCode::ok);
    CHECK_THROWS_AS(number.error(), std::bad_variant_access);
    auto owner = try_call([] { return std::make_unique<std::string>("text"); });
    REQUIRE(owner);
    CHECK((*owner)->size() == 4);
    const std::unique_ptr<std::string> taken = *std::move(owner);
    CHECK(*taken == "text");
    int calls = 0;
    CHECK(try_call([&] { ++calls; }));
    CHECK(calls == 1);
}

TEST_CASE("a call that throws gives the code and the sentence") {
    CHECK(failure_of_call(InvalidArgument("no axis 4")).code == ErrorCode::invalid_argument);
    CHECK(failure_of_call(InvalidArgument("no axis 4")).message == "no axis 4");
    CHECK(failure_of_call(OutOfMemory("x")).code == ErrorCode::out_of_memory);
    CHECK(failure_of_call(std::bad_alloc()).code == ErrorCode::out_of_memory);
    CHECK(failure_of_call(GpuUnavailable("x")).code == ErrorCode::unavailable);
    CHECK(failure_of_call(DeviceFailure("x")).code == ErrorCode::unavailable);
    CHECK(failure_of_call(OutputExists("x")).code == ErrorCode::output_exists);
    CHECK(failure_of_call(BadData("x")).code == ErrorCode::bad_data);
    CHECK(failure_of_call(InputNotFound("x")).code == ErrorCode::input_not_found);
    CHECK(failure_of_call(CannotCreate("x")).code == ErrorCode::cannot_create);
    CHECK(failure_of_call(IoError("x")).code == ErrorCode::io_error);
    CHECK(failure_of_call(PipeClosed("x")).code == ErrorCode::pipe_closed);
    CHECK(failure_of_call(Cancelled("x")).code == ErrorCode::cancelled);
    CHECK(failure_of_call(InternalError("x")).code == ErrorCode::internal);
    CHECK(failure_of_call(Error("x")).code == ErrorCode::runtime_fault);
    CHECK(failure_of_call(std::logic_error("x")).code == ErrorCode::internal);
    CHECK(failure_of_call(5).code == ErrorCode::internal);
    const auto refused = std::make_error_code(std::errc::resource_unavailable_try_again);
    CHECK(failure_of_call(std::system_error(refused)).code == ErrorCode::out_of_memory);
    const auto other = std::make_error_code(std::errc::permission_denied);
    CHECK(failure_of_call(std::system_error(other)).code == ErrorCode::runtime_fault);
    CHECK(try_call([] { throw BadData("x"); }).code() == ErrorCode::bad_data);
}

}  // namespace convolume
