// SPDX-License-Identifier: Apache-2.0
#include "io/tiff/jpeg2000.hpp"

#ifdef CONVOLUME_HAVE_OPENJPEG
#include <openjpeg.h>
#endif
#include <tiffio.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "convolume/error.hpp"

namespace convolume::io {

bool is_jpeg2000(std::uint16_t compression) {
    // Two codes of Aperio, the code that Bio-Formats writes for lossy data, and the registered one.
    return compression == 33003 || compression == 33004 || compression == 33005 ||
           compression == COMPRESSION_JP2000;
}

#ifdef CONVOLUME_HAVE_OPENJPEG
namespace {

/// A JPEG 2000 codestream in memory, for OpenJPEG's callbacks.
struct MemoryCodestream {
    const std::string& bytes;
    std::size_t at = 0;
};

OPJ_SIZE_T read_codestream(void* to, OPJ_SIZE_T count, void* self) {
    auto& source = *static_cast<MemoryCodestream*>(self);
    const std::size_t left = source.bytes.size() - source.at;
    if (left == 0) return static_cast<OPJ_SIZE_T>(-1);
    const std::size_t got = std::min<std::size_t>(count, left);
    std::memcpy(to, source.bytes.data() + source.at, got);
    source.at += got;
    return got;
}

OPJ_OFF_T skip_codestream(OPJ_OFF_T count, void* self) {
    auto& source = *static_cast<MemoryCodestream*>(self);
    const auto left = static_cast<OPJ_OFF_T>(source.bytes.size() - source.at);
    if (count < 0) return -1;
    const OPJ_OFF_T skipped = std::min(count, left);
    source.at += static_cast<std::size_t>(skipped);
    return skipped;
}

OPJ_BOOL seek_codestream(OPJ_OFF_T position, void* self) {
    auto& source = *static_cast<MemoryCodestream*>(self);
    if (position < 0 || static_cast<std::size_t>(position) > source.bytes.size()) return OPJ_FALSE;
    source.at = static_cast<std::size_t>(position);
    return OPJ_TRUE;
}

/// Keeps the first error message. No exception may cross OpenJPEG.
void keep_error(const char* text, void* self) {
    auto& reason = *static_cast<std::string*>(self);
    if (!reason.empty() || text == nullptr) return;
    try {
        reason = text;
        while (!reason.empty() && (reason.back() == '\n' || reason.back() == '.'))
            reason.pop_back();
    } catch (...) {  // without memory, the caller reports a failure without a reason
    }
}

template <class T>
void copy_component(const opj_image_comp_t& component, index_t count, index_t step, T* to) {
    for (index_t i = 0; i < count; ++i) to[i * step] = static_cast<T>(component.data[i]);
}

/// Tells whether the decoded image has the size and type of the TIFF strip or TIFF tile.
bool fits(const opj_image_t& image, index_t rows, index_t columns, index_t samples,
          PixelType type) {
    if (static_cast<index_t>(image.numcomps) != samples) return false;
    const bool has_signs = type == PixelType::int8 || type == PixelType::int16;
    for (OPJ_UINT32 c = 0; c < image.numcomps; ++c) {
        const opj_image_comp_t& component = image.comps[c];
        if (static_cast<index_t>(component.w) != columns ||
            static_cast<index_t>(component.h) != rows || component.prec > 8 * size_of(type) ||
            (component.sgnd != 0) != has_signs)
            return false;
    }
    return true;
}

}  // namespace

bool decodes_jpeg2000() {
    return true;
}

std::string decode_jpeg2000(const std::string& coded, index_t rows, index_t columns,
                            index_t samples, PixelType type, void* pixels) {
    constexpr const char* other_size = "its JPEG 2000 image has another size or type";
    const bool is_file = coded.size() > 8 && coded.compare(4, 4, "jP  ") == 0;
    const std::unique_ptr<opj_codec_t, void (*)(opj_codec_t*)> codec(
        opj_create_decompress(is_file ? OPJ_CODEC_JP2 : OPJ_CODEC_J2K), opj_destroy_codec);
    const std::unique_ptr<opj_stream_t, void (*)(opj_stream_t*)> stream(
        opj_stream_create(1 << 16, OPJ_TRUE), opj_stream_destroy);
    if (!codec || !stream) throw OutOfMemory("no memory for decoding JPEG 2000");
    std::string reason;
    opj_set_error_handler(codec.get(), keep_error, &reason);
    MemoryCodestream bytes{coded};
    opj_stream_set_user_data(stream.get(), &bytes, nullptr);
    opj_stream_set_user_data_length(stream.get(), coded.size());
    opj_stream_set_read_function(stream.get(), read_codestream);
    opj_stream_set_skip_function(stream.get(), skip_codestream);
    opj_stream_set_seek_function(stream.get(), seek_codestream);
    opj_dparameters_t parameters;
    opj_set_default_decoder_parameters(&parameters);
    opj_image_t* header = nullptr;
    const bool is_readable = opj_setup_decoder(codec.get(), &parameters) &&
                             opj_read_header(stream.get(), codec.get(), &header);
    const std::unique_ptr<opj_image_t, void (*)(opj_image_t*)> image(header, opj_image_destroy);
    const auto failure = [&] { return reason.empty() ? "OpenJPEG gave no reason" : reason; };
    if (!is_readable || !image) return failure();
    // OpenJPEG decodes as much as the header says, so it is compared with the TIFF's size first.
    if (!fits(*image, rows, columns, samples, type)) return other_size;
    if (!opj_decode(codec.get(), stream.get(), image.get())) return failure();
    if (!fits(*image, rows, columns, samples, type)) return other_size;
    for (index_t c = 0; c < samples; ++c) {
        const opj_image_comp_t& component = image->comps[c];
        if (component.data == nullptr) return failure();
        if (size_of(type) == 1)
            copy_component(component, rows * columns, samples,
                           static_cast<std::uint8_t*>(pixels) + c);
        else
            copy_component(component, rows * columns, samples,
                           static_cast<std::uint16_t*>(pixels) + c);
    }
    return "";
}

#else

bool decodes_jpeg2000() {
    return false;
}

std::string decode_jpeg2000(const std::string&, index_t, index_t, index_t, PixelType, void*) {
    throw InternalError("JPEG 2000 was to be decoded by a build without it");
}

#endif

}  // namespace convolume::io
