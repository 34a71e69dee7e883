// Trained checkpoints with their tokenizers, each as a SafeTensors directory and as GGUF, and
// beside them golden.json: texts that an independent implementation wrote with them.
//
// tales is of this repository (tests/golden/models/README.md). stories260K is an extra for those
// who have it beside the repository; its tests say "extra" and skip where it is missing.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <ostream>
#include <string>

namespace forge::testing {

/// For messages of GTEST_SKIP: empty where a file or folder that is an extra is there.
inline std::string why_missing(const std::string& path) {
  return std::filesystem::exists(path) ? "" : "an extra test: there is no " + path;
}

struct TrainedCheckpoint {
  const char* name;  ///< as programs name it
  const char* folder;
  bool is_extra;
  // Llama, F32, heads of 8, a context of 512 tokens; the embedding is also the head.
  std::uint32_t layers;
  std::uint32_t width;
  std::uint32_t heads;
  std::uint32_t kv_heads;
  std::uint32_t mlp;
  std::uint32_t vocabulary;

  std::string gguf() const { return std::string(folder) + "/" + name + ".gguf"; }
  std::string golden() const { return std::string(folder) + "/golden.json"; }
  /// Why its tests skip: those of an extra that is missing. Otherwise empty.
  std::string why_skip() const { return is_extra ? why_missing(folder) : ""; }
  /// As part of the name of a test.
  std::string label() const { return std::string(is_extra ? "extra_" : "") + name; }
};

inline void PrintTo(const TrainedCheckpoint& checkpoint, std::ostream* out) {
  *out << checkpoint.label();
}

inline constexpr TrainedCheckpoint kTales{.name = "tales",
                                          .folder = FORGE_TALES,
                                          .is_extra = false,
                                          .layers = 3,
                                          .width = 32,
                                          .heads = 4,
                                          .kv_heads = 2,
                                          .mlp = 60,
                                          .vocabulary = 416};
inline constexpr TrainedCheckpoint kStories{.name = "stories260K",
                                            .folder = FORGE_STORIES,
                                            .is_extra = true,
                                            .layers = 5,
                                            .width = 64,
                                            .heads = 8,
                                            .kv_heads = 4,
                                            .mlp = 172,
                                            .vocabulary = 512};

/// Tests that run with both.
class TrainedCheckpointTest : public ::testing::TestWithParam<TrainedCheckpoint> {
 protected:
  void SetUp() override {
    if (const std::string why = GetParam().why_skip(); !why.empty()) GTEST_SKIP() << why;
  }
};

inline auto both_trained_checkpoints() { return ::testing::Values(kTales, kStories); }

inline std::string label_of(const ::testing::TestParamInfo<TrainedCheckpoint>& info) {
  return info.param.label();
}

}  // namespace forge::testing
