#include "bench_output.h"

#include <fstream>
#include <iostream>

namespace forge::apps {

int bench_failure(const std::string& message) {
  std::cerr << "forge-bench: " << message << '\n';
  return 2;
}

int save_results(const nlohmann::json& results, const std::string& path) {
  if (path.empty()) return 0;
  std::ofstream out(path);
  if (out << results.dump(2) << '\n' << std::flush) return 0;
  return bench_failure("--json: cannot write '" + path + "'");
}

}  // namespace forge::apps
