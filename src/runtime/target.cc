#include "forge/runtime/target.h"

#include <charconv>
#include <span>

#include "forge/chat/answer_form.h"
#include "forge/cpu/cpu_executor.h"
#include "forge/cuda/cuda_device.h"
#include "forge/sim/open_device.h"
#include "forge/text/text_stream.h"

namespace forge::runtime {
namespace {

using OpenDevice = tl::expected<std::unique_ptr<gpu::Device>, std::string>;

OpenDevice open_simulated(const DeviceOptions& options) {
  sim::OpenOptions open{.checked = options.checked,
                        .schedule_seed = options.schedule_seed,
                        .host_threads = options.host_threads};
  if (!options.device.empty()) open.device = options.device;
  auto device = sim::open_device(open);
  if (!device) return tl::unexpected("--device: " + device.error());
  return device;
}

OpenDevice open_cuda(const DeviceOptions& options) {
  int index = 0;
  const std::string& text = options.device;
  const char* const end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, index);
  if (!text.empty() && (error != std::errc() || stopped != end || index < 0)) {
    return tl::unexpected("--device is '" + text + "', accepted for --target cuda: 0, 1, ...");
  }
  auto device = cuda::open_device(index);
  if (!device) return tl::unexpected(to_string(device.error()));
  return *std::move(device);
}

/// The model that drafts, or null.
const LoadedModel* draft_of(const TargetOptions& options, const LoadedModel& model) {
  return options.executor.drafts > 0 ? model.draft() : nullptr;
}

tl::expected<gpu::GpuModel, std::string> gpu_model(const LoadedModel& model) {
  auto on_gpu = model.gpu_model();
  if (!on_gpu) return tl::unexpected(model.name() + ": " + on_gpu.error());
  return on_gpu;
}

/// The model, and the one that drafts for it.
tl::expected<gpu::GpuModels, std::string> gpu_models(const LoadedModel& model,
                                                     const LoadedModel* draft) {
  const auto on_gpu = gpu_model(model);
  if (!on_gpu) return tl::unexpected(on_gpu.error());
  if (draft == nullptr) return gpu::GpuModels(*on_gpu);
  const auto drafts = gpu_model(*draft);
  if (!drafts) return tl::unexpected("--draft: " + drafts.error());
  return gpu::GpuModels(*on_gpu, *drafts);
}

/// Why a GPU has not been given a model, in the words of the model's file.
std::string text_of(const gpu::CreateError& error, const LoadedModel& model) {
  const auto* const weights = std::get_if<gpu::WeightsError>(&error);
  if (weights == nullptr) return to_string(error);
  if (weights->is_draft) return "--draft: " + model.draft()->error_of(weights->fault);
  return "--model: " + model.error_of(weights->fault);
}

RunRecord record_on_cpu(const LoadedModel& model, TargetKind kind) {
  LoadedDigests digests{model.weights().digest, std::nullopt};
  if (model.draft() != nullptr) digests.draft = model.draft()->weights().digest;
  return record_of(model, kind, digests);
}

RunRecord record_on_gpu(const LoadedModel& model, TargetKind kind, const gpu::GpuExecutor& executor,
                        bool has_draft) {
  using executor::PassModel;
  LoadedDigests digests{executor.weights_digest(PassModel::model), std::nullopt};
  if (has_draft) digests.draft = executor.weights_digest(PassModel::draft);
  return record_of(model, kind, digests);
}

std::unique_ptr<executor::ModelExecutor> cpu_executor(const executor::ExecutorOptions& options,
                                                      const LoadedModel& model,
                                                      const LoadedModel* draft,
                                                      model::PassProfile* profile) {
  const auto with_cache = [&](const LoadedModel& loaded, model::PassProfile* tells) {
    return cpu::cpu_model(loaded.transformer(), loaded.threads(), options, tells);
  };
  return std::make_unique<cpu::CpuExecutor>(
      options, with_cache(model, profile),
      draft != nullptr ? with_cache(*draft, nullptr) : nullptr);
}

/// A model may have more tokens than its tokenizer: they stand for no text.
grammar::VocabularyTokens vocabulary_of(const LoadedModel& model, const std::vector<TokenId>& eos,
                                        std::span<const text::SpeltToken> marks) {
  grammar::VocabularyTokens vocabulary;
  const auto size = static_cast<std::uint32_t>(model.config().vocabulary_size);
  vocabulary.tokens.reserve(size);
  for (std::uint32_t token = 0; token < size; ++token) {
    vocabulary.tokens.push_back(model.tokenizer().bytes_of(TokenId(token)));
  }
  // A call may need marks that are control tokens, which show no text otherwise.
  for (const text::SpeltToken& mark : marks) {
    if (mark.token.value < size) vocabulary.tokens[mark.token.value] = mark.text;
  }
  for (const TokenId token : eos) vocabulary.eos.push_back(token.value);
  return vocabulary;
}

executor::ExecutorOptions options_with_grammars(const TargetOptions& options,
                                                const LoadedModel& model) {
  executor::ExecutorOptions executor = executor_options(options);
  executor.grammars = std::make_shared<grammar::OutputCompiler>(
      [&model, eos = executor.eos,
       marks = text::spelt_tokens(model.tokenizer(), chat::all_marks())] {
        return vocabulary_of(model, eos, marks);
      });
  return executor;
}

}  // namespace

tl::expected<Target, std::string> Target::open(const TargetOptions& options,
                                               const LoadedModel& model) {
  const LoadedModel* const draft = draft_of(options, model);
  const executor::ExecutorOptions of_executor = options_with_grammars(options, model);
  if (!is_gpu(options.kind)) {
    return Target(cpu_executor(of_executor, model, draft, options.profile), of_executor.grammars,
                  record_on_cpu(model, options.kind));
  }
  const auto models = gpu_models(model, draft);
  if (!models) return tl::unexpected(models.error());
  auto device =
      options.kind == TargetKind::sim ? open_simulated(options.device) : open_cuda(options.device);
  if (!device) return tl::unexpected(std::move(device.error()));
  auto executor =
      gpu::GpuExecutor::create(**device, *models, of_executor, {.graphs = options.device.graphs});
  if (!executor) return tl::unexpected(text_of(executor.error(), model));
  RunRecord record = record_on_gpu(model, options.kind, **executor, draft != nullptr);
  Target target(*std::move(executor), of_executor.grammars, std::move(record));
  target.device_ = *std::move(device);
  target.device_name_ = target.device_->info().name;
  return target;
}

}  // namespace forge::runtime
