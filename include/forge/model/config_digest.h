// The digest of a ModelConfig, beside that of the weights (weights_digest.h): a config.json edited
// by hand, with another rope base, say, leaves every weight as it is and changes every result.
//
// There are two digests so that an error can say which of the two differs. This one is taken of all
// fields in the order of model_config.h, in the byte form of core/digest.h, and beyond what that
// says:
//
//   - a double is its 64-bit pattern;
//   - an optional is whether it is there, then its value;
//   - a variant is the index of its alternative, then its value.
//
// Fields that came after the first digests, and their letters before them, are added only where a
// model has what they are about: older models keep the digests that are written down somewhere.
//
// `family` is left out: it is a name, which GGUF and config.json may spell differently.
//
// Pure, thread-safe.
#pragma once

#include <cstdint>

#include "forge/model/model_config.h"

namespace forge::model {

std::uint64_t digest_of(const ModelConfig& config);

}  // namespace forge::model
