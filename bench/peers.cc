#include "peers.h"

#include <iostream>

#include "peers_attention.h"
#include "peers_blas_lt.h"
#include "peers_flashinfer.h"
#include "peers_products.h"

namespace forge {
namespace {

using Json = nlohmann::ordered_json;

LevelMaker flashinfer_level(std::string name, FlashInferWay way) {
  return paged_level(std::move(name), kFlashInferWorkspace,
                     [way](const PagedCache& cache, const PagedWorkspace& workspace) {
                       return make_flashinfer(way, cache, workspace);
                     });
}

std::vector<LevelMaker> levels_of(AttentionCase::Phase phase) {
  std::vector<LevelMaker> levels = own_levels();
  if (phase == AttentionCase::Phase::decode) {
    levels.push_back(flashinfer_level("flashinfer", FlashInferWay::decode));
    levels.push_back(flashinfer_level("flashinfer, tensor cores", FlashInferWay::tensor_cores));
    levels.push_back(flashinfer_level("flashinfer, fixed split", FlashInferWay::fixed_split));
  } else {
    levels.push_back(flashinfer_level("flashinfer", FlashInferWay::prefill));
    levels.push_back(flashinfer_level("flashinfer, no split", FlashInferWay::no_split));
  }
  return levels;
}

}  // namespace

Json measure_peers(gpu::Device& device) {
  Json json{{"attention", Json::array()}, {"products", Json::array()}};
  const AttentionSizes sizes;
  std::cout << attention_heading();
  measure_attention(device, sizes, levels_of, [&](const AttentionResult& result) {
    json["attention"].push_back(to_json(sizes.shape, result));
    std::cout << to_text(sizes.shape, result) << std::flush;
  });
  std::cout << product_heading();
  measure_products(device, {}, {own_products(), blas_lt_products()},
                   [&](const ProductResult& result) {
                     json["products"].push_back(to_json(result));
                     std::cout << to_text(result) << std::flush;
                   });
  return json;
}

}  // namespace forge
