// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <iterator>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <backsight/core/text.hpp>
#include <backsight/uftrace/recording.hpp>

// From addresses to functions. Source: uftrace's utils/session.c, utils/symbol.c, utils/fstack.c (fixups), utils/argspec.c.
namespace backsight::uftrace {

/// Functions that move the stack in ways that their records do not tell, by exact name.
enum class special_function : std::uint8_t { none, exec, setjmp, longjmp, fork };

[[nodiscard]] inline special_function special_function_of(std::string_view name) noexcept {
  using enum special_function;
  static constexpr struct {
    std::string_view name;
    special_function kind;
  } all[] = {{"execl", exec}, {"execlp", exec}, {"execle", exec}, {"execv", exec}, {"execve", exec}, {"execvp", exec},
             {"execvpe", exec}, {"setjmp", setjmp}, {"_setjmp", setjmp}, {"sigsetjmp", setjmp}, {"__sigsetjmp", setjmp},
             {"longjmp", longjmp}, {"siglongjmp", longjmp}, {"__longjmp_chk", longjmp}, {"fork", fork}, {"vfork", fork},
             {"daemon", fork}, {"posix.fork", fork}};
  for (const auto& entry : all) {
    if (entry.name == name) return entry.kind;
  }
  return none;
}

/// What is known of the function at an address.
struct function {
  std::uint32_t name = 0;  ///< index for resolver::name(); equal for equal names
  special_function special = special_function::none;
  bool known = false;      ///< a symbol covers the address
  bool values_ready = false;
  std::uint32_t object = 0;
  std::uint32_t symbol = 0;
  std::vector<value_spec> arguments, return_values;
};

/// Finds functions by task, time and address, and remembers what it found. Not for use by several threads at once: each
/// takes its own, over the same recording, which must outlive it. A look-up that was made before costs a probe of a
/// fixed-size cache; a new one a binary search for the mapping and one for the symbol.
class resolver {
 public:
  explicit resolver(const recording& from) : from_(&from), ranges_(from.data.size()), cache_(std::size_t{1} << cache_bits) {
    functions_of_.resize(from.objects.size());
    // Key 0 belongs to the first slot: there another one says that it is empty.
    cache_.front().key = 1;
  }
  resolver(const resolver&) = delete;
  resolver& operator=(const resolver&) = delete;

  /// The function at `address` for the task whose data file has that index, at that time. Never fails: what no symbol
  /// covers is a function named `<address>`. The reference is valid as long as the resolver.
  [[nodiscard, gnu::always_inline]] const function& find(std::uint32_t data_index, std::uint64_t time, std::uint64_t address) {
    range& r = ranges_[data_index];
    if (time < r.from || time >= r.until) enter_range(r, data_index, time);
    const std::uint64_t key = address | std::uint64_t{r.session} << 48;
    cached& slot = cache_[(key * 0x9e3779b97f4a7c15ULL) >> (64 - cache_bits)];
    if (slot.key == key && address < (std::uint64_t{1} << 48)) [[likely]] return *slot.found;
    return search(slot, r.session, time, address);
  }

  /// The same for a session, by its index in recording::sessions; no_session for none.
  [[nodiscard]] const function& find_in_session(std::uint32_t session_number, std::uint64_t time, std::uint64_t address) {
    cached unused;
    return search(unused, session_number, time, address);
  }

  /// Whether the address is the kernel's for that session: all from a border on.
  [[nodiscard]] bool is_kernel(std::uint32_t session_number, std::uint64_t address) const noexcept {
    if (from_->kernel.object == kernel_trace::no_object || from_->sessions.empty()) return false;
    const std::uint64_t base = from_->sessions[session_number < from_->sessions.size() ? session_number : 0].kernel_base;
    return base != 0 && address >= base;
  }

  /// Whether find() gives the same for an address as long as the task's session stays the same: no library was loaded later.
  [[nodiscard]] bool is_lasting(std::uint32_t data_index, std::uint64_t time) {
    const std::uint32_t number = session_of(data_index, time);
    return number == no_session || from_->sessions[number].libraries.empty();
  }

  /// The text of a name. Valid as long as the resolver.
  [[nodiscard]] const std::string& name(std::uint32_t index) const noexcept { return names_[index]; }
  [[nodiscard]] std::uint32_t name_count() const noexcept { return static_cast<std::uint32_t>(names_.size()); }
  /// The index of that text as a name.
  std::uint32_t intern(std::string text) {
    const auto at = index_.find(text);
    if (at != index_.end()) return at->second;
    const auto number = static_cast<std::uint32_t>(names_.size());
    names_.push_back(std::move(text));
    index_.emplace(names_.back(), number);
    return number;
  }

  /// The index of the session of that task at that time; no_session when there is none.
  static constexpr std::uint32_t no_session = 0xffffffff;
  [[nodiscard]] std::uint32_t session_of(std::uint32_t data_index, std::uint64_t time) {
    range& r = ranges_[data_index];
    if (time < r.from || time >= r.until) enter_range(r, data_index, time);
    return r.session;
  }

  /// The values that the records of this function carry.
  [[nodiscard]] const std::vector<value_spec>& values(const function& f, bool is_return) {
    if (!f.values_ready) prepare_values(const_cast<function&>(f));
    return is_return ? f.return_values : f.arguments;
  }

  /// The context for a range over the records of that data file. The resolver must outlive the range.
  [[nodiscard]] value_sizes sizes_for(std::uint32_t data_index) noexcept {
    return {this, &resolver::size_of_values, data_index};
  }

  /// The enumeration of that name as the object file `f` sees it; null when unknown.
  [[nodiscard]] const enumeration* find_enumeration(const function& f, std::string_view type_name) const noexcept {
    if (f.known) {
      for (const enumeration& e : from_->objects[f.object].enumerations) {
        if (e.name == type_name) return &e;
      }
    }
    for (const enumeration& e : from_->auto_enumerations) {
      if (e.name == type_name) return &e;
    }
    return nullptr;
  }

  /// How many object files could own the address at that time: more than one means that libraries were loaded over one another
  /// and task.txt, which does not tell when they were closed, leaves open which one it is.
  [[nodiscard]] std::size_t candidates(std::uint32_t data_index, std::uint64_t time, std::uint64_t address) {
    const std::uint32_t session_number = session_of(data_index, time);
    if (session_number == no_session) return 0;
    const session& s = from_->sessions[session_number];
    if (find_mapped(s, address) != nullptr) return 1;
    std::vector<std::uint32_t> seen;
    for (const object_mapping& library : s.libraries) {
      if (library.time > time || library.start > address) continue;
      if (from_->objects[library.object].symbols.find(address - library.start) == symbol_table::none) continue;
      if (std::find(seen.begin(), seen.end(), library.object) == seen.end()) seen.push_back(library.object);
    }
    return seen.size();
  }

  [[nodiscard]] const recording& source() const noexcept { return *from_; }

 private:
  static constexpr unsigned cache_bits = 12;
  struct cached {
    std::uint64_t key = 0;  ///< address, and in the upper 16 bits the session; of an empty slot one that belongs elsewhere
    const function* found = nullptr;
  };
  struct range {
    std::uint64_t from = 1, until = 0;
    std::uint32_t session = no_session;
  };

  static payload_result size_of_values(const void* owner, std::uint32_t data_index, std::uint64_t time, std::uint64_t address,
                                       bool is_return, byte_view rest) noexcept {
    // The cache is an implementation matter: the answer is the same whatever it holds.
    auto& self = *const_cast<resolver*>(static_cast<const resolver*>(owner));
    const function& f = self.find(data_index, time, address);
    const auto& specs = self.values(f, is_return);
    if (specs.empty()) return errc::not_found;
    return values_extent(specs, rest, self.from_->info.byte_order);
  }

  /// Finds the longest stretch of time around `time` in which the task's session stays the same.
  [[gnu::noinline]] void enter_range(range& r, std::uint32_t data_index, std::uint64_t time) {
    const std::uint32_t number = from_->data[data_index].task;
    r = {0, ~std::uint64_t{0}, no_session};
    if (number == task_data::no_task) return;
    const std::int64_t found = from_->session_at(number, time);
    r.session = found < 0 ? no_session : static_cast<std::uint32_t>(found);
    // Every border of a reference of the task or of those that it falls back on may change the answer.
    std::uint32_t at = number;
    for (std::size_t steps = 0; at < from_->tasks.size() && steps <= from_->tasks.size(); ++steps) {
      const task& t = from_->tasks[at];
      for (const session_reference& reference : t.sessions) {
        for (const std::uint64_t border : {reference.from, reference.until}) {
          if (border <= time) r.from = std::max(r.from, border);
          else r.until = std::min(r.until, border);
        }
      }
      const std::uint32_t up = t.parent != 0 ? t.parent : t.pid;
      if (up == t.tid) break;
      at = from_->find_task(up);
    }
  }

  [[nodiscard]] static const object_mapping* find_mapped(const session& s, std::uint64_t address) noexcept {
    const auto after = std::upper_bound(s.mappings.begin(), s.mappings.end(), address,
                                        [](std::uint64_t a, const object_mapping& m) { return a < m.start; });
    if (after == s.mappings.begin()) return nullptr;
    const object_mapping& m = *(after - 1);
    return address < m.end ? &m : nullptr;
  }

  [[gnu::noinline]] const function& search(cached& slot, std::uint32_t session_number, std::uint64_t time, std::uint64_t address) {
    bool lasting = true;
    const function* found = nullptr;
    if (is_kernel(session_number, address)) {
      const std::size_t index = from_->objects[from_->kernel.object].symbols.find(address);
      if (index != symbol_table::none) found = &function_of(from_->kernel.object, index);
    } else if (session_number < from_->sessions.size()) {
      const session& s = from_->sessions[session_number];
      if (const object_mapping* const m = find_mapped(s, address)) {
        const std::size_t index = from_->objects[m->object].symbols.find(address - m->start);
        if (index != symbol_table::none) found = &function_of(m->object, index);
      }
      if (found == nullptr && !s.libraries.empty()) {
        lasting = false;
        const object_mapping* newest = nullptr;
        std::size_t symbol_index = 0;
        for (const object_mapping& library : s.libraries) {
          if (library.time > time || library.start > address) continue;
          if (newest != nullptr && library.time < newest->time) continue;
          const std::size_t index = from_->objects[library.object].symbols.find(address - library.start);
          if (index == symbol_table::none) continue;
          newest = &library;
          symbol_index = index;
        }
        if (newest != nullptr) found = &function_of(newest->object, symbol_index);
      }
    }
    if (found == nullptr) found = &unknown_function(address);
    if (lasting && address < (std::uint64_t{1} << 48) && session_number < 0xffff) slot = {address | std::uint64_t{session_number} << 48, found};
    return *found;
  }

  const function& function_of(std::uint32_t object_number, std::size_t symbol_index) {
    auto& list = functions_of_[object_number];
    const auto& symbols = from_->objects[object_number].symbols.symbols();
    if (list.empty()) list.resize(symbols.size(), nullptr);
    if (list[symbol_index] == nullptr) {
      function f;
      f.name = intern(short_name(symbols[symbol_index].name));
      if (object_number != from_->kernel.object) f.special = special_function_of(names_[f.name]);
      f.known = true;
      f.object = object_number;
      f.symbol = static_cast<std::uint32_t>(symbol_index);
      functions_.push_back(std::move(f));
      list[symbol_index] = &functions_.back();
    }
    return *list[symbol_index];
  }

  const function& unknown_function(std::uint64_t address) {
    const auto at = unknown_.find(address);
    if (at != unknown_.end()) return *at->second;
    std::string shown = "<";
    (void)text::hexadecimal(std::back_inserter(shown), address);
    shown += '>';
    function f;
    f.name = intern(std::move(shown));
    functions_.push_back(std::move(f));
    unknown_.emplace(address, &functions_.back());
    return functions_.back();
  }

  void prepare_values(function& f) {
    f.values_ready = true;
    if (!f.known) return;
    const object_file& m = from_->objects[f.object];
    const std::uint64_t offset = m.symbols.symbols()[f.symbol].address;
    const debug_function* const debug =
        from_->use_auto && from_->info.has(feature::debug_info) ? m.debug.find(offset) : nullptr;
    collect(f, from_->arguments, from_->auto_arguments, debug == nullptr ? std::string_view{} : debug->arguments, f.arguments);
    collect(f, from_->return_values, from_->auto_return_values, debug == nullptr ? std::string_view{} : debug->return_value,
            f.return_values);
  }

  void collect(const function& f, const std::vector<function_spec>& specs, const std::vector<function_spec>& automatic,
               std::string_view debug, std::vector<value_spec>& out) {
    std::vector<bool> exact;
    for (const function_spec& spec : specs) {
      if (matches(spec, names_[f.name])) merge_value_specs(out, exact, spec);
    }
    if (!out.empty() || !from_->use_auto) return;
    if (detail::take(debug, "@")) {
      merge_value_specs(out, exact, {{}, false, read_value_specs(debug, from_->info.long_size())});
      return;
    }
    for (const function_spec& spec : automatic) {
      if (spec.pattern == names_[f.name]) {
        out = spec.values;
        return;
      }
    }
  }

  [[nodiscard]] bool matches(const function_spec& spec, const std::string& text) {
    const std::string_view kind = from_->info.value("pattern_type");
    if (!spec.is_pattern || kind == "simple") return spec.pattern == text;
    if (kind == "glob") return matches_glob(spec.pattern, text);
    if (from_->patterns.compile == nullptr) return false;
    void* const compiled = from_->patterns.compile(spec.pattern.c_str());
    if (compiled == nullptr) return false;
    const bool found = from_->patterns.search(compiled, text.c_str());
    from_->patterns.release(compiled);
    return found;
  }

  const recording* from_;
  std::vector<range> ranges_;
  std::vector<cached> cache_;
  std::deque<function> functions_;
  std::vector<std::vector<const function*>> functions_of_;
  std::unordered_map<std::uint64_t, const function*> unknown_;
  std::deque<std::string> names_;
  std::unordered_map<std::string_view, std::uint32_t> index_;
};

}  // namespace backsight::uftrace
