// SPDX-License-Identifier: Apache-2.0
// libsharp_coll's public interface, as this build knows it.
//
// Only the vendor's header knows the layouts for sure. Where CMake has found it, it is used, and
// the library of the same release may be loaded. Elsewhere declarations.h stands in: the same names
// in a layout of our own, good for the stand-in library of the tests and for nothing else;
// library.cc then loads no other.
#pragma once

#ifdef SLUICE_HAVE_SHARP_HEADER
#include <sharp/api/sharp_coll.h>
#else
#include "sharp/libsharp/declarations.h"
#endif
