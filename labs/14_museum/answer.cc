// A finding of lab 14, played on the scheduler that this program is linked with: what the world of
// the exploration (property_tests/exploration/world.h) says of it.
#include <optional>
#include <sstream>
#include <stdexcept>

#include "exploration/world.h"
#include "forge/core/notation.h"
#include "scheduling.h"

namespace forge::labs {
namespace {

using testing::Event;
using testing::EventKind;
using testing::Instance;
using testing::World;

std::invalid_argument wrong(const std::string& what) { return std::invalid_argument(what); }

constexpr SchedulerConfig kSmall{.cache = {.num_blocks = 6, .block_size = 1},
                                 .batch = {.max_batch_size = 3, .max_batch_tokens = 8},
                                 .prefill_chunk_size = 8,
                                 .priority_head_start = 1,
                                 .prefix_cache = PrefixCacheKind::none,
                                 .session_idle_steps = 20};

/// "submit 1", "schedule", "commit", "commit 1 ends", "commit 1 wants 2": requests count from 1.
Event event_of(const std::string& text, const Instance& instance) {
  std::istringstream in(text);
  std::string verb;
  in >> verb;
  const auto number = [&] {
    std::uint32_t n = 0;
    if (!(in >> n)) throw wrong("'" + text + "': a number is missing");
    return n;
  };
  const auto request = [&] {
    const std::uint32_t n = number();
    if (n == 0 || n > instance.menu.size()) throw wrong("'" + text + "': there is no such request");
    return n - 1;
  };
  if (verb == "schedule") return {.kind = EventKind::schedule};
  if (verb == "clear") return {.kind = EventKind::clear};
  if (verb == "lose") return {.kind = EventKind::lose};
  if (verb == "submit") return {.kind = EventKind::submit, .item = request()};
  if (verb == "cancel") return {.kind = EventKind::cancel, .item = request()};
  if (verb == "release") return {.kind = EventKind::release, .item = number()};
  if (verb != "commit") throw wrong("'" + text + "': there is no such event");
  Event event{.kind = EventKind::commit};
  while (in >> std::ws && !in.eof()) {
    testing::Answer answer{.item = request(), .tokens = 1};
    std::string what;
    in >> what;
    if (what == "ends") {
      answer.signal = FinishSignal::eos;
    } else if (what == "fails") {
      answer = {.item = answer.item, .signal = FinishSignal::error};
    } else if (what == "wants") {
      answer.drafts = number();
    } else if (what == "takes") {
      answer.tokens = number();
    } else {
      throw wrong("'" + text + "': there is no '" + what + "'");
    }
    event.answers.push_back(answer);
  }
  return event;
}

/// -> {"lines": an event a line, with the plan of a step, "broken": the promise or null,
///     "events": how many it took}; {"lines": [what is wrong with it]} for what is no finding.
Json play(const Json& input) {
  Json lines = Json::array();
  try {
    Instance instance{.name = "lab",
                      .config = config_of(input.value("config", Json::object()), kSmall)};
    for (const Json& request : input.at("requests")) instance.menu.push_back(request_of(request));
    for (const Request& request : instance.menu) {
      if (const auto valid = validate(request, instance.config); !valid) {
        throw wrong("a request: " + to_string(valid.error()));
      }
    }
    instance.max_drafts = 8;
    instance.clears = true;
    instance.loses = true;
    World world(instance);
    std::size_t count = 0;
    for (const Json& each : input.at("events")) {
      const Event event = event_of(each, instance);
      if (!world.can(event)) throw wrong("'" + each.get<std::string>() + "' cannot happen now");
      ++count;
      const auto violation = world.apply(event);
      const bool planned = event.kind == EventKind::schedule && world.scheduler().in_flight();
      lines.push_back(planned ? plan_row(world.scheduler().plan()) : each.get<std::string>());
      if (!violation) continue;
      lines.push_back(*violation);
      return {{"lines", lines},
              {"broken", violation->substr(0, violation->find(':'))},
              {"events", count}};
    }
    return {{"lines", lines}, {"broken", nullptr}, {"events", count}};
  } catch (const std::exception& error) {
    lines.push_back(error.what());
    return {{"lines", lines}};
  }
}

}  // namespace

std::map<std::string, Answer> tasks() { return {{"play", play}}; }

}  // namespace forge::labs
