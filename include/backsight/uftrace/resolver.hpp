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
#include <backsight/uftrace/detail/loaded_libraries.hpp>
#include <backsight/uftrace/object_rule.hpp>
#include <backsight/uftrace/recording.hpp>
#include <backsight/uftrace/records.hpp>

// From addresses to functions. Source: uftrace's utils/session.c, utils/symbol.c, utils/fstack.c (fixups),
// utils/argspec.c.
namespace backsight::uftrace {

/// Functions that move the stack in ways that their records do not tell, by exact name.
enum class special_function : std::uint8_t { none, exec, setjmp, longjmp, fork };

[[nodiscard]] inline special_function special_function_of(std::string_view name) noexcept {
  using enum special_function;
  static constexpr struct {
    std::string_view name;
    special_function kind;
  } all[] = {{"execl", exec},         {"execlp", exec},           {"execle", exec},        {"execv", exec},
             {"execve", exec},        {"execvp", exec},           {"execvpe", exec},       {"setjmp", setjmp},
             {"_setjmp", setjmp},     {"sigsetjmp", setjmp},      {"__sigsetjmp", setjmp}, {"longjmp", longjmp},
             {"siglongjmp", longjmp}, {"__longjmp_chk", longjmp}, {"fork", fork},          {"vfork", fork},
             {"daemon", fork},        {"posix.fork", fork}};
  for (const auto& entry : all) {
    if (entry.name == name) return entry.kind;
  }
  return none;
}

/// What is known of the function at an address.
struct function {
  std::uint32_t name = 0;  ///< index for resolver::name(); equal for equal names
  special_function special = special_function::none;
  bool known = false;  ///< a symbol covers the address
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
  explicit resolver(const recording& from)
      : from_(&from),
        ranges_(from.data.size()),
        cache_(std::size_t{1} << cache_bits),
        libraries_(from.sessions.size()) {
    for (std::size_t i = 0; i < libraries_.size(); ++i) {
      if (!from.sessions[i].libraries.empty())
        libraries_[i] = detail::loaded_libraries(from.sessions[i].libraries, from.objects);
    }
    // Key 0 belongs to the first slot: there another one says that it is empty.
    cache_.front().key = 1;
  }
  resolver(const resolver&) = delete;
  resolver& operator=(const resolver&) = delete;

  /// The function at `address` for the task whose data file has that index, at that time. Never fails: what no symbol
  /// covers is a function named `<address>`. The reference is valid as long as the resolver.
  [[nodiscard, gnu::always_inline]] const function& find(std::uint32_t data_index, std::uint64_t time,
                                                         std::uint64_t address) {
    range& r = ranges_[data_index];
    if (time < r.from || time >= r.until) enter_range(r, data_index, time);
    const std::uint64_t key = address | std::uint64_t{r.session} << record_head::address.bits;
    cached& slot = cache_[static_cast<std::size_t>((key * 0x9e3779b97f4a7c15ULL) >> (64 - cache_bits))];
    if (slot.key == key && address <= largest_address) [[likely]]
      return *slot.found;
    return search(slot, r.session, time, address);
  }

  /// The same for a session, by its index in recording::sessions; no_session for none.
  [[nodiscard]] const function& find_in_session(std::uint32_t session_number, std::uint64_t time,
                                                std::uint64_t address) {
    cached unused;
    return search(unused, session_number, time, address);
  }

  /// Whether the address is the kernel's for that session: all from a border on.
  [[nodiscard]] bool is_kernel(std::uint32_t session_number, std::uint64_t address) const noexcept {
    if (from_->kernel.object == kernel_trace::no_object || from_->sessions.empty()) return false;
    const std::uint64_t base =
        from_->sessions[session_number < from_->sessions.size() ? session_number : 0].kernel_base;
    return base != 0 && address >= base;
  }

  /// Whether find() gives the same for an address as long as the task's session stays the same: no library was loaded
  /// later.
  [[nodiscard]] bool is_lasting(std::uint32_t data_index, std::uint64_t time) {
    const std::uint32_t number = session_of(data_index, time);
    return number == no_session || libraries_[number].empty();
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

  /// The enumeration of that name as the module of `f` sees it; null when unknown.
  [[nodiscard]] const enumeration* find_enumeration(const function& f, std::string_view type_name) const {
    const object_debug* const debug = f.known ? from_->objects[f.object].debug.get() : nullptr;
    if (const enumeration* const found = debug == nullptr ? nullptr : debug->enumerations.find(type_name)) return found;
    return from_->auto_enumerations.find(type_name);
  }

  /// How many object files could own the address at that time: more than one means that libraries were loaded over one
  /// another and task.txt, which does not tell when they were closed, leaves open which one it is.
  [[nodiscard]] std::size_t candidates(std::uint32_t data_index, std::uint64_t time, std::uint64_t address) {
    const std::uint32_t session_number = session_of(data_index, time);
    if (session_number == no_session) return 0;
    if (find_mapped(from_->sessions[session_number], address) != nullptr) return 1;
    std::vector<std::uint32_t> seen;
    (void)libraries_[session_number].each(
        address, time, [&](const auto& found, std::uint64_t, std::uint32_t) { seen.push_back(found.object); });
    std::sort(seen.begin(), seen.end());
    return static_cast<std::size_t>(std::unique(seen.begin(), seen.end()) - seen.begin());
  }

  /// The mapping that holds an address, or null.
  [[nodiscard]] static const object_mapping* find_mapped(const session& s, std::uint64_t address) noexcept {
    const auto after = std::upper_bound(s.mappings.begin(), s.mappings.end(), address,
                                        [](std::uint64_t a, const object_mapping& m) { return a < m.start; });
    if (after == s.mappings.begin()) return nullptr;
    const object_mapping& m = *(after - 1);
    return address < m.end ? &m : nullptr;
  }

  [[nodiscard]] const recording& source() const noexcept { return *from_; }

 private:
  static constexpr unsigned cache_bits = 12;
  /// Sessions that fit into a key above the address; the number behind them is no_session, cut.
  static constexpr std::uint32_t sessions_in_keys = (1U << (64 - record_head::address.bits)) - 1;
  struct cached {
    std::uint64_t key =
        0;  ///< address, and in the upper 16 bits the session; of an empty slot one that belongs elsewhere
    const function* found = nullptr;
  };
  struct range {
    std::uint64_t from = 1, until = 0;
    std::uint32_t session = no_session;
  };

  static payload_result size_of_values(const void* owner, std::uint32_t data_index, std::uint64_t time,
                                       std::uint64_t address, bool is_return, byte_view rest) noexcept {
    // The cache is an implementation matter: the answer is the same whatever it holds.
    auto& self = *const_cast<resolver*>(static_cast<const resolver*>(owner));
    const function& f = self.find(data_index, time, address);
    const auto& specs = self.values(f, is_return);
    if (specs.empty()) return errc::not_found;
    return values_extent(specs, rest, self.from_->info.byte_order);
  }

  /// Finds the longest stretch of time around `time` in which the task's session stays the same.
  [[gnu::noinline]] void enter_range(range& r, std::uint32_t data_index, std::uint64_t time) {
    const session_stay stay = from_->stay_at(from_->data[data_index].task, time);
    r = {stay.from, stay.until, stay.session < 0 ? no_session : static_cast<std::uint32_t>(stay.session)};
  }

  [[gnu::noinline]] const function& search(cached& slot, std::uint32_t session_number, std::uint64_t time,
                                           std::uint64_t address) {
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
      if (found == nullptr && !libraries_[session_number].empty()) {
        lasting = false;
        const auto library = libraries_[session_number].find(address, time);
        if (library.symbol != symbol_table::none) found = &function_of(library.object, library.symbol);
      }
    }
    if (found == nullptr) found = &unknown_function(address);
    if (lasting && address <= largest_address && session_number < sessions_in_keys)
      slot = {address | std::uint64_t{session_number} << record_head::address.bits, found};
    return *found;
  }

  const function& function_of(std::uint32_t object_number, std::size_t symbol_index) {
    const function*& known = functions_of_[std::uint64_t{object_number} << 32 | symbol_index];
    if (known == nullptr) {
      function f;
      f.name = intern(names::short_name(from_->objects[object_number].symbols.symbols()[symbol_index].name));
      if (object_number != from_->kernel.object) f.special = special_function_of(names_[f.name]);
      f.known = true;
      f.object = object_number;
      f.symbol = static_cast<std::uint32_t>(symbol_index);
      functions_.push_back(std::move(f));
      known = &functions_.back();
    }
    return *known;
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
    if (!f.known || f.object == from_->kernel.object) return;
    const object_file& m = from_->objects[f.object];
    const auto& symbols = m.symbols.symbols();
    const symbol& own = symbols[f.symbol];
    // A place can have several names, and each counts.
    std::vector<std::string> names;
    std::size_t first = f.symbol;
    while (first != 0 && symbols[first - 1].address == own.address) --first;
    for (std::size_t i = first; i < symbols.size() && symbols[i].address == own.address && names.size() < 64; ++i)
      names.push_back(names::short_name(symbols[i].name));
    const debug_function* const debug =
        m.debug != nullptr && from_->info.has(feature::debug_info) ? m.debug->file.find(own.address) : nullptr;
    value_collection collected;
    collect_values(
        from_->values, names, from_->info.long_size(),
        [&](bool returns) {
          return debug == nullptr ? std::string_view{} : returns ? debug->return_value : debug->arguments;
        },
        [&](std::string_view name) { return objects_.is_of(*from_, name, f.object, own.type); }, collected);
    for (const value_spec& spec : collected.values())
      (spec.is_return() ? f.return_values : f.arguments).push_back(spec);
  }

  const recording* from_;
  std::vector<range> ranges_;
  std::vector<cached> cache_;
  std::deque<function> functions_;
  std::unordered_map<std::uint64_t, const function*> functions_of_;  ///< by module and symbol
  std::vector<detail::loaded_libraries> libraries_;                  ///< by session
  object_rule objects_;
  std::unordered_map<std::uint64_t, const function*> unknown_;
  std::deque<std::string> names_;
  std::unordered_map<std::string_view, std::uint32_t> index_;
};

}  // namespace backsight::uftrace
