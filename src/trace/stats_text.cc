// The two forms of TraceStats as text.
#include <iomanip>
#include <ostream>

#include "forge/trace/trace_json.h"
#include "forge/trace/trace_stats.h"

namespace forge::trace {
namespace {

constexpr FinishReason kReasons[] = {FinishReason::length, FinishReason::eos,
                                     FinishReason::stop,   FinishReason::cancelled,
                                     FinishReason::error,  FinishReason::deadline};
constexpr CopyKind kCopyKinds[] = {CopyKind::within, CopyKind::swap_out, CopyKind::swap_in};

double ratio(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

struct Percent {
  std::uint64_t part;
  std::uint64_t whole;
};
std::ostream& operator<<(std::ostream& out, const Percent& p) {
  return out << std::fixed << std::setprecision(1) << 100 * ratio(p.part, p.whole) << "%";
}
std::ostream& operator<<(std::ostream& out, const TraceStats::Distribution& d) {
  return out << "p50 " << d.p50 << ", p95 " << d.p95 << ", max " << d.max;
}

nlohmann::ordered_json to_json(const TraceStats::Distribution& d) {
  return {{"p50", d.p50}, {"p95", d.p95}, {"max", d.max}};
}

}  // namespace

void print(const TraceStats& s, std::ostream& out) {
  out << "requests      " << s.requests;
  for (const FinishReason reason : kReasons) {
    const std::uint64_t count = s.finished[static_cast<std::size_t>(reason)];
    if (count > 0) out << ", " << count << ' ' << name_of(reason);
  }
  if (s.unfinished() > 0) out << ", " << s.unfinished() << " unfinished";
  out << "\nsteps         " << s.steps << "\ntokens        " << s.prompt_tokens << " prompt, "
      << s.generated_tokens << " generated, " << s.run_tokens << " run, " << s.recomputed_tokens
      << " of these again\nprefix cache  " << s.prefix_hits << " hits of " << s.admissions
      << " admissions, " << s.cached_tokens << " tokens ("
      << Percent{s.cached_tokens, s.prompt_tokens} << " of the prompts), " << s.recovered_tokens
      << " more after preemptions\npreemptions   " << s.preemptions_recompute << " recompute, "
      << s.preemptions_swap << " swap\ncopies        ";
  for (const CopyKind kind : kCopyKinds) {
    out << (kind == kCopyKinds[0] ? "" : ", ") << s.copies[static_cast<std::size_t>(kind)] << ' '
        << name_of(kind);
  }
  out << "\nbatch size    " << s.batch_size << "\nbatch tokens  " << s.batch_tokens
      << "\npeaks         " << s.blocks_peak << " blocks, " << s.host_blocks_peak
      << " host blocks, " << s.waiting_peak << " waiting\ndrafts        " << s.drafts_proposed
      << " proposed, " << s.drafts_accepted << " accepted ("
      << Percent{s.drafts_accepted, s.drafts_proposed} << ")\nbytes         " << s.bytes.total
      << ": " << Percent{s.bytes.submissions, s.bytes.total} << " submissions, "
      << Percent{s.bytes.steps, s.bytes.total} << " steps (digests of logits "
      << Percent{s.bytes.logits_digests, s.bytes.total} << ", links "
      << Percent{s.bytes.links, s.bytes.total} << ")";
  if (s.bytes.snapshots > 0) {
    out << ", " << Percent{s.bytes.snapshots, s.bytes.total} << " snapshots";
  }
  out << "\n              " << std::setprecision(1) << ratio(s.bytes.total, s.generated_tokens)
      << " per generated token, " << ratio(s.bytes.steps, s.generated_tokens)
      << " of them for steps\n";
}

nlohmann::ordered_json to_json(const TraceStats& s) {
  nlohmann::ordered_json finished;
  for (const FinishReason reason : kReasons) {
    finished[std::string(name_of(reason))] = s.finished[static_cast<std::size_t>(reason)];
  }
  nlohmann::ordered_json copies;
  for (const CopyKind kind : kCopyKinds) {
    copies[std::string(name_of(kind))] = s.copies[static_cast<std::size_t>(kind)];
  }
  return {{"requests", s.requests},
          {"finished", finished},
          {"unfinished", s.unfinished()},
          {"steps", s.steps},
          {"tokens",
           {{"prompt", s.prompt_tokens},
            {"generated", s.generated_tokens},
            {"run", s.run_tokens},
            {"recomputed", s.recomputed_tokens}}},
          {"prefix_cache",
           {{"admissions", s.admissions},
            {"hits", s.prefix_hits},
            {"hit_tokens", s.cached_tokens},
            {"recovered_tokens", s.recovered_tokens}}},
          {"preemptions", {{"recompute", s.preemptions_recompute}, {"swap", s.preemptions_swap}}},
          {"copies", copies},
          {"batch_size", to_json(s.batch_size)},
          {"batch_tokens", to_json(s.batch_tokens)},
          {"peaks",
           {{"blocks", s.blocks_peak},
            {"host_blocks", s.host_blocks_peak},
            {"waiting", s.waiting_peak}}},
          {"drafts", {{"proposed", s.drafts_proposed}, {"accepted", s.drafts_accepted}}},
          {"bytes",
           {{"total", s.bytes.total},
            {"submissions", s.bytes.submissions},
            {"steps", s.bytes.steps},
            {"logits_digests", s.bytes.logits_digests},
            {"links", s.bytes.links},
            {"snapshots", s.bytes.snapshots},
            {"per_generated_token", ratio(s.bytes.total, s.generated_tokens)}}}};
}

}  // namespace forge::trace
