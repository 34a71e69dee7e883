// Damage: one change of a checkpoint's description, or of its tensors, that a reader may get wrong.
// What was changed is still a file of its format: the containers have fuzzers of their own
// (tests/formats).
//
// Parts are often taken from another checkpoint, since what is right elsewhere gets further into a
// reader than what is right nowhere.
#pragma once

#include <nlohmann/json.hpp>

#include "checkpoint/checkpoint_edit.h"
#include "checkpoint/choices.h"
#include "forge/checkpoint/tensor_file.h"
#include "forge/formats/gguf_value.h"

namespace forge::testing {

/// A member, of the object or of one within, goes, is another's, or becomes a strange value.
void damage(nlohmann::json& config, const nlohmann::json& other, Choices& choices);

/// The same of the keys of GGUF. Borrows the values of `other`.
void damage(formats::GgufMetadata& metadata, const formats::GgufMetadata& other, Choices& choices);

/// A tensor goes, is another's, or has another name, type, shape or strange numbers.
void damage(EditableTensors& tensors, const EditableTensors& other, checkpoint::ModelFormat format,
            Choices& choices);

}  // namespace forge::testing
