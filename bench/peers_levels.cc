#include "peers_levels.h"

#include <utility>

#include "cuda_clock.h"
#include "span_launches.h"

namespace forge {
namespace {

using numerics::BF16;
using Done = tl::expected<void, std::string>;
using OutputsOrError = tl::expected<std::vector<float>, std::string>;

template <class T>
std::vector<float> widened(const std::vector<T>& numbers) {
  std::vector<float> wide(numbers.size());
  std::ranges::transform(numbers, wide.begin(), [](T x) { return numerics::widened(x); });
  return wide;
}

/// A level of our kernels, whose results are of type Out.
template <class Out>
class OwnLevel : public AttentionLevel {
 public:
  OwnLevel(gpu::Device& device, const PeerCache& cache, std::uint32_t tile_rows)
      : cache_(cache), tile_rows_(tile_rows), memory_(device), clock_(device) {}

  Done plan(const AttentionBatch& batch) override {
    batch_ = rows_of(batch, tile_rows_);
    rows_ = memory_.upload(batch_.rows, "rows");
    tiles_ = memory_.upload(batch_.tiles, "tiles");
    counts_ = memory_.upload(std::vector{batch_.counts}, "counts");
    const std::size_t numbers = batch_.rows.size() * cache_.shape().row_numbers();
    out_ = memory_.allocate_nan(numbers * sizeof(Out), "attended");
    partial_ = memory_.allocate(partial_floats() * sizeof(float), "partial attention");
    upload_queries(cache_.queries(batch));
    return {};
  }

  OutputsOrError attend() override {
    run(clock_.stream(), 0);
    must(clock_.stream().synchronize());
    return widened(memory_.download<Out>(out_, out_.bytes() / sizeof(Out)));
  }

  tl::expected<double, std::string> time_us(int launches) override {
    return clock_.in_graph_us(
        launches, [&](gpu::Stream& stream, int i) { run(stream, i % cache_.layers()); });
  }

 protected:
  virtual void upload_queries(const std::vector<BF16>& queries) = 0;
  virtual void queue(gpu::CommandQueue& queue, int layer) = 0;

  std::size_t segments() const {
    return (batch_.longest + numerics::kKeySegment - 1) / numerics::kKeySegment;
  }

  /// Of rows in tiles only few are split.
  std::size_t partial_floats() const {
    const AttentionShape& shape = cache_.shape();
    const std::uint32_t rows = std::max(batch_.counts.decode_rows, gpu::kSplitBlocks);
    return rows * segments() * static_cast<std::size_t>(shape.heads * (shape.head_size + 2));
  }

  const PeerCache& cache_;
  std::uint32_t tile_rows_;
  PeerMemory memory_;
  DeviceClock clock_;
  BatchRows batch_;
  gpu::Buffer rows_;
  gpu::Buffer tiles_;
  gpu::Buffer counts_;
  gpu::Buffer queries_;
  gpu::Buffer partial_;
  gpu::Buffer out_;

 private:
  void run(gpu::Stream& stream, int layer) {
    gpu::CommandQueue commands(stream);
    queue(commands, layer);
    must(commands.status());
  }
};

class Definition final : public OwnLevel<float> {
 public:
  Definition(gpu::Device& device, const PeerCache& cache)
      : OwnLevel(device, cache, gpu::AttendPromptArgs::kTileRows) {}

 private:
  /// Keys and values beside the queries are not read.
  void upload_queries(const std::vector<BF16>& queries) override {
    const AttentionShape& shape = cache_.shape();
    const std::size_t of_row = shape.row_numbers();
    const std::size_t kv = 2 * of_row / static_cast<std::size_t>(shape.heads / shape.kv_heads);
    std::vector<float> qkv(batch_.rows.size() * (of_row + kv));
    for (std::size_t row = 0; row < batch_.rows.size(); ++row) {
      for (std::size_t i = 0; i < of_row; ++i) {
        qkv[row * (of_row + kv) + i] = numerics::widened(queries[row * of_row + i]);
      }
    }
    queries_ = memory_.upload(qkv, "qkv");
  }

  void queue(gpu::CommandQueue& commands, int layer) override {
    const gpu::AttentionInput in{.counts = counts_.as<gpu::PassCounts>(),
                                 .rows = rows_.as<gpu::RowInput>(),
                                 .qkv = queries_.as<float>(),
                                 .out = out_.as<float>(),
                                 .kv = cache_.layer(layer),
                                 .scale = cache_.scale()};
    const gpu::PassCounts& counts = batch_.counts;
    if (counts.prompt_tiles > 0) {
      const gpu::AttendPromptArgs args{.in = in, .tiles = tiles_.as<gpu::PromptTile>()};
      return commands.launch(args, counts.prompt_tiles);
    }
    const auto most = static_cast<int>(segments());
    auto* const partial = partial_.as<float>();
    commands.launch(gpu::AttendSplitArgs{.in = in, .partial = partial, .segments_max = most},
                    counts.decode_rows);
    commands.launch(gpu::AttendMergeArgs{.in = in, .partial = partial, .segments_max = most},
                    counts.decode_rows);
  }
};

class Ours final : public OwnLevel<BF16> {
 public:
  Ours(gpu::Device& device, const PeerCache& cache)
      : OwnLevel(device, cache, gpu::SpanTiles::kRowsMax) {}

 private:
  void upload_queries(const std::vector<BF16>& queries) override {
    queries_ = memory_.upload(queries, "queries");
  }

  void queue(gpu::CommandQueue& commands, int layer) override {
    const gpu::SpanInput in{.counts = counts_.as<gpu::PassCounts>(),
                            .rows = rows_.as<gpu::RowInput>(),
                            .q = queries_.as<void>(),
                            .out = out_.as<void>(),
                            .out_type = numerics::HalfType::bf16,
                            .kv = cache_.layer(layer),
                            .scale = cache_.scale()};
    const auto most = static_cast<std::uint32_t>(segments());
    const bool decodes = batch_.counts.decode_rows > 0;
    const gpu::SlabShape shape{.counts = batch_.counts,
                               .key_segments = decodes ? most : 0,
                               .tile_segments = decodes ? 0 : most,
                               .tile_rows = batch_.longest_tile};
    const auto head_tiles = static_cast<std::uint32_t>(gpu::head_tiles(in.kv));
    const gpu::SpanPaths paths =
        gpu::span_paths(shape, gpu::split_rows_max(head_tiles),
                        static_cast<std::uint32_t>(in.kv.group_size), /*has_wide=*/true);
    gpu::launch_grouped_spans({shape, in.counts, tiles_.as<gpu::PromptTile>(), commands}, paths,
                              {.in = in}, partial_.as<float>());
  }
};

class PagedLevel final : public AttentionLevel {
 public:
  using Make = std::function<MadePaged(const PagedCache&, const PagedWorkspace&)>;

  static LevelMaker::Made create(gpu::Device& device, const PeerCache& cache,
                                 const PagedWorkspace::Bytes& bytes, const Make& make) {
    auto level = std::make_unique<PagedLevel>(device, cache, bytes);
    auto attention = make(cache.paged(), level->workspace());
    if (!attention) return tl::unexpected(attention.error());
    level->attention_ = *std::move(attention);
    return level;
  }

  PagedLevel(gpu::Device& device, const PeerCache& cache, const PagedWorkspace::Bytes& bytes)
      : cache_(cache),
        memory_(device),
        bytes_(bytes),
        floats_(memory_.allocate(bytes.floats, "workspace of a library")),
        plan_(memory_.allocate(bytes.plan, "plan of a library")),
        pinned_(memory_.allocate(bytes.plan, "plan on the host", gpu::MemoryKind::pinned)) {}

  Done plan(const AttentionBatch& batch) override {
    lists_ = pages_of(batch, cache_);
    query_begins_ = memory_.upload(lists_.query_begins, "query begins");
    page_begins_ = memory_.upload(lists_.page_begins, "page begins");
    pages_ = memory_.upload(lists_.pages, "pages");
    last_page_rows_ = memory_.upload(lists_.last_page_rows, "rows of last pages");
    queries_ = memory_.upload(cache_.queries(batch), "queries");
    out_ = memory_.allocate_nan(queries_.bytes(), "attended");
    return attention_->plan({.on_host = lists_,
                             .query_begins = query_begins_.as<std::int32_t>(),
                             .page_begins = page_begins_.as<std::int32_t>(),
                             .pages = pages_.as<std::int32_t>(),
                             .last_page_rows = last_page_rows_.as<std::int32_t>(),
                             .queries = queries_.as<void>(),
                             .out = out_.as<void>()});
  }

  OutputsOrError attend() override {
    return attention_->run(0).map(
        [&] { return widened(memory_.download<BF16>(out_, out_.bytes() / sizeof(BF16))); });
  }

  tl::expected<double, std::string> time_us(int launches) override {
    return attention_->time_us(launches);
  }

 private:
  PagedWorkspace workspace() const {
    return {bytes_, floats_.as<void>(), plan_.as<void>(), pinned_.as<void>()};
  }

  const PeerCache& cache_;
  PeerMemory memory_;
  PagedWorkspace::Bytes bytes_;
  gpu::Buffer floats_;
  gpu::Buffer plan_;
  gpu::Buffer pinned_;
  PageLists lists_;
  gpu::Buffer query_begins_;
  gpu::Buffer page_begins_;
  gpu::Buffer pages_;
  gpu::Buffer last_page_rows_;
  gpu::Buffer queries_;
  gpu::Buffer out_;
  std::unique_ptr<PagedAttention> attention_;
};

template <class Level>
LevelMaker::Made make_own(gpu::Device& device, const PeerCache& cache) {
  return std::make_unique<Level>(device, cache);
}

}  // namespace

std::vector<LevelMaker> own_levels() {
  return {{"definition", make_own<Definition>}, {"ours", make_own<Ours>}};
}

LevelMaker paged_level(std::string name, const PagedWorkspace::Bytes& workspace,
                       PagedLevel::Make make) {
  return {std::move(name),
          [workspace, make = std::move(make)](gpu::Device& device, const PeerCache& cache) {
            return PagedLevel::create(device, cache, workspace, make);
          }};
}

}  // namespace forge
