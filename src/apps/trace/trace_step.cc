#include "trace_step.h"

#include <algorithm>
#include <filesystem>
#include <iostream>

#include "forge/trace/moment_json.h"
#include "forge/trace/step_frame.h"
#include "forge/trace/step_index.h"
#include "trace_terminal.h"

namespace forge::apps {
namespace {

constexpr ScreenSize kLeast{40, 21};  // of a frame, and the line of keys below it
constexpr const char* kKeys = "n next   p previous   g go to   q quit";

class Stepper {
 public:
  Stepper(trace::TraceTimeline& timeline, Terminal& terminal, trace::FrameOptions frame)
      : timeline_(timeline), terminal_(terminal), frame_(std::move(frame)) {}

  /// Shows `step`, then whatever the keys ask for, until they ask for the end.
  tl::expected<void, trace::TraceError> run(std::uint64_t step) {
    while (true) {
      if (const auto reached = timeline_.seek(StepId{step}); !reached) {
        return tl::unexpected(reached.error());
      }
      draw(kKeys);
      const Key key = terminal_.read_key();
      if (key.kind == KeyKind::end || is(key, 'q')) return {};
      if ((key.kind == KeyKind::next || is(key, 'n')) && step < frame_.last_step) ++step;
      if ((key.kind == KeyKind::previous || is(key, 'p')) && step > frame_.first_step) --step;
      if (is(key, 'g')) step = ask_step().value_or(step);
    }
  }

 private:
  static bool is(const Key& key, char c) { return key.kind == KeyKind::character && key.c == c; }

  void draw(const std::string& below) {
    const ScreenSize size = terminal_.size();
    if (size.width < kLeast.width || size.height < kLeast.height) {
      terminal_.show("too small: " + std::to_string(kLeast.width) + " columns and " +
                     std::to_string(kLeast.height) + " lines are needed\n");
      return;
    }
    frame_.width = size.width;
    frame_.height = size.height - 2;
    std::string text = step_frame(timeline_, frame_);
    const auto lines = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
    text.append(size.height - 1 - lines, '\n');
    terminal_.show(text + below);
  }

  /// The number typed, between the first and the last step; nothing if it was given up.
  std::optional<std::uint64_t> ask_step() {
    std::string digits;
    while (true) {
      draw("go to step (" + std::to_string(frame_.first_step) + ".." +
           std::to_string(frame_.last_step) + "): " + digits + "_");
      const Key key = terminal_.read_key();
      if (key.kind == KeyKind::enter && !digits.empty()) {
        return std::clamp<std::uint64_t>(std::stoull(digits), frame_.first_step, frame_.last_step);
      }
      if (key.kind == KeyKind::erase && !digits.empty()) digits.pop_back();
      const bool is_digit = key.kind == KeyKind::character && key.c >= '0' && key.c <= '9';
      if (is_digit && digits.size() < 18) digits += key.c;
      const bool goes_on = is_digit || key.kind == KeyKind::erase || key.kind == KeyKind::resized;
      if (!goes_on) return std::nullopt;
    }
  }

  trace::TraceTimeline& timeline_;
  Terminal& terminal_;
  trace::FrameOptions frame_;
};

int print_step(const InputTrace& trace, trace::TraceTimeline& timeline, std::uint64_t step,
               const trace::FrameOptions& frame) {
  if (const auto reached = timeline.seek(StepId{step}); !reached) {
    return unusable(trace.error(reached.error()));
  }
  std::cout << step_frame(timeline, frame);
  return kEqual;
}

int print_json(const InputTrace& trace, trace::TraceTimeline& timeline, std::uint64_t first,
               std::uint64_t last) {
  for (std::uint64_t step = first; step <= last; ++step) {
    if (const auto reached = timeline.seek(StepId{step}); !reached) {
      return unusable(trace.error(reached.error()));
    }
    std::cout << moment_json(timeline.moment(), timeline.state()) << '\n';
  }
  return kEqual;
}

}  // namespace

int run_step(const TraceArgument& file, const StepOptions& options) {
  if (options.plain && options.as_json) return unusable("step: give --plain or --json, not both");
  if (options.to && !options.as_json) return unusable("step: --to needs --json");
  InputTrace trace(file);
  if (const auto opened = trace.open_file(); !opened) return unusable(opened.error());
  const auto index = trace::StepIndex::open(trace.stream());
  if (!index) return unusable(trace.error(index.error()));
  const std::uint64_t end = index->end();
  if (end == index->first()) return unusable(trace.path() + ": the trace has no steps");
  const std::uint64_t at = options.at.value_or(index->first());
  if (at < index->first() || at >= end) {
    return unusable("--at " + std::to_string(at) + ": " + trace.path() + " has the steps " +
                    std::to_string(index->first()) + ".." + std::to_string(end - 1));
  }
  if (options.to.value_or(at) < at) {
    return unusable("--to " + std::to_string(*options.to) + " is before --at " +
                    std::to_string(at));
  }
  trace.stream().clear();
  trace.stream().seekg(0);
  auto timeline = trace::TraceTimeline::open(trace.stream());
  if (!timeline) return unusable(trace.error(timeline.error()));
  if (options.as_json) {
    return print_json(trace, *timeline, at, std::min(options.to.value_or(at), end - 1));
  }
  const trace::FrameOptions frame{.title = std::filesystem::path(trace.path()).filename().string(),
                                  .first_step = index->first(),
                                  .last_step = end - 1};
  if (options.plain) return print_step(trace, *timeline, at, frame);
  auto terminal = Terminal::open();
  if (!terminal) {
    return unusable("step: " + terminal.error() + "; --at N --plain prints one step without one");
  }
  const auto done = Stepper(*timeline, **terminal, frame).run(at);
  terminal->reset();  // before anything is said
  if (!done) return unusable(trace.error(done.error()));
  return kEqual;
}

}  // namespace forge::apps
