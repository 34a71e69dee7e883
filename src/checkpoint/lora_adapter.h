// LoraAdapter: the pairs of matrices of an adapter, each with the layer of the base that it is for.
//
// Owns the adapter's mapped file. Thread contract: const after open().
#pragma once

#include <map>
#include <span>
#include <string>
#include <tl/expected.hpp>
#include <utility>
#include <vector>

#include "forge/checkpoint/file_tensors.h"
#include "forge/checkpoint/lora.h"
#include "forge/formats/safetensors.h"
#include "lora_config.h"

namespace forge::checkpoint::detail {

/// What one adapter adds to a layer.
struct LoraPair {
  const FileTensor* layer = nullptr;      ///< as SafeTensors have it, of the base
  const formats::Tensor* down = nullptr;  ///< lora_A [rank][inputs]
  const formats::Tensor* up = nullptr;    ///< lora_B [outputs][rank]
  double factor = 1;

  std::size_t rank() const { return static_cast<std::size_t>(down->shape.front()); }
};

class LoraAdapter {
 public:
  /// `base`: the tensors of the base, as SafeTensors have them. Borrows them. Errors: those of
  /// parse_lora_config and SafeTensors; a tensor that is none of a pair, whose pair is missing, or
  /// that does not fit the base or the configuration; a layer without an adapter that is to have
  /// one.
  static tl::expected<LoraAdapter, formats::FileError> open(const LoraSource& source,
                                                            std::span<const FileTensor> base);

  /// In the order of their names.
  std::span<const LoraPair> pairs() const { return pairs_; }

  /// The numbers of one of its tensors. Errors: one that is not finite.
  tl::expected<std::vector<float>, formats::FileError> floats(const formats::Tensor& tensor) const;

 private:
  /// The tensors of a module's pair.
  struct Found {
    const formats::Tensor* down = nullptr;
    const formats::Tensor* up = nullptr;
  };
  using Done = tl::expected<void, formats::FileError>;

  LoraAdapter(formats::SafeTensors file, LoraConfig config)
      : file_(std::move(file)), config_(std::move(config)) {}
  Done read(const LoraSource& source, std::span<const FileTensor> base);
  Done find_tensors();
  Done add(const std::string& module, const Found& found, const FileTensor* layer, double scale);
  Done check_all_there(std::span<const FileTensor> base) const;
  tl::expected<std::size_t, formats::FileError> rank_of(const std::string& module,
                                                        const Found& found) const;
  Done check(const formats::Tensor& tensor, std::vector<std::uint64_t> shape) const;
  formats::FileError wrong(const std::string& tensor, std::string message) const;

  formats::SafeTensors file_;
  LoraConfig config_;
  std::map<std::string, Found> modules_;  // by name
  std::vector<LoraPair> pairs_;
};

}  // namespace forge::checkpoint::detail
