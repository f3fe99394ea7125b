// SPDX-License-Identifier: Apache-2.0
#include <support/xray_oracle.hpp>

#include <map>

namespace backsight::test {

namespace {

class reader {
 public:
  explicit reader(byte_view all) : all_(all) {}

  oracle_log read() {
    if (all_.size() < 32) return fail("truncated", 0);
    big_ = false;
    for (int attempt = 0; attempt < 2; ++attempt, big_ = true) {
      version_ = number(0, 2);
      const std::uint64_t type = number(2, 2);
      if (type == 1 && version_ >= 1 && version_ <= 5) return version_ == 1 ? read_version_1() : read_blocks();
      if (type == 0 && version_ >= 1 && version_ <= 3) return read_basic();
    }
    const unsigned low = byte(2), high = byte(3);
    if ((low <= 1 && high == 0) || (low == 0 && high <= 1)) return fail("unsupported_version", 0);
    return fail("unsupported_type", 2);
  }

 private:
  enum kinds {
    new_buffer,
    end_of_buffer,
    cpu,
    wrap,
    wall,
    custom,
    argument,
    extents,
    typed,
    pid,
    function = 1000,
    nothing
  };

  unsigned byte(std::uint64_t at) const { return std::to_integer<unsigned>(all_[static_cast<std::size_t>(at)]); }
  std::uint64_t number(std::uint64_t at, unsigned size) const {
    std::uint64_t value = 0;
    for (unsigned i = 0; i < size; ++i) {
      const std::uint64_t digit = byte(at + i);
      value += digit << (8 * (big_ ? size - 1 - i : i));
    }
    return value;
  }
  std::int32_t signed_number(std::uint64_t at) const {
    return static_cast<std::int32_t>(static_cast<std::uint32_t>(number(at, 4)));
  }
  std::string text(std::uint64_t at, std::uint64_t size) const {
    std::string copy;
    for (std::uint64_t i = 0; i < size; ++i) copy.push_back(static_cast<char>(byte(at + i)));
    return copy;
  }
  oracle_log fail(const char* what, std::uint64_t at) {
    log_.faults.push_back({what, at});
    return log_;
  }
  /// The kind number of the metadata record at `at`, or `function`.
  unsigned kind_at(std::uint64_t at) const {
    const unsigned head = byte(at);
    if (big_) return head >= 128 ? head - 128 : static_cast<unsigned>(function);
    return head % 2 == 1 ? head / 2 : static_cast<unsigned>(function);
  }

  oracle_log read_version_1() {
    const std::uint64_t size = number(16, 8);
    for (std::uint64_t at = 32; at < all_.size();) {
      std::uint64_t end = all_.size();
      if (size >= 16) {
        if (size < end - at) end = at + size;
      } else {
        end = undeclared_end(at);
      }
      read_records(at, end);
      at = end;
    }
    return log_;
  }

  oracle_log read_blocks() {
    std::uint64_t at = 32;
    while (at < all_.size()) {
      std::uint64_t begin = at;
      if (kind_at(at) != extents && kind_at(at) != new_buffer) {
        while (begin < all_.size() &&
               !(kind_at(begin) == extents && begin + 16 < all_.size() && kind_at(begin + 16) == new_buffer)) {
          ++begin;
        }
        if (begin == all_.size()) return fail("trailing_bytes", at);
      }
      if (all_.size() - begin < 16) return fail("truncated", begin);
      if (kind_at(begin) == new_buffer) {
        at = undeclared_end(begin);
        read_records(begin, at);
        continue;
      }
      const std::uint64_t size = number(begin + 1, 8), rest = all_.size() - begin - 16;
      const std::uint64_t end = size < rest ? begin + 16 + size : all_.size();
      const bool readable = read_records(begin, end);
      if (readable && size > rest) fail("truncated", all_.size());
      at = end;
    }
    return log_;
  }

  /// Where a block of unknown size ends: before the next block; at the end of the log where something cannot be read.
  std::uint64_t undeclared_end(std::uint64_t begin) {
    std::uint64_t at = begin;
    while (at < all_.size()) {
      std::uint64_t size = 0;
      const unsigned kind = kind_at(at);
      if (!size_of_record(at, all_.size(), size).empty()) return all_.size();
      if ((kind == extents || kind == new_buffer) && at != begin) return at;
      at += size;
      if (kind == end_of_buffer) return at;
    }
    return at;
  }

  /// Empty when a whole record lies at `at`, with its size; else what is wrong.
  std::string size_of_record(std::uint64_t at, std::uint64_t end, std::uint64_t& size) const {
    const unsigned kind = kind_at(at);
    if (kind == function) {
      if (end - at < 8) return "truncated";
      const std::uint64_t word = number(at, 4);
      const std::uint64_t action = big_ ? word >> 28 & 7 : word >> 1 & 7;
      if (action > 3) return "bad_value";
      size = 8;
      return "";
    }
    if (kind > 9 || (kind == end_of_buffer && version_ > 1)) return "unknown_record";
    if (end - at < 16) return "truncated";
    size = 16;
    if (kind == custom || kind == typed) {
      const std::int32_t payload = signed_number(at + 1);
      if (payload <= 0) return "bad_size";
      if (static_cast<std::uint64_t>(payload) > end - at - 16) return "truncated";
      size += static_cast<std::uint64_t>(payload);
    }
    return "";
  }

  /// The kinds that may come after a kind, by LLVM's BlockVerifier.
  static bool allowed(unsigned before, unsigned kind) {
    static const std::map<unsigned, std::string> after{
        // Letters: N new buffer, E end of buffer, C cpu, W wrap, T wall clock, U custom, A argument, X extents, Y
        // typed, P pid, F function.
        {nothing, "XN"},   {extents, "N"},        {new_buffer, "T"},     {wall, "PC"},
        {pid, "C"},        {cpu, "CWUYFE"},       {wrap, "CWUYFE"},      {custom, "CWUYFE"},
        {typed, "CWUYFE"}, {function, "CWUYFAE"}, {argument, "CWUYFAE"},
    };
    static const std::string letters = "NECWTUAXYP";
    const auto found = after.find(before);
    return found != after.end() && found->second.find(kind == function ? 'F' : letters[kind]) != std::string::npos;
  }

  /// Reads a block; true when it could be read to its end.
  bool read_records(std::uint64_t at, std::uint64_t end) {
    std::int32_t thread = 0, process = 0;
    std::uint64_t time = 0;
    std::uint32_t on_cpu = 0;
    bool timed = false, objected = false;
    unsigned before = nothing;
    for (;;) {
      if (at == end) {
        if (!objected && (before == new_buffer || before == wall || before == pid)) {
          fail("bad_end", at);
          return false;
        }
        return true;
      }
      std::uint64_t size = 0;
      std::string wrong = size_of_record(at, end, size);
      if (wrong == "truncated" && end < all_.size()) wrong = "record_crosses_block";
      if (!wrong.empty()) {
        fail(wrong.c_str(), at);
        return false;
      }
      const unsigned kind = kind_at(at);
      if (!objected && !allowed(before, kind)) {
        fail("bad_transition", at);
        if (!timed) return false;
        objected = true;
      }
      oracle_event event;
      event.offset = at;
      switch (kind) {
        case new_buffer:
          thread = signed_number(at + 1);
          process = version_ == 2 ? thread : 0;
          time = 0;
          on_cpu = 0;
          break;
        case end_of_buffer: return true;
        case cpu:
          on_cpu = static_cast<std::uint32_t>(number(at + 1, 2));
          time = number(at + 3, 8);
          timed = true;
          break;
        case wrap:
          time = number(at + 1, 8);
          timed = true;
          break;
        case pid: process = signed_number(at + 1); break;
        case function: {
          const std::uint64_t word = number(at, 4);
          time += number(at + 4, 4);
          static const char* const names[]{"enter", "exit", "tail_exit", "enter"};
          event.kind = names[big_ ? word >> 28 & 3 : word >> 1 & 3];
          event.function = static_cast<std::uint32_t>(big_ ? word & 0xfffffff : word >> 4);
          event.cpu = on_cpu;
          event.time = time;
          break;
        }
        case argument:
          if (before == function || before == argument) {
            if (!log_.events.empty() && log_.events.back().offset >= last_function_) {
              log_.events.back().kind = "enter";
              log_.events.back().arguments.push_back(number(at + 1, 8));
            }
          }
          break;
        case custom:
        case typed:
          event.kind = kind == custom ? "custom" : "typed";
          event.payload = text(at + 16, size - 16);
          event.cpu = on_cpu;
          if (version_ >= 5) {
            time += static_cast<std::uint64_t>(std::int64_t{signed_number(at + 5)});
            event.time = time;
            if (kind == typed) event.type = static_cast<std::uint32_t>(number(at + 9, 2));
          } else {
            event.time = number(at + 5, 8);
            if (kind == typed) event.type = static_cast<std::uint32_t>(number(at + 13, 2));
            if (kind == custom && version_ == 4) event.cpu = static_cast<std::uint32_t>(number(at + 13, 2));
          }
          break;
        default: break;
      }
      if (!event.kind.empty()) {
        event.thread = thread;
        event.process = process;
        if (kind == function) last_function_ = at;
        log_.events.push_back(event);
      }
      // An argument whose place was objected to belongs to nothing, and neither do those behind it.
      before = kind == argument && before != function && before != argument ? static_cast<unsigned>(wall) : kind;
      at += size;
    }
  }

  oracle_log read_basic() {
    bool open = false;
    for (std::uint64_t at = 32; at < all_.size(); at += 32) {
      if (all_.size() - at < 2) return fail("truncated", at);
      const std::uint64_t type = number(at, 2);
      if (type > 1) {
        fail("unknown_record", at);
        open = false;
        continue;
      }
      if (all_.size() - at < 32) return fail("truncated", at);
      if (type == 1) {
        const bool fits = open && log_.events.back().function == number(at + 4, 4) &&
                          log_.events.back().thread == signed_number(at + 8) &&
                          (version_ < 3 || log_.events.back().process == signed_number(at + 12));
        if (fits) {
          log_.events.back().arguments.push_back(number(at + 16, 8));
        } else {
          fail("unpaired_record", at);
          open = false;
        }
        continue;
      }
      if (byte(at + 3) > 3) {
        fail("bad_value", at);
        open = false;
        continue;
      }
      oracle_event event;
      static const char* const names[]{"enter", "exit", "tail_exit", "enter"};
      event.kind = names[byte(at + 3)];
      event.offset = at;
      event.cpu = byte(at + 2);
      event.function = static_cast<std::uint32_t>(number(at + 4, 4));
      event.time = number(at + 8, 8);
      event.thread = signed_number(at + 16);
      event.process = version_ >= 3 ? signed_number(at + 20) : 0;
      log_.events.push_back(event);
      open = true;
    }
    return log_;
  }

  byte_view all_;
  bool big_ = false;
  std::uint64_t version_ = 0, last_function_ = 0;
  oracle_log log_;
};

}  // namespace

oracle_log read_xray_by_hand(byte_view log) { return reader(log).read(); }

std::string describe(const oracle_event& event) {
  std::string line = std::to_string(event.offset) + ": " + event.kind + " f" + std::to_string(event.function) + " t" +
                     std::to_string(event.thread) + " p" + std::to_string(event.process) + " c" +
                     std::to_string(event.cpu) + " type" + std::to_string(event.type) + " at " +
                     std::to_string(event.time) + " args";
  for (const std::uint64_t value : event.arguments) line += " " + std::to_string(value);
  return line + " payload " + std::to_string(event.payload.size());
}

}  // namespace backsight::test
