#include <random>

unsigned impure() { return std::random_device()(); }
