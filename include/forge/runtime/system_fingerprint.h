// The fingerprint of a model on its target (receipt/fingerprint.h).
#pragma once

#include "forge/receipt/fingerprint.h"
#include "forge/runtime/open.h"

namespace forge::runtime {

/// Reads the vocabulary; digests of weights are those that were taken when the model opened.
receipt::Fingerprint fingerprint_of(Runtime& runtime);

}  // namespace forge::runtime
