#include "forge/formats/json_tree.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "shown.h"

namespace forge::formats {
namespace {

using nlohmann::json;

/// Builds the tree from the parser's events and stops it at the first that is not to be.
class TreeBuilder final : public nlohmann::json_sax<json> {
 public:
  explicit TreeBuilder(std::string_view text) : text_(text) {}

  json& tree() { return tree_; }
  FileError& error() { return error_; }

  bool null() override { return put(nullptr); }
  bool boolean(bool value) override { return put(value); }
  bool number_integer(json::number_integer_t value) override { return put(value); }
  bool number_unsigned(json::number_unsigned_t value) override { return put(value); }
  bool number_float(json::number_float_t value, const std::string&) override { return put(value); }
  bool string(std::string& value) override { return put(std::move(value)); }
  bool binary(json::binary_t&) override { return false; }  // which a text cannot hold
  bool start_object(std::size_t) override { return open(json::object()); }
  bool start_array(std::size_t) override { return open(json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(std::string& key) override {
    auto& members = open_.back()->get_ref<json::object_t&>();
    const auto [member, is_new] = members.try_emplace(std::move(key));
    if (!is_new) return fail("has the key " + detail::shown(member->first) + " twice");
    member_ = &member->second;
    return true;
  }

  /// `position` is how many bytes have been read, the end of the text among them.
  bool parse_error(std::size_t position, const std::string& token,
                   const json::exception& cause) override {
    constexpr int kNumberOverflow = 406;
    constexpr std::size_t kBytesShown = 24;
    error_.offset = position > 0 ? position - 1 : 0;
    if (cause.id == kNumberOverflow) {
      return fail("the number " + detail::printable(token) +
                  " is out of range; accepted are those up to 1.797e+308 in size");
    }
    const std::string_view read = text_.substr(0, position);
    const std::size_t before = read.size() - std::min(read.size(), kBytesShown);
    return fail("is not JSON in or right after " + detail::shown(read.substr(before)));
  }

 private:
  bool fail(std::string message) {
    error_.message = std::move(message);
    return false;
  }

  /// Where the value belongs. Pointers into an array stay good: while one of its elements is open,
  /// it gets no others.
  json* place(json value) {
    json* place = &tree_;
    if (!open_.empty() && open_.back()->is_array()) {
      auto& elements = open_.back()->get_ref<json::array_t&>();
      place = &elements.emplace_back();
    } else if (!open_.empty()) {
      place = member_;
    }
    *place = std::move(value);
    return place;
  }

  bool put(json value) {
    place(std::move(value));
    return true;
  }

  bool open(json empty) {
    if (open_.size() == static_cast<std::size_t>(kJsonTreeDepthMax)) {
      return fail("nests objects and arrays deeper than " + std::to_string(kJsonTreeDepthMax));
    }
    open_.push_back(place(std::move(empty)));
    return true;
  }

  bool close() {
    open_.pop_back();
    return true;
  }

  std::string_view text_;
  json tree_;
  std::vector<json*> open_;  // objects and arrays that have not ended, from the outermost
  json* member_ = nullptr;   // of the innermost object: the value of its last key
  FileError error_;
};

}  // namespace

tl::expected<json, FileError> parse_json_tree(std::string_view text, const std::string& path) {
  // The parser takes a zero byte for the end of the text and never looks at what follows.
  if (const std::size_t zero = text.find('\0'); zero != std::string_view::npos) {
    return tl::unexpected(
        FileError{.file = path, .message = "is not JSON: a zero byte", .offset = zero});
  }
  TreeBuilder builder(text);
  if (json::sax_parse(text.begin(), text.end(), &builder)) return std::move(builder.tree());
  builder.error().file = path;
  return tl::unexpected(std::move(builder.error()));
}

tl::expected<MappedFile, FileError> open_json(const std::string& path, std::uint64_t bytes_max) {
  auto file = MappedFile::open(path);
  if (!file || file->bytes().size() <= bytes_max) return file;
  return tl::unexpected(FileError{.file = path,
                                  .message = "has " + std::to_string(file->bytes().size()) +
                                             " bytes; accepted are up to " +
                                             std::to_string(bytes_max)});
}

std::string_view text_of(const MappedFile& file) {
  return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
}

}  // namespace forge::formats
