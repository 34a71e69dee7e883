#include "cuda_kernels.h"

#include <algorithm>
#include <array>

#include "cuda_clock.h"
#include "forge/numerics/kv_type.h"
#include "forge/quant/weight_type.h"
#include "forge/sim/sim_device.h"
#include "kernel_inputs.h"

namespace forge {
namespace {

constexpr std::uint64_t kSeed = 1;

/// Heads, hidden size, ... of the model.
constexpr apps::KernelSizes kModel{.heads = 16,
                                   .kv_heads = 4,
                                   .head_size = 64,
                                   .layers = 12,
                                   .hidden = 1024,
                                   .mlp = 4096,
                                   .vocabulary = 16384};

/// Inputs and outputs of the products of a layer, and of the output head.
struct Product {
  int inputs;
  int outputs;
  int accumulate;
};
constexpr Product kProducts[] = {
    {1024, 1536, 0}, {1024, 1024, 1}, {1024, 8192, 0}, {4096, 1024, 1}, {1024, 16384, 0}};

/// Types of codes whose products are measured: one symmetric, one with minima.
constexpr quant::WeightType kCodes[] = {quant::WeightType::q8_0, quant::WeightType::q4_k};

class CaseList {
 public:
  void add(const char* kernel, const apps::KernelSizes& sizes) {
    cases_.push_back({apps::find_kernel(kernel).value(), sizes});
  }

  /// What all passes of `rows` rows have in common.
  void add_rows(int rows) {
    apps::KernelSizes sizes = kModel;
    sizes.rows = rows;
    add("embed", sizes);
    add("rms_norm", sizes);
    add("glu", sizes);
    for (const Product& product : kProducts) {
      sizes.hidden = product.inputs;
      sizes.outputs = product.outputs;
      sizes.accumulate = product.accumulate;
      add("project", sizes);
    }
  }

  /// What other families of models do to rows: products with weights of 16 bits and of codes, norms
  /// of heads, GeGLU.
  void add_family_rows(int rows) {
    apps::KernelSizes sizes = kModel;
    sizes.rows = rows;
    add("code_rows", sizes);
    for (const quant::WeightType type : {quant::WeightType::f16, quant::WeightType::bf16,
                                         quant::WeightType::q8_0, quant::WeightType::q4_k}) {
      sizes.weights = static_cast<int>(type);
      add("embed", sizes);
      for (const Product& product : kProducts) {
        sizes.hidden = product.inputs;
        sizes.outputs = product.outputs;
        sizes.accumulate = product.accumulate;
        add("project", sizes);
      }
      sizes.hidden = kModel.hidden;
    }
    sizes.hidden = kModel.head_size;
    sizes.groups = kModel.heads;
    sizes.accumulate = 0;
    add("rms_norm", sizes);
    sizes.activation = 1;
    add("glu", sizes);
  }

  /// What a model of fast numerics does to rows.
  void add_fast_rows(int rows) {
    apps::KernelSizes sizes = kModel;
    sizes.seqs = rows;
    sizes.rows = rows;
    sizes.kv = static_cast<int>(numerics::KvType::bf16);
    add("scale_rows", sizes);
    for (const int norms : {0, 1}) {
      sizes.norms = norms;
      add("prepare_heads", sizes);
    }
    for (const Product& product : kProducts) {
      sizes.hidden = product.inputs;
      sizes.outputs = product.outputs;
      sizes.accumulate = product.accumulate;
      add(rows <= gpu::kNarrowRowsMax ? "project_narrow" : "project_wide", sizes);
      if (rows >= gpu::kLibraryRowsMin) add("finish_product", sizes);
    }
  }

  /// Its products with weights of codes.
  void add_code_products(int rows) {
    for (const quant::WeightType type : kCodes) {
      for (const Product& product : kProducts) add_code_product(rows, product, type);
    }
  }

  void add_code_product(int rows, const Product& product, quant::WeightType type) {
    apps::KernelSizes sizes = kModel;
    sizes.rows = rows;
    sizes.weights = static_cast<int>(type);
    sizes.hidden = product.inputs;
    sizes.outputs = product.outputs;
    sizes.accumulate = product.accumulate;
    if (rows <= gpu::ProjectCodesFewArgs::kTileRows) add("project_codes_few", sizes);
    const bool is_narrow = rows <= gpu::ProjectCodesNarrowArgs::kTileRows;
    add(is_narrow ? "project_codes_narrow" : "project_codes_wide", sizes);
  }

  /// Those of the MLP of Llama-3-8B, whose gates and ups no L2 holds, and what they read.
  void add_large_code_products() {
    constexpr Product kGateUp{4096, 28672, 0};
    constexpr Product kDown{14336, 4096, 1};
    constexpr Product kGate{4096, 14336, 0};  // for results of many rows there is room for half
    for (const int rows : {1, 16}) {
      for (const quant::WeightType type : kCodes) add_code_product(rows, kGateUp, type);
    }
    for (const quant::WeightType type : kCodes) add_code_product(1, kDown, type);
    add_code_product(2048, kGate, quant::WeightType::q8_0);
    for (const int rows : {1, 16, 2048}) {
      apps::KernelSizes sizes = kModel;
      sizes.rows = rows;
      sizes.hidden = kGateUp.inputs;
      add("code_rows", sizes);
    }
  }

  /// Its attention of a batch of decodes.
  void add_fast_decodes(int seqs, int context) {
    apps::KernelSizes sizes = kModel;
    sizes.seqs = seqs;
    sizes.rows = 1;
    sizes.context = context;
    sizes.kv = static_cast<int>(numerics::KvType::bf16);
    add("attend_spans", sizes);
    add("merge_spans", sizes);
  }

  /// And of `rows` new tokens of each sequence, by the kernel for so many.
  void add_fast_prompts(int seqs, int rows, int context) {
    apps::KernelSizes sizes = kModel;
    sizes.seqs = seqs;
    sizes.rows = rows;
    sizes.context = context;
    sizes.kv = static_cast<int>(numerics::KvType::bf16);
    add(rows >= gpu::SpanTiles::kRowsMax ? "attend_wide" : "attend_spans", sizes);
  }

  /// And attention in a sliding window, a quarter of the context.
  void add_windows(int seqs, int rows, int context) {
    apps::KernelSizes sizes = kModel;
    sizes.seqs = seqs;
    sizes.rows = rows;
    sizes.context = context;
    sizes.window = context / 4;
    for (const char* kernel : {"attend_decode", "attend_split", "attend_merge", "attend_prompt"}) {
      add(kernel, sizes);
    }
    sizes.adjacent = 1;
    add("rotate_and_store", sizes);
  }

  /// What is done to each row of a batch of decodes.
  void add_tokens(int seqs) {
    apps::KernelSizes sizes = kModel;
    sizes.seqs = seqs;
    sizes.rows = seqs;
    add("rotate_and_store", sizes);
    add("process_logits", sizes);
    add("sample", sizes);
    sizes.candidates = 1;
    add("sample", sizes);
    add("digest_logits", sizes);
  }

  /// Attention of a batch of decodes.
  void add_decodes(int seqs, int context) {
    apps::KernelSizes sizes = kModel;
    sizes.seqs = seqs;
    sizes.context = context;
    add("attend_decode", sizes);
    add("attend_split", sizes);
    add("attend_merge", sizes);
  }

  /// Latent attention of a batch of decodes, in the sizes of DeepSeek-V2-Lite.
  void add_latent_decodes(int seqs, int context) {
    const apps::KernelSizes sizes{.seqs = seqs,
                                  .context = context,
                                  .rows = seqs,
                                  .heads = 16,
                                  .head_size = 128,
                                  .latent_size = 512,
                                  .rope_size = 64};
    for (const char* kernel :
         {"project_heads", "store_latent", "attend_latent", "attend_latent_split",
          "attend_latent_merge", "project_heads_wide", "prepare_latents"}) {
      add(kernel, sizes);
    }
    add_latent_spans(sizes, 1);
  }

  /// Of the last `rows` positions of each sequence.
  void add_latent_spans(apps::KernelSizes sizes, int rows) {
    sizes.rows = rows;
    sizes.kv = static_cast<int>(numerics::KvType::bf16);
    add("attend_latent_spans", sizes);
  }

  /// `rows` new tokens of each of `seqs` sequences.
  void add_prompts(int seqs, int rows, int context) {
    apps::KernelSizes sizes = kModel;
    sizes.seqs = seqs;
    sizes.rows = rows;
    sizes.context = context;
    add("attend_prompt", sizes);
  }

  /// A mixture of experts with the hidden size of the model, in `rows` rows.
  void add_experts(int rows) {
    apps::KernelSizes sizes = kModel;
    sizes.rows = rows;
    sizes.outputs = 1024;
    sizes.experts = 16;
    sizes.experts_per_token = 4;
    sizes.accumulate = 1;
    for (const char* kernel :
         {"choose_experts", "plan_experts", "project_experts", "add_experts"}) {
      add(kernel, sizes);
    }
    const int pairs = rows * sizes.experts_per_token;
    const bool is_narrow = pairs <= gpu::kNarrowRowsMax * sizes.experts;
    add("project_experts_narrow", sizes);
    add("project_experts_wide", sizes);
    for (const quant::WeightType type : kCodes) {
      sizes.weights = static_cast<int>(type);
      add(is_narrow ? "project_experts_codes_narrow" : "project_experts_codes_wide", sizes);
    }
  }

  void add_copies(int pairs, int writes) {
    apps::KernelSizes sizes = kModel;
    sizes.pairs = pairs;
    sizes.writes = writes;
    add("copy_blocks", sizes);
    add("update_tables", sizes);
  }

  std::vector<KernelLaunchCase> take() { return std::move(cases_); }

 private:
  std::vector<KernelLaunchCase> cases_;
};

sim::KernelTime estimate_of(const KernelLaunchCase& launch,
                            const sim::DeviceDescription& description) {
  sim::SimDevice device({.device = description});
  const auto inputs = must(apps::KernelCase::create(device, *launch.kernel, launch.sizes, kSeed));
  return sim::estimate(
      description, inputs->launch(),
      {.in_graph = true, .working_set_bytes = device.statistics().bytes_allocated});
}

}  // namespace

std::vector<KernelLaunchCase> kernel_launch_cases() {
  CaseList cases;
  for (const int batch : {1, 8, 64}) {
    cases.add_rows(batch);
    cases.add_tokens(batch);
    cases.add_experts(batch);
    cases.add_fast_rows(batch);
    for (const int context : {128, 1024}) {
      cases.add_decodes(batch, context);
      cases.add_fast_decodes(batch, context);
      cases.add_latent_decodes(batch, context);
    }
    cases.add_copies(batch, batch);
  }
  for (const int rows : {1, 8, 64, 512}) {
    cases.add_family_rows(rows);
    cases.add_code_products(rows);
  }
  cases.add_large_code_products();
  cases.add_windows(1, 512, 16384);
  cases.add_windows(8, 8, 4096);
  cases.add_decodes(1, 16384);
  cases.add_fast_decodes(1, 16384);
  cases.add_rows(512);
  cases.add_fast_rows(512);
  cases.add_experts(512);
  for (const auto& [seqs, rows, context] :
       {std::array{1, 512, 512}, {1, 512, 4096}, {8, 5, 1024}}) {  // the last: drafts to verify
    cases.add_prompts(seqs, rows, context);
    cases.add_fast_prompts(seqs, rows, context);
  }
  return cases.take();
}

std::vector<KernelMeasurement> measure_kernels(gpu::Device& device,
                                               const sim::DeviceDescription& description) {
  sim::DeviceDescription plain = description;
  plain.calibration.reset();
  DeviceClock clock(device);
  std::vector<KernelMeasurement> measurements;
  for (const KernelLaunchCase& launch : kernel_launch_cases()) {
    const auto inputs = must(apps::KernelCase::create(device, *launch.kernel, launch.sizes, kSeed));
    measurements.push_back({.launch = launch,
                            .graph_us = clock.launch_in_graph_us(inputs->launch()),
                            .estimate = estimate_of(launch, plain)});
  }
  return measurements;
}

std::map<std::string, double> kernel_factors(const std::vector<KernelMeasurement>& measurements,
                                             const DeviceLimits& limits) {
  struct Sums {
    double measured_us = 0;
    double estimated_us = 0;
  };
  std::map<std::string, Sums> sums;
  for (const KernelMeasurement& measurement : measurements) {
    Sums& sum = sums[std::string(measurement.launch.kernel->name())];
    sum.measured_us += std::max(0.0, measurement.graph_us - limits.graph_launch_us);
    sum.estimated_us += measurement.estimate.total_us - measurement.estimate.launch_us;
  }
  std::map<std::string, double> factors;
  for (const auto& [kernel, sum] : sums) {
    if (sum.measured_us > 0 && sum.estimated_us > 0) {
      factors[kernel] = sum.measured_us / sum.estimated_us;
    }
  }
  return factors;
}

nlohmann::ordered_json to_json(const KernelMeasurement& measurement) {
  const KernelLaunchCase& launch = measurement.launch;
  return {{"kernel", launch.kernel->name()},
          {"sizes", to_string(*launch.kernel, launch.sizes)},
          {"measured_us", measurement.graph_us},
          {"estimated_us", measurement.estimate.total_us},
          {"bound_by", measurement.estimate.bound_by}};
}

}  // namespace forge
