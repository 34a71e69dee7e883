#include "shrink.h"

#include <ostream>

#include "forge/trace/trace_header.h"
#include "forge/trace/trace_writer.h"

namespace forge::testing {
namespace {

/// Takes over the shorter way if it breaks the same promise.
bool improve(const Instance& instance, const std::vector<Event>& events, Violation& best) {
  const auto shorter = replay(instance, events);
  if (!shorter || shorter->promise() != best.promise()) return false;
  const bool is_simpler = shorter->events.size() < best.events.size() || events == shorter->events;
  if (is_simpler) best = *shorter;
  return is_simpler;
}

/// `count` events at a time: a step can only go as a whole.
bool leave_out(const Instance& instance, std::size_t count, Violation& best) {
  for (std::size_t i = best.events.size(); i >= count; --i) {
    std::vector<Event> events = best.events;
    const auto first = events.begin() + static_cast<std::ptrdiff_t>(i - count);
    events.erase(first, first + static_cast<std::ptrdiff_t>(count));
    if (improve(instance, events, best)) return true;
  }
  return false;
}

/// An answer that is left out is the plain one: a token, no end, no drafts.
bool make_plain_one(const Instance& instance, Violation& best) {
  for (std::size_t i = 0; i < best.events.size(); ++i) {
    for (std::size_t a = 0; a < best.events[i].answers.size(); ++a) {
      std::vector<Event> events = best.events;
      events[i].answers.erase(events[i].answers.begin() + static_cast<std::ptrdiff_t>(a));
      if (improve(instance, events, best)) return true;
    }
  }
  return false;
}

}  // namespace

Violation shrink(const Instance& instance, Violation violation) {
  while (leave_out(instance, 2, violation) || leave_out(instance, 1, violation) ||
         make_plain_one(instance, violation)) {
  }
  return violation;
}

void write_trace(const Instance& instance, const std::vector<Event>& events, std::ostream& out) {
  trace::TraceWriter writer(
      out, {.scheduler = instance.config, .target = {{"explored", instance.name}}});
  World world(instance);
  const Scheduler& scheduler = world.scheduler();
  for (const Event& event : events) {
    if (!world.can(event)) continue;
    const bool ends_step = event.kind == EventKind::commit || event.kind == EventKind::lose;
    const StepResult result = ends_step ? world.result_for(event) : StepResult();
    const bool violated = world.apply(event).has_value();
    if (event.kind == EventKind::submit) {
      writer.submit(world.seq(event.item), instance.menu[event.item]);
    } else if (event.kind == EventKind::cancel) {
      writer.cancel(world.seq(event.item), FinishReason::cancelled);
    } else if (event.kind == EventKind::release) {
      writer.release_session(SessionId{event.item});
    } else if (event.kind == EventKind::clear) {
      writer.clear_prefix_cache();
    } else if (ends_step) {
      // One that breaks a promise may not have come to its end.
      const CacheDelta delta = scheduler.in_flight() ? CacheDelta() : scheduler.cache_delta();
      writer.step(scheduler.plan(), result, delta);
    }
    if (violated && ends_step) return;
    if (violated) break;
  }
  if (scheduler.in_flight()) {
    writer.step(scheduler.plan(), world.result_for({.kind = EventKind::commit}), {});
  }
}

}  // namespace forge::testing
