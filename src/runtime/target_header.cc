#include "forge/runtime/target_header.h"

#include <limits>
#include <nlohmann/json.hpp>

#include "forge/json/fields.h"
#include "forge/numerics/kv_type.h"
#include "forge/trace/trace_header.h"

namespace forge::runtime {
namespace {

using json::Fields;

// What version 2 has.
constexpr const char* kAcceptance = "shared_noise";  // the rule of all executors
constexpr const char* kCanonicalFp32 = "canonical-fp32";

constexpr IntegerRange kInts = {0, std::numeric_limits<int>::max()};
constexpr IntegerRange kWords = {0, std::numeric_limits<std::uint32_t>::max()};

nlohmann::json model_json(const BuiltinModel& builtin) {
  if (!builtin.random) return {{"trained", kBuiltinModel}};
  const reference::TinyConfig& m = *builtin.random;
  return {{"vocabulary_size", m.vocabulary_size},
          {"hidden_size", m.hidden_size},
          {"layers", m.layers},
          {"heads", m.heads},
          {"kv_heads", m.kv_heads},
          {"head_size", m.head_size},
          {"ffn_size", m.ffn_size},
          {"rope_base", m.rope_base},
          {"norm_eps", static_cast<double>(m.norm_eps)},
          {"seed", m.seed}};
}

/// validate() knows the ranges.
BuiltinModel read_model(const Fields& fields) {
  if (fields.has("trained")) {
    fields.one_of("trained", {kBuiltinModel});
    return {};
  }
  return {reference::TinyConfig{.vocabulary_size = fields.integer("vocabulary_size", kInts),
                                .hidden_size = fields.integer("hidden_size", kInts),
                                .layers = fields.integer("layers", kInts),
                                .heads = fields.integer("heads", kInts),
                                .kv_heads = fields.integer("kv_heads", kInts),
                                .head_size = fields.integer("head_size", kInts),
                                .ffn_size = fields.integer("ffn_size", kInts),
                                .rope_base = fields.number("rope_base", {0, 1e9}),
                                .norm_eps = static_cast<float>(fields.number("norm_eps", {0, 1})),
                                .seed = fields.natural("seed")}};
}

void add_record(nlohmann::json& model, const std::optional<ModelRecord>& record) {
  if (record) model.update({{"config", record->config}, {"weights", record->weights}});
}

ModelRecord read_record(const Fields& fields) {
  return {.config = fields.text("config"), .weights = fields.text("weights")};
}

nlohmann::json lora_json(const std::vector<checkpoint::LoraSource>& adapters) {
  nlohmann::json list = nlohmann::json::array();
  for (const checkpoint::LoraSource& adapter : adapters) {
    list.push_back({{"path", adapter.path}, {"scale", adapter.scale}});
  }
  return list;
}

void read_lora(const Fields& fields, std::vector<checkpoint::LoraSource>& out) {
  constexpr NumberRange kFinite{std::numeric_limits<double>::lowest(),
                                std::numeric_limits<double>::max()};
  for (const Fields& adapter : fields.list("lora")) {
    out.push_back({.path = adapter.text("path"), .scale = adapter.number("scale", kFinite)});
    adapter.finish();
  }
}

/// Of a model from a file: where it was. What it is, the file says, and the digests.
void read_source(const Fields& fields, bool is_old, RecordedRun& run) {
  ModelSource& source = run.options.source;
  if (fields.has("path")) {
    source.path = fields.text("path");
    if (fields.has("lora")) read_lora(fields, source.lora);
  } else {
    source.builtin = read_model(fields);
  }
  if (!is_old) {
    run.record.model = read_record(fields);
  } else if (source.is_file() && fields.has("draft")) {
    source.draft = fields.text("draft");
    run.options.executor.draft_source = executor::DraftSource::model;
  }
  fields.finish();
}

void read_draft(const Fields& fields, RecordedRun& run) {
  run.options.source.draft = fields.text("path");
  run.options.executor.draft_source = executor::DraftSource::model;
  run.record.draft = read_record(fields);
  fields.finish();
}

/// A number, or a list of them.
std::vector<TokenId> read_eos(const Fields& fields) {
  if (!fields.has("eos")) fields.fail("eos", "a token, or a list of them");
  std::vector<TokenId> eos;
  for (const std::int64_t token : fields.integers("eos", kWords)) {
    eos.emplace_back(static_cast<std::uint32_t>(token));
  }
  return eos;
}

nlohmann::json eos_json(const std::vector<TokenId>& eos) {
  if (eos.size() == 1) return eos[0].value;
  nlohmann::json list = nlohmann::json::array();
  for (const TokenId token : eos) list.push_back(token.value);
  return list;
}

nlohmann::json fast_json(const FastRecord& fast) {
  nlohmann::json json = {{"version", fast.version}, {"step", fast.step}};
  if (const auto& library = fast.library) {
    json["library"] = {
        {"name", library->name}, {"admitted", library->admitted}, {"refused", library->refused}};
  }
  return json;
}

/// The names of version 2 are others.
RunNumerics read_numerics(const Fields& fields, bool is_old) {
  const std::string_view canonical = is_old ? kCanonicalFp32 : name_of(RunNumerics::canonical);
  const std::string_view native = name_of(RunNumerics::native);
  const std::string_view fast = name_of(RunNumerics::fast);
  const std::string_view numerics = is_old ? fields.one_of("numerics", {canonical, native})
                                           : fields.one_of("numerics", {canonical, native, fast});
  return numerics == native ? RunNumerics::native
         : numerics == fast ? RunNumerics::fast
                            : RunNumerics::canonical;
}

LibraryRecord read_library(const Fields& fields) {
  LibraryRecord library{.name = fields.text("name"),
                        .admitted = fields.texts("admitted"),
                        .refused = fields.texts("refused")};
  fields.finish();
  return library;
}

FastRecord read_fast(const Fields& fields) {
  FastRecord fast{.version = fields.integer("version", kInts), .step = fields.text("step")};
  if (const auto library = fields.object("library")) fast.library = read_library(*library);
  fields.finish();
  return fast;
}

void read_model_target(const Fields& fields, bool is_old, RecordedRun& run) {
  TargetOptions& options = run.options;
  executor::ExecutorOptions& e = options.executor;
  run.record.numerics = read_numerics(fields, is_old);
  options.source.numerics = run.record.numerics;
  if (run.record.numerics == RunNumerics::fast) {
    run.record.fast = read_fast(fields.required_object("fast"));
  }
  if (is_gpu(options.kind)) fields.text("device");
  if (!is_gpu(options.kind) && !is_old) run.record.instructions = fields.text("instructions");
  e.drafts = fields.integer<std::uint32_t>("drafts", kWords);
  if (fields.has("draft_source")) {
    e.draft_source = fields.choice<executor::DraftSource>("draft_source");
  }
  e.draft_layers = fields.integer("draft_layers", kInts);
  if (is_old) fields.one_of("acceptance", {kAcceptance});
  if (fields.has("kv")) e.kv_type = fields.choice<numerics::KvType>("kv");
  options.kv = e.kv_type;
  e.digest_logits = fields.boolean("digest_logits");
  e.eos = read_eos(fields);
  read_source(fields.required_object("model"), is_old, run);
  if (const auto draft = is_old ? std::nullopt : fields.object("draft")) read_draft(*draft, run);
}

void read_target(const Fields& fields, bool is_old, RecordedRun& run) {
  TargetOptions& options = run.options;
  options.kind = fields.choice<TargetKind>("kind");
  if (fields.failed()) return;
  if (options.kind == TargetKind::null) {
    options.executor.drafts = fields.integer<std::uint32_t>("drafts", kWords);
  } else {
    read_model_target(fields, is_old, run);
  }
  fields.finish();
}

}  // namespace

trace::TraceHeader to_trace_header(const TargetOptions& options, const RunRecord& record,
                                   const std::string& device_name) {
  const executor::ExecutorOptions& e = options.executor;
  const ModelSource& source = options.source;
  nlohmann::json target = {{"kind", name_of(options.kind)}, {"drafts", e.drafts}};
  if (options.kind == TargetKind::null) return {options.scheduler, std::move(target)};
  nlohmann::json model =
      source.is_file() ? nlohmann::json{{"path", source.path}} : model_json(source.builtin);
  if (!source.lora.empty()) model["lora"] = lora_json(source.lora);
  add_record(model, record.model);
  target.update({{"numerics", name_of(record.numerics)},
                 {"model", std::move(model)},
                 {"draft_layers", e.draft_layers},
                 {"digest_logits", e.digest_logits},
                 {"eos", eos_json(e.eos)}});
  if (record.fast) target["fast"] = fast_json(*record.fast);
  if (e.kv_type != numerics::KvType::f32) target["kv"] = name_of(e.kv_type);
  if (e.draft_source == executor::DraftSource::ngram) {
    target["draft_source"] = name_of(e.draft_source);
  }
  if (record.draft) {
    nlohmann::json draft = {{"path", source.draft}};
    add_record(draft, record.draft);
    target["draft"] = std::move(draft);
  }
  if (is_gpu(options.kind)) {
    target["device"] = device_name;
  } else {
    target["instructions"] = record.instructions;
  }
  return {options.scheduler, std::move(target)};
}

tl::expected<RecordedRun, std::string> from_trace_header(const trace::TraceHeader& header) {
  RecordedRun run;
  run.options.scheduler = header.scheduler;
  json::Fault fault;
  read_target({header.target, "target", fault}, header.version == 2, run);
  if (fault.is_set()) return tl::unexpected(std::move(fault.message));
  if (const auto valid = validate(run.options); !valid) return tl::unexpected(valid.error());
  return run;
}

}  // namespace forge::runtime
