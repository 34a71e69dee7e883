#include <fstream>

bool impure() { return std::ifstream("forge.txt").good(); }
