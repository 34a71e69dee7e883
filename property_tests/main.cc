// main of every property test: chooses the seed, and says on failure how to come back to it.
//
// The seed is drawn afresh for each run, so that every run tests something new, unless
// RC_PARAMS fixes it (rapidcheck's own variable: RC_PARAMS="seed=1 max_success=1000").
// FORGE_PROPERTY_CASES is the number of cases of each property, from CMakeLists.txt.
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <random>
#include <string>

namespace {

class PrintReproduction : public testing::EmptyTestEventListener {
 public:
  explicit PrintReproduction(std::string binary) : binary_(std::move(binary)) {}

 private:
  void OnTestEnd(const testing::TestInfo& test) override {
    if (!test.result()->Failed()) return;
    std::cout << "reproduce with: RC_PARAMS=\"" << std::getenv("RC_PARAMS") << "\" " << binary_
              << " --gtest_filter=" << test.test_suite_name() << '.' << test.name() << std::endl;
  }

  std::string binary_;
};

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  const std::string params = "seed=" + std::to_string(std::random_device{}()) +
                             " max_success=" + std::to_string(FORGE_PROPERTY_CASES);
  setenv("RC_PARAMS", params.c_str(), /*overwrite=*/0);
  testing::UnitTest::GetInstance()->listeners().Append(new PrintReproduction(argv[0]));
  return RUN_ALL_TESTS();
}
