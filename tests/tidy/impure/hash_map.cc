#include <unordered_map>

int impure(std::unordered_map<int, int>& map) { return ++map[7], map.begin()->second; }
