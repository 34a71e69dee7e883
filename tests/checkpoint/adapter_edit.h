// EditableAdapter: a LoRA adapter of tests/golden/lora, to be changed and written elsewhere.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "checkpoint/checkpoint_edit.h"
#include "formats/scratch_folder.h"

namespace forge::testing {

/// The folder of an adapter of tests/golden/lora, or another file there.
std::string golden_lora(const std::string& name);

struct EditableAdapter {
  /// An adapter of tests/golden/lora.
  explicit EditableAdapter(const std::string& name);

  /// Writes adapter_config.json and adapter_model.safetensors.
  void write(const formats::testing::ScratchFolder& folder) const;

  /// The error that merging it into a golden model gives, without the folder; "" where it merges.
  std::string error(const std::string& base) const;

  nlohmann::json config;
  EditableTensors tensors;
};

}  // namespace forge::testing
