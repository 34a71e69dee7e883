#include "forge/trace/step_frame.h"

#include <algorithm>

#include "forge/core/check.h"
#include "forge/trace/trace_json.h"
#include "plan_words.h"
#include "state_words.h"

namespace forge::trace {
namespace {

using detail::Words;

constexpr std::size_t kLabelWidth = 10;

/// A label and words behind it, on as many lines as it is given.
struct Section {
  std::string label;
  Words words;
  std::size_t lines = 1;
  std::size_t lines_wanted = 1;
};

/// `words` on at most `lines` lines; the last one says how many are left out.
std::vector<std::string> fit(const Words& words, std::size_t width, std::size_t lines) {
  std::vector<std::string> all = detail::wrap(words, width);
  if (all.size() <= lines) return all;
  for (std::size_t shown = std::min(words.size(), lines * width / 2); shown-- > 0;) {
    Words some(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(shown));
    some.push_back("+" + std::to_string(words.size() - shown) + " more");
    all = detail::wrap(some, width);
    if (all.size() <= lines) break;
  }
  return all;
}

class Frame {
 public:
  Frame(const TraceTimeline& timeline, const FrameOptions& options)
      : options_(options),
        header_(timeline.header()),
        state_(timeline.state()),
        moment_(timeline.moment()),
        text_width_(options.width - kLabelWidth) {}

  std::string draw() {
    collect();
    const std::size_t map_lines = share_lines();
    title();
    map(map_lines);
    for (const auto& group : {queues_, plan_}) {
      if (!group.empty()) line("");
      for (const Section& section : group) print(section);
    }
    return text_;
  }

 private:
  void collect() {
    const StepPlan& plan = moment_.step.plan;
    queues_ = {{"waiting", detail::waiting_words(state_)},
               {"swapped", detail::swapped_words(state_)},
               {"running", detail::running_words(state_)}};
    for (Section& section : queues_) {
      if (section.words.empty()) section.words = {"-"};
    }
    plan_ = {{"asked", detail::asked_words(moment_)},
             {"finished", detail::finish_words(plan)},
             {"preempted", preemption_words(plan)},
             {"admitted", admission_words(plan.admitted)},
             {"resumed", admission_words(plan.resumed)},
             {"copies", detail::copy_words(plan)},
             {"tables", table_words(plan)},
             {"slices", slice_words(plan)},
             {"result", detail::result_words(moment_.step.result)},
             {"cache", detail::cache_words(moment_.step.cache)}};
    std::erase_if(plan_, [](const Section& section) { return section.words.empty(); });
    for (auto* group : {&queues_, &plan_}) {
      for (Section& section : *group) {
        section.lines_wanted = detail::wrap(section.words, text_width_).size();
      }
    }
  }

  /// Everybody has one line; the others go round among those who want more, so that a long list
  /// cannot push out a short one. Returns those of the block map.
  std::size_t share_lines() {
    const std::size_t fixed = 2 + 1 + (plan_.empty() ? 1 : 2);  // title and blank lines
    std::size_t left = options_.height - fixed - 1 - queues_.size() - plan_.size();
    const std::size_t blocks_a_line = map_width();
    const std::size_t map_wanted =
        (state_.blocks().num_blocks() + blocks_a_line - 1) / blocks_a_line;
    std::size_t map_lines = 1;
    for (bool given = true; given && left > 0;) {
      given = false;
      const auto give = [&](std::size_t& lines, std::size_t wanted) {
        if (lines >= wanted || left == 0) return;
        ++lines;
        --left;
        given = true;
      };
      give(map_lines, map_wanted);
      for (auto* group : {&queues_, &plan_}) {
        for (Section& section : *group) {
          give(section.lines, section.lines_wanted);
        }
      }
    }
    return map_lines;
  }

  void title() {
    const SchedulerConfig& config = header_.scheduler;
    const StepPlan& plan = moment_.step.plan;
    std::uint64_t tokens = 0;
    for (const Slice& slice : plan.slices) tokens += slice.count;
    const std::string place =
        "  step " + std::to_string(plan.step.value) + " of " + std::to_string(options_.first_step) +
        ".." + std::to_string(options_.last_step) + "  line " + std::to_string(moment_.line) +
        "  link " + digest_text(moment_.step.link);
    // Of a long name the end is what tells files apart.
    const std::size_t room = std::max<std::size_t>(options_.width, place.size()) - place.size();
    const std::string& title = options_.title;
    const bool too_long = title.size() > room;
    line((too_long ? "..." + title.substr(title.size() - room + std::min<std::size_t>(room, 3))
                   : title) +
         place);
    const auto share = [](std::uint64_t part, std::uint64_t whole) {
      return std::to_string(part) + '/' + std::to_string(whole);
    };
    line("held " + share(state_.blocks().held_count(), config.cache.num_blocks) + " blocks of " +
         std::to_string(config.cache.block_size) + ", shared " +
         std::to_string(state_.blocks().shared_count()) + ", host " +
         share(state_.host_blocks(), config.cache.num_host_blocks) + ", batch " +
         share(state_.running_count(), config.batch.max_batch_size) + ", tokens " +
         share(tokens, config.batch.max_batch_tokens));
    line("");
  }

  std::uint32_t map_width() const {
    return static_cast<std::uint32_t>(std::min<std::size_t>(64, text_width_));
  }

  void map(std::size_t lines) {
    const std::uint32_t total = state_.blocks().num_blocks();
    std::uint32_t first = 0;
    for (std::size_t i = 0; i < lines && first < total; ++i) {
      std::uint32_t count = std::min(map_width(), total - first);
      std::string rest;
      if (i + 1 == lines && first + count < total) {
        count -= static_cast<std::uint32_t>(std::to_string(total).size()) + 7;
        rest = " +" + std::to_string(total - first - count) + " more";
      }
      labelled(i == 0 ? "blocks" : std::to_string(first),
               state_.blocks().text(first, count) + rest);
      first += count;
    }
  }

  void print(const Section& section) {
    std::string label = section.label;
    for (const std::string& text : fit(section.words, text_width_, section.lines)) {
      labelled(label, text);
      label.clear();
    }
  }

  void labelled(std::string label, const std::string& text) {
    label.resize(kLabelWidth, ' ');
    line(label + text);
  }
  void line(std::string text) {
    text.resize(std::min(text.size(), options_.width));
    text.erase(text.find_last_not_of(' ') + 1);
    text_ += text + '\n';
  }

  const FrameOptions& options_;
  const TraceHeader& header_;
  const TraceState& state_;
  const TraceMoment& moment_;
  std::size_t text_width_;
  std::vector<Section> queues_;
  std::vector<Section> plan_;
  std::string text_;
};

}  // namespace

std::string step_frame(const TraceTimeline& timeline, const FrameOptions& options) {
  FORGE_CHECK(options.width >= 40 && options.height >= 20, options.width, " columns, ",
              options.height, " lines");
  return Frame(timeline, options).draw();
}

}  // namespace forge::trace
