#include "forge/cpu/cpu_model.h"

#include "forge/model/kv_pool.h"
#include "forge/model/transformer.h"
#include "forge/reference/seeded_model.h"

namespace forge::cpu {
namespace {

/// The device tier and the host tier of one layout.
class TieredCache {
 public:
  TieredCache(const model::KvShape& shape, const executor::ExecutorOptions& options)
      : device_(shape, options.cache.num_blocks, options.cache.block_size, options.kv_type),
        host_(shape, options.cache.num_host_blocks, options.cache.block_size, options.kv_type) {}

  void copy(const BlockCopy& copy) {
    const model::KvPool& source = copy.kind == CopyKind::swap_in ? host_ : device_;
    model::KvPool& target = copy.kind == CopyKind::swap_out ? host_ : device_;
    target.copy(source, copy.from.value, copy.to.value);
  }

  model::KvPool& device() { return device_; }

 private:
  model::KvPool device_;
  model::KvPool host_;
};

class TransformerCpuModel : public CpuModel {
 public:
  TransformerCpuModel(const model::Transformer& model, linear::ThreadPool& threads,
                      const executor::ExecutorOptions& options,
                      model::PassProfile* profile = nullptr)
      : model_(model),
        cache_(kv_shape(model.config()), options),
        scratch_(model.config(), threads) {
    scratch_.workers.set_profile(profile);
    scratch_.workers.set_heartbeat(options.heartbeat);
  }

  int vocabulary_size() const override { return model_.config().vocabulary_size; }
  int layers() const override { return model_.config().layers; }
  int positions() const override { return model_.config().positions; }
  void copy(const BlockCopy& copy) override { cache_.copy(copy); }
  void forward(const model::ForwardBatch& batch, int layers, std::span<float> logits) override {
    model_.forward(batch, cache_.device(), scratch_, logits, layers);
  }

 private:
  const model::Transformer& model_;
  TieredCache cache_;
  model::TransformerScratch scratch_;
};

/// A base of its own, so that it is there before the model that borrows it.
struct OwnedSeededModel {
  explicit OwnedSeededModel(const reference::TinyConfig& config) : model(config, threads) {}

  linear::ThreadPool threads{1};
  reference::SeededModel model;
};

class SeededCpuModel : private OwnedSeededModel, public TransformerCpuModel {
 public:
  SeededCpuModel(const reference::TinyConfig& config, const executor::ExecutorOptions& options)
      : OwnedSeededModel(config), TransformerCpuModel(model.transformer(), threads, options) {}
};

}  // namespace

std::unique_ptr<CpuModel> cpu_model(const model::Transformer& transformer,
                                    linear::ThreadPool& threads,
                                    const executor::ExecutorOptions& options,
                                    model::PassProfile* profile) {
  return std::make_unique<TransformerCpuModel>(transformer, threads, options, profile);
}

std::unique_ptr<CpuModel> seeded_cpu_model(const reference::TinyConfig& config,
                                           const executor::ExecutorOptions& options) {
  return std::make_unique<SeededCpuModel>(config, options);
}

}  // namespace forge::cpu
