// Fields: the members of one JSON object, each asked for with what is accepted.
//
// The first member that is not as asked becomes the fault that all objects of a text share; for
// later ones, Fields returns a value in range, so that a reader can be written as a list of its
// members, as if everything were right, and look at the fault once, at its end. null is the same as
// a member that is not there.
//
// Example, given `#include <nlohmann/json.hpp>` and `std::string_view text`:
//
//   const auto object = json::parse_object(text);
//   if (!object) return to_string(object.error());
//   json::Fault fault;
//   const json::Fields fields(*object, "", fault);
//   const int layers = fields.integer("layers", {1, 1024});
//   const double epsilon = fields.number("epsilon", {0, 1}, 1e-6);
//   fields.finish();
//   if (fault.is_set()) return fault.message;  // "layers is 0; accepted is an integer, 1 .. 1024"
//
// Thread contract: none of its own.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "forge/core/names.h"
#include "forge/core/range.h"
#include "forge/json/parse.h"

namespace forge::json {

/// The first thing that is wrong.
struct Fault {
  enum class Kind : std::uint8_t {
    value,        ///< a member is missing, or not what is accepted
    unsupported,  ///< it is not the only value that it may have here
    unknown,      ///< the reader did not ask for it: often a misspelt name
  };
  std::string message;  ///< names the member, its value and what is accepted
  std::string name;     ///< name of the member: "rope_scaling.factor"
  Kind kind = Kind::value;

  bool is_set() const { return !message.empty(); }
  /// Keeps the first fault.
  void set(std::string what, std::string member = "", Kind which = Kind::value) {
    if (!is_set()) *this = {std::move(what), std::move(member), which};
  }
};

class Fields {
 public:
  /// `name` is the path of the object, "rope_scaling", empty for the outermost. Borrows both.
  /// Anything but an object is a fault.
  Fields(const nlohmann::json& object, std::string name, Fault& fault);

  /// The member; nullptr if it is absent or null.
  const nlohmann::json* find(std::string_view key) const;
  bool has(std::string_view key) const { return find(key) != nullptr; }
  bool is_null(std::string_view key) const;  ///< is there and null

  // Each returns the member, which is required where no fallback is given.
  template <std::integral T = int>
  T integer(std::string_view key, IntegerRange range,
            std::optional<std::type_identity_t<T>> fallback = std::nullopt) const {
    return static_cast<T>(integer_64(key, range, fallback));
  }
  std::uint64_t natural(std::string_view key) const;  ///< 0 .. 2^64 - 1; required
  double number(std::string_view key, NumberRange range,
                std::optional<double> fallback = std::nullopt) const;
  bool boolean(std::string_view key, std::optional<bool> fallback = std::nullopt) const;
  /// A required text must not be empty.
  std::string text(std::string_view key, std::optional<std::string> fallback = std::nullopt) const;
  /// The enumerator of this name.
  template <Named E>
  E choice(std::string_view key, std::optional<E> fallback = std::nullopt) const {
    const auto otherwise =
        fallback ? std::optional(static_cast<std::size_t>(*fallback)) : std::nullopt;
    return static_cast<E>(place_in(kNames<E>, key, otherwise));
  }

  /// The member, one of `accepted`; the first of these where there is another or none.
  std::string_view one_of(std::string_view key,
                          std::initializer_list<std::string_view> accepted) const;

  /// A member that may be left out, or be `value`, and nothing else.
  void only(std::string_view key, const nlohmann::json& value) const;

  /// A list of integers; empty where there is none. An integer alone is a list of one.
  std::vector<std::int64_t> integers(std::string_view key, IntegerRange range) const;

  /// A list of texts; empty where there is none.
  std::vector<std::string> texts(std::string_view key) const;

  /// A list of anything, which is required.
  const nlohmann::json& items(std::string_view key) const;

  /// A list of objects, which is required; they are named KEY[0], KEY[1], ...
  std::vector<Fields> list(std::string_view key) const;

  /// An object; none where there is none.
  std::optional<Fields> object(std::string_view key) const;
  /// An object, which is required.
  Fields required_object(std::string_view key) const;
  /// The names of all members, asked for or not.
  std::vector<std::string> keys() const;
  /// The objects that are members of this one.
  std::vector<Fields> objects() const;

  /// The member is missing or is not what is accepted.
  void fail(std::string_view key, const std::string& accepted) const;
  /// The same in the caller's words: `what` follows the member's name, "has 65 prompts; accepted
  /// are ...".
  void refuse(std::string_view key, const std::string& what) const;

  /// A member that was never asked for is a fault, and comes before what went wrong: a member may
  /// be missing because its name was misspelt. Each copy remembers only what it was asked for
  /// itself.
  void finish() const;

  bool failed() const { return fault_->is_set(); }
  Fault& fault() const { return *fault_; }
  /// "rope_scaling.factor"
  std::string name_of(std::string_view key) const { return prefix_ + std::string(key); }

 private:
  std::int64_t integer_64(std::string_view key, IntegerRange range,
                          std::optional<std::int64_t> fallback) const;
  std::size_t place_in(std::span<const std::string_view> names, std::string_view key,
                       std::optional<std::size_t> fallback) const;

  const nlohmann::json* object_;
  std::string prefix_;
  Fault* fault_;
  mutable std::set<std::string, std::less<>> asked_;
};

}  // namespace forge::json
