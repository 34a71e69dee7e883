// forge-model info
#include <algorithm>
#include <iomanip>
#include <iostream>
#include <sstream>

#include "forge/runtime/kv_memory.h"
#include "model_commands.h"
#include "model_facts.h"
#include "model_forms.h"

namespace forge::apps {
namespace {

using nlohmann::ordered_json;

constexpr std::size_t kKeyWidth = 21;     // so that most sections have the same columns
constexpr std::size_t kKeyWidthMax = 48;  // a key of metadata may have any length

ordered_json facts_of(const checkpoint::TensorFile& file, const InfoOptions& options) {
  ordered_json facts{{"path", options.path}, {"file", file_facts(file)}};
  if (const auto checkpoint = checkpoint::Checkpoint::open(options.path)) {
    facts["model"] = config_facts(checkpoint->config());
    facts["model"]["assumed"] = assumptions(*checkpoint);
    facts["forms"] = form_facts(*checkpoint);
    facts["size"] = size_facts(*checkpoint, file);
  } else {
    facts["not_understood"] = to_string(checkpoint.error());
    facts["metadata"] = metadata_facts(file);
  }
  facts["tokenizer"] = tokenizer_facts(file, options.path);
  return facts;
}

/// "kv_heads" as people read it.
std::string words(std::string key) {
  std::replace(key.begin(), key.end(), '_', ' ');
  return key;
}

std::string value_text(const std::string& key, const ordered_json& value) {
  if (key.ends_with("_bytes")) return runtime::bytes_text(value.get<std::uint64_t>());
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number_float()) {
    std::ostringstream out;
    out << std::setprecision(6) << value.get<double>();
    return out.str();
  }
  if (!value.is_array()) return value.dump();
  std::string text;
  for (const ordered_json& element : value) {
    text += (text.empty() ? "" : ", ") + value_text("", element);
  }
  return text.empty() ? "none" : text;
}

/// Of a section's first column: that of its longest key, within bounds.
int key_width(const ordered_json& facts) {
  std::size_t width = kKeyWidth;
  for (const auto& [key, value] : facts.items()) width = std::max(width, key.size());
  return static_cast<int>(std::min(width, kKeyWidthMax));
}

void print_section(const std::string& name, const ordered_json& facts) {
  std::cout << name << '\n';
  const auto begin_line = [width = key_width(facts)](const std::string& key) -> std::ostream& {
    return std::cout << "  " << std::left << std::setw(width) << key << ' ';
  };
  for (const auto& [key, value] : facts.items()) {
    if (key == "types") {
      for (const auto& [type, share] : value.items()) {
        begin_line(type) << share["tensors"].get<std::uint64_t>() << " tensors, "
                         << runtime::bytes_text(share["tensor_bytes"].get<std::uint64_t>()) << '\n';
      }
      continue;
    }
    if (name == "forms") {
      begin_line(key) << value["matrices"] << " matrices, packed as "
                      << value["packed_as"].get<std::string>() << '\n';
      continue;
    }
    if (key == "assumed" && !value.empty()) {  // sentences: a line each
      for (const ordered_json& sentence : value) {
        begin_line(words(key)) << sentence.get<std::string>() << '\n';
      }
      continue;
    }
    // Keys of metadata are names of a format, not words.
    begin_line(name == "metadata" ? key : words(key)) << value_text(key, value) << '\n';
  }
}

void print_tensors(const ordered_json& tensors) {
  std::cout << std::left << std::setw(48) << "tensor" << std::setw(6) << "type" << std::setw(18)
            << "shape" << std::right << std::setw(12) << "bytes" << std::setw(14) << "offset"
            << '\n';
  for (const ordered_json& tensor : tensors) {
    std::cout << std::left << std::setw(48) << tensor["name"].get<std::string>() << std::setw(6)
              << tensor["type"].get<std::string>() << std::setw(18)
              << "[" + (tensor["shape"].empty() ? "" : value_text("", tensor["shape"])) + "]"
              << std::right << std::setw(12) << tensor["bytes"].get<std::uint64_t>()
              << std::setw(14) << tensor["offset"].get<std::uint64_t>() << '\n';
  }
}

}  // namespace

int run_info(const InfoOptions& options) {
  const auto file = checkpoint::TensorFile::open(options.path);
  if (!file) return unusable_model("PATH: " + to_string(file.error()));
  ordered_json facts = facts_of(*file, options);
  if (options.as_json) {
    facts["tensors"] = tensor_facts(*file);
    constexpr auto kReplace = ordered_json::error_handler_t::replace;
    std::cout << facts.dump(2, ' ', false, kReplace) << '\n';
    return kModelDone;
  }
  for (const auto& [name, section] : facts.items()) {
    if (section.is_object()) {
      print_section(name, section);
    } else {
      std::cout << words(name) << ": " << section.get<std::string>() << '\n';
    }
  }
  if (options.tensors || facts.contains("not_understood")) print_tensors(tensor_facts(*file));
  return kModelDone;
}

}  // namespace forge::apps
