// SPDX-License-Identifier: Apache-2.0
#pragma once
// CONVOLUME_API marks what the shared libraries export; everything else is hidden.

#define CONVOLUME_API __attribute__((visibility("default")))
