// The student's side of a lab: a program that answers, and knows nothing else.
//
//   the judge (labs/tool/judge.py) writes   {"task":"push","case":{...}}    a case is one line
//   the program answers                     {"answer":...}                  what came out of it
//   or                                      {"not_begun":"push"}            a body is still missing
//
// The program is what a student wrote, linked ahead of the library.
//
// Cases, seeds and right answers are the judge's, in another process: it asks this program and one
// with the project's own source, built the same way, and compares. So there is nothing here to pass
// but by being right, and a program that ends early has not answered.
//
// A lab defines tasks(); the main function is in answering.cc. What a program prints goes to its
// standard error; answers have a stream of their own.
#pragma once

#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

namespace forge::labs {

using Json = nlohmann::ordered_json;

/// Plays a case through the code of the lab. Throws what Json throws if the case is not as it must
/// be, which is a fault of the judge's.
using Answer = std::function<Json(const Json&)>;

/// What this lab can be asked, by name: its tasks, and `trace` where a case can be recorded.
std::map<std::string, Answer> tasks();

}  // namespace forge::labs
