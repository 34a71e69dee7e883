#include <algorithm>
#include <utility>

#include "forge/formats/safetensors.h"
#include "forge/json/parse.h"

namespace forge::formats {
namespace {

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
class IndexVisitor final : public json::Visitor {
 public:
  bool has_weight_map() const { return has_weight_map_; }
  std::map<std::string, std::string>& files() { return files_; }
  std::string& tensor_at_fault() { return tensor_at_fault_; }  ///< empty: it is of none

  bool key(std::string_view key) override {
    if (depth_ == 1) {
      is_weight_map_ = key == kWeightMap;
      if (is_weight_map_ && std::exchange(has_weight_map_, true)) {
        return fail("weight_map is there twice");
      }
    } else if (is_in_weight_map()) {
      name_ = key;
      if (!files_.try_emplace(name_).second) return refuse("the name is there twice");
    }
    return true;
  }

  bool value(const json::Value& value) override {
    if (is_in_weight_map()) return file_name(value);
    const bool is_object = std::holds_alternative<json::Object>(value);
    if (depth_ == 0 && !is_object) {
      return fail("the index is " + shown(value) + "; accepted is an object");
    }
    if (depth_ == 1 && is_weight_map_ && !is_object) {
      return fail("weight_map is " + shown(value) + "; accepted is an object");
    }
    if (is_object || std::holds_alternative<json::Array>(value)) ++depth_;
    return true;
  }

  bool end() override {
    --depth_;
    return true;
  }

 private:
  /// The tensor at hand is at fault.
  bool refuse(const std::string& message) {
    tensor_at_fault_ = name_;
    return fail(message);
  }

  bool is_in_weight_map() const { return depth_ == 2 && is_weight_map_; }

  bool file_name(const json::Value& value) {
    const auto* const file = std::get_if<std::string_view>(&value);
    if (file == nullptr || !is_plain_file_name(*file)) {
      return refuse("its file is " + shown(value) +
                    "; accepted are names of files in the same directory");
    }
    files_[name_] = *file;
    return true;
  }

  int depth_ = 0;
  bool is_weight_map_ = false;  // the member of the index at hand
  bool has_weight_map_ = false;
  std::string name_;
  std::string tensor_at_fault_;
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
  if (auto read = visit(text, SafeTensors::kDepthMax, visitor); !read) {
    auto& [message, byte] = read.error();
    return tl::unexpected(
        FileError{path, std::move(message), std::move(visitor.tensor_at_fault()), byte});
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
