// What options may take of this machine's memory, under a limit that is the same on every machine.
#include <gmock/gmock.h>
#include <sys/resource.h>

#include <cstdint>
#include <fstream>
#include <string>

#include "apps/parsed_options.h"

namespace forge::apps {
namespace {

/// While it lives, this process may take so many bytes more.
class MemoryLimit {
 public:
  explicit MemoryLimit(std::uint64_t more) {
    getrlimit(RLIMIT_AS, &before_);
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);) {
      if (!line.starts_with("VmSize:")) continue;
      rlimit limit = before_;
      limit.rlim_cur = std::stoull(line.substr(7)) * 1024 + more;
      setrlimit(RLIMIT_AS, &limit);
    }
  }
  MemoryLimit(const MemoryLimit&) = delete;
  MemoryLimit& operator=(const MemoryLimit&) = delete;
  ~MemoryLimit() { setrlimit(RLIMIT_AS, &before_); }

 private:
  rlimit before_{};
};

TEST(TargetMemory, what_is_more_than_free_is_named_with_the_bytes) {
  const MemoryLimit limit(std::uint64_t{4} << 30);
  const auto options =
      parsed({"--num-blocks", "4194304", "--block-size", "16384", "--target", "null"});
  ASSERT_FALSE(options);
  EXPECT_THAT(options.error(),
              ::testing::HasSubstr(
                  "the run takes 275146342400 bytes of this machine's memory (256 GiB: 0 B of "
                  "weights, 256 GiB of scratch, 0 B of KV cache), accepted: up to "));
}

TEST(TargetMemory, memory_of_the_host_and_of_the_prefix_index_counts) {
  const MemoryLimit limit(std::uint64_t{4} << 30);
  runtime::TargetOptions options;
  options.scheduler = {.cache = {.num_blocks = 1u << 20}, .prefix_cache = PrefixCacheKind::none};
  EXPECT_FALSE(validate(options)) << "16 Mi slots of a KiB";
  options.kind = runtime::TargetKind::null;
  EXPECT_TRUE(validate(options)) << "holds no KV";
  options.scheduler.cache.block_size = 1u << 12;
  EXPECT_TRUE(validate(options));
  options.scheduler.prefix_cache = PrefixCacheKind::radix;
  EXPECT_FALSE(validate(options)) << "4 Gi token ids";

  runtime::TargetOptions on_gpu;
  on_gpu.source.builtin.random = {.layers = 1024};
  on_gpu.scheduler.cache.num_blocks = 1u << 17;
  on_gpu.kind = runtime::TargetKind::cuda;
  EXPECT_TRUE(validate(on_gpu)) << "KV is in the GPU's memory";
  on_gpu.kind = runtime::TargetKind::sim;
  EXPECT_FALSE(validate(on_gpu)) << "which is this machine's if it is simulated";

  runtime::TargetOptions host;
  host.scheduler.cache.num_host_blocks = 1u << 20;
  EXPECT_FALSE(validate(host));
}

TEST(TargetMemory, kv_of_16_bits_counts_half) {
  const MemoryLimit limit(std::uint64_t{4} << 30);
  runtime::TargetOptions options;
  options.scheduler = {.cache = {.num_blocks = 1u << 17}, .prefix_cache = PrefixCacheKind::none};
  EXPECT_FALSE(validate(options)) << "2 Mi slots of 3 KiB";
  options.executor.kv_type = numerics::KvType::bf16;
  EXPECT_TRUE(validate(options));
}

}  // namespace
}  // namespace forge::apps
