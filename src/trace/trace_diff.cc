#include "forge/trace/trace_diff.h"

#include <algorithm>
#include <sstream>

#include "forge/trace/trace_header.h"
#include "forge/trace/trace_json.h"
#include "json_text.h"
#include "snapshot_fields.h"

namespace forge::trace {
namespace {

using Result = std::optional<Difference>;

template <class T>
std::string text_of(const T& value) {
  if constexpr (detail::kIsOptional<T>) {
    if (!value) return "absent";
  }
  TextBuffer out;
  detail::append_json(out, value);
  return std::string(out.view());
}

std::string joined(const std::string& path, std::string_view name) {
  return path.empty() ? std::string(name) : path + "." + std::string(name);
}

template <class T>
Result compare_values(const std::string& path, const T& left, const T& right) {
  if (left == right) return std::nullopt;
  if constexpr (detail::Record<T>) {
    Result result;
    detail::for_each_field<T>([&](const auto& field) {
      result = compare_values(joined(path, field.name), field.of(left), field.of(right));
      return !result;
    });
    return result;
  } else if constexpr (detail::Vector<T>) {
    const std::size_t common = std::min(left.size(), right.size());
    for (std::size_t i = 0; i < common; ++i) {
      const std::string element = path + "[" + std::to_string(i) + "]";
      if constexpr (detail::kIsDigestList<T>) {
        if (left[i] != right[i]) {
          return Difference{element, digest_text(left[i]), digest_text(right[i])};
        }
      } else if (Result result = compare_values(element, left[i], right[i])) {
        return result;
      }
    }
    return Difference{path + ".size", std::to_string(left.size()), std::to_string(right.size())};
  } else {
    return Difference{path, text_of(left), text_of(right)};
  }
}

std::string kind_of(const TraceEvent& event) {
  static constexpr const char* kKinds[] = {
      "submit", "cancel", "release_session", "clear_prefix_cache", "step", "snapshot"};
  return kKinds[event.index()];
}

Result compare_steps(const StepEvent& left, const StepEvent& right) {
  if (Result plan = compare_values("step", left.plan, right.plan)) return plan;
  if (Result result = compare_values("result", left.result, right.result)) return result;
  if (Result cache = compare_values("cache", left.cache, right.cache)) return cache;
  if (left.link == right.link) return std::nullopt;
  return Difference{"link", digest_text(left.link), digest_text(right.link)};
}

Result compare_snapshots(const SnapshotEvent& left, const SnapshotEvent& right) {
  if (Result state = first_difference(left.scheduler, right.scheduler)) return state;
  if (Result result = compare_values("requests", left.requests, right.requests)) return result;
  if (left.link == right.link) return std::nullopt;
  return Difference{"link", digest_text(left.link), digest_text(right.link)};
}

/// Reads both traces in step.
class Comparison {
 public:
  Comparison(TraceReader& left, TraceReader& right, StepId next)
      : left_(left), right_(right), next_step_(next) {
    outcome_.equal_steps = next.value;
  }

  tl::expected<TraceComparison, ComparisonError> run() {
    outcome_.header = first_difference(left_.header(), right_.header());
    while (true) {
      TracePlace left_place;
      auto a = next_event(left_, left_place);
      if (!a) return tl::unexpected(ComparisonError{true, a.error()});
      TracePlace right_place;
      auto b = next_event(right_, right_place);
      if (!b) return tl::unexpected(ComparisonError{false, b.error()});
      if (!*a && !*b) return outcome_;
      is_first_ = false;
      if (Result difference = compare_events(*a, *b)) {
        outcome_.event = {next_step_, left_place, right_place, *std::move(difference)};
        return outcome_;
      }
      if (const auto* step = std::get_if<StepEvent>(&**a)) {
        ++outcome_.equal_steps;
        next_step_ = StepId{step->plan.step.value + 1};
      }
    }
  }

 private:
  /// Where a recording went on in a new file nothing happened, unless the trace begins there.
  tl::expected<std::optional<TraceEvent>, TraceError> next_event(TraceReader& trace,
                                                                 TracePlace& place) const {
    while (true) {
      place = trace.place();
      auto event = trace.next();
      const bool goes_on =
          !is_first_ && event && *event && std::holds_alternative<SnapshotEvent>(**event);
      if (!goes_on) return event;
    }
  }

  /// Where only one of the traces says what was cached, that is no difference.
  Result compare_events(std::optional<TraceEvent>& a, std::optional<TraceEvent>& b) const {
    const bool both_say =
        says_what_is_cached(left_.header()) && says_what_is_cached(right_.header());
    for (auto* event : {&a, &b}) {
      auto* const step = *event ? std::get_if<StepEvent>(&**event) : nullptr;
      if (step != nullptr && !both_say) step->cache.clear();
    }
    if (a && b) return first_difference(*a, *b);
    return Difference{"event", a ? kind_of(*a) : "end of trace", b ? kind_of(*b) : "end of trace"};
  }

  TraceReader& left_;
  TraceReader& right_;
  StepId next_step_;
  TraceComparison outcome_;
  bool is_first_ = true;
};

}  // namespace

std::string to_string(const Difference& difference) {
  return difference.field + ": " + difference.left + " against " + difference.right;
}

Result first_difference(const StepPlan& left, const StepPlan& right) {
  return compare_values("", left, right);
}

Result first_difference(const StepResult& left, const StepResult& right) {
  return compare_values("", left, right);
}

Result first_difference(const CacheDelta& left, const CacheDelta& right) {
  return compare_values("", left, right);
}

Result first_difference(const SchedulerSnapshot& left, const SchedulerSnapshot& right) {
  return compare_values("snapshot", left, right);
}

Result first_difference(const TraceHeader& left, const TraceHeader& right) {
  if (Result result = compare_values("scheduler", left.scheduler, right.scheduler)) return result;
  if (left.target == right.target) return std::nullopt;
  const auto patch = nlohmann::json::diff(left.target, right.target);
  std::string path = patch[0]["path"].get<std::string>();
  const nlohmann::json::json_pointer pointer(path);
  const auto text = [&](const nlohmann::json& target) {
    return target.contains(pointer) ? target[pointer].dump() : std::string("absent");
  };
  std::replace(path.begin(), path.end(), '/', '.');
  return Difference{"target" + path, text(left.target), text(right.target)};
}

Result first_difference(const TraceEvent& left, const TraceEvent& right) {
  if (left.index() != right.index()) return Difference{"event", kind_of(left), kind_of(right)};
  return std::visit(
      [&](const auto& event) -> Result {
        using Event = std::remove_cvref_t<decltype(event)>;
        if constexpr (std::is_same_v<Event, StepEvent>) {
          return compare_steps(event, std::get<StepEvent>(right));
        } else if constexpr (std::is_same_v<Event, SnapshotEvent>) {
          return compare_snapshots(event, std::get<SnapshotEvent>(right));
        } else {
          return compare_values(kind_of(left), event, std::get<Event>(right));
        }
      },
      left);
}

tl::expected<TraceComparison, ComparisonError> compare(TraceReader& left, TraceReader& right,
                                                       StepId next) {
  return Comparison(left, right, next).run();
}

}  // namespace forge::trace
