// SPDX-License-Identifier: Apache-2.0
#pragma once
// Images that are convolved while a microscope records them.

#include <memory>

#include "convolume/export.hpp"
#include "convolume/image_stream.hpp"

namespace convolume {

/// A few volumes in memory, whose planes come one after another from one thread, and which another
/// thread takes one by one as sources. A volume may be read before it is complete: reads wait for
/// planes that have not come yet. Both threads call end(), however they leave, so that none waits
/// for the other for ever: EndScope does so.
/// @code{.cpp}
/// const Shape3 shape{8, 32, 32};
/// VolumeRing ring(shape, PixelType::uint16, 2);
/// std::jthread camera([&] {
///     const VolumeRing::EndScope ends(ring);
///     const Volume plane({1, 32, 32}, PixelType::uint16);
///     for (int i = 0; i < 5 * 8; ++i) ring.push(plane.view());
/// });
/// const VolumeRing::EndScope ends(ring);  // before the camera's thread is joined
/// Volume kernel({3, 3, 3}, PixelType::float32), blurred(shape, PixelType::float32);
/// kernel.elements<float>()[13] = 1;
/// const Convolver blur(shape, kernel.view());
/// ViewSink results(blurred.view());
/// while (ImageSource* const image = ring.next()) blur.execute(*image, results);
/// @endcode
class CONVOLUME_API VolumeRing {
  public:
    /// Ends a ring at the end of its own lifetime.
    class EndScope {
      public:
        explicit EndScope(VolumeRing& ring) : ring_(ring) {}
        ~EndScope() { ring_.end(); }
        EndScope(const EndScope&) = delete;
        EndScope& operator=(const EndScope&) = delete;

      private:
        VolumeRing& ring_;
    };

    /// Makes room for `volumes` volumes, of which the thread that takes them holds one. Throws
    /// InvalidArgument for fewer than 1 and for volumes without samples, and OutOfMemory.
    VolumeRing(const Shape3& shape, PixelType type, index_t volumes);

    /// Appends planes, of shape (planes, y, x): those of a volume follow one another. Waits for
    /// room. Returns false after end(), and then takes no more planes. Throws InvalidArgument for
    /// another shape or type.
    bool push(const ConstImageView& planes);
    /// Returns the number of planes for which there is room now; 0 after end(). A caller that
    /// cannot wait drops whole volumes: without a plane, all later ones would come to a wrong
    /// place.
    index_t room() const;
    /// Says that no more planes come, or that no more volumes are taken. It ends all waits, as a
    /// requested stop does not.
    void end();
    bool is_ended() const;

    /// Frees the volume that was taken before, and waits for a plane of the next one. Returns null
    /// if none comes. Reads of planes that never come throw BadData. The source is valid until the
    /// next call.
    ImageSource* next();

  private:
    struct Impl;
    Hidden<Impl> impl_;
};

}  // namespace convolume
