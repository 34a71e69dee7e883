#include <array>
#include <exception>
#include <flashinfer/attention/decode.cuh>
#include <flashinfer/attention/default_decode_params.cuh>
#include <flashinfer/attention/default_prefill_params.cuh>
#include <flashinfer/attention/prefill.cuh>
#include <flashinfer/attention/scheduler.cuh>
#include <flashinfer/attention/variants.cuh>
#include <optional>
#include <utility>

#include "peers_flashinfer.h"
#include "peers_stream.h"

namespace forge {
namespace {

using Status = LibraryStream::Status;
using Half = nv_bfloat16;
using Decode = flashinfer::BatchDecodeParams<Half, Half, Half, std::int32_t>;
using Prefill = flashinfer::BatchPrefillPagedParams<Half, Half, Half, std::int32_t>;
/// No mask of the caller's, no window, no soft cap, no slopes.
using Variant = flashinfer::DefaultAttention<false, false, false, false>;
using flashinfer::MaskMode;

constexpr auto kNoPositions = flashinfer::PosEncodingMode::kNone;
constexpr int kHeadSize = 128;
constexpr int kGroupSize = 4;
/// Of fixed_split: 2,048 positions in pages of 16.
constexpr int kFixedSplitPages = 128;

class FlashInfer final : public PagedAttention {
 public:
  FlashInfer(FlashInferWay way, const PagedCache& cache, const PagedWorkspace& workspace,
             std::unique_ptr<LibraryStream> stream)
      : way_(way), cache_(cache), workspace_(workspace), stream_(std::move(stream)) {}

  /// Whether kernels may begin early, as the Python package decides.
  Status find_overlap() {
    int device = 0;
    int major = 0;
    Status status = runtime_status("cudaGetDevice", cudaGetDevice(&device));
    if (status) {
      status =
          runtime_status("cudaDeviceGetAttribute",
                         cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device));
    }
    overlap_ = major >= 9;
    return status;
  }

  Status plan(const PagedBatch& batch) override {
    batch_.emplace(batch);
    const Status planned =
        checked("plan", [&] { return is_on_cuda_cores() ? plan_decode() : plan_prefill(); });
    return planned ? stream_->synchronize() : planned;
  }

  Status run(int layer) override {
    const Status queued = queue(layer);
    return queued ? stream_->synchronize() : queued;
  }

  tl::expected<double, std::string> time_us(int launches) override {
    return stream_->in_graph_us(launches, [&](int i) { return queue(i % cache_.layers); });
  }

 private:
  /// FlashInfer returns errors of the runtime, and throws its own.
  template <class Body>
  static Status checked(const char* what, const Body& body) {
    try {
      return runtime_status(what, body());
    } catch (const std::exception& error) {
      return tl::unexpected(std::string(what) + ": " + error.what());
    }
  }

  bool is_on_cuda_cores() const { return way_ == FlashInferWay::decode; }
  bool is_causal() const {
    return way_ == FlashInferWay::prefill || way_ == FlashInferWay::no_split;
  }
  std::uint32_t requests() const {
    return static_cast<std::uint32_t>(batch_->on_host.last_page_rows.size());
  }
  /// Its planner does not change what it reads, and does not say so.
  static std::int32_t* readable(const std::vector<std::int32_t>& list) {
    return const_cast<std::int32_t*>(list.data());
  }
  template <class T>
  T* planned(std::int64_t offset) const {
    return flashinfer::GetPtrFromBaseOffset<T>(workspace_.plan, offset);
  }
  template <class T>
  T* split(std::int64_t offset) const {
    return flashinfer::GetPtrFromBaseOffset<T>(workspace_.floats, offset);
  }

  cudaError_t plan_decode() {
    return flashinfer::DecodePlan<kHeadSize, kNoPositions, Variant, Decode>(
        workspace_.floats, workspace_.bytes.floats, workspace_.plan, workspace_.pinned,
        workspace_.bytes.plan, decode_plan_, readable(batch_->on_host.page_begins), requests(),
        static_cast<std::uint32_t>(cache_.heads), static_cast<std::uint32_t>(cache_.page_size),
        /*enable_cuda_graph=*/false, stream_->get(),
        flashinfer::BatchDecodeWithPagedKVCacheWorkEstimationDispatched<
            kGroupSize, kHeadSize, kNoPositions, Variant, Decode>);
  }

  cudaError_t plan_prefill() {
    const int fixed_split = way_ == FlashInferWay::fixed_split ? kFixedSplitPages : -1;
    return flashinfer::PrefillPlan<std::int32_t>(
        workspace_.floats, workspace_.bytes.floats, workspace_.plan, workspace_.pinned,
        workspace_.bytes.plan, prefill_plan_, readable(batch_->on_host.query_begins),
        readable(batch_->on_host.page_begins),
        static_cast<std::uint32_t>(batch_->on_host.query_begins.back()), requests(),
        static_cast<std::uint32_t>(cache_.heads), static_cast<std::uint32_t>(cache_.kv_heads),
        kHeadSize, kHeadSize, static_cast<std::uint32_t>(cache_.page_size),
        /*enable_cuda_graph=*/false, sizeof(Half), /*window_left=*/-1, fixed_split,
        way_ == FlashInferWay::no_split, /*num_colocated_ctas=*/0, stream_->get());
  }

  flashinfer::paged_kv_t<Half, std::int32_t> pages(int layer) const {
    const std::array<std::int64_t, 3> strides{cache_.page_stride, cache_.head_stride, kHeadSize};
    const std::int64_t begin = layer * cache_.layer_stride;
    return {static_cast<std::uint32_t>(cache_.kv_heads),
            static_cast<std::uint32_t>(cache_.page_size),
            kHeadSize,
            requests(),
            flashinfer::QKVLayout::kHND,
            static_cast<Half*>(cache_.keys) + begin,
            static_cast<Half*>(cache_.values) + begin,
            strides.data(),
            batch_->pages,
            batch_->page_begins,
            batch_->last_page_rows};
  }

  Status queue(int layer) {
    return checked("run",
                   [&] { return is_on_cuda_cores() ? run_decode(layer) : run_prefill(layer); });
  }

  cudaError_t run_decode(int layer) {
    const flashinfer::DecodePlanInfo& plan = decode_plan_;
    Decode params(static_cast<Half*>(batch_->queries), nullptr, pages(layer),
                  static_cast<Half*>(batch_->out), nullptr, nullptr,
                  static_cast<std::uint32_t>(cache_.heads), cache_.heads * kHeadSize, kHeadSize,
                  /*window_left=*/-1, /*logits_soft_cap=*/0, cache_.scale, 1, 1e4F);
    params.request_indices = planned<std::int32_t>(plan.request_indices_offset);
    params.kv_tile_indices = planned<std::int32_t>(plan.kv_tile_indices_offset);
    params.o_indptr = planned<std::int32_t>(plan.o_indptr_offset);
    params.kv_chunk_size_ptr = planned<std::int32_t>(plan.kv_chunk_size_ptr_offset);
    params.padded_batch_size = static_cast<std::uint32_t>(plan.padded_batch_size);
    return flashinfer::BatchDecodeWithPagedKVCacheDispatched<kHeadSize, kNoPositions, Variant>(
        params, plan.split_kv ? split<Half>(plan.v_offset) : nullptr,
        plan.split_kv ? split<float>(plan.s_offset) : nullptr, overlap_, stream_->get());
  }

  cudaError_t run_prefill(int layer) {
    const flashinfer::PrefillPlanInfo& plan = prefill_plan_;
    Prefill params(static_cast<Half*>(batch_->queries), pages(layer), nullptr, batch_->query_begins,
                   nullptr, nullptr, static_cast<Half*>(batch_->out), nullptr, nullptr,
                   static_cast<std::uint32_t>(cache_.heads), cache_.heads * kHeadSize, kHeadSize,
                   /*window_left=*/-1, /*logits_soft_cap=*/0, cache_.scale, 1, 1e4F);
    params.request_indices = planned<std::int32_t>(plan.request_indices_offset);
    params.qo_tile_indices = planned<std::int32_t>(plan.qo_tile_indices_offset);
    params.kv_tile_indices = planned<std::int32_t>(plan.kv_tile_indices_offset);
    params.o_indptr = planned<std::int32_t>(plan.o_indptr_offset);
    params.kv_chunk_size_ptr = planned<std::int32_t>(plan.kv_chunk_size_ptr_offset);
    if (plan.split_kv) params.merge_indptr = planned<std::int32_t>(plan.merge_indptr_offset);
    params.padded_batch_size = static_cast<std::uint32_t>(plan.padded_batch_size);
    params.max_total_num_rows = static_cast<std::uint32_t>(plan.total_num_rows);
    const std::int64_t tile = plan.cta_tile_q;  // pairs of a row and a query head
    if (!is_causal() && tile == 16) return launch<16, MaskMode::kNone>(params);
    if (is_causal() && tile == 64) return launch<64, MaskMode::kCausal>(params);
    if (is_causal() && tile == 128) return launch<128, MaskMode::kCausal>(params);
    return cudaErrorNotSupported;  // a tile of other batches than those that are measured
  }

  template <std::uint32_t kTilePairs, MaskMode kMask>
  cudaError_t launch(const Prefill& params) {
    const flashinfer::PrefillPlanInfo& plan = prefill_plan_;
    return flashinfer::BatchPrefillWithPagedKVCacheDispatched<
        kTilePairs, kHeadSize, kHeadSize, kNoPositions, /*USE_FP16_QK_REDUCTION=*/false, kMask,
        Variant>(params, plan.split_kv ? split<Half>(plan.v_offset) : nullptr,
                 plan.split_kv ? split<float>(plan.s_offset) : nullptr, overlap_, stream_->get());
  }

  FlashInferWay way_;
  PagedCache cache_;
  PagedWorkspace workspace_;
  std::unique_ptr<LibraryStream> stream_;
  bool overlap_ = false;
  std::optional<PagedBatch> batch_;
  flashinfer::DecodePlanInfo decode_plan_;
  flashinfer::PrefillPlanInfo prefill_plan_;
};

}  // namespace

tl::expected<std::unique_ptr<PagedAttention>, std::string> make_flashinfer(
    FlashInferWay way, const PagedCache& cache, const PagedWorkspace& workspace) {
  if (cache.head_size != kHeadSize || cache.heads != kGroupSize * cache.kv_heads) {
    return tl::unexpected("heads of " + std::to_string(cache.head_size) + ", " +
                          std::to_string(cache.heads) + " for " + std::to_string(cache.kv_heads) +
                          " of keys; FlashInfer is built for heads of 128, four for one");
  }
  auto stream = LibraryStream::create();
  if (!stream) return tl::unexpected(stream.error());
  auto made = std::make_unique<FlashInfer>(way, cache, workspace, *std::move(stream));
  if (const Status found = made->find_overlap(); !found) return tl::unexpected(found.error());
  return made;
}

}  // namespace forge
