#include <algorithm>
#include <utility>

#include "forge/formats/safetensors.h"
#include "safetensors_json.h"
#include "shown.h"

namespace forge::formats {
namespace {

using detail::JsonObject;
using detail::JsonValue;

constexpr std::string_view kWeightMap = "weight_map";

/// Whether it names something in the directory itself, and can be shown in an error.
bool is_plain_file_name(std::string_view name) {
  const auto is_plain = [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return c != '/' && byte >= 0x20 && byte != 0x7f;
  };
  return !name.empty() && name != "." && name != ".." &&
         std::all_of(name.begin(), name.end(), is_plain);
}

/// Keeps the members of the weight map; what else an index has is passed over.
class IndexVisitor final : public detail::JsonVisitor {
 public:
  bool has_weight_map() const { return has_weight_map_; }
  std::map<std::string, std::string>& files() { return files_; }

  bool key(std::string_view key) override {
    if (depth_ == 1) {
      is_weight_map_ = key == kWeightMap;
      if (is_weight_map_ && std::exchange(has_weight_map_, true)) {
        return fail("weight_map is there twice");
      }
    } else if (is_in_weight_map()) {
      name_ = key;
      if (!files_.try_emplace(name_).second) return fail("the name is there twice", name_);
    }
    return true;
  }

  bool value(const JsonValue& value) override {
    if (is_in_weight_map()) return file_name(value);
    const bool is_object = std::holds_alternative<JsonObject>(value);
    if (depth_ == 0 && !is_object) {
      return fail("the index is " + shown_json(value) + "; accepted is an object");
    }
    if (depth_ == 1 && is_weight_map_ && !is_object) {
      return fail("weight_map is " + shown_json(value) + "; accepted is an object");
    }
    if (is_object || std::holds_alternative<detail::JsonArray>(value)) ++depth_;
    return true;
  }

  bool end() override {
    --depth_;
    return true;
  }

 private:
  bool is_in_weight_map() const { return depth_ == 2 && is_weight_map_; }

  bool file_name(const JsonValue& value) {
    const auto* const file = std::get_if<std::string_view>(&value);
    if (file == nullptr || !is_plain_file_name(*file)) {
      return fail("its file is " + shown_json(value) +
                      "; accepted are names of files in the same directory",
                  name_);
    }
    files_[name_] = *file;
    return true;
  }

  int depth_ = 0;
  bool is_weight_map_ = false;  // the member of the index at hand
  bool has_weight_map_ = false;
  std::string name_;
  std::map<std::string, std::string> files_;
};

}  // namespace

tl::expected<std::map<std::string, std::string>, FileError> parse_safetensors_index(
    std::span<const std::byte> file, const std::string& path) {
  if (file.size() > SafeTensors::kHeaderBytesMax) {
    return tl::unexpected(FileError{.file = path,
                                    .message = "the index has " + std::to_string(file.size()) +
                                               " bytes; accepted are up to " +
                                               std::to_string(SafeTensors::kHeaderBytesMax)});
  }
  IndexVisitor visitor;
  const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
  if (auto read = detail::read_json(text, visitor); !read) {
    auto& fault = read.error();
    return tl::unexpected(
        FileError{path, std::move(fault.message), std::move(fault.name), fault.byte});
  }
  if (!visitor.has_weight_map()) {
    return tl::unexpected(FileError{.file = path, .message = "weight_map is missing"});
  }
  if (visitor.files().empty()) {
    return tl::unexpected(FileError{
        .file = path,
        .message = "weight_map is empty; accepted are names of tensors, each with its file"});
  }
  return std::move(visitor.files());
}

}  // namespace forge::formats
