#include <cstdlib>

const char* impure() { return std::getenv("HOME"); }
