// SPDX-License-Identifier: Apache-2.0
#include "core/option_names.hpp"

namespace convolume {

const char* to_string(TransferGate gate) {
    return name_of(gate);
}

TransferGate parse_transfer_gate(std::string_view text) {
    return parse_name<TransferGate>(text, "the transfer gate is ");
}

}  // namespace convolume
