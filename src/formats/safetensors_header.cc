#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>
#include <utility>

#include "forge/core/quoted.h"
#include "forge/formats/safetensors.h"
#include "forge/json/parse.h"
#include "safetensors_dtypes.h"

namespace forge::formats {
namespace {

constexpr std::uint64_t kLengthBytes = 8;
constexpr std::string_view kMetadata = "__metadata__";

/// A tensor of the header; offsets count from the start of the data.
struct Entry {
  std::optional<ElementType> type;
  std::optional<std::vector<std::uint64_t>> shape;
  std::optional<std::vector<std::uint64_t>> offsets;

  std::uint64_t begin() const { return (*offsets)[0]; }
  std::uint64_t end() const { return (*offsets)[1]; }
};
using Entries = std::map<std::string, Entry, std::less<>>;

/// "[0, 256]"
std::string shown_offsets(const Entry& entry) {
  return "[" + std::to_string(entry.begin()) + ", " + std::to_string(entry.end()) + "]";
}

/// Walks the header: each event is held against the place where it stands.
class HeaderVisitor final : public json::Visitor {
 public:
  HeaderVisitor(std::uint64_t data_bytes, std::map<std::string, std::string>& metadata)
      : data_bytes_(data_bytes), metadata_(metadata) {}

  Entries& entries() { return entries_; }
  std::string& tensor_at_fault() { return tensor_at_fault_; }  ///< empty: it is of none

  bool key(std::string_view key) override {
    switch (place_) {
      case Place::header:
        return key == kMetadata ? enter_metadata() : enter_tensor(key);
      case Place::metadata: {
        key_ = key;
        if (metadata_.emplace(key, "").second) return true;
        return fail("__metadata__ has key " + in_quotes(key) + " twice");
      }
      default:  // of a tensor: no other object gets this far
        return enter_field(key);
    }
  }

  bool value(const json::Value& value) override {
    switch (place_) {
      case Place::file:
        place_ = Place::header;  // parse_safetensors() has seen its bracket
        return true;
      case Place::header:
        return start_member(value);
      case Place::metadata:
        return metadata_text(value);
      case Place::tensor:
        return field(value);
      default:
        return element(value);
    }
  }

  bool end() override {
    switch (place_) {
      case Place::numbers:
        place_ = Place::tensor;
        return true;
      case Place::tensor:
        place_ = Place::header;
        return tensor_is_whole();
      default:
        place_ = Place::header;
        return true;
    }
  }

 private:
  /// Within what the next event stands; a numbers' array is a shape or data_offsets.
  enum class Place : std::uint8_t { file, header, metadata, tensor, numbers };

  /// The tensor at hand is at fault.
  bool refuse(const std::string& message) {
    tensor_at_fault_ = name_;
    return fail(message);
  }

  bool enter_metadata() {
    name_ = kMetadata;
    if (!std::exchange(has_metadata_, true)) return true;
    return fail("__metadata__ is there twice");
  }

  bool enter_tensor(std::string_view name) {
    name_ = name;
    const auto [place, is_new] = entries_.try_emplace(name_);
    entry_ = &place->second;
    return is_new || refuse("the name is there twice");
  }

  bool enter_field(std::string_view key) {
    key_ = key;
    const bool again = (key == "dtype" && entry_->type) || (key == "shape" && entry_->shape) ||
                       (key == "data_offsets" && entry_->offsets);
    if (again) return refuse(key_ + " is there twice");
    if (key == "dtype" || key == "shape" || key == "data_offsets") return true;
    return refuse("field " + in_quotes(key) +
                  " is unknown; accepted are dtype, shape, data_offsets");
  }

  /// The value of a name of the header.
  bool start_member(const json::Value& value) {
    const bool is_metadata = name_ == kMetadata;
    if (std::holds_alternative<json::Object>(value)) {
      place_ = is_metadata ? Place::metadata : Place::tensor;
      return true;
    }
    if (is_metadata) return fail("__metadata__ is " + shown(value) + "; accepted is an object");
    return refuse("is " + shown(value) +
                  "; accepted is an object of dtype, shape and data_offsets");
  }

  bool metadata_text(const json::Value& value) {
    if (const auto* const text = std::get_if<std::string_view>(&value)) {
      metadata_[key_] = *text;
      return true;
    }
    return fail("__metadata__ " + in_quotes(key_) + " is " + shown(value) + "; accepted is a text");
  }

  /// The value of dtype, shape or data_offsets.
  bool field(const json::Value& value) {
    if (key_ == "dtype") {
      const auto* const dtype = std::get_if<std::string_view>(&value);
      if (dtype == nullptr) return refuse("dtype is " + shown(value) + "; accepted is a text");
      entry_->type = detail::element_type_of_dtype(*dtype);
      return entry_->type || refuse(detail::refusal_of_dtype(*dtype));
    }
    if (!std::holds_alternative<json::Array>(value)) {
      return refuse(key_ + " is " + shown(value) + "; accepted is a list of integers");
    }
    place_ = Place::numbers;
    auto& numbers = key_ == "shape" ? entry_->shape : entry_->offsets;
    numbers.emplace();
    return true;
  }

  bool element(const json::Value& value) {
    const bool is_shape = key_ == "shape";
    auto& numbers = is_shape ? *entry_->shape : *entry_->offsets;
    const std::uint64_t count_max = is_shape ? SafeTensors::kRankMax : 2;
    if (numbers.size() == count_max) {
      return refuse(key_ + " has more than " + std::to_string(count_max) + " elements");
    }
    if (const auto* const number = std::get_if<std::uint64_t>(&value)) {
      numbers.push_back(*number);
      return true;
    }
    return refuse(key_ + "[" + std::to_string(numbers.size()) + "] is " + shown(value) +
                  "; accepted are integers in 0 .. 18446744073709551615");
  }

  /// Checks a tensor on its own; check_coverage() checks it against the others.
  bool tensor_is_whole() {
    const Entry& entry = *entry_;
    for (const auto& [key, is_there] :
         {std::pair("dtype", entry.type.has_value()), std::pair("shape", entry.shape.has_value()),
          std::pair("data_offsets", entry.offsets.has_value())}) {
      if (!is_there) return refuse(std::string(key) + " is missing");
    }
    if (entry.offsets->size() != 2) {
      return refuse("data_offsets has " + std::to_string(entry.offsets->size()) +
                    " elements; accepted are 2, begin and end");
    }
    const std::string offsets = "data_offsets are " + shown_offsets(entry);
    if (entry.end() < entry.begin()) return refuse(offsets + ", which end before they begin");
    if (entry.end() > data_bytes_) {
      return refuse(offsets + "; accepted are 0 .. " + std::to_string(data_bytes_) +
                    ", the bytes of data");
    }
    const std::uint64_t length = entry.end() - entry.begin();
    const auto bytes = bytes_of(*entry.type, *entry.shape);
    const std::string type_and_shape = to_string(*entry.type, *entry.shape);
    if (!bytes) return refuse(type_and_shape + " has more than 18446744073709551615 bytes");
    if (*bytes == length) return true;
    return refuse(offsets + ", " + std::to_string(length) + " bytes; " + type_and_shape + " has " +
                  std::to_string(*bytes));
  }

  std::uint64_t data_bytes_;
  std::map<std::string, std::string>& metadata_;
  Entries entries_;
  Place place_ = Place::file;
  bool has_metadata_ = false;
  std::string tensor_at_fault_;
  std::string name_;        // of the header's member at hand
  std::string key_;         // of metadata or of a tensor's field
  Entry* entry_ = nullptr;  // that of name_, if it is a tensor
};

struct Coverage {
  std::uint64_t data_start;  // in the file
  std::uint64_t data_bytes;
};

/// Every byte of the data belongs to one tensor.
std::optional<FileError> check_coverage(const Entries& entries, const Coverage& data,
                                        const std::string& path) {
  std::vector<Entries::const_pointer> by_offset;
  for (const auto& entry : entries) by_offset.push_back(&entry);
  // Ties are tensors without bytes, which come before the one that starts where they do.
  std::sort(by_offset.begin(), by_offset.end(), [](const auto* a, const auto* b) {
    return std::pair(a->second.begin(), a->second.end()) <
           std::pair(b->second.begin(), b->second.end());
  });
  const auto gap = [&](std::uint64_t begin, std::uint64_t end) {
    return FileError{.file = path,
                     .message = "bytes " + std::to_string(begin) + " .. " +
                                std::to_string(end - 1) + " of the data belong to no tensor",
                     .offset = data.data_start + begin};
  };
  Entries::const_pointer previous = nullptr;
  std::uint64_t covered = 0;
  for (const auto* const item : by_offset) {
    const auto& [name, entry] = *item;
    if (entry.begin() > covered) return gap(covered, entry.begin());
    if (entry.begin() < covered) {
      return FileError{.file = path,
                       .message = "data_offsets " + shown_offsets(entry) + " overlap those of " +
                                  in_quotes(previous->first) + ", " +
                                  shown_offsets(previous->second),
                       .tensor = name,
                       .offset = data.data_start + entry.begin()};
    }
    covered = entry.end();
    previous = item;
  }
  if (covered < data.data_bytes) return gap(covered, data.data_bytes);
  return std::nullopt;
}

/// The length that the first 8 bytes state, held against the file.
tl::expected<std::uint64_t, std::string> header_bytes(std::span<const std::byte> file) {
  static_assert(std::endian::native == std::endian::little, "numbers are read as they lie");
  if (file.size() < kLengthBytes) {
    return tl::unexpected("the file has " + std::to_string(file.size()) +
                          " bytes; the length of the header alone takes 8");
  }
  std::uint64_t length = 0;
  std::memcpy(&length, file.data(), kLengthBytes);
  const std::uint64_t rest = file.size() - kLengthBytes;
  const std::uint64_t most = std::min(rest, SafeTensors::kHeaderBytesMax);
  if (length <= most) return length;
  return tl::unexpected("the header's length is " + std::to_string(length) +
                        " bytes; accepted are 2 .. " +
                        std::to_string(SafeTensors::kHeaderBytesMax) + ", and the file has " +
                        std::to_string(rest) + " more");
}

}  // namespace

tl::expected<std::vector<Tensor>, FileError> parse_safetensors(
    std::span<const std::byte> file, const std::string& path,
    std::map<std::string, std::string>& metadata) {
  metadata.clear();
  const auto length = header_bytes(file);
  if (!length) return tl::unexpected(FileError{.file = path, .message = length.error()});
  const std::string_view header(reinterpret_cast<const char*>(file.data()) + kLengthBytes, *length);
  // A bracket and nothing else: not even the byte order mark that JSON parsers skip.
  if (header.empty() || header[0] != '{') {
    return tl::unexpected(FileError{.file = path,
                                    .message = "not a SafeTensors file: the header starts with " +
                                               in_quotes(header.substr(0, 1)) + "; accepted is '{'",
                                    .offset = kLengthBytes});
  }
  const Coverage data = {kLengthBytes + *length, file.size() - kLengthBytes - *length};
  HeaderVisitor visitor(data.data_bytes, metadata);
  if (auto read = visit(header, SafeTensors::kDepthMax, visitor); !read) {
    auto& [message, offset] = read.error();
    if (offset) *offset += kLengthBytes;
    return tl::unexpected(
        FileError{path, std::move(message), std::move(visitor.tensor_at_fault()), offset});
  }
  if (auto error = check_coverage(visitor.entries(), data, path)) {
    return tl::unexpected(*std::move(error));
  }
  std::vector<Tensor> tensors;
  tensors.reserve(visitor.entries().size());
  for (auto& [name, entry] : visitor.entries()) {
    const std::uint64_t offset = data.data_start + entry.begin();
    tensors.push_back({.name = name,
                       .type = *entry.type,
                       .shape = *std::move(entry.shape),
                       .bytes = file.subspan(offset, entry.end() - entry.begin()),
                       .offset = offset});
  }
  return tensors;
}

}  // namespace forge::formats
