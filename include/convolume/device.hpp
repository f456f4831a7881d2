// SPDX-License-Identifier: Apache-2.0
#pragma once
// Convolution and deconvolution of images, and filtering of signals, that are already in the memory
// of GPUs.

#include "convolume/device_convolver.hpp"
#include "convolume/device_deconvolver.hpp"
#include "convolume/device_forward_model.hpp"
#include "convolume/device_signals.hpp"
