#include "library_report.h"

#include <ostream>

namespace forge::apps {

void print_library(const gpu::LibraryReport& report, std::ostream& out) {
  if (!report.missing.empty()) {
    out << "no library for products of many rows: " << report.missing << '\n';
  }
  if (report.library.empty()) return;
  out << report.library << ": equal by probe for " << report.admitted.size()
      << " shapes of products of many rows, " << report.refused.size() << " algorithms refused\n";
  for (const auto& refusal : report.refused) out << "  " << to_string(refusal) << '\n';
}

}  // namespace forge::apps
