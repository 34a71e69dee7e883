#include "why_words.h"

#include "forge/core/range.h"
#include "forge/trace/trace_json.h"

namespace forge::trace::detail {
namespace {

/// In hexadecimal without leading zeros, as in a trace.
std::string id_text(std::uint64_t id) {
  const std::string digits = digest_text(id);
  return digits.substr(std::min(digits.find_first_not_of('0'), digits.size() - 1));
}

/// In tokens of a client of weight 1.
std::string served_text(const Share& share) {
  return number_text(static_cast<double>(share.served) / static_cast<double>(served_by(1, 1)));
}

}  // namespace

std::string victim_words(const VictimChoice& choice) {
  return std::to_string(choice.chosen.seq.value) + " gives way (" +
         std::string(name_of(choice.chosen.mode)) +
         "): blocks are short; first goes the lower priority, then fewer output tokens, then the "
         "later one";
}

std::string turn_words(const TurnChoice& choice) {
  return std::to_string(choice.chosen.seq.value) +
         (choice.resumes ? " resumes: " : " is admitted: ") + std::string(name_of(choice.rule));
}

std::string end_words(const StepReasons& reasons) {
  if (!reasons.next) return std::string(name_of(AdmissionEnd::nobody_waits));
  return std::to_string(reasons.next->value) +
         " is next and waits: " + std::string(name_of(reasons.end));
}

std::string standing_words(const SequenceView& view) {
  return std::to_string(view.seq.value) + "  " + std::string(name_of(view.priority)) + ", " +
         std::to_string(view.output_tokens) + " output tokens";
}

std::string standing_words(const TracedCandidate& candidate) {
  const Candidate& c = candidate.standing;
  const std::string begun = c.resumes ? ", has begun" : "";
  return std::to_string(c.key.seq.value) + "  client " + id_text(candidate.client.value) +
         " has had " + served_text(c.client) + ", user " + id_text(candidate.user.value) + ' ' +
         served_text(c.user) + ", place " + std::to_string(c.key.place) + begun;
}

}  // namespace forge::trace::detail
