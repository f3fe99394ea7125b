// SPDX-License-Identifier: Apache-2.0
// Prints a protobuf message without its schema, as `protoc --decode_raw` does:   protobuf FILE
#include "protobuf.hpp"

#include <cstdio>
#include <string>
#include <vector>

#include <backsight/io/mapped_file.hpp>

using namespace backsight;

namespace {

/// How deep bytes are looked at as messages of their own.
constexpr int deepest = 10;

/// All fields are readable, and groups end in the order in which they began.
bool is_message(byte_view bytes) {
  std::vector<std::uint32_t> groups;
  bool paired = true;
  const trace_error error = for_each(protobuf::message(bytes), [&](auto any) {
    if (const auto begin = get_if<protobuf::group_begin>(any)) groups.push_back(begin[protobuf::field_head::tag] >> 3);
    if (const auto end = get_if<protobuf::group_end>(any)) {
      if (groups.empty() || groups.back() != end[protobuf::field_head::tag] >> 3) paired = false;
      else groups.pop_back();
    }
  });
  return !error && paired && groups.empty();
}

class printer {
 public:
  void message(byte_view bytes, int depth) {
    for (const auto any : protobuf::message(bytes)) {
      visit(any, [&](const auto& field) { this->field(field, depth); });
    }
  }

 private:
  template <class Record>
  void begin(const Record& item) {
    std::printf("%*s%u", indent_, "", item[protobuf::field_head::tag] >> 3);
  }
  void field(const record<protobuf::varint_field, order::little>& item, int) {
    begin(item);
    std::printf(": %llu\n", static_cast<unsigned long long>(item[protobuf::varint_field::value]));
  }
  void field(const record<protobuf::fixed64_field, order::little>& item, int) {
    begin(item);
    std::printf(": 0x%016llx\n", static_cast<unsigned long long>(item[protobuf::fixed64_field::value]));
  }
  void field(const record<protobuf::fixed32_field, order::little>& item, int) {
    begin(item);
    std::printf(": 0x%08x\n", item[protobuf::fixed32_field::value]);
  }
  void field(const record<protobuf::group_begin, order::little>& item, int) {
    begin(item);
    std::puts(" {");
    indent_ += 2;
  }
  void field(const record<protobuf::group_end, order::little>&, int) {
    indent_ -= 2;
    std::printf("%*s}\n", indent_, "");
  }
  void field(const record<protobuf::bytes_field, order::little>& item, int depth) {
    begin(item);
    const byte_view data = item[protobuf::bytes_field::data];
    if (depth > 0 && !data.empty() && is_message(data)) {
      std::puts(" {");
      indent_ += 2;
      message(data, depth - 1);
      indent_ -= 2;
      std::printf("%*s}\n", indent_, "");
      return;
    }
    std::string text;
    for (const std::byte one : data) text += escaped(std::to_integer<unsigned char>(one));
    std::printf(": \"%s\"\n", text.c_str());
  }
  static std::string escaped(unsigned char c) {
    switch (c) {
      case '\n': return "\\n";
      case '\r': return "\\r";
      case '\t': return "\\t";
      case '"': return "\\\"";
      case '\'': return "\\'";
      case '\\': return "\\\\";
      default: break;
    }
    if (c >= 0x20 && c < 0x7f) return std::string(1, static_cast<char>(c));
    char text[8];
    std::snprintf(text, sizeof text, "\\%03o", c);
    return text;
  }

  int indent_ = 0;
};

}  // namespace

int main(int count, char** words) {
  if (count != 2) return 2;
  const auto file = io::mapped_file::open(words[1]);
  const byte_view bytes = file.partial().bytes();
  if (!is_message(bytes)) {
    const trace_error error = protobuf::message(bytes).validate();
    std::fprintf(stderr, "%s:%llu: %s\n", words[1], static_cast<unsigned long long>(error.offset),
                 error ? backsight::message(error.code) : "groups do not end as they began");
    return 1;
  }
  printer{}.message(bytes, deepest);
  return 0;
}
