#include "forge/trace/moment_json.h"

#include "forge/trace/trace_json.h"
#include "json_text.h"

namespace forge::trace {
namespace detail {

template <>
struct Fields<TracedSequence> {
  using S = TracedSequence;
  static constexpr bool kIsRow = false;
  static constexpr std::size_t kAlways = 18;
  static S usual() { return {}; }
  static constexpr std::tuple kTable{Field{"seq", &S::seq},
                                     Field{"priority", &S::priority},
                                     Field{"client", &S::client},
                                     Field{"user", &S::user},
                                     Field{"weight", &S::weight},
                                     Field{"prompt_tokens", &S::prompt_tokens},
                                     Field{"output_tokens", &S::output_tokens},
                                     Field{"max_new_tokens", &S::max_new_tokens},
                                     Field{"computed_tokens", &S::computed_tokens},
                                     Field{"most_computed_tokens", &S::most_computed_tokens},
                                     Field{"charged_tokens", &S::charged_tokens},
                                     Field{"host_blocks", &S::host_blocks},
                                     Field{"preemptions", &S::preemptions},
                                     Field{"submitted", &S::submitted},
                                     Field{"deadline_steps", &S::deadline_steps},
                                     Field{"is_queued", &S::is_queued},
                                     Field{"has_begun", &S::has_begun},
                                     Field{"ends", &S::ends},
                                     Field{"session", &S::session}};
};

}  // namespace detail

namespace {

using Place = TracedSequence::Place;

class MomentText {
 public:
  MomentText(const TraceMoment& moment, const TraceState& after) : moment_(moment), after_(after) {}

  std::string text() {
    out_.append('{');
    member("step", moment_.step.plan.step);
    member("line", moment_.line);
    name("link");
    detail::append_json_digest(out_, moment_.step.link);
    asked();
    member("plan", moment_.step.plan);
    member("result", moment_.step.result);
    member("cache", moment_.step.cache);
    sequences("waiting", after_.queue(), Place::waiting);
    sequences("swapped", after_.queue(), Place::swapped);
    sequences("running", after_.batch(), Place::running);
    member("host_blocks", after_.host_blocks());
    member("blocks", holders());
    member("cached", cached());
    out_.append('}');
    return std::string(out_.view());
  }

 private:
  void name(std::string_view name) {
    out_.append(std::string_view(is_first_ ? "\"" : ",\""));
    is_first_ = false;
    out_.append(name);
    out_.append(std::string_view("\":"));
  }
  template <class T>
  void member(std::string_view of, const T& value) {
    name(of);
    detail::append_json(out_, value);
  }

  void asked() {
    name("asked");
    char before = '[';
    for (const TraceEvent& event : moment_.asked) {
      out_.append(before);
      out_.append(to_json_line(event));
      before = ',';
    }
    out_.append(std::string_view(moment_.asked.empty() ? "[]" : "]"));
  }

  void sequences(std::string_view of, const std::vector<const TracedSequence*>& all, Place place) {
    std::vector<TracedSequence> those;
    for (const TracedSequence* sequence : all) {
      if (sequence->place == place) those.push_back(*sequence);
    }
    member(of, those);
  }

  std::vector<std::vector<SeqId>> holders() const {
    std::vector<std::vector<SeqId>> holders(after_.blocks().num_blocks());
    for (const auto& [seq, sequence] : after_.sequences()) {
      for (const BlockId block : after_.blocks().table(seq)) holders[block.value].push_back(seq);
    }
    return holders;
  }

  std::vector<StoredBlock> cached() const {
    std::vector<StoredBlock> cached;
    for (const auto& [block, node] : after_.cached().all()) {
      cached.push_back(
          {.block = block, .seq = node.seq, .place = node.place, .parent = node.parent});
    }
    return cached;
  }

  const TraceMoment& moment_;
  const TraceState& after_;
  TextBuffer out_;
  bool is_first_ = true;
};

}  // namespace

std::string moment_json(const TraceMoment& moment, const TraceState& after) {
  return MomentText(moment, after).text();
}

}  // namespace forge::trace
