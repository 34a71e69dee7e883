// The fields of objects in JSON from a stranger (formats/json_tree.h).
//
// The first thing that is wrong is kept in a fault, after which fields read as if they were absent,
// so that a reader asks for all it needs and looks at the fault once.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace forge::text::detail {

/// The value for a message, at most 64 bytes of it.
std::string shown(const nlohmann::json& value);

/// What is wrong first.
class JsonFault {
 public:
  void set(std::string message) {
    if (!message_) message_ = std::move(message);
  }
  bool is_set() const { return message_.has_value(); }
  const std::string& message() const { return *message_; }

 private:
  std::optional<std::string> message_;
};

/// One object of a tokeniser file. Borrows it and the fault.
class TokenizerFields {
 public:
  /// `name` is where it stands: "model". Anything but an object is a fault.
  TokenizerFields(const nlohmann::json& object, std::string name, JsonFault& fault);

  const std::string& name() const { return name_; }
  JsonFault& fault() const { return fault_; }
  std::string name_of(std::string_view key) const { return name_ + "." + std::string(key); }

  /// Null if it is absent or null.
  const nlohmann::json* find(std::string_view key) const;
  bool boolean(std::string_view key, bool otherwise) const;
  /// Empty if it is absent.
  std::string_view text(std::string_view key) const;
  /// A fault if it is absent, too.
  std::uint64_t integer(std::string_view key) const;
  /// Of objects and texts; a fault and empty if it is anything else, or absent.
  const nlohmann::json& object(std::string_view key) const;
  const nlohmann::json& array(std::string_view key) const;

  /// A fault unless it is absent, null or `value`.
  void only(std::string_view key, const nlohmann::json& value) const;
  /// A fault that names key, value and what is accepted.
  void wrong(std::string_view key, std::string_view accepted) const;

 private:
  const nlohmann::json& object_;
  std::string name_;
  JsonFault& fault_;
};

}  // namespace forge::text::detail
