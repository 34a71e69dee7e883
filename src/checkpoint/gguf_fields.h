// GgufFields: the keys of an architecture in a file from a stranger, each asked for with what is
// accepted.
//
// The first that is not as asked becomes the fault; later ones are answered with a value in range,
// so that a reader can be written as if everything were right and look at the fault once, at its
// end. json::Fields (forge/json/fields.h) is the same for config.json.
//
// Borrows the file. Thread contract: one thread at a time.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "forge/formats/gguf.h"
#include "forge/model/ranges.h"

namespace forge::checkpoint::detail {

class GgufFields {
 public:
  /// Keys are those that start with `architecture` and a dot.
  GgufFields(const formats::Gguf& gguf, std::string_view architecture)
      : gguf_(gguf), prefix_(std::string(architecture) + ".") {}

  bool has(const std::string& key) const { return gguf_.value(prefix_ + key) != nullptr; }
  bool has_tensor(const std::string& name) const { return gguf_.find(name) != nullptr; }

  std::string name_of(const std::string& key) const { return prefix_ + key; }

  /// The key is required where no fallback is given.
  int integer(const std::string& key, IntegerRange range,
              std::optional<int> fallback = std::nullopt);
  double number(const std::string& key, NumberRange range,
                std::optional<double> fallback = std::nullopt);
  bool boolean(const std::string& key, bool fallback);
  std::string text(const std::string& key, const std::string& fallback);

  /// Notes that the key is missing or is not what is accepted.
  void fail(const std::string& key, const std::string& accepted);
  void fail_with(const std::string& message);

  const formats::Gguf& gguf() const { return gguf_; }
  const std::optional<formats::FileError>& fault() const { return fault_; }

 private:
  const formats::Gguf& gguf_;
  std::string prefix_;
  std::optional<formats::FileError> fault_;
};

}  // namespace forge::checkpoint::detail
