// Value: what an expression of a template yields, one of Python's types.
//
// Texts, lists, tuples and dicts never change once they are made, so copies share them. Each knows
// how deeply it nests, which is limited, so that functions on values may recurse.
// What changes (namespaces, loops, the variables that macros close over) can hold itself; the
// rendering empties these at its end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "budget.h"

namespace forge::chat::detail {

enum class Kind : std::uint8_t {
  missing,  ///< a variable without a value yet; never the result of an expression
  undefined,
  none,
  boolean,
  integer,
  floating,
  string,
  list,
  tuple,
  dict,
  keys,  ///< dict.keys(), dict.values(), dict.items(), as sequences
  values,
  items,
  range,
  generator,
  space,  ///< namespace()
  loop,
  macro,
  function,
};

struct Object {
  Object() = default;
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;
  virtual ~Object() = default;
};

struct String;
struct Sequence;
struct Dict;
struct Undefined;
struct Range;
struct Generator;
struct Space;
struct Function;

class Value {
 public:
  Value() = default;  ///< None
  explicit Value(bool value) : kind_(Kind::boolean), integer_(value ? 1 : 0) {}
  explicit Value(std::int64_t value) : kind_(Kind::integer), integer_(value) {}
  explicit Value(double value) : kind_(Kind::floating), floating_(value) {}
  Value(Kind kind, std::shared_ptr<Object> object) : kind_(kind), object_(std::move(object)) {}

  static Value missing() { return {Kind::missing, nullptr}; }

  Kind kind() const { return kind_; }
  bool is(Kind kind) const { return kind_ == kind; }
  bool is_string() const { return kind_ == Kind::string; }
  /// A list, a tuple or a view of a dict.
  bool is_sequence() const {
    return kind_ >= Kind::list && kind_ <= Kind::items && !is(Kind::dict);
  }
  /// bool counts as int, as in Python.
  bool is_integer() const { return kind_ == Kind::integer || kind_ == Kind::boolean; }
  bool is_number() const { return is_integer() || kind_ == Kind::floating; }

  bool boolean() const { return integer_ != 0; }
  std::int64_t integer() const { return integer_; }
  double floating() const {
    return kind_ == Kind::floating ? floating_ : static_cast<double>(integer_);
  }

  const String& string() const;
  std::string_view text() const;  ///< of a string
  const Sequence& sequence() const;
  const Dict& dict() const;
  const Undefined& undefined() const;
  const Range& range() const;
  Generator& generator() const;
  Space& space() const;
  const Function& function() const;
  template <class T>
  T& as() const {
    return static_cast<T&>(*object_);
  }
  const std::shared_ptr<Object>& object() const { return object_; }

 private:
  Kind kind_ = Kind::none;
  std::int64_t integer_ = 0;
  double floating_ = 0;
  std::shared_ptr<Object> object_;
};

struct String : Object {
  String(std::string bytes, bool is_markup);

  const std::string text;
  const std::size_t characters;
  const bool markup;  ///< markupsafe.Markup: what is added to it is escaped for HTML

  bool is_ascii() const { return characters == text.size(); }
};

struct Sequence : Object {
  std::vector<Value> elements;
  int depth = 1;
  bool is_group = false;  ///< of the filter groupby: has .grouper and .list
};

struct Dict : Object {
  std::vector<std::pair<Value, Value>> members;
  int depth = 1;

  /// Where the member is; members.size() where there is none. Linear for keys that are no text.
  std::size_t find(Budget& budget, const Value& key) const;
  const Value* find(std::string_view key) const;
  /// Adds the member, or gives it another value.
  void set(Budget& budget, const Value& key, Value value);

 private:
  std::map<std::string_view, std::size_t> places_;  // of keys that are texts
};

struct Undefined : Object {
  std::string message;  ///< why, as the error of a use has it
  bool unsafe = false;  ///< the sandbox hides it
};

struct Range : Object {
  std::int64_t start = 0;
  std::int64_t step = 1;
  std::int64_t stop = 0;
  std::int64_t count = 0;

  Value at(std::int64_t index) const { return Value(start + index * step); }
};

/// What can be gone through once.
struct Generator : Object {
  std::string name;  ///< as its type prints
  std::function<std::optional<Value>()> next;
  int depth = 1;
};

struct Space : Object {
  std::vector<std::pair<std::string, Value>> members;

  Value* find(std::string_view name);
};

class Interpreter;
struct Arguments;

/// A function of jinja2's globals, or a method with the value that it belongs to.
struct Function : Object {
  using Native = Value (*)(Interpreter&, const Value& self, Arguments& arguments);

  std::string name;
  Value self;
  Native native = nullptr;
  int depth = 1;
};

/// How deeply values nest in `value`.
int depth_of(const Value& value);

Value make_string(Budget& budget, std::string text, bool markup = false);
/// A text of the template itself.
Value constant_string(std::string text);
Value make_sequence(Budget& budget, Kind kind, std::vector<Value> elements);
Value make_list(Budget& budget, std::vector<Value> elements);
Value make_tuple(Budget& budget, std::vector<Value> elements);
Value make_dict(Budget& budget, std::shared_ptr<Dict> dict);
Value make_undefined(std::string message, bool unsafe = false);
Value make_generator(Budget& budget, std::string name, int depth,
                     std::function<std::optional<Value>()> next);
/// Charges `budget` for one more level than `depth`. Errors (raised): too deep.
int one_deeper(int depth);

/// The name of the type: "str", "NoneType".
std::string type_name(const Value& value);

bool truth(const Value& value);
bool equal(Budget& budget, const Value& a, const Value& b);
/// Whether a is before b. Errors (raised): the types have no order; they are named with `symbol`.
bool less(Budget& budget, const Value& a, const Value& b, const char* symbol = "<");
/// `a` is the same object as `b`.
bool same(const Value& a, const Value& b);
/// Errors (raised): a list or a dict, which is no key.
void check_hashable(const Value& value);

/// str(value) and repr(value).
std::string text_of(Budget& budget, const Value& value);
std::string repr_of(Budget& budget, const Value& value);
std::string repr_of_text(std::string_view text);
std::string repr_of_double(double value);

}  // namespace forge::chat::detail
