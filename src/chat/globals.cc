// What every template finds in its context: range, dict, namespace, and what `transformers` adds.
#include <algorithm>

#include "interpreter.h"
#include "interpreter_guards.h"
#include "methods.h"
#include "strftime.h"

namespace forge::chat::detail {
namespace {

/// The sandbox refuses longer ones.
constexpr std::int64_t kRangeMax = 100'000;

Value make_range(Interpreter& interpreter, const Value& /*self*/, Arguments& arguments) {
  const Given given(arguments, {"start", "stop", "step"}, 1);
  const bool has_start = given.at(1) != nullptr;
  auto range = std::make_shared<Range>();
  range->start = has_start ? given.integer(0, 0) : 0;
  range->stop = given.integer(has_start ? 1 : 0, 0);
  range->step = given.integer(2, 1);
  if (range->step == 0) raise(Exception::value, "range() arg 3 must not be zero");
  const auto start = static_cast<std::uint64_t>(range->start);
  const auto stop = static_cast<std::uint64_t>(range->stop);
  std::uint64_t count = 0;
  if (range->step > 0 && range->start < range->stop) {
    count = (stop - start - 1) / static_cast<std::uint64_t>(range->step) + 1;
  } else if (range->step < 0 && range->start > range->stop) {
    count = (start - stop - 1) / (0 - static_cast<std::uint64_t>(range->step)) + 1;
  }
  if (count > kRangeMax) {
    raise(Exception::overflow,
          "Range too big. The sandbox blocks ranges larger than MAX_RANGE (100000).");
  }
  range->count = static_cast<std::int64_t>(count);
  interpreter.budget().make(sizeof(Range));
  return {Kind::range, std::move(range)};
}

/// The members that dict(mapping or pairs, name=value) has.
std::shared_ptr<Dict> members_of(Interpreter& interpreter, Arguments& arguments) {
  Budget& budget = interpreter.budget();
  auto dict = std::make_shared<Dict>();
  if (arguments.positional.size() > 1) {
    raise_type("dict expected at most 1 argument, got " +
               std::to_string(arguments.positional.size()));
  }
  if (!arguments.positional.empty()) {
    const Value& source = arguments.positional[0];
    if (source.is(Kind::dict)) {
      for (const auto& [key, value] : source.dict().members) dict->set(budget, key, value);
    } else {
      for (const Value& one : collect(budget, source)) {
        const auto pair = collect(budget, one);
        if (pair.size() != 2) {
          raise(Exception::value, "dictionary update sequence element has length " +
                                      std::to_string(pair.size()) + "; 2 is required");
        }
        check_hashable(pair[0]);
        dict->set(budget, pair[0], pair[1]);
      }
    }
  }
  for (const auto& [name, value] : arguments.named) {
    dict->set(budget, interpreter.text(name), value);
  }
  return dict;
}

Value make_dict_of(Interpreter& interpreter, const Value& /*self*/, Arguments& arguments) {
  return make_dict(interpreter.budget(), members_of(interpreter, arguments));
}

Value make_space(Interpreter& interpreter, const Value& /*self*/, Arguments& arguments) {
  auto space = std::make_shared<Space>();
  interpreter.budget().make(sizeof(Space) + sizeof(void*) * 4);
  const auto given = members_of(interpreter, arguments);
  for (const auto& [key, value] : given->members) {
    set_member(interpreter.budget(), *space, interpreter.str(key), value);
  }
  interpreter.keep(space);
  return {Kind::space, std::move(space)};
}

Value raise_exception(Interpreter& interpreter, const Value& /*self*/, Arguments& arguments) {
  const Given given(arguments, {"message"}, 1);
  raise(Exception::raised, interpreter.str(given.required(0)));
}

Value strftime_now(Interpreter& interpreter, const Value& /*self*/, Arguments& arguments) {
  const Given given(arguments, {"format"}, 1);
  const std::string_view format = text_argument(given.required(0));
  constexpr std::uint64_t kBytesOfConversion = 64;
  interpreter.budget().make(format.size(), kBytesOfConversion);
  return interpreter.text(formatted_time(format, interpreter.now()));
}

constexpr NamedMethod kGlobals[] = {
    {"dict", make_dict_of}, {"namespace", make_space},      {"raise_exception", raise_exception},
    {"range", make_range},  {"strftime_now", strftime_now},
};

}  // namespace

Value global(std::string_view name) {
  for (const NamedMethod& one : kGlobals) {
    if (one.name != name) continue;
    auto function = std::make_shared<Function>();
    function->name = std::string(name);
    function->native = one.method;
    return {Kind::function, std::move(function)};
  }
  return Value::missing();
}

}  // namespace forge::chat::detail
