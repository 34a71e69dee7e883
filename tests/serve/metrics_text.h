// MetricsText: Prometheus' text format 0.0.4, read for tests.
//
// Fails a test where a line is not of the format, a family comes twice or without HELP and TYPE, or
// a sample stands under another family's heading.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <regex>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "serve/test_server.h"

namespace forge::test {

struct MetricsText {
  using Labels = std::map<std::string, std::string>;
  struct Sample {
    std::string name;  ///< that of the family, but for the parts of a histogram
    Labels labels;
    double value = 0;
  };
  struct Family {
    std::string type;
    std::string help;
    std::vector<Sample> samples;
  };

  explicit MetricsText(const std::string& text) {
    EXPECT_TRUE(text.ends_with('\n'));
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) read(line);
  }

  /// Of the only sample of this name that has these labels, whatever others.
  double value(const std::string& name, const Labels& wanted = {}) const {
    const std::vector<double> found = values(name, wanted);
    EXPECT_EQ(found.size(), 1U) << name;
    return found.size() == 1 ? found.front() : -1;
  }

  std::vector<double> values(const std::string& name, const Labels& wanted = {}) const {
    std::vector<double> found;
    for (const auto& [family, content] : families) {
      for (const Sample& sample : content.samples) {
        bool fits = sample.name == name;
        for (const auto& [label, value] : wanted) {
          const auto own = sample.labels.find(label);
          fits = fits && own != sample.labels.end() && own->second == value;
        }
        if (fits) found.push_back(sample.value);
      }
    }
    return found;
  }

  std::map<std::string, Family> families;
  std::vector<std::string> order;  ///< of the families

 private:
  void read(const std::string& line) {
    static const std::regex heading(R"(# (HELP|TYPE) ([a-zA-Z_:][a-zA-Z0-9_:]*) (.+))");
    static const std::regex sample(R"(([a-zA-Z_:][a-zA-Z0-9_:]*)(\{(.*)\})? (\S+))");
    std::smatch match;
    if (std::regex_match(line, match, heading)) {
      if (match[1] == "HELP") {
        order.push_back(match[2]);
        EXPECT_FALSE(families.contains(match[2])) << line;
        families[match[2]].help = match[3];
      } else {
        EXPECT_EQ(order.back(), match[2]);
        families[match[2]].type = match[3];
      }
      return;
    }
    ASSERT_TRUE(std::regex_match(line, match, sample)) << line;
    ASSERT_FALSE(order.empty()) << line;
    Family& family = families[order.back()];
    const std::string name = match[1];
    const std::string end = name.substr(std::min(order.back().size(), name.size()));
    EXPECT_TRUE(name.starts_with(order.back()) &&
                (family.type == "histogram" ? end == "_bucket" || end == "_sum" || end == "_count"
                                            : end.empty()))
        << line;
    family.samples.push_back({name, labels_of(match[3]), std::stod(match[4])});
  }

  static Labels labels_of(const std::string& text) {
    static const std::regex label(R"x(([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\.)*)",?)x");
    Labels labels;
    std::size_t read = 0;
    for (std::sregex_iterator match(text.begin(), text.end(), label), end; match != end; ++match) {
      labels[(*match)[1]] = (*match)[2];
      read += static_cast<std::size_t>(match->length());
    }
    EXPECT_EQ(read, text.size()) << text;
    return labels;
  }
};

inline HttpClient::Response scrape_response(std::uint16_t port,
                                            const HttpClient::Headers& headers = {},
                                            std::string_view method = "GET") {
  HttpClient client(port);
  client.send(HttpClient::text(method, "/metrics", "", headers));
  return client.read(method == "HEAD");
}

inline MetricsText scrape(const TestServer& server) {
  const auto response = scrape_response(server.port());
  EXPECT_EQ(response.status, 200U) << response.body;
  return MetricsText(response.body);
}

}  // namespace forge::test
