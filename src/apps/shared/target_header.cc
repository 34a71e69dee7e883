// The "target" of a trace header, written and read.
#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "forge/trace/trace_header.h"
#include "target_options.h"

namespace forge::apps {
namespace {

using nlohmann::json;

constexpr const char* kAcceptance = "shared_noise";  // the rule of all executors

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

  const json* child(const char* name) {
    ++fields_;
    if (error_.empty() && !object_.contains(name)) fail(name, "is missing");
    return error_.empty() ? &object_.at(name) : nullptr;
  }

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

std::string read_model(const json& object, reference::TinyConfig& m) {
  Fields fields(object, "target.model");
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
  return fields.error();
}

/// Of a model from a file: where it was. What it is, the file says.
std::string read_source(const json& object, ModelSource& source) {
  Fields fields(object, "target.model");
  const json* path = fields.child("path");
  if (path == nullptr) return fields.error();
  if (!path->is_string() || path->get_ref<const std::string&>().empty()) {
    fields.fail("path", "is not a text");
    return fields.error();
  }
  source.path = path->get<std::string>();
  if (object.contains("draft")) {
    const json* draft = fields.child("draft");
    if (!draft->is_string()) fields.fail("draft", "is not a text");
    if (draft->is_string()) source.draft = draft->get<std::string>();
  }
  return fields.error();
}

json source_json(const ModelSource& source) {
  json model = {{"path", source.path}};
  if (!source.draft.empty()) model["draft"] = source.draft;
  return model;
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

void read_numerics(Fields& fields) {
  const json* name = fields.child("numerics");
  if (name == nullptr || *name == kNumerics || *name == kNativeNumerics) return;
  fields.fail("numerics", "is " + name->dump() + ", this build has \"" + kNumerics + "\" and \"" +
                              kNativeNumerics + '"');
}

void read_device(Fields& fields) {
  const json* name = fields.child("device");
  if (name != nullptr && !name->is_string()) fields.fail("device", "is not a text");
}

std::string read_model_target(Fields& fields, TargetOptions& options) {
  executor::ExecutorOptions& e = options.executor;
  read_numerics(fields);
  if (is_gpu(options.kind)) read_device(fields);
  const json* model = fields.child("model");
  fields.read("drafts", e.drafts);
  fields.read("draft_layers", e.draft_layers);
  read_acceptance(fields);
  fields.read("digest_logits", e.digest_logits);
  read_eos(fields, e.eos);
  std::string error = fields.error();
  if (!error.empty()) return error;
  return model->contains("path") ? read_source(*model, options.source)
                                 : read_model(*model, options.source.builtin);
}

std::string read_target(const json& object, TargetOptions& options) {
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
  if (options.kind != TargetKind::null) return read_model_target(fields, options);
  fields.read("drafts", options.executor.drafts);
  return fields.error();
}

}  // namespace

trace::TraceHeader to_trace_header(const TargetOptions& options, const std::string& device_name) {
  const executor::ExecutorOptions& e = options.executor;
  json target = {{"kind", name(options.kind)}, {"drafts", e.drafts}};
  if (options.kind != TargetKind::null) {
    const ModelSource& source = options.source;
    const bool native = source.is_file() && !is_gpu(options.kind);
    target.update({{"numerics", native ? kNativeNumerics : kNumerics},
                   {"model", source.is_file() ? source_json(source) : model_json(source.builtin)},
                   {"draft_layers", e.draft_layers},
                   {"acceptance", kAcceptance},
                   {"digest_logits", e.digest_logits},
                   {"eos", eos_json(e.eos)}});
  }
  if (is_gpu(options.kind)) target["device"] = device_name;
  return {.scheduler = options.scheduler, .target = std::move(target)};
}

tl::expected<TargetOptions, std::string> from_trace_header(const trace::TraceHeader& header) {
  TargetOptions options;
  options.scheduler = header.scheduler;
  follow_scheduler(options);
  std::string error = read_target(header.target, options);
  if (!error.empty()) return tl::unexpected(std::move(error));
  if (const auto valid = validate(options); !valid) return tl::unexpected(valid.error());
  return options;
}

}  // namespace forge::apps
