#include "target_options.h"

#include <limits>

#include "null_executor.h"

namespace forge {
namespace {

using nlohmann::json;

constexpr const char* kRuleNames[] = {"shared_noise", "rejection"};

// In double, which no configuration overflows.

double bytes_of_weights(const ModelConfig& m) {
  const double hidden = m.hidden_size;
  const double attention = hidden * m.head_size * (2.0 * m.heads + 2.0 * m.kv_heads);
  return 4 * (2 * hidden * m.vocabulary_size + m.layers * (attention + 3 * hidden * m.ffn_size));
}

double bytes_of_kv(const TargetOptions& options) {
  const ModelConfig& m = options.executor.model;
  const SchedulerConfig& s = options.scheduler;
  const double slots = (double{1} * s.num_blocks + s.num_host_blocks) * s.block_size;
  return 4 * slots * m.layers * 2 * m.kv_heads * m.head_size;
}

/// The tokens of each block and its place in the index.
double bytes_of_prefix_index(const SchedulerConfig& s) {
  if (s.prefix_cache == PrefixCacheKind::none) return 0;
  return double{1} * s.num_blocks * (64.0 + double{sizeof(TokenId)} * s.block_size);
}

double bytes_of(const TargetOptions& options) {
  const double index = bytes_of_prefix_index(options.scheduler);
  if (options.kind == TargetKind::null) return index;
  return bytes_of_weights(options.executor.model) + bytes_of_kv(options) + index;
}

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

json model_json(const ModelConfig& m) {
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

std::string read_model(const json& object, ModelConfig& m) {
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

void read_rule(Fields& fields, AcceptanceRule& rule) {
  const json* name = fields.child("acceptance");
  if (name == nullptr) return;
  for (const AcceptanceRule known : {AcceptanceRule::shared_noise, AcceptanceRule::rejection}) {
    if (*name == kRuleNames[static_cast<std::size_t>(known)]) {
      rule = known;
      return;
    }
  }
  fields.fail("acceptance", "is neither shared_noise nor rejection");
}

std::string read_cpu_target(Fields& fields, ExecutorOptions& e) {
  const json* model = fields.child("model");
  fields.read("drafts", e.drafts);
  fields.read("draft_layers", e.draft_layers);
  read_rule(fields, e.rule);
  fields.read("digest_logits", e.digest_logits);
  fields.read("eos", e.eos.value);
  std::string error = fields.error();
  return error.empty() ? read_model(*model, e.model) : error;
}

std::string read_target(const json& object, TargetOptions& options) {
  Fields fields(object, "target");
  const json* kind = fields.child("kind");
  if (kind == nullptr) return fields.error();
  if (*kind == "cpu") return read_cpu_target(fields, options.executor);
  if (*kind != "null") {
    fields.fail("kind", "is neither \"cpu\" nor \"null\"");
    return fields.error();
  }
  options.kind = TargetKind::null;
  fields.read("drafts", options.executor.drafts);
  return fields.error();
}

}  // namespace

void follow_scheduler(TargetOptions& options) {
  options.executor.num_blocks = options.scheduler.num_blocks;
  options.executor.block_size = options.scheduler.block_size;
  options.executor.num_host_blocks = options.scheduler.num_host_blocks;
  options.executor.max_batch_size = options.scheduler.max_batch_size;
  options.executor.max_batch_tokens = options.scheduler.max_batch_tokens;
}

tl::expected<void, std::string> validate(const TargetOptions& options) {
  if (const auto valid = validate(options.scheduler); !valid) {
    return tl::unexpected(to_string(valid.error()));
  }
  if (const auto valid = validate(options.executor); !valid) {
    return tl::unexpected(to_string(valid.error()));
  }
  const double bytes = bytes_of(options);
  if (bytes > static_cast<double>(kTargetBytesMax)) {
    const auto mib = [](double n) {
      return std::to_string(static_cast<std::uint64_t>(n / 1048576));
    };
    return tl::unexpected("weights, KV cache and prefix index take " + mib(bytes) +
                          " MiB, accepted: up to " + mib(static_cast<double>(kTargetBytesMax)) +
                          " MiB");
  }
  return {};
}

TraceHeader to_trace_header(const TargetOptions& options) {
  const ExecutorOptions& e = options.executor;
  if (options.kind == TargetKind::null) {
    return {.scheduler = options.scheduler, .target = {{"kind", "null"}, {"drafts", e.drafts}}};
  }
  return {.scheduler = options.scheduler,
          .target = {{"kind", "cpu"},
                     {"model", model_json(e.model)},
                     {"drafts", e.drafts},
                     {"draft_layers", e.draft_layers},
                     {"acceptance", kRuleNames[static_cast<std::size_t>(e.rule)]},
                     {"digest_logits", e.digest_logits},
                     {"eos", e.eos.value}}};
}

tl::expected<TargetOptions, std::string> from_trace_header(const TraceHeader& header) {
  TargetOptions options;
  options.scheduler = header.scheduler;
  follow_scheduler(options);
  std::string error = read_target(header.target, options);
  if (!error.empty()) return tl::unexpected(std::move(error));
  if (const auto valid = validate(options); !valid) return tl::unexpected(valid.error());
  return options;
}

std::unique_ptr<Executor> make_executor(const TargetOptions& options) {
  if (options.kind == TargetKind::null) {
    return std::make_unique<NullExecutor>(options.executor.drafts);
  }
  return std::make_unique<CpuExecutor>(options.executor);
}

}  // namespace forge
