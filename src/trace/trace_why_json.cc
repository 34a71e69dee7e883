#include "forge/trace/trace_why_json.h"

#include "json_text.h"

namespace forge::trace {
namespace detail {

template <>
struct Fields<SequenceView> {
  static constexpr bool kIsRow = false;
  static constexpr std::tuple kTable{Field{"seq", &SequenceView::seq},
                                     Field{"priority", &SequenceView::priority},
                                     Field{"output_tokens", &SequenceView::output_tokens}};
};
template <>
struct Fields<Share> {
  static constexpr bool kIsRow = true;
  static constexpr std::tuple kTable{Field{"served", &Share::served}, Field{"turn", &Share::turn}};
};
template <>
struct Fields<StoryPart> {
  static constexpr bool kIsRow = false;
  static constexpr std::tuple kTable{Field{"first", &StoryPart::first},
                                     Field{"last", &StoryPart::last},
                                     Field{"words", &StoryPart::words}};
};

}  // namespace detail

namespace {

/// Writes {"name":value,...}: the names come with what stands before them.
class Members {
 public:
  template <class T>
  Members& add(std::string_view name, const T& value) {
    out_.append(name);
    detail::append_json(out_, value);
    return *this;
  }
  template <class List, class Each>
  Members& list(std::string_view name, const List& items, Each each) {
    out_.append(name);
    char before = '[';
    for (const auto& item : items) {
      out_.append(before);
      each(item);
      before = ',';
    }
    if (items.empty()) out_.append('[');
    return end("]");
  }
  Members& end(std::string_view text) {
    out_.append(text);
    return *this;
  }
  std::string text() const { return std::string(out_.view()); }

 private:
  TextBuffer out_;
};

void add(Members& out, const TracedCandidate& candidate) {
  const Candidate& standing = candidate.standing;
  out.add("{\"seq\":", standing.key.seq)
      .add(",\"client\":", candidate.client)
      .add(",\"user\":", candidate.user)
      .add(",\"place\":", standing.key.place)
      .add(",\"resumes\":", standing.resumes)
      .add(",\"client_share\":", standing.client)
      .add(",\"user_share\":", standing.user)
      .end("}");
}

void add(Members& out, const VictimChoice& choice) {
  out.add("{\"seq\":", choice.chosen.seq)
      .add(",\"mode\":", choice.chosen.mode)
      .add(",\"candidates\":", choice.candidates)
      .end("}");
}

void add(Members& out, const TurnChoice& choice) {
  out.add("{\"seq\":", choice.chosen.seq)
      .add(",\"cached_tokens\":", choice.chosen.cached_tokens)
      .add(",\"resumes\":", choice.resumes)
      .add(",\"rule\":", choice.rule)
      .list(",\"candidates\":", choice.candidates, [&](const auto& c) { add(out, c); })
      .end("}");
}

}  // namespace

std::string to_json_line(const StepReasons& reasons) {
  Members out;
  const auto each = [&](const auto& choice) { add(out, choice); };
  out.add("{\"step\":", reasons.step)
      .list(",\"victims\":", reasons.victims, each)
      .list(",\"turns\":", reasons.turns, each)
      .add(",\"end\":", reasons.end);
  if (reasons.next) out.add(",\"next\":", *reasons.next);
  return out.end("}").text();
}

std::string to_json_line(SeqId seq, const std::vector<StoryPart>& story) {
  return Members().add("{\"seq\":", seq).add(",\"story\":", story).end("}").text();
}

}  // namespace forge::trace
