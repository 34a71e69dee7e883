#include "forge/runtime/run_record.h"

#include "forge/linear/product.h"
#include "forge/model/config_digest.h"
#include "forge/runtime/loaded_model.h"
#include "forge/trace/trace_json.h"

namespace forge::runtime {
namespace {

using linear::Numerics;

/// On a CPU.
Numerics numerics_of(const LoadedModel& model) {
  const Numerics own = numerics_of_results(model.weights());
  if (own == Numerics::native || model.draft() == nullptr) return own;
  return numerics_of_results(model.draft()->weights());  // drafts are in the plans
}

ModelRecord record_of(const LoadedModel& model, const model::WeightsDigest& weights) {
  return {.config = trace::digest_text(digest_of(model.config())), .weights = to_string(weights)};
}

/// `field` of the header is `recorded`, but `here` is so.
tl::unexpected<std::string> other(const std::string& field, const std::string& recorded,
                                  const std::string& here) {
  return tl::unexpected("target." + field + " is \"" + recorded + "\", " + here);
}

tl::expected<void, std::string> compare(const std::string& field, const ModelRecord& recorded,
                                        const ModelRecord& here, const LoadedModel& model) {
  const std::string whose = "that of '" + model.name() + "' is \"";
  if (recorded.config != here.config) {
    return other(field + ".config", recorded.config, whose + here.config + '"');
  }
  if (recorded.weights != here.weights) {
    return other(field + ".weights", recorded.weights, whose + here.weights + '"');
  }
  return {};
}

/// A fast run needs a GPU, and the step that it was recorded with.
tl::expected<void, std::string> compare_fast(const RunRecord& recorded, const RunRecord& here,
                                             TargetKind kind) {
  if (!here.fast) {
    return other("numerics", "fast",
                 "accepted for --target " + std::string(name_of(kind)) +
                     (is_gpu(kind) ? ": \"canonical\"" : ": \"canonical\", \"native\""));
  }
  const FastRecord fast = recorded.fast.value_or(FastRecord());
  if (fast.version != here.fast->version) {
    return other("fast.version", std::to_string(fast.version),
                 "here it is \"" + std::to_string(here.fast->version) + '"');
  }
  if (fast.step != here.fast->step) {
    return other("fast.step", fast.step,
                 "the tensor cores of this device have \"" + here.fast->step + '"');
  }
  return {};
}

}  // namespace

RunRecord record_of(const LoadedModel& model, TargetKind kind, const LoadedDigests& digests) {
  RunRecord record{.model = record_of(model, digests.model)};
  if (digests.draft) record.draft = record_of(*model.draft(), *digests.draft);
  if (!is_gpu(kind)) {
    const Numerics numerics = numerics_of(model);
    record.numerics = numerics == Numerics::native ? RunNumerics::native : RunNumerics::canonical;
    record.instructions = linear::instructions_used(numerics);
  }
  return record;
}

tl::expected<void, std::string> validate_replay(const RunRecord& recorded, const RunRecord& here,
                                                const LoadedModel& model, TargetKind kind) {
  if (recorded.model) {
    if (auto same = compare("model", *recorded.model, *here.model, model); !same) return same;
  }
  if (recorded.draft && here.draft) {
    if (auto same = compare("draft", *recorded.draft, *here.draft, *model.draft()); !same) {
      return same;
    }
  }
  if (recorded.numerics == RunNumerics::canonical) return {};
  if (recorded.numerics == RunNumerics::fast) return compare_fast(recorded, here, kind);
  const bool is_known = !recorded.instructions.empty();
  if (is_gpu(kind) && (is_known || numerics_of(model) == Numerics::native)) {
    return other("numerics", "native",
                 "accepted for --target " + std::string(name_of(kind)) +
                     ": \"canonical\", as forge-infer and forge-bench record with --numerics "
                     "canonical");
  }
  const std::string_view used = linear::instructions_used(numerics_of(model));
  if (is_known && recorded.instructions != used) {
    return other(
        "instructions", recorded.instructions,
        "and numerics \"native\"; this machine computes with \"" + std::string(used) + '"');
  }
  return {};
}

}  // namespace forge::runtime
