#include "forge/runtime/run_record.h"

#include "forge/linear/product.h"
#include "forge/model/config_digest.h"
#include "forge/model/weights_digest.h"
#include "forge/runtime/loaded_model.h"
#include "forge/trace/trace_json.h"

namespace forge::runtime {
namespace {

using linear::Numerics;

Numerics numerics_of(const LoadedModel& model) {
  const Numerics own = numerics_of_results(model.transformer().weights());
  if (own == Numerics::native || model.draft() == nullptr) return own;
  return numerics_of_results(model.draft()->transformer().weights());  // drafts are in the plans
}

ModelRecord record_of(const LoadedModel& model) {
  return {.config = trace::digest_text(digest_of(model.config())),
          .weights = to_string(model.transformer().weights().digest)};
}

/// `field` of the header is `recorded`, but `here` is so.
tl::unexpected<std::string> other(const std::string& field, const std::string& recorded,
                                  const std::string& here) {
  return tl::unexpected("target." + field + " is \"" + recorded + "\", " + here);
}

tl::expected<void, std::string> compare(const std::string& field, const ModelRecord& recorded,
                                        const LoadedModel& model) {
  const ModelRecord here = record_of(model);
  const std::string whose = "that of '" + model.name() + "' is \"";
  if (recorded.config != here.config) {
    return other(field + ".config", recorded.config, whose + here.config + '"');
  }
  if (recorded.weights != here.weights) {
    return other(field + ".weights", recorded.weights, whose + here.weights + '"');
  }
  return {};
}

}  // namespace

RunRecord record_of(const LoadedModel& model, TargetKind kind) {
  RunRecord record{.model = record_of(model)};
  if (model.draft() != nullptr) record.draft = record_of(*model.draft());
  if (!is_gpu(kind)) {
    record.numerics = numerics_of(model);
    record.instructions = linear::instructions_used(record.numerics);
  }
  return record;
}

tl::expected<void, std::string> validate_replay(const RunRecord& recorded, const LoadedModel& model,
                                                TargetKind kind) {
  if (recorded.model) {
    if (auto same = compare("model", *recorded.model, model); !same) return same;
  }
  if (recorded.draft && model.draft() != nullptr) {
    if (auto same = compare("draft", *recorded.draft, *model.draft()); !same) return same;
  }
  if (recorded.numerics == Numerics::canonical) return {};
  const bool is_known = !recorded.instructions.empty();
  if (is_gpu(kind) && (is_known || numerics_of(model) == Numerics::native)) {
    return other("numerics", "native",
                 "accepted for --target " + std::string(name_of(kind)) +
                     ": \"canonical\", as forge-infer and forge-bench record with --numerics "
                     "canonical");
  }
  const std::string_view here = linear::instructions_used(numerics_of(model));
  if (is_known && recorded.instructions != here) {
    return other(
        "instructions", recorded.instructions,
        "and numerics \"native\"; this machine computes with \"" + std::string(here) + '"');
  }
  return {};
}

}  // namespace forge::runtime
