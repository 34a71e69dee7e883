#include "state_words.h"

#include "forge/trace/trace_json.h"

namespace forge::trace::detail {
namespace {

struct AskedWord {
  std::string operator()(const SubmitEvent& e) const {
    return "submit " + std::to_string(e.seq.value) + " (" +
           std::to_string(e.request.prompt.size()) + '+' +
           std::to_string(e.request.max_new_tokens) + ')';
  }
  std::string operator()(const CancelEvent& e) const {
    return "cancel " + std::to_string(e.seq.value) + ' ' + std::string(name_of(e.reason));
  }
  std::string operator()(const ReleaseSessionEvent& e) const {
    return "release session " + std::to_string(e.session.value);
  }
  std::string operator()(const ClearPrefixCacheEvent&) const { return "clear cache"; }
  std::string operator()(const StepEvent&) const { return "step"; }
  std::string operator()(const SnapshotEvent&) const { return "snapshot"; }
};

}  // namespace

Words waiting_words(const TraceState& state) {
  Words words;
  for (const TracedSequence* s : state.queue()) {
    if (s->place != TracedSequence::Place::waiting) continue;
    std::string word = std::to_string(s->seq.value);
    if (s->priority == Priority::high) word += '^';
    if (s->priority == Priority::low) word += 'v';
    words.push_back(word + (s->ends ? "!" : ""));
  }
  return words;
}

Words swapped_words(const TraceState& state) {
  Words words;
  for (const TracedSequence* s : state.queue()) {
    if (s->place != TracedSequence::Place::swapped) continue;
    words.push_back(std::to_string(s->seq.value) + '~' + std::to_string(s->host_blocks) +
                    (s->ends ? "!" : ""));
  }
  return words;
}

Words running_words(const TraceState& state) {
  Words words;
  for (const TracedSequence* s : state.batch()) {
    std::string word = std::to_string(s->seq.value) + ':';
    if (s->computed_tokens + 1 < s->length() || s->output_tokens == 0) {
      word += std::to_string(s->computed_tokens) + '/' + std::to_string(s->length());
    } else {
      word += '+' + std::to_string(s->output_tokens) + '/' + std::to_string(s->max_new_tokens);
    }
    words.push_back(word + (s->ends ? "!" : ""));
  }
  return words;
}

Words asked_words(const TraceMoment& moment) {
  Words words;
  for (const TraceEvent& event : moment.asked) words.push_back(std::visit(AskedWord{}, event));
  for (std::size_t i = 0; i + 1 < words.size(); ++i) words[i] += ',';
  return words;
}

}  // namespace forge::trace::detail
