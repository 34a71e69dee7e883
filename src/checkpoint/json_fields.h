// ConfigFields: the members of an object in config.json, each asked for with what is accepted.
//
// The first that is not as asked becomes the fault that all fields of a file share; later ones are
// answered with a value in range, so that a reader can be written as if everything were right and
// look at the fault once, at its end. null is the same as a member that is not there.
#pragma once

#include <initializer_list>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "forge/model/ranges.h"

namespace forge::checkpoint::detail {

class ConfigFields {
 public:
  /// `prefix`, "rope_scaling." or the like, stands before names in messages. Borrows object and
  /// fault. Requires: object is one.
  ConfigFields(const nlohmann::json& object, std::string prefix, std::string& fault);

  bool has(const char* key) const { return find(key) != nullptr; }
  bool is_null(const char* key) const;  ///< is there and null

  /// Required where no fallback is given.
  int integer(const char* key, model::IntegerRange range,
              std::optional<int> fallback = std::nullopt) const;
  double number(const char* key, model::NumberRange range,
                std::optional<double> fallback = std::nullopt) const;
  bool boolean(const char* key, bool fallback) const;
  std::string text(const char* key, std::optional<std::string> fallback = std::nullopt) const;

  /// One text of `accepted`, which it answers; the first where there is another or none.
  std::string_view one_of(const char* key, std::initializer_list<std::string_view> accepted) const;

  /// A list of integers; empty where there is none. An integer alone is a list of one.
  std::vector<std::int64_t> integers(const char* key, model::IntegerRange range) const;

  /// A list of texts; empty where there is none.
  std::vector<std::string> texts(const char* key) const;

  /// An object; none where there is none.
  std::optional<ConfigFields> object(const char* key) const;

  /// The objects that are members of this one.
  std::vector<ConfigFields> objects() const;

  /// The member is missing or is not what is accepted.
  void fail(const char* key, const std::string& accepted) const;

  bool failed() const { return !fault_.empty(); }

 private:
  const nlohmann::json* find(const char* key) const;

  const nlohmann::json& object_;
  std::string prefix_;
  std::string& fault_;
};

}  // namespace forge::checkpoint::detail
