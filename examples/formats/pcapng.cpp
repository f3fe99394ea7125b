// SPDX-License-Identifier: Apache-2.0
// Lists the packets of a capture:   pcapng FILE [blocks]   number, section, interface, time, captured and original
// length, comments; with `blocks`, the annotated bytes of every block.
#include "pcapng.hpp"

#include <cstdio>
#include <iterator>
#include <string>
#include <vector>

#include <backsight/core/hex_dump.hpp>
#include <backsight/io/mapped_file.hpp>

using namespace backsight;

namespace {

struct interface {
  std::string name;
  unsigned resolution = 6;  ///< Ticks are 10^-resolution seconds, or 2^-(resolution - 128).
};

std::string text_of(byte_view bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

/// The time of a packet in seconds, to nine digits.
std::string seconds(std::uint64_t ticks, unsigned resolution) {
  __extension__ using wide = unsigned __int128;
  wide nanoseconds = wide{ticks} * 1000000000U;
  if (resolution < 128) {
    for (unsigned i = 0; i < resolution; ++i) nanoseconds /= 10;
  } else {
    nanoseconds = resolution - 128 < 128 ? nanoseconds >> (resolution - 128) : 0;
  }
  char text[64];
  std::snprintf(text, sizeof text, "%llu.%09llu", static_cast<unsigned long long>(nanoseconds / 1000000000U),
                static_cast<unsigned long long>(nanoseconds % 1000000000U));
  return text;
}

class packet_list {
 public:
  template <order O>
  void operator()(const record<pcapng::section_header, O>&) {
    ++section_;
    interfaces_.clear();
  }
  template <order O>
  void operator()(const record<pcapng::interface_description, O>& item) {
    interface described;
    for_each_option(item, [&](unsigned code, byte_view value) {
      if (code == 2) described.name = text_of(value);
      if (code == 9 && value.size() == 1) described.resolution = std::to_integer<unsigned>(value[0]);
    });
    interfaces_.push_back(described);
  }
  template <order O>
  void operator()(const record<pcapng::enhanced_packet, O>& item) {
    using packet = pcapng::enhanced_packet;
    const std::size_t number = item[packet::interface];
    const interface from = number < interfaces_.size() ? interfaces_[number] : interface{};
    const std::uint64_t ticks = std::uint64_t{item[packet::time_high]} << 32 | item[packet::time_low];
    std::string comments;
    for_each_option(item, [&](unsigned code, byte_view value) {
      if (code == 1) comments += (comments.empty() ? "" : ",") + text_of(value);
    });
    line(from.name, seconds(ticks, from.resolution), item[packet::data].size(), item[packet::original_length],
         comments);
  }
  template <order O>
  void operator()(const record<pcapng::simple_packet, O>& item) {
    const std::size_t original = item[pcapng::simple_packet::original_length],
                      stored = item[pcapng::simple_packet::data].size();
    line(interfaces_.empty() ? "" : interfaces_[0].name, "", original < stored ? original : stored, original, "");
  }
  template <order O>
  void operator()(const record<pcapng::other_block, O>&) {}

 private:
  template <class Record>
  static void for_each_option(const Record& item, auto&& f) {
    for (const auto& any : item[pcapng::block::options]) {
      if (const auto one = get_if<pcapng::option>(any)) f(one[pcapng::option::code], one[pcapng::option::value]);
    }
  }
  void line(const std::string& interface_name, const std::string& time, std::size_t captured, std::size_t original,
            const std::string& comments) {
    std::printf("%zu\t%zu\t%s\t%s\t%zu\t%zu\t%s\n", ++packets_, section_, interface_name.c_str(), time.c_str(),
                captured, original, comments.c_str());
  }

  std::vector<interface> interfaces_;
  std::size_t section_ = 0, packets_ = 0;
};

}  // namespace

int main(int count, char** words) {
  if (count < 2 || count > 3) return 2;
  const auto file = io::mapped_file::open(words[1]);
  packet_list packets;
  const bool blocks = count == 3;
  const trace_error error = for_each_in_file<pcapng::file>(file.partial().bytes(), [&](const auto& item) {
    if (blocks) {
      std::string text;
      hex_dump(std::back_inserter(text), item);
      std::fputs(text.c_str(), stdout);
    } else {
      visit(item, packets);
    }
  });
  if (!error) return 0;
  std::fprintf(stderr, "%s:%llu: %s\n", words[1], static_cast<unsigned long long>(error.offset), message(error.code));
  return 1;
}
