// What an observer is told: every access with the line it is written on, every meeting, blocks in
// ascending order.
#include "forge/simt/observer.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "simt/test_kernels.h"

namespace forge::simt {
namespace {

/// Writes down what one thread and its warp do, one line each.
class Diary : public Observer {
 public:
  explicit Diary(int thread) : thread_(thread) {}

  std::unique_ptr<BlockObserver> begin_block(const LaunchShape&, long long) override {
    return std::make_unique<Page>(thread_);
  }
  void end_block(long long block, std::unique_ptr<BlockObserver> observer) override {
    blocks.push_back(block);
    const Page& page = static_cast<Page&>(*observer);
    lines.insert(lines.end(), page.lines.begin(), page.lines.end());
  }

  std::vector<long long> blocks;
  std::vector<std::string> lines;

 private:
  struct Page : BlockObserver {
    explicit Page(int t) : thread(t) {}

    void access(const Access& access) override {
      if (access.thread != thread) return;
      const bool shared = access.space == Space::shared;
      note((access.kind == AccessKind::read ? "read " : "write ") + std::to_string(access.bytes) +
               (shared ? " shared at " + std::to_string(access.address - access.base) : " global"),
           access.site);
    }
    void block_barrier(Site site) override { note("block", site); }
    void warp_barrier(int warp, Site site) override {
      if (warp == thread / kWarpSize) note("warp", site);
    }
    void shared_array(const char* name, std::size_t, std::size_t bytes) override {
      lines.push_back(std::string("array ") + name + " of " + std::to_string(bytes));
    }
    void note(const std::string& what, Site site) {
      lines.push_back(what + ", line " + std::to_string(site.line));
    }

    int thread;
    std::vector<std::string> lines;
  };
  int thread_;
};

std::string at(const std::string& mark) { return ", line " + std::to_string(line_with(mark).line); }

TEST(Observer, IsToldOfEveryAccessAndMeetingOfAThread) {
  const float x = 1;
  float sum = 0;
  float max = 0;
  const ReduceArgs args{&x, &sum, &max, 1};
  Diary diary(32);
  LaunchOptions options;
  options.observer = &diary;
  const auto done =
      Machine().run(code("reduce", &TestEntries::reduce), {{1, 1, 1}, 128}, &args, options);
  ASSERT_TRUE(done.has_value());
  EXPECT_EQ(diary.lines, (std::vector<std::string>{
                             "array sums of 16",
                             "array maxima of 16",
                             "read 4 global" + at("first of the row"),
                             "warp" + at("sum of a warp"),
                             "warp" + at("maximum of a warp"),
                             "write 4 shared at 4" + at("a sum for each warp"),
                             "write 4 shared at 4" + at("a maximum for each warp"),
                             "block" + at("warps to block"),
                         }));
}

TEST(Observer, SeesSixteenBytesAsOneAccess) {
  alignas(16) float x[256] = {};
  alignas(16) float y[256] = {};
  const AxpyArgs args{x, y, 1};
  Diary diary(63);
  LaunchOptions options;
  options.observer = &diary;
  ASSERT_TRUE(
      Machine().run(code("axpy", &TestEntries::axpy), {{1, 1, 1}, 64}, &args, options).has_value());
  EXPECT_EQ(diary.lines,
            (std::vector<std::string>{"read 16 global" + at("16 bytes of x"),
                                      "read 16 global" + at("16 bytes of y"),
                                      "write 16 global" + at("16 bytes of the result")}));
}

TEST(Observer, SeesAnUpdateAsReadAndWrite) {
  std::vector<float> x(ScanArgs::kThreads, 1.0f);
  std::vector<float> y(x.size());
  const ScanArgs args{x.data(), y.data()};
  Diary diary(1);
  LaunchOptions options;
  options.observer = &diary;
  ASSERT_TRUE(
      Machine()
          .run(code("scan", &TestEntries::scan), {{1, 1, 1}, ScanArgs::kThreads}, &args, options)
          .has_value());
  const auto read =
      std::find(diary.lines.begin(), diary.lines.end(), "read 4 shared at 4" + at("an update"));
  ASSERT_NE(read, diary.lines.end());
  EXPECT_EQ(*std::next(read), "write 4 shared at 4" + at("an update"));
}

TEST(Observer, GetsBlocksBackInAscendingOrder) {
  std::vector<float> x(256 * 40);
  std::vector<float> y(x.size());
  const AxpyArgs args{x.data(), y.data(), 1};
  std::vector<long long> ascending(40);
  for (std::size_t i = 0; i < ascending.size(); ++i) ascending[i] = static_cast<long long>(i);
  for (const int host_threads : {1, 3}) {
    Machine machine(host_threads);
    for (std::uint64_t seed = 0; seed < 5; ++seed) {
      Diary diary(0);
      LaunchOptions options;
      options.observer = &diary;
      if (seed > 0) options.seed = seed;
      ASSERT_TRUE(machine.run(code("axpy", &TestEntries::axpy), {{40, 1, 1}, 64}, &args, options)
                      .has_value());
      EXPECT_EQ(diary.blocks, ascending);
    }
  }
}

}  // namespace
}  // namespace forge::simt
