// What forge-model info says, as JSON; its text is the same facts in lines.
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <tl/expected.hpp>
#include <variant>

#include "forge/checkpoint/checkpoint.h"
#include "forge/formats/gguf.h"
#include "forge/formats/safetensors.h"

namespace forge::apps {

/// The tensors of a path, whether or not Forge knows the model.
using TensorFile = std::variant<formats::SafeTensors, formats::Gguf>;

/// Errors: it is neither a directory nor a file of the two formats, or not a readable one.
tl::expected<TensorFile, std::string> open_tensors(const std::string& path);

std::span<const formats::Tensor> tensors_of(const TensorFile& file);

/// "format", "tensors", "bytes", and of each type "count" and "bytes".
nlohmann::ordered_json file_facts(const TensorFile& file);

/// The metadata, long texts and arrays cut short.
nlohmann::ordered_json metadata_facts(const TensorFile& file);

/// Name, type, shape, bytes and offset of each.
nlohmann::ordered_json tensor_facts(const TensorFile& file);

/// The configuration in the field's words.
nlohmann::ordered_json config_facts(const model::ModelConfig& config);

/// Parameters, bits a weight, and memory.
nlohmann::ordered_json size_facts(const checkpoint::Checkpoint& checkpoint, const TensorFile& file);

/// "kind" and "tokens", or why there is none.
nlohmann::ordered_json tokeniser_facts(const TensorFile& file, const std::string& path);

}  // namespace forge::apps
