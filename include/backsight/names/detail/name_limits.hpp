// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

// What reading one mangled name may cost. Names come out of traces: a few bytes can ask for gigabytes (`C1C1C1`,
// references to references) or for a stack without end.
namespace backsight::names::detail {

/// The longest text that is made of a name; the longest of librustc_driver's 106,000 names has 3,655 bytes.
inline constexpr std::size_t longest_short_name = 16 * 1024;

/// How deep rules may call each other.
inline constexpr int deepest_name = 512;

/// Rules that may be tried for each byte of the name, references to earlier parts included; names of programs take up
/// to 1.2.
inline constexpr std::size_t name_steps_per_byte = 16;

/// Text of bounded length.
class name_text {
 public:
  void add(std::string_view text) {
    if (text.size() > longest_short_name - text_.size()) too_long_ = true;
    else text_ += text;
  }
  void drop_last() {
    if (!text_.empty()) text_.pop_back();
  }
  [[nodiscard]] bool too_long() const noexcept { return too_long_; }
  [[nodiscard]] const std::string& text() const noexcept { return text_; }

 private:
  std::string text_;
  bool too_long_ = false;
};

/// Counts steps and depth of one name.
class name_budget {
 public:
  explicit name_budget(std::size_t name_size) noexcept : allowed_(name_steps_per_byte * (name_size + 1)) {}

  /// One rule, as long as the object lives; false when no rule may be tried any more.
  class step {
   public:
    explicit step(name_budget& budget) noexcept : budget_(budget) {
      ++budget_.depth_;
      if (budget_.depth_ > deepest_name || budget_.steps_ == budget_.allowed_) budget_.exhausted_ = true;
      else ++budget_.steps_;
    }
    step(const step&) = delete;
    step& operator=(const step&) = delete;
    ~step() { --budget_.depth_; }
    [[nodiscard]] explicit operator bool() const noexcept { return !budget_.exhausted_; }

   private:
    name_budget& budget_;
  };

  [[nodiscard]] std::size_t steps() const noexcept { return steps_; }
  [[nodiscard]] bool exhausted() const noexcept { return exhausted_; }

 private:
  std::size_t allowed_;
  std::size_t steps_ = 0;
  int depth_ = 0;
  bool exhausted_ = false;
};

}  // namespace backsight::names::detail
