#include "forge/core/digest.h"
#include "forge/core/step_plan.h"

namespace forge {
namespace {

// The byte form of digest.h, one overload a type, fields in the order of step_plan.h.
void add(Digest& d, std::uint64_t word) { d.add(word); }
template <class Tag, class Rep>
void add(Digest& d, Id<Tag, Rep> id) {
  d.add(id);
}
void add(Digest& d, const Admission& a) { d.add(a.seq).add(a.cached_tokens); }
void add(Digest& d, const Preemption& p) { d.add(p.seq).add(static_cast<std::uint64_t>(p.mode)); }
void add(Digest& d, const Finish& f) { d.add(f.seq).add(static_cast<std::uint64_t>(f.reason)); }
void add(Digest& d, const BlockCopy& c) {
  d.add(static_cast<std::uint64_t>(c.kind)).add(c.from).add(c.to);
}
void add(Digest& d, const TableDelta& t) {
  d.add(t.seq).add(t.truncated_to).add(t.appended_first).add(t.appended_count);
}
void add(Digest& d, const Slice& s) {
  d.add(s.seq).add(s.first).add(s.count).add(s.drafts).add(s.samples);
}
void add(Digest& d, const SliceResult& s) {
  d.add(s.seq).add(s.first_token).add(s.token_count);
  d.add(static_cast<std::uint64_t>(s.signal)).add(s.drafts);
}

template <class T>
void add_list(Digest& d, const std::vector<T>& list) {
  d.add(list.size());
  for (const T& item : list) add(d, item);
}

}  // namespace

std::uint64_t digest(const StepPlan& plan) {
  Digest d;
  d.add(plan.step);
  add_list(d, plan.admitted);
  add_list(d, plan.resumed);
  add_list(d, plan.preempted);
  add_list(d, plan.finished);
  add_list(d, plan.copies);
  add_list(d, plan.tables);
  add_list(d, plan.appended_blocks);
  add_list(d, plan.slices);
  return d.add(plan.decodes).value();
}

std::uint64_t digest(const StepResult& result) {
  Digest d;
  d.add(result.step);
  add_list(d, result.slices);
  add_list(d, result.tokens);
  add_list(d, result.logits);
  if (result.kv_lost) d.add(1);
  return d.value();
}

std::uint64_t RunDigest::add(const StepPlan& plan, const StepResult& result) {
  link_ = Digest().add(link_).add(digest(plan)).add(digest(result)).value();
  return link_;
}

}  // namespace forge
