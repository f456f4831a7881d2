// SPDX-License-Identifier: Apache-2.0
#include "cli/compare/reference.hpp"

namespace convolume::cli {

ReferenceKind parse_reference(std::string_view text) {
    for (const auto kind :
         {ReferenceKind::automatic, ReferenceKind::direct, ReferenceKind::fft, ReferenceKind::none})
        if (text == to_string(kind)) return kind;
    throw InvalidArgument(message("--reference is auto, direct, fft or none, not \"", text,
                                  "\"; choose one of these"));
}

const char* to_string(ReferenceKind kind) {
    switch (kind) {
        case ReferenceKind::automatic:
            return "auto";
        case ReferenceKind::direct:
            return "direct";
        case ReferenceKind::fft:
            return "fft";
        case ReferenceKind::none:
            break;
    }
    return "none";
}

Reference make_reference(const Subject& subject, ReferenceKind kind, index_t limit_bytes,
                         const std::stop_token& stop) {
    if (kind == ReferenceKind::none) return {{}, "none was asked for"};
    const bool direct =
        kind == ReferenceKind::direct ||
        (kind == ReferenceKind::automatic && subject.products() <= most_direct_products);
    Reference reference;
    try {
        const auto planned =
            subject.plan({"cpu", direct ? "direct" : "auto", 0, 0, "float64", 0}, limit_bytes);
        reference.description = direct ? "direct sums in float64 on the CPU"
                                       : message("float64 on the CPU (", planned->plan(), ')');
        Volume result = planned->make_result();
        ExecutionContext context;
        context.stop = stop;
        planned->execute(result.view(), context);
        throw_if_stopped(context);
        reference.result = std::move(result);
    } catch (const OutOfMemory& error) {
        return {{}, message("none, since ", error.what())};
    }
    return reference;
}

}  // namespace convolume::cli
