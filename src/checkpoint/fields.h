// Tables of fields: which key of a file says which member of a configuration, once.
//
// A table is a std::tuple of Field. Reading and writing are walks over it, so a key that is read is
// written too; and the reader notes the keys, so that an error can name them. A source is a
// json::Fields or GgufFields, a sink the Sink of hf_parts.h or gguf_parts.h. What takes more than
// one key to say has a function that reads and one that writes, side by side, in its part's file.
//
// Pure, thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

#include "forge/model/config_fields.h"
#include "forge/model/ranges.h"
#include "key_names.h"

namespace forge::checkpoint::detail {

/// What a key that is not there means: an error; the value that the reader gave the member before,
/// the usual one; or 0, "there is none", for which no number is written either.
enum class Absent : std::uint8_t { refused, usual, zero };

template <class Record, class Member, class Range>
struct Field {
  const char* key;
  Member Record::*member;
  Range range;  ///< what is accepted: IntegerRange, NumberRange or TrueOrFalse
  Absent absent = Absent::refused;
};
template <class Record, class Member, class Range>
Field(const char*, Member Record::*, Range, Absent) -> Field<Record, Member, Range>;
template <class Record, class Member, class Range>
Field(const char*, Member Record::*, Range) -> Field<Record, Member, Range>;

struct TrueOrFalse {};

/// Calls visit(field) for the fields of a table in order.
template <class Table, class Visit>
constexpr void for_each_field(const Table& table, Visit&& visit) {
  std::apply([&](const auto&... field) { (visit(field), ...); }, table);
}

/// What validate() calls a member: "experts.groups".
template <class Record, class Member>
std::string name_of(Member Record::*member) {
  const Record record{};
  std::string name;
  model::visit_fields(record, [&](const char* field, const auto& value) {
    if constexpr (std::is_same_v<decltype(value), const Member&>) {
      if (&value == &(record.*member)) name = field;
    }
  });
  return name;
}

/// Reads the members that `table` has, and adds what the file calls them to `names`.
template <class Source, class Table, class Record>
void read_fields(Source& source, const Table& table, Record& record, std::vector<KeyName>& names) {
  for_each_field(table, [&](const auto& field) {
    names.push_back({name_of(field.member), source.name_of(field.key)});
    auto& member = record.*field.member;
    using Member = std::remove_reference_t<decltype(member)>;
    const Member otherwise = field.absent == Absent::zero ? Member{} : member;
    const bool required = field.absent == Absent::refused;
    if constexpr (std::is_same_v<Member, bool>) {
      member = source.boolean(field.key, otherwise);
    } else if constexpr (std::is_same_v<Member, int>) {
      member = source.integer(field.key, field.range,
                              required ? std::nullopt : std::optional<int>(otherwise));
    } else {
      member = static_cast<Member>(source.number(
          field.key, field.range, required ? std::nullopt : std::optional<double>(otherwise)));
    }
  });
}

/// Writes the members that `table` has.
template <class Sink, class Table, class Record>
void write_fields(Sink& sink, const Table& table, const Record& record) {
  for_each_field(table, [&](const auto& field) {
    const auto value = record.*field.member;
    if (field.absent == Absent::zero && value == decltype(value){}) {
      sink.none(field.key);
    } else {
      sink.set(field.key, value);
    }
  });
}

}  // namespace forge::checkpoint::detail
