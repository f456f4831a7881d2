// SPDX-License-Identifier: Apache-2.0
#pragma once
// Includes all of the library convolume. Files are in image_file.hpp and signal_file.hpp, of the
// library convolume-io.

#include "convolume/beads.hpp"
#include "convolume/bleaching.hpp"
#include "convolume/cache.hpp"
#include "convolume/calibration.hpp"
#include "convolume/camera.hpp"
#include "convolume/channelizer.hpp"
#include "convolume/convolver.hpp"
#include "convolume/correlation.hpp"
#include "convolume/deconvolver.hpp"
#include "convolume/deskew.hpp"
#include "convolume/device.hpp"
#include "convolume/filter_bank.hpp"
#include "convolume/image_stream.hpp"
#include "convolume/image_view.hpp"
#include "convolume/missing_pixels.hpp"
#include "convolume/phantom.hpp"
#include "convolume/psf.hpp"
#include "convolume/psf_fit.hpp"
#include "convolume/resample.hpp"
#include "convolume/scratch_image.hpp"
#include "convolume/stage_scan.hpp"
#include "convolume/stream_filter.hpp"
#include "convolume/version.hpp"
