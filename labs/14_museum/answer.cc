// A finding of lab 14, played on the scheduler that this program is linked with: what the world of
// the exploration (property_tests/exploration/world.h) says of it.
#include <optional>
#include <stdexcept>

#include "answering.h"
#include "exploration/world.h"
#include "forge/core/names.h"
#include "forge/core/notation.h"

namespace forge::labs {
namespace {

using testing::Event;
using testing::EventKind;
using testing::Instance;
using testing::World;

std::invalid_argument wrong(const std::string& what) { return std::invalid_argument(what); }

template <class Enum>
Enum of_name(const Json& input, const char* name, const char* otherwise) {
  const std::string text = input.value(name, otherwise);
  if (const auto value = from_name<Enum>(text)) return *value;
  throw wrong("\"" + std::string(name) + "\": there is no '" + text + "'");
}

SchedulerConfig config_of(const Json& input) {
  SchedulerConfig config{.cache = {.num_blocks = input.value("blocks", 6U),
                                   .block_size = input.value("block_size", 1U),
                                   .num_host_blocks = input.value("host_blocks", 0U)},
                         .batch = {.max_batch_size = input.value("batch", 3U),
                                   .max_batch_tokens = input.value("tokens", 8U)},
                         .prefill_chunk_size = input.value("chunk", 8U),
                         .priority_head_start = input.value("head_start", 1U),
                         .preemption = of_name<PreemptionPolicy>(input, "preemption", "recompute"),
                         .prefix_cache = of_name<PrefixCacheKind>(input, "prefix_cache", "none"),
                         .session_idle_steps = input.value("session_idle_steps", 20U)};
  config.draft_lengths = DraftLengths::fixed;
  if (const auto valid = validate(config); !valid) throw wrong(to_string(valid.error()));
  return config;
}

Request request_of(const Json& input) {
  Request request;
  for (const char letter : input.at("prompt").get<std::string>()) {
    request.prompt.emplace_back(static_cast<unsigned char>(letter));
  }
  request.max_new_tokens = input.at("new");
  request.priority = of_name<Priority>(input, "priority", "normal");
  if (input.contains("session")) request.session = SessionId{input.at("session")};
  if (input.contains("salt")) request.cache_salt = CacheSalt{input.at("salt")};
  if (input.contains("client")) request.client = ClientId{input.at("client")};
  return request;
}

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
    Instance instance{.name = "lab", .config = config_of(input.value("config", Json::object()))};
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
