// SPDX-License-Identifier: Apache-2.0
#include "convolume/engines.hpp"
#include "convolume/error.hpp"

namespace convolume {

const char* to_string(TransferGate gate) {
    switch (gate) {
        case TransferGate::automatic:
            return "auto";
        case TransferGate::global:
            return "global";
        case TransferGate::per_link:
            return "per-link";
        case TransferGate::off:
            return "off";
    }
    throw InternalError("a transfer gate outside its enumeration");
}

TransferGate parse_transfer_gate(std::string_view text) {
    for (const TransferGate gate :
         {TransferGate::automatic, TransferGate::global, TransferGate::per_link, TransferGate::off})
        if (text == to_string(gate)) return gate;
    throw InvalidArgument(message("the transfer gate is auto, global, per-link or off, not \"",
                                  text, "\"; choose one of these"));
}

}  // namespace convolume
