// The trained built-in model: files that are part of the library, so that a program that was just
// built has a model that answers.
//
// Its architecture is that of tiny_transformer.h, its text that of corpus/document.h. scripts/train
// makes the weights and the tokenizer; the build refuses files whose SHA-256 is not that of
// src/builtin/SHA256SUMS.
//
// Thread contract: pure.
#pragma once

#include <string_view>

#include "forge/reference/tiny_config.h"
#include "forge/reference/weights.h"

namespace forge::builtin {

/// Its seed is the default one, and means nothing.
reference::TinyConfig trained_config();

/// A copy of the linked data, of the shape of trained_config().
reference::Weights trained_weights();

/// tokenizer.json, as load_tokenizer.h reads it.
std::string_view trained_tokenizer();

}  // namespace forge::builtin
