// What forge-model info says, as JSON; its text is the same facts in lines.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "forge/checkpoint/checkpoint.h"
#include "forge/checkpoint/tensor_file.h"

namespace forge::apps {

struct ParameterCount {
  std::uint64_t total = 0;
  std::uint64_t active = 0;  ///< those that one token meets, which are not all experts
};
ParameterCount count_parameters(const model::ModelConfig& config, const model::StoredModel& model);

/// "format", "tensors", "bytes", and of each type "count" and "bytes".
nlohmann::ordered_json file_facts(const checkpoint::TensorFile& file);

/// The metadata, long texts and arrays cut short.
nlohmann::ordered_json metadata_facts(const checkpoint::TensorFile& file);

/// Name, type, shape, bytes and offset of each tensor.
nlohmann::ordered_json tensor_facts(const checkpoint::TensorFile& file);

/// The configuration in the field's words.
nlohmann::ordered_json config_facts(const model::ModelConfig& config);

/// Parameters, bits a weight, and memory.
nlohmann::ordered_json size_facts(const checkpoint::Checkpoint& checkpoint,
                                  const checkpoint::TensorFile& file);

/// "kind" and "tokens", or why there is none.
nlohmann::ordered_json tokenizer_facts(const checkpoint::TensorFile& file, const std::string& path);

}  // namespace forge::apps
