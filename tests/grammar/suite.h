// The JSON-Schema-Test-Suite, where it is beside the repository.
#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "grammar/json_forms.h"

namespace forge::grammar::testing {

struct SuiteInstance {
  std::string description;
  Json data;
  bool valid = false;
};

struct SuiteSchema {
  std::string file;  ///< "allOf.json", "optional/format/date.json"
  std::string description;
  Json schema;
  std::vector<SuiteInstance> instances;
};

inline bool has_suite() { return std::filesystem::exists(FORGE_JSON_SCHEMA); }

/// All schemas below `folder`, in the order of their files' names.
inline std::vector<SuiteSchema> read_suite(const std::string& folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.path().extension() == ".json") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  std::vector<SuiteSchema> schemas;
  for (const auto& path : files) {
    std::ifstream in(path);
    for (const Json& group : Json::parse(in)) {
      SuiteSchema& schema = schemas.emplace_back();
      schema.file = std::filesystem::relative(path, folder).string();
      schema.description = group.at("description");
      schema.schema = group.at("schema");
      for (const Json& test : group.at("tests")) {
        schema.instances.push_back({test.at("description"), test.at("data"), test.at("valid")});
      }
    }
  }
  return schemas;
}

}  // namespace forge::grammar::testing
