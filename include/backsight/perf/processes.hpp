// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <backsight/perf/mappings.hpp>
#include <backsight/perf/merged_records.hpp>

namespace backsight::perf {

/// A process at some moment of the recording.
struct process {
  std::int32_t pid = 0;
  std::uint32_t number = 0;  ///< Different for all processes of a recording, also of the same pid.
  /// Shared with processes that were forked and have not changed it; never null.
  std::shared_ptr<mapping_set> maps = std::make_shared<mapping_set>();
  std::uint32_t threads = 0;  ///< How many of its threads are known and have not ended.
};

/// A thread at some moment of the recording.
struct thread {
  std::int32_t pid = -1, tid = -1;
  std::uint32_t name = 0;  ///< Number of a name; see process_list::name.
  bool is_named = false;   ///< A record told the name; it is ":TID" otherwise.
  bool has_ended = false;
};

/// Processes, threads, their names and mappings as the records in the order of time change them; those of the kernel
/// too.
///
/// Memory: what live processes have, and the last few thousand that ended, which late samples may belong to.
class process_list {
 public:
  process_list() { swapper_ = add_name("swapper"); }

  [[nodiscard]] const file_list& files() const noexcept { return files_; }
  [[nodiscard]] const mapping_set& kernel() const noexcept { return kernel_; }
  [[nodiscard]] const std::string& name(std::uint32_t number) const noexcept { return names_[number]; }

  /// The name and address of a function by which the kernel's own mapping was recorded; empty when none was.
  [[nodiscard]] std::string_view kernel_reference() const noexcept { return kernel_reference_; }
  [[nodiscard]] std::uint64_t kernel_reference_address() const noexcept { return kernel_reference_address_; }

  /// Tells the build id of files of that name, as the header of a recording or its records do, before they are mapped.
  void set_build_id(std::string_view name, const build_id& id) {
    ids_[std::string(name)] = id;
    if (name == kernel_name) kernel_id_ = id;
  }
  [[nodiscard]] const build_id& kernel_id() const noexcept { return kernel_id_; }

  /// The thread of a sample, which is made where no record told of it.
  [[nodiscard]] const thread& find_thread(std::int32_t pid, std::int32_t tid) {
    thread& found = threads_[tid];
    if (found.tid == -1 || (pid != -1 && found.pid != -1 && found.pid != pid)) {
      found = {};
      found.tid = tid;
      found.name = tid == 0 ? swapper_ : add_name(":" + std::to_string(tid));
    }
    if (found.pid == -1 && pid != -1) {
      found.pid = pid;
      ++at(pid).threads;
    }
    return found;
  }
  /// The process of that number, which is made where no record told of it.
  [[nodiscard]] const process& find_process(std::int32_t pid) { return at(pid); }

  /// Adds code that a process has made, as its jitdump tells, over what lies there; gives the number of the file of
  /// that name. Calls `on_change` as apply() does.
  template <class OnChange>
  std::uint32_t add_code(std::int32_t pid, std::uint64_t begin, std::uint64_t end, std::string_view name,
                         OnChange&& on_change) {
    mapping added;
    added.begin = begin;
    added.end = end;
    added.protection = 4;
    added.kind = file_kind::code;
    return add_mapping(pid, added, name, {}, on_change);
  }
  /// Adds a mapping of a process over what lies there, as others than records tell it; its file is numbered here. As
  /// above.
  template <class OnChange>
  std::uint32_t add_mapping(std::int32_t pid, mapping added, std::string_view name, const build_id& id,
                            OnChange&& on_change) {
    added.file = files_.add(name, id, added.kind);
    process& owner = at(pid);
    own_maps(owner).add(added);
    on_change(static_cast<const process*>(&owner), added.begin, added.end);
    return added.file;
  }

  /// The record may change mappings: what was found by them before holds no longer.
  [[nodiscard]] static bool changes_mappings(const stored_record& item) noexcept {
    switch (item.type) {
      case record_type::mmap:
      case record_type::mmap2:
      case record_type::fork:
      case record_type::exit:
      case record_type::ksymbol: return true;
      case record_type::comm: return (item.misc & misc::comm_exec) != 0;
      default: return false;
    }
  }

  /// Takes in a record that is no sample. Calls `on_change(const process*, begin, end)` after the mappings in [begin,
  /// end) of a process have changed; null is the kernel.
  template <class OnChange>
  void apply(const merged_record& item, const trace& opened, OnChange&& on_change) {
    const stored_record& stored = item.record;
    const sample_layout layout = item.event == no_event ? sample_layout() : opened.events()[item.event].layout;
    const auto text = [&](std::size_t from) {
      const byte_view all = without_trailer(stored, layout);
      return all.size() < from ? std::string_view() : text_of(all.subspan(from));
    };
    switch (stored.type) {
      case record_type::mmap: return take_mmap(stored, text(size_of<mmap_record>), on_change);
      case record_type::mmap2: return take_mmap2(stored, text(size_of<mmap2_record>), on_change);
      case record_type::comm: return take_comm(stored, text(size_of<comm_record>), on_change);
      case record_type::fork: return take_fork(stored, on_change);
      case record_type::exit: return take_exit(stored);
      case record_type::ksymbol: return take_ksymbol(stored, text(size_of<ksymbol_record>), on_change);
      default: return;
    }
  }

 private:
  static constexpr std::string_view kernel_name = "[kernel.kallsyms]";
  static constexpr std::size_t kept_after_exit = 4096;

  [[nodiscard]] std::uint32_t add_name(std::string name) {
    const auto [at, is_new] = name_numbers_.try_emplace(std::move(name), static_cast<std::uint32_t>(names_.size()));
    if (is_new) names_.push_back(at->first);
    return at->second;
  }
  [[nodiscard]] process& at(std::int32_t pid) {
    const auto [found, is_new] = processes_.try_emplace(pid);
    if (is_new) {
      found->second.pid = pid;
      found->second.number = next_number_++;
    }
    return found->second;
  }
  /// The mappings of a process, its own from here on.
  [[nodiscard]] static mapping_set& own_maps(process& of) {
    if (of.maps.use_count() != 1) of.maps = std::make_shared<mapping_set>(*of.maps);
    return *of.maps;
  }

  template <class OnChange>
  void take_mmap(const stored_record& item, std::string_view name, OnChange& on_change) {
    mapping added;
    added.begin = item.get<mmap_record>(mmap_record::addr);
    added.end = added.begin + item.get<mmap_record>(mmap_record::len);
    added.file_offset = item.get<mmap_record>(mmap_record::pgoff);
    added.protection = (item.misc & misc::mmap_data) != 0 ? 0U : 4U;
    map(item, item.get<mmap_record>(mmap_record::pid), added, name, {}, on_change);
  }
  template <class OnChange>
  void take_mmap2(const stored_record& item, std::string_view name, OnChange& on_change) {
    mapping added;
    added.begin = item.get<mmap2_record>(mmap2_record::addr);
    added.end = added.begin + item.get<mmap2_record>(mmap2_record::len);
    added.file_offset = item.get<mmap2_record>(mmap2_record::pgoff);
    added.protection = item.get<mmap2_record>(mmap2_record::prot);
    added.flags = item.get<mmap2_record>(mmap2_record::flags);
    build_id id;
    if (item.has_build_id()) {
      const auto bytes = item.get<mmap2_build_id_record>(mmap2_build_id_record::build_id);
      const std::size_t size = item.get<mmap2_build_id_record>(mmap2_build_id_record::build_id_size);
      id = build_id(byte_view(bytes).first(size < bytes.size() ? size : bytes.size()));
    }
    map(item, item.get<mmap2_record>(mmap2_record::pid), added, name, id, on_change);
  }

  template <class OnChange>
  void map(const stored_record& item, std::int32_t pid, mapping added, std::string_view name, build_id id,
           OnChange& on_change) {
    const cpu_mode mode = cpu_mode_of(item.misc);
    const bool of_kernel = mode == cpu_mode::kernel || (mode == cpu_mode::unknown && pid == -1);
    if (mode == cpu_mode::guest_kernel || mode == cpu_mode::guest_user) return;
    if (of_kernel) return map_kernel(added, name, id, on_change);
    constexpr std::uint32_t huge_pages = 0x40000;  // MAP_HUGETLB
    added.kind = kind_of_file(name, (added.flags & huge_pages) != 0);
    if (added.kind == file_kind::vdso) added.file_offset = 0;
    // Code in memory without a file may be named in a file of this name.
    const bool is_memory = added.kind == file_kind::anonymous || added.kind == file_kind::special;
    const std::string map_name = "/tmp/perf-" + std::to_string(pid) + ".map";
    if (is_memory && added.is_executable()) name = map_name;
    add_mapping(pid, added, name, id.is_known() ? id : id_of_name(name), on_change);
    if (added.is_executable() && is_jitdump(name)) jitdumps_.emplace_back(name);
  }
  /// `.../jit-PID.dump`: mapped by the program that writes it, so that its name is in the recording.
  [[nodiscard]] static bool is_jitdump(std::string_view name) noexcept {
    const std::size_t slash = name.rfind('/');
    if (slash == name.npos || !name.ends_with(".dump")) return false;
    name.remove_prefix(slash + 1);
    name.remove_suffix(5);
    return name.size() > 4 && name.starts_with("jit-") && name.find_first_not_of("0123456789", 4) == name.npos;
  }

  template <class OnChange>
  void map_kernel(mapping added, std::string_view name, build_id id, OnChange& on_change) {
    if (name.starts_with(kernel_name)) {
      // Its offset is the address of the function whose name stands behind it.
      const std::string_view reference = name.substr(kernel_name.size());
      if (!reference.empty() && kernel_reference_.empty()) {
        kernel_reference_ = reference;
        kernel_reference_address_ = added.file_offset;
      }
      name = kernel_name;
      added.kind = file_kind::kernel;
      if (id.is_known()) kernel_id_ = id;
    } else {
      added.kind = file_kind::module;
    }
    added.file = files_.add(name, id.is_known() ? id : id_of_name(name), added.kind);
    kernel_.add(added);
    on_change(static_cast<const process*>(nullptr), added.begin, added.end);
  }

  template <class OnChange>
  void take_ksymbol(const stored_record& item, std::string_view name, OnChange& on_change) {
    mapping added;
    added.begin = item.get<ksymbol_record>(ksymbol_record::addr);
    added.end = added.begin + item.get<ksymbol_record>(ksymbol_record::len);
    added.kind = file_kind::symbol;
    added.protection = 4;
    constexpr std::uint16_t unregister = 1;
    if ((item.get<ksymbol_record>(ksymbol_record::flags) & unregister) != 0) {
      kernel_.remove(added.begin, added.end);
    } else {
      added.file = files_.add(name, {}, added.kind);
      kernel_.add(added);
    }
    on_change(static_cast<const process*>(nullptr), added.begin, added.end);
  }

  template <class OnChange>
  void take_comm(const stored_record& item, std::string_view name, OnChange& on_change) {
    const auto pid = item.get<comm_record>(comm_record::pid), tid = item.get<comm_record>(comm_record::tid);
    (void)find_thread(pid, tid);
    thread& named = threads_[tid];
    named.name = add_name(std::string(name));
    named.is_named = true;
    if ((item.misc & misc::comm_exec) == 0) return;
    process& owner = at(pid);
    owner.maps = std::make_shared<mapping_set>();
    on_change(static_cast<const process*>(&owner), std::uint64_t{0}, ~std::uint64_t{0});
  }

  template <class OnChange>
  void take_fork(const stored_record& item, OnChange& on_change) {
    const auto pid = item.get<fork_record>(fork_record::pid), tid = item.get<fork_record>(fork_record::tid);
    const auto parent_pid = item.get<fork_record>(fork_record::ppid),
               parent_tid = item.get<fork_record>(fork_record::ptid);
    const thread parent = find_thread(parent_pid, parent_tid);
    forget_thread(tid);
    if (pid != parent_pid) {
      // A copy: the maps of the parent may lie elsewhere after the process was made.
      const std::shared_ptr<mapping_set> maps = at(parent_pid).maps;
      if (const auto old = processes_.find(pid); old != processes_.end()) {
        on_change(static_cast<const process*>(&old->second), std::uint64_t{0}, ~std::uint64_t{0});
        processes_.erase(old);
      }
      at(pid).maps = maps;
    }
    (void)find_thread(pid, tid);
    if (parent.is_named) {
      thread& made = threads_[tid];
      made.name = parent.name;
      made.is_named = true;
    }
  }

  /// What ended is kept for a while: the kernel still samples threads on their way out.
  void take_exit(const stored_record& item) {
    const auto pid = item.get<exit_record>(exit_record::pid), tid = item.get<exit_record>(exit_record::tid);
    const auto found = threads_.find(tid);
    if (found == threads_.end() || found->second.pid != pid) return;
    found->second.has_ended = true;
    ended_.push_back(tid);
    if (ended_.size() <= kept_after_exit) return;
    const std::int32_t oldest = ended_.front();
    ended_.pop_front();
    const auto thread_at = threads_.find(oldest);
    if (thread_at != threads_.end() && thread_at->second.has_ended) forget_thread(oldest);
  }
  /// The last thread takes its process with it.
  void forget_thread(std::int32_t tid) {
    const auto found = threads_.find(tid);
    if (found == threads_.end()) return;
    const auto owner = processes_.find(found->second.pid);
    threads_.erase(found);
    if (owner == processes_.end() || owner->second.threads == 0) return;
    if (--owner->second.threads == 0) gone_.push_back(owner->second.number), processes_.erase(owner);
  }

 public:
  /// The numbers of processes that were forgotten since the last call: what was kept for them can go.
  [[nodiscard]] std::vector<std::uint32_t> take_forgotten() { return std::exchange(gone_, {}); }
  /// The names of jitdumps that were mapped since the last call.
  [[nodiscard]] std::vector<std::string> take_jitdumps() { return std::exchange(jitdumps_, {}); }

 private:
  [[nodiscard]] build_id id_of_name(std::string_view name) const {
    const auto found = ids_.find(std::string(name));
    return found == ids_.end() ? build_id() : found->second;
  }

  file_list files_;
  mapping_set kernel_;
  std::string kernel_reference_;
  std::uint64_t kernel_reference_address_ = 0;
  build_id kernel_id_;
  std::unordered_map<std::string, build_id> ids_;
  std::deque<std::string> names_;
  std::unordered_map<std::string, std::uint32_t> name_numbers_;
  std::unordered_map<std::int32_t, process> processes_;
  std::unordered_map<std::int32_t, thread> threads_;
  std::deque<std::int32_t> ended_;
  std::vector<std::uint32_t> gone_;
  std::vector<std::string> jitdumps_;
  std::uint32_t next_number_ = 0;
  std::uint32_t swapper_ = 0;
};

}  // namespace backsight::perf
