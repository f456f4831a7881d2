#pragma once
// The errors convolume throws. Every message is one sentence: what was asked, what was found, the
// cure. The command maps each type to its documented exit code (docs/command.md).

#include <sstream>
#include <stdexcept>
#include <string>

namespace convolume {

/// Base of all errors thrown by the library.
class Error : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

/// An option or argument that contradicts itself or the data it is applied to.
class InvalidArgument : public Error {
    using Error::Error;
};
/// Content that cannot be used: corrupt files, kernels of zeros, NaN where it is refused.
class BadData : public Error {
    using Error::Error;
};
/// An input that does not exist or cannot be opened.
class InputNotFound : public Error {
    using Error::Error;
};
/// An output that cannot be created.
class CannotCreate : public Error {
    using Error::Error;
};
/// An output that exists already and may not be replaced.
class OutputExists : public Error {
    using Error::Error;
};
/// Reading or writing failed half-way: a full disk, a lost file system.
class IoError : public Error {
    using Error::Error;
};
/// No plan fits the memory limits, or the system refused memory.
class OutOfMemory : public Error {
    using Error::Error;
};
/// The demanded device, backend or format is not part of this machine or build.
class Unavailable : public Error {
    using Error::Error;
};
/// A device failed while it worked: lost, reset, or out of order. Other engines may go on.
class DeviceFailure : public Unavailable {
    using Unavailable::Unavailable;
};
/// The caller asked to stop.
class Cancelled : public Error {
    using Error::Error;
};
/// A broken invariant: a bug in convolume.
class InternalError : public Error {
    using Error::Error;
};

/// Joins its arguments, in order, with operator<<: `message("axis ", axis, " is empty")`.
template <class... Parts>
std::string message(const Parts&... parts) {
    std::ostringstream text;
    (text << ... << parts);
    return text.str();
}

}  // namespace convolume
