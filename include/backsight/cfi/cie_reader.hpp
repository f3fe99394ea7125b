// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include <backsight/cfi/interpreter.hpp>
#include <backsight/cfi/rule.hpp>
#include <backsight/cfi/section.hpp>
#include <backsight/core/error.hpp>

namespace backsight::cfi {

namespace detail {

/// Sees to it that CIEs are read once each, however the FDEs choose among them. Long ones are kept, and the first few
/// short ones; other short ones may be read again, which costs no more than an FDE. CIEs that overlap, so that together
/// they are longer than their section, are refused: reading them would take more than linear time.
template <order O>
class long_cies {
 public:
  explicit long_cies(const section<O>& from) noexcept : left_(from.bytes().size()) {}

  static constexpr std::uint64_t longest_short = 256;
  static constexpr std::size_t most_short = 16;  // Kept. Files have two or three, by turns.
  /// The bytes of the CIE; 0 when it is short, or there is none.
  [[nodiscard]] static std::uint64_t length(const section<O>& from, std::uint64_t offset) noexcept {
    if (offset >= from.bytes().size() || from.bytes().size() - offset < 4) return 0;
    const auto e = from.entry_at(offset);
    return e && e->end - e->offset > longest_short ? e->end - e->offset : 0;
  }
  [[nodiscard]] bool spend(std::uint64_t bytes) noexcept {
    if (bytes > left_) return false;
    left_ -= bytes;
    return true;
  }

 private:
  std::uint64_t left_;
};

}  // namespace detail

/// The CIEs of a section for one FDE after the other, in whatever order. Reads each in about the time of its own
/// length.
template <order O>
class cie_reader {
 public:
  explicit cie_reader(const section<O>& from) noexcept : section_(from), long_(from) {}

  /// As section::cie_at; also errc::capacity for CIEs that overlap others. Valid until the next call.
  [[nodiscard]] const result<cie>& at(std::uint64_t offset) {
    if (offset == offset_) [[likely]]
      return last_;
    offset_ = offset;
    if (const auto known = kept_.find(offset); known != kept_.end()) return last_ = known->second;
    const std::uint64_t length = long_cies::length(section_, offset);
    if (length != 0 && !long_.spend(length)) return last_ = {errc::capacity, offset};
    last_ = section_.cie_at(offset);
    if (length != 0 || kept_.size() < long_cies::most_short) kept_.emplace(offset, last_);
    return last_;
  }

 private:
  using long_cies = detail::long_cies<O>;
  section<O> section_;
  long_cies long_;
  std::map<std::uint64_t, result<cie>> kept_;
  result<cie> last_{errc::not_found, 0};
  std::uint64_t offset_ = ~std::uint64_t{0};
};

/// The same for the rules that the instructions of CIEs give: loads them into a row_machine of the section.
template <class Arch, order O>
class cie_loader {
 public:
  explicit cie_loader(const section<O>& from) noexcept : section_(from), long_(from) {}

  /// As machine.load_cie(offset); also errc::capacity for CIEs that overlap others.
  [[nodiscard]] trace_error load(row_machine<Arch, O>& machine, std::uint64_t offset) {
    if (machine.holds_cie(offset)) [[likely]]
      return {};
    if (offset == failed_offset_) return failure_;
    if (const auto known = kept_.find(offset); known != kept_.end()) {
      const loaded& kept = known->second;
      if (!kept.error) machine.load_cie(kept.from, kept.rules, kept.cfa, kept.return_address_signed);
      return note(offset, kept.error);
    }
    const std::uint64_t length = long_cies::length(section_, offset);
    if (length != 0 && !long_.spend(length)) return note(offset, {errc::capacity, offset});
    const trace_error error = machine.load_cie(offset);
    if (length == 0 && kept_.size() >= long_cies::most_short) return note(offset, error);
    loaded& kept = kept_[offset];
    kept.error = error;
    if (!error) {
      kept.from = machine.current_cie();
      for (const register_rule& rule : machine.initial_rules()) kept.rules.push_back(rule);
      kept.cfa = machine.initial_cfa();
      kept.return_address_signed = machine.initial_signing();
    }
    return note(offset, error);
  }

 private:
  using long_cies = detail::long_cies<O>;
  struct loaded {
    trace_error error;
    cie from;
    std::vector<register_rule> rules;
    cfa_rule cfa;
    std::uint8_t return_address_signed = 0;
  };
  trace_error note(std::uint64_t offset, const trace_error& error) noexcept {
    if (error) failed_offset_ = offset, failure_ = error;
    return error;
  }

  section<O> section_;
  long_cies long_;
  std::map<std::uint64_t, loaded> kept_;
  std::uint64_t failed_offset_ = ~std::uint64_t{0};
  trace_error failure_;
};

}  // namespace backsight::cfi
