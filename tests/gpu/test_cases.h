// How many cases a program of tests has gone through: launches of kernels that were compared or had
// to be stopped, runs of models. It says so at its end, since one test may have thousands;
// scripts/prove reads it.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <iostream>

namespace forge::gpu {

class TestCases : public ::testing::Environment {
 public:
  static void count() { ++cases_; }
  void TearDown() override { std::cout << "[  CASES   ] " << cases_ << "\n"; }

 private:
  inline static std::uint64_t cases_ = 0;
};

/// Owned by GoogleTest.
inline ::testing::Environment* const kTestCases =
    ::testing::AddGlobalTestEnvironment(new TestCases);

}  // namespace forge::gpu
