// Products with codes; tests can choose the instruction that multiplies bytes.
#pragma once

#include "panels.h"

namespace forge::linear::codes {

enum class ByteProducts {
  fastest,   ///< the fastest that the processor has
  widening,  ///< without instructions for four products of bytes
};

/// multiply of panels.h, whose bits do not depend on `products`.
void multiply(const PanelProduct& product, ByteProducts products);

}  // namespace forge::linear::codes
