#include <chrono>

long long impure() { return std::chrono::steady_clock::now().time_since_epoch().count(); }
