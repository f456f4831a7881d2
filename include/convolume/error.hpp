// SPDX-License-Identifier: Apache-2.0
#pragma once
// The errors convolume throws. Every message is one sentence: what was asked, what was found, the
// cure. The command maps each type to its documented exit code (docs/command.md).

#include <sstream>
#include <stdexcept>
#include <string>

#include "convolume/export.hpp"

namespace convolume {

/// Base of all errors thrown by the library.
class CONVOLUME_API Error : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

/// An option or argument that contradicts itself or the data it is applied to.
class CONVOLUME_API InvalidArgument : public Error {
    using Error::Error;
};
/// Content that cannot be used: corrupt files, kernels of zeros, NaN where it is refused.
class CONVOLUME_API BadData : public Error {
    using Error::Error;
};
/// An input that does not exist or cannot be opened.
class CONVOLUME_API InputNotFound : public Error {
    using Error::Error;
};
/// An output that cannot be created.
class CONVOLUME_API CannotCreate : public Error {
    using Error::Error;
};
/// An output that exists already and may not be replaced.
class CONVOLUME_API OutputExists : public Error {
    using Error::Error;
};
/// Reading or writing failed half-way: a full disk, a lost file system.
class CONVOLUME_API IoError : public Error {
    using Error::Error;
};
/// Nobody reads any more what is written to a pipe.
class CONVOLUME_API PipeClosed : public IoError {
    using IoError::IoError;
};
/// No plan fits the memory limits, or the system refused memory.
class CONVOLUME_API OutOfMemory : public Error {
    using Error::Error;
};
/// The demanded device, backend or format is not part of this machine or build.
class CONVOLUME_API Unavailable : public Error {
    using Error::Error;
};
/// A device failed while it worked: lost, reset, or out of order. Other engines may go on.
class CONVOLUME_API DeviceFailure : public Unavailable {
    using Unavailable::Unavailable;
};
/// The caller asked to stop.
class CONVOLUME_API Cancelled : public Error {
    using Error::Error;
};
/// A broken invariant: a bug in convolume.
class CONVOLUME_API InternalError : public Error {
    using Error::Error;
};

/// Text in the making. Where memory is refused it throws bad_alloc: other streams leave out what
/// comes.
class TextStream : public std::ostringstream {
  public:
    TextStream() { exceptions(std::ios_base::badbit); }
};

/// Joins its arguments, in order, with operator<<: `message("axis ", axis, " is empty")`.
template <class... Parts>
std::string message(const Parts&... parts) {
    TextStream text;
    (text << ... << parts);
    return text.str();
}

}  // namespace convolume
