#include "forge/runtime/target.h"

#include <span>

#include "forge/chat/answer_form.h"
#include "forge/cpu/cpu_executor.h"
#include "forge/numerics/fast.h"
#include "forge/text/text_stream.h"
#include "gpu_target.h"

namespace forge::runtime {
namespace {

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

std::optional<LibraryRecord> record_of(const gpu::LibraryReport& report) {
  if (report.library.empty()) return std::nullopt;
  LibraryRecord record{.name = report.library, .admitted = {}, .refused = {}};
  for (const auto& each : report.admitted) record.admitted.push_back(to_string(each));
  for (const auto& each : report.refused) record.refused.push_back(to_string(each));
  return record;
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
  return is_gpu(options.kind) ? open_on_gpu(options, model) : open_on_cpu(options, model);
}

tl::expected<Target, std::string> Target::open_on_cpu(const TargetOptions& options,
                                                      const LoadedModel& model) {
  const MemoryPlan plan = memory_on_cpu(options, model);
  const auto free = free_memory(nullptr);
  if (!free) return tl::unexpected(free.error());
  if (auto fits = check_fits(plan, *free); !fits) return tl::unexpected(std::move(fits.error()));
  const executor::ExecutorOptions with = options_with_grammars(options, model);
  Target target(cpu_executor(with, model, draft_of(options, model), options.profile), with.grammars,
                record_on_cpu(model, options.kind));
  target.memory_ = plan;
  return target;
}

tl::expected<Target, std::string> Target::open_on_gpu(const TargetOptions& options,
                                                      const LoadedModel& model) {
  const auto models = gpu_models(options, model);
  if (!models) return tl::unexpected(models.error());
  auto device = open_device(options);
  if (!device) return tl::unexpected(std::move(device.error()));
  const MemoryPlan plan = memory_on_gpu(options, *models);
  const auto free = free_memory(device->get());
  if (!free) return tl::unexpected(free.error());
  if (auto fits = check_fits(plan, *free); !fits) return tl::unexpected(std::move(fits.error()));
  const executor::ExecutorOptions with = options_with_grammars(options, model);
  auto executor = gpu::GpuExecutor::create(**device, *models, with, gpu_options(options));
  if (!executor) return tl::unexpected(text_of(executor.error(), model));
  RunRecord record = record_on_gpu(model, options.kind, **executor, models->draft.has_value());
  if (models->model.numerics() == gpu::GpuNumerics::fast) {
    const int major = (*device)->info().compute_capability / 10;
    record.numerics = RunNumerics::fast;
    record.fast = {.version = numerics::kFastVersion,
                   .step = std::string(numerics::step_model(major).name),
                   .library = record_of((*executor)->library())};
  }
  gpu::LibraryReport library = (*executor)->library();
  Target target(*std::move(executor), with.grammars, std::move(record));
  target.library_ = std::move(library);
  target.device_ = *std::move(device);
  target.device_name_ = target.device_->info().name;
  target.memory_ = plan;
  return target;
}

}  // namespace forge::runtime
