#include "target_header.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "forge/trace/trace_header.h"

namespace forge::apps {
namespace {

using linear::Numerics;
using nlohmann::json;

// What version 2 has.
constexpr const char* kAcceptance = "shared_noise";  // the rule of all executors
constexpr const char* kCanonicalFp32 = "canonical-fp32";

/// Fields of a JSON object by name, all of them, nothing else.
class Fields {
 public:
  Fields(const json& object, std::string path) : object_(object), path_(std::move(path)) {
    if (!object.is_object()) fail("", "is not an object");
  }

  template <class T>
  void read(const char* name, T& out) {
    ++fields_;
    if (!error_.empty()) return;
    const auto found = object_.find(name);
    if (found == object_.end()) return fail(name, "is missing");
    if constexpr (std::is_same_v<T, bool>) {
      if (!found->is_boolean()) return fail(name, "is neither true nor false");
    } else if constexpr (std::is_floating_point_v<T>) {
      if (!found->is_number()) return fail(name, "is not a number");
    } else {
      constexpr auto kMax = static_cast<std::uint64_t>(std::numeric_limits<T>::max());
      const bool negative = !found->is_number_unsigned() && found->is_number_integer() &&
                            found->get<std::int64_t>() < 0;
      if (!found->is_number_integer() || negative || found->get<std::uint64_t>() > kMax) {
        return fail(name, "is not an integer in 0.." + std::to_string(kMax));
      }
    }
    out = found->get<T>();
  }

  void read(const char* name, std::string& out) {
    const json* text = child(name);
    if (text == nullptr) return;
    if (!text->is_string() || text->get_ref<const std::string&>().empty()) {
      return fail(name, "is not a text");
    }
    out = text->get<std::string>();
  }

  const json* child(const char* name) {
    ++fields_;
    if (error_.empty() && !object_.contains(name)) fail(name, "is missing");
    return error_.empty() ? &object_.at(name) : nullptr;
  }

  bool has(const char* name) const { return object_.is_object() && object_.contains(name); }

  void fail(const std::string& name, const std::string& what) {
    error_ = path_ + (name.empty() ? "" : ".") + name + " " + what;
  }

  /// Call after all reads. The first error, or empty.
  std::string error() {
    if (error_.empty() && object_.size() != fields_) fail("", "has unknown fields");
    return error_;
  }

 private:
  const json& object_;
  std::string path_;
  std::string error_;
  std::size_t fields_ = 0;
};

json model_json(const reference::TinyConfig& m) {
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

void read_model(Fields& fields, reference::TinyConfig& m) {
  fields.read("vocabulary_size", m.vocabulary_size);
  fields.read("hidden_size", m.hidden_size);
  fields.read("layers", m.layers);
  fields.read("heads", m.heads);
  fields.read("kv_heads", m.kv_heads);
  fields.read("head_size", m.head_size);
  fields.read("ffn_size", m.ffn_size);
  fields.read("rope_base", m.rope_base);
  fields.read("norm_eps", m.norm_eps);
  fields.read("seed", m.seed);
}

void add_record(json& model, const std::optional<ModelRecord>& record) {
  if (record) model.update({{"config", record->config}, {"weights", record->weights}});
}

void read_record(Fields& fields, std::optional<ModelRecord>& record) {
  record.emplace();
  fields.read("config", record->config);
  fields.read("weights", record->weights);
}

/// Of a model from a file: where it was. What it is, the file says, and the digests.
std::string read_source(const json& object, const trace::TraceHeader& header, RecordedRun& run) {
  ModelSource& source = run.options.source;
  Fields fields(object, "target.model");
  if (fields.has("path")) {
    fields.read("path", source.path);
  } else {
    read_model(fields, source.builtin);
  }
  if (header.version > 2) {
    read_record(fields, run.record.model);
  } else if (source.is_file() && fields.has("draft")) {
    fields.read("draft", source.draft);
  }
  return fields.error();
}

std::string read_draft(const json& object, RecordedRun& run) {
  Fields fields(object, "target.draft");
  fields.read("path", run.options.source.draft);
  read_record(fields, run.record.draft);
  return fields.error();
}

/// A number, or a list of them.
void read_eos(Fields& fields, std::vector<TokenId>& eos) {
  const json* found = fields.child("eos");
  if (found == nullptr) return;
  eos.clear();
  const json list = found->is_array() ? *found : json::array({*found});
  for (const json& token : list) {
    constexpr std::uint64_t kMax = std::numeric_limits<std::uint32_t>::max();
    if (!token.is_number_unsigned() || token.get<std::uint64_t>() > kMax) {
      return fields.fail(
          "eos", "is not an integer in 0.." + std::to_string(kMax) + ", nor a list of such");
    }
    eos.emplace_back(token.get<std::uint32_t>());
  }
}

json eos_json(const std::vector<TokenId>& eos) {
  if (eos.size() == 1) return eos[0].value;
  json list = json::array();
  for (const TokenId token : eos) list.push_back(token.value);
  return list;
}

void read_acceptance(Fields& fields) {
  const json* name = fields.child("acceptance");
  if (name == nullptr || *name == kAcceptance) return;
  fields.fail("acceptance", "is " + name->dump() + ", this build has \"" + kAcceptance + '"');
}

void read_numerics(Fields& fields, std::string_view canonical, Numerics& numerics) {
  const json* name = fields.child("numerics");
  if (name == nullptr) return;
  numerics = *name == canonical ? Numerics::canonical : Numerics::native;
  if (*name == canonical || *name == name_of(Numerics::native)) return;
  fields.fail("numerics", "is " + name->dump() + ", accepted: \"" + std::string(canonical) +
                              "\" and \"" + std::string(name_of(Numerics::native)) + '"');
}

std::string read_model_target(const json& object, Fields& fields, const trace::TraceHeader& header,
                              RecordedRun& run) {
  TargetOptions& options = run.options;
  executor::ExecutorOptions& e = options.executor;
  const bool is_old = header.version == 2;
  read_numerics(fields, is_old ? kCanonicalFp32 : name_of(Numerics::canonical),
                run.record.numerics);
  options.source.numerics = run.record.numerics;
  std::string device;
  if (is_gpu(options.kind)) fields.read("device", device);
  if (!is_gpu(options.kind) && !is_old) fields.read("instructions", run.record.instructions);
  const json* model = fields.child("model");
  fields.read("drafts", e.drafts);
  fields.read("draft_layers", e.draft_layers);
  if (is_old) read_acceptance(fields);
  fields.read("digest_logits", e.digest_logits);
  read_eos(fields, e.eos);
  const json* draft = !is_old && object.contains("draft") ? fields.child("draft") : nullptr;
  std::string error = fields.error();
  if (error.empty()) error = read_source(*model, header, run);
  if (error.empty() && draft != nullptr) error = read_draft(*draft, run);
  return error;
}

std::string read_target(const trace::TraceHeader& header, RecordedRun& run) {
  const json& object = header.target;
  TargetOptions& options = run.options;
  Fields fields(object, "target");
  const json* kind = fields.child("kind");
  if (kind == nullptr) return fields.error();
  const auto found = std::find_if(kTargetNames.begin(), kTargetNames.end(),
                                  [&](std::string_view known) { return *kind == known; });
  if (found == kTargetNames.end()) {
    fields.fail("kind", R"(is none of "cpu", "sim", "cuda" and "null")");
    return fields.error();
  }
  options.kind = static_cast<TargetKind>(found - kTargetNames.begin());
  if (options.kind != TargetKind::null) {
    return read_model_target(object, fields, header, run);
  }
  fields.read("drafts", options.executor.drafts);
  return fields.error();
}

}  // namespace

trace::TraceHeader to_trace_header(const TargetOptions& options, const RunRecord& record,
                                   const std::string& device_name) {
  const executor::ExecutorOptions& e = options.executor;
  const ModelSource& source = options.source;
  json target = {{"kind", name(options.kind)}, {"drafts", e.drafts}};
  if (options.kind == TargetKind::null) return {options.scheduler, std::move(target)};
  json model = source.is_file() ? json{{"path", source.path}} : model_json(source.builtin);
  add_record(model, record.model);
  target.update({{"numerics", name_of(record.numerics)},
                 {"model", std::move(model)},
                 {"draft_layers", e.draft_layers},
                 {"digest_logits", e.digest_logits},
                 {"eos", eos_json(e.eos)}});
  if (record.draft) {
    json draft = {{"path", source.draft}};
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
  follow_scheduler(run.options);
  std::string error = read_target(header, run);
  if (!error.empty()) return tl::unexpected(std::move(error));
  if (const auto valid = validate(run.options); !valid) return tl::unexpected(valid.error());
  return run;
}

}  // namespace forge::apps
