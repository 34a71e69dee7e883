#include "formats.h"

namespace forge::grammar {
namespace {

std::string two_digits(int value) {
  return {static_cast<char>('0' + value / 10), static_cast<char>('0' + value % 10)};
}

std::string date() {
  const std::string leap = "([0-9]{2}(0[48]|[2468][048]|[13579][26])|([02468][048]|[13579][26])00)";
  return "([0-9]{4}-((0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])|(0[469]|11)-(0[1-9]|[12][0-9]|30)"
         "|02-(0[1-9]|1[0-9]|2[0-8]))|" +
         leap + "-02-29)";
}

/// A second 60 is there where UTC is 23:59: for each offset at one time of the day.
std::string leap_seconds() {
  constexpr int kMinutesOfDay = 24 * 60;
  const std::string second = ":60(\\.[0-9]+)?";
  std::string result = "23:59" + second + "[Zz]";
  for (int local = 0; local < kMinutesOfDay; ++local) {
    // local = 23:59 + offset
    const int ahead = (local + 1) % kMinutesOfDay;
    const int behind = (kMinutesOfDay - ahead) % kMinutesOfDay;
    const auto clock = [](int minutes) {
      return two_digits(minutes / 60) + ":" + two_digits(minutes % 60);
    };
    result += "|" + clock(local) + second + "(\\+" + clock(ahead) + "|-" + clock(behind) + ")";
  }
  return result;
}

std::string time() {
  const std::string hour = "([01][0-9]|2[0-3])";
  return "(" + hour + ":[0-5][0-9]:[0-5][0-9](\\.[0-9]+)?([Zz]|[+-]" + hour + ":[0-5][0-9])|" +
         leap_seconds() + ")";
}

std::string ipv4() {
  const std::string byte = "(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])";
  return byte + "(\\." + byte + "){3}";
}

std::string ipv6() {
  const std::string group = "[0-9A-Fa-f]{1,4}";
  const std::string after_colon = "(:" + group + ")";
  const std::string before_colon = "(" + group + ":)";
  const auto times = [](int count) { return "{" + std::to_string(count) + "}"; };
  const auto up_to = [](int count) { return "{0," + std::to_string(count) + "}"; };
  std::string result = "(" + group + ":){6}(" + group + ":" + group + "|" + ipv4() + ")";
  // "::" stands for what the groups before and after it leave.
  constexpr int kGroups = 7;
  for (int before = 0; before <= kGroups; ++before) {
    const int after = kGroups - before;
    result += "|";
    if (before > 0) result.append(group).append(after_colon).append(times(before - 1));
    result += "::";
    if (after >= 2) {
      result.append("(").append(before_colon).append(up_to(after - 1)).append(group);
      result.append("|").append(before_colon).append(up_to(after - 2)).append(ipv4()).append(")?");
    } else if (after == 1) {
      result.append("(").append(group).append(")?");
    }
  }
  return result;
}

std::string duration() {
  const std::string time = "T([0-9]+H([0-9]+M([0-9]+S)?)?|[0-9]+M([0-9]+S)?|[0-9]+S)";
  const std::string days = "[0-9]+D";
  const std::string months = "[0-9]+M(" + days + ")?";
  const std::string years = "[0-9]+Y(" + months + ")?";
  return "P((" + years + "|" + months + "|" + days + ")(" + time + ")?|" + time + "|[0-9]+W)";
}

std::string email() {
  const std::string atom = "[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+";
  const std::string quoted = R"("([ !#-\[\]-~]|\\[ -~])*")";
  const std::string label = "[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?";
  return "(" + atom + "(\\." + atom + ")*|" + quoted + ")@(" + label + "(\\." + label + ")*|\\[(" +
         ipv4() + "|IPv6:(" + ipv6() + "))\\])";
}

std::string uuid() {
  const std::string hex = "[0-9A-Fa-f]";
  return hex + "{8}-" + hex + "{4}-" + hex + "{4}-" + hex + "{4}-" + hex + "{12}";
}

}  // namespace

std::optional<std::string> regex_of_format(std::string_view format) {
  if (format == "date-time") return date() + "[Tt]" + time();
  if (format == "date") return date();
  if (format == "time") return time();
  if (format == "duration") return duration();
  if (format == "uuid") return uuid();
  if (format == "email") return email();
  if (format == "ipv4") return ipv4();
  if (format == "ipv6") return ipv6();
  return std::nullopt;
}

}  // namespace forge::grammar
