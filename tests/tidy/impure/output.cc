#include <cstdio>

void impure() { std::puts("forge"); }
