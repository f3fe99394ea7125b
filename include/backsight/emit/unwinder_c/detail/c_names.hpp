// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include <backsight/emit/unwinder_c/detail/c_writer.hpp>

namespace backsight::emit::unwinder_c {

/// A function's place and name, for comments in emitted code.
struct function {
  std::uint64_t begin = 0;  ///< Link-time address.
  std::uint64_t end = 0;
  std::string_view name;
};

namespace detail {

/// Writes names of functions as the rows go past them. `functions` ascend by their begins.
template <class Out>
class c_names {
 public:
  c_names(c_writer<Out>& out, std::span<const function> functions) : out_(out), functions_(functions) {}

  /// The functions that begin below `address` and have not been written yet, each as a comment on a line.
  void below(std::uint64_t address) {
    for (; next_ < functions_.size() && functions_[next_].begin < address; ++next_) {
      const function& f = functions_[next_];
      out_("  /* ");
      for (const char c : f.name) {
        // Nothing that ends a comment or begins a trigraph.
        const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                           std::string_view("_.$@<>:,()~&[] ").find(c) != std::string_view::npos;
        out_(plain ? c : '_');
      }
      out_(": ", c_hex{f.begin}, " .. ", c_hex{f.end}, " */\n");
    }
  }

 private:
  c_writer<Out>& out_;
  std::span<const function> functions_;
  std::size_t next_ = 0;
};

}  // namespace detail

}  // namespace backsight::emit::unwinder_c
