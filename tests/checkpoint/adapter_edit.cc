#include "checkpoint/adapter_edit.h"

#include <vector>

#include "forge/checkpoint/checkpoint.h"
#include "forge/checkpoint/lora.h"
#include "forge/formats/safetensors.h"
#include "forge/linear/thread_pool.h"

namespace forge::testing {

using formats::testing::ScratchFolder;

std::string golden_lora(const std::string& name) { return FORGE_GOLDEN_LORA "/" + name; }

EditableAdapter::EditableAdapter(const std::string& name)
    : config(json_file(golden_lora(name) + "/adapter_config.json")),
      tensors(copy_of(formats::SafeTensors::open(golden_lora(name) + "/adapter_model.safetensors")
                          .value()
                          .tensors())) {}

void EditableAdapter::write(const ScratchFolder& folder) const {
  folder.write("adapter_config.json", config.dump());
  write_safetensors(folder.file("adapter_model.safetensors"), tensors);
}

std::string EditableAdapter::error(const std::string& base) const {
  const ScratchFolder folder;
  write(folder);
  auto checkpoint = checkpoint::Checkpoint::open(base).value();
  linear::ThreadPool threads(1);
  const auto done = checkpoint.merge(std::vector{checkpoint::LoraSource{folder.path()}}, threads);
  if (done) return "";
  const std::string text = to_string(done.error());
  return text.starts_with(folder.path()) ? text.substr(folder.path().size() + 1) : text;
}

}  // namespace forge::testing
