#include "forge/trace/trace_show.h"

#include <array>
#include <ostream>
#include <string>
#include <vector>

#include "forge/trace/trace_state.h"
#include "plan_words.h"

namespace forge::trace {
namespace {

constexpr std::size_t kMapWidth = 64;       // blocks a line below the row
constexpr std::size_t kMapWidthInRow = 24;  // largest map at the end of the row

enum Column { kStep, kAdmitted, kResumed, kPreempted, kFinished, kSlices, kBlocks, kColumns };
constexpr std::array<const char*, kColumns> kTitles{"step",     "admitted", "resumed", "preempted",
                                                    "finished", "slices",   "blocks"};
// With two spaces in between, 76 columns before the map; slices take its place where it is below.
constexpr std::array<std::size_t, kColumns> kWidths{6, 8, 8, 9, 12, 21, kMapWidthInRow};
constexpr std::size_t kSlicesAlone = kWidths[kSlices] + kMapWidthInRow;

using Row = std::array<detail::Words, kColumns>;

Row row_of(const StepPlan& plan) {
  Row row;
  row[kStep] = {std::to_string(plan.step.value)};
  row[kAdmitted] = admission_words(plan.admitted);
  row[kResumed] = admission_words(plan.resumed);
  row[kPreempted] = preemption_words(plan);
  row[kFinished] = detail::finish_words(plan);
  row[kSlices] = detail::copy_words(plan);
  for (std::string& word : slice_words(plan)) row[kSlices].push_back(std::move(word));
  return row;
}

class Table {
 public:
  Table(std::ostream& out, std::uint32_t num_blocks)
      : out_(out), map_in_row_(num_blocks <= kMapWidthInRow) {}

  void header() {
    Row titles;
    for (std::size_t c = 0; c < columns(); ++c) titles[c] = {kTitles[c]};
    print(titles);
  }

  void step(const StepPlan& plan, const BlockMap& map) {
    Row row = row_of(plan);
    if (map_in_row_) row[kBlocks] = {map.text()};
    print(row);
    if (map_in_row_) return;
    const std::string text = map.text();
    for (std::size_t first = 0; first < text.size(); first += kMapWidth) {
      std::string label = std::to_string(first);
      label.insert(0, kWidths[kStep] + 2 + kWidths[kAdmitted] - label.size(), ' ');
      out_ << label << "  " << text.substr(first, kMapWidth) << '\n';
    }
  }

 private:
  std::size_t columns() const { return kColumns - (map_in_row_ ? std::size_t{0} : std::size_t{1}); }
  std::size_t width(std::size_t column) const {
    return column == kSlices && !map_in_row_ ? kSlicesAlone : kWidths[column];
  }

  void print(const Row& row) {
    std::array<std::vector<std::string>, kColumns> lines;
    std::size_t height = 0;
    for (std::size_t c = 0; c < columns(); ++c) {
      lines[c] = detail::wrap(row[c], width(c));
      height = std::max(height, lines[c].size());
    }
    for (std::size_t y = 0; y < height; ++y) {
      std::string text;
      for (std::size_t c = 0; c < columns(); ++c) {
        std::string cell = y < lines[c].size() ? lines[c][y] : std::string();
        const std::size_t padding = width(c) - cell.size();
        cell.insert(c == kStep ? 0 : cell.size(), padding, ' ');
        text += (c == 0 ? "" : "  ") + cell;
      }
      text.erase(text.find_last_not_of(' ') + 1);
      out_ << text << '\n';
    }
  }

  std::ostream& out_;
  bool map_in_row_;
};

}  // namespace

tl::expected<std::uint64_t, TraceError> show(TraceReader& trace, const StepRange& range,
                                             std::ostream& out) {
  TraceState state(trace.header().scheduler);
  Table table(out, state.blocks().num_blocks());
  std::uint64_t shown = 0;
  while (true) {
    const auto event = trace.next();
    if (!event) return tl::unexpected(event.error());
    if (!*event) return shown;
    const auto* step = std::get_if<StepEvent>(&**event);
    if (step != nullptr && step->plan.step.value > range.to) return shown;
    if (const auto applied = state.apply(**event); !applied) {
      const std::string where =
          step == nullptr ? "" : "step " + std::to_string(step->plan.step.value) + ": ";
      return tl::unexpected(trace.error_here(where + applied.error()));
    }
    if (step == nullptr || step->plan.step.value < range.from) continue;
    if (shown++ == 0) table.header();
    table.step(step->plan, state.blocks());
  }
}

}  // namespace forge::trace
