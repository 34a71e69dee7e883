#include "forge/cpu/cpu_model.h"

#include "forge/model/kv_pool.h"
#include "forge/model/tiny_transformer.h"
#include "forge/transformer/transformer.h"

namespace forge {
namespace {

/// The device tier and the host tier of one layout.
class TieredCache {
 public:
  TieredCache(const KvShape& shape, const CacheSize& size)
      : device_(shape, size.num_blocks, size.block_size),
        host_(shape, size.num_host_blocks, size.block_size) {}

  void copy(const BlockCopy& copy) {
    const KvPool& source = copy.kind == CopyKind::swap_in ? host_ : device_;
    KvPool& target = copy.kind == CopyKind::swap_out ? host_ : device_;
    target.copy(source, copy.from.value, copy.to.value);
  }

  KvPool& device() { return device_; }

 private:
  KvPool device_;
  KvPool host_;
};

class TinyCpuModel : public CpuModel {
 public:
  TinyCpuModel(const TinyConfig& config, const CacheSize& size)
      : model_(config), cache_(kv_shape(config), size), scratch_(config) {}

  int vocabulary_size() const override { return model_.config().vocabulary_size; }
  int layers() const override { return model_.config().layers; }
  void copy(const BlockCopy& copy) override { cache_.copy(copy); }
  void forward(const ForwardBatch& batch, int layers, std::span<float> logits) override {
    model_.forward(batch, cache_.device(), scratch_, logits, layers);
  }

 private:
  TinyTransformer model_;
  TieredCache cache_;
  Scratch scratch_;
};

class TransformerCpuModel : public CpuModel {
 public:
  TransformerCpuModel(const Transformer& model, linear::ThreadPool& threads, const CacheSize& size)
      : model_(model), cache_(kv_shape(model.config()), size), scratch_(model.config(), threads) {}

  int vocabulary_size() const override { return model_.config().vocabulary_size; }
  int layers() const override { return model_.config().layers; }
  void copy(const BlockCopy& copy) override { cache_.copy(copy); }
  void forward(const ForwardBatch& batch, int layers, std::span<float> logits) override {
    model_.forward(batch, cache_.device(), scratch_, logits, layers);
  }

 private:
  const Transformer& model_;
  TieredCache cache_;
  TransformerScratch scratch_;
};

}  // namespace

std::unique_ptr<CpuModel> tiny_cpu_model(const TinyConfig& config, const CacheSize& cache) {
  return std::make_unique<TinyCpuModel>(config, cache);
}

std::unique_ptr<CpuModel> transformer_cpu_model(const Transformer& transformer,
                                                linear::ThreadPool& threads,
                                                const CacheSize& cache) {
  return std::make_unique<TransformerCpuModel>(transformer, threads, cache);
}

}  // namespace forge
