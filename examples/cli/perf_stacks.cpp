// SPDX-License-Identifier: Apache-2.0
#include "perf_stacks.hpp"

#include <algorithm>
#include <cinttypes>
#include <deque>
#include <functional>
#include <memory>
#include <unordered_map>

#include <sys/mman.h>

#include <backsight/analysis/parallel.hpp>
#include <backsight/perf/unwinder.hpp>

namespace cli::perf_data {

namespace perf = backsight::perf;
namespace cfi = backsight::cfi;
using backsight::byte_view;
using backsight::order;

namespace {

/// Brings samples into batches, unwinds them, and hands them on.
template <class Arch, order O>
class stack_reader {
 public:
  stack_reader(const recording_input& recording, const stack_options& options, stack_counts& counts)
      : recording_(recording),
        options_(options),
        counts_(counts),
        files_(options.sysroots, source_of(recording), processes_),
        context_{{processes_, files_}, recording, options},
        memory_(&read_file, &files_) {
    stride_ = std::max(options.longest, 1U);
    batch_size_ = options.jobs > 1 ? batch_of_many : batch_of_one;
    pcs_ = std::make_unique_for_overwrite<std::uint64_t[]>(batch_size_ * stride_);
    items_.reserve(batch_size_);
    batch_.reserve(batch_size_);
    for (unsigned i = 0; i < std::max(options.jobs, 1U); ++i)
      caches_.push_back(std::make_unique<typename unwinder::cache>());
    marks_.resize(caches_.size());
  }

  int run(const std::function<std::unique_ptr<stack_consumer>(const stack_context&)>& make) {
    consumer_ = make(context_);
    for (unsigned i = 0; i < std::max(options_.jobs, 1U); ++i) workers_.push_back(consumer_->make_worker());
    read_build_ids();
    int code = success;
    const auto merged = recording_.for_each([&](const perf::merged_record& one) { take(one); },
                                            [&](const backsight::fault& fault) {
                                              report_fault(recording_.path, fault);
                                              code = bad_input;
                                            });
    flush();
    waiting_.finish([&](held& one) { add(one.record, one.event, {}, false); });
    flush();
    counts_.without_event = merged.without_event;
    if (merged.compressed != 0) {
      say("backsight: %s: compressed records cannot be read without libzstd\n", recording_.path.c_str());
      code = bad_input;
    }
    return counts_.damaged != 0 ? bad_input : code;
  }

 private:
  using unwinder = perf::sample_unwinder<Arch, O>;
  using item = typename unwinder::item;
  /// Samples of a batch: few, so that they stay in the cache; for several threads enough to be worth waking them.
  static constexpr std::size_t batch_of_one = 256, batch_of_many = 2048;
  static constexpr std::uint32_t no_item = 0xffffffff;

  /// A sample that waits for the rest of its call chain, with bytes of its own.
  struct held {
    std::vector<std::byte> bytes;
    perf::stored_record record;
    std::uint32_t event = 0;
  };

  /// Code that a jitdump told, in the order of dumps.
  struct made_code {
    perf::jitdump::function function;
    std::size_t number = 0;
  };

  [[nodiscard]] static mapping_source source_of(const recording_input& recording) {
    return {recording.folder, recording.text_feature(perf::feature::osrelease),
            recording.text_feature(perf::feature::hostname), recording.trace.byte_order()};
  }

  static std::optional<byte_view> read_file(void* files, std::uint32_t number) {
    return static_cast<objects*>(files)->bytes(number);
  }

  void read_build_ids() {
    const auto take = [&](const perf::build_id_entry& entry) {
      processes_.set_build_id(entry.name, perf::build_id(entry.id));
    };
    if (const auto ids = recording_.trace.find(perf::feature::build_id)) {
      if (const auto error = perf::for_each_build_id(*ids, O, take))
        (void)report_error(recording_.path, error, "build ids");
    }
    if (!recording_.trace.is_pipe()) return;
    // In a stream they come when the first sample of a file has come.
    backsight::for_each_salvaging(
        recording_.trace.template records<O>(),
        [&](const backsight::any_record<perf::perf_format<O>>& one) {
          const auto id = backsight::get_if<perf::build_id_record>(one);
          if (!id) return;
          if (const auto entry = perf::read_build_id(id, one.offset())) take(*entry);
        },
        [](const backsight::fault&) {});
  }

  void take(const perf::merged_record& merged) {
    const perf::stored_record& record = merged.record;
    if (!code_.empty() && code_.front().function.time <= merged.time) add_code(merged.time);
    if (record.type == perf::record_type::sample) {
      if (merged.event != perf::no_event) take_sample(record, merged.event);
      return;
    }
    if (record.type == perf::record_type::callchain_deferred) return take_deferred(merged);
    counts_.lost.take(record);
    if (perf::process_list::changes_mappings(record)) flush();
    processes_.apply(merged, recording_.trace, [&](const perf::process* owner, std::uint64_t begin, std::uint64_t end) {
      if (owner != nullptr) unwinder_.forget(owner->number, begin, end);
    });
    for (const std::uint32_t number : processes_.take_forgotten()) unwinder_.forget(number);
    // perf itself reads them only to write another recording.
    if (options_.as_perf || !perf::process_list::changes_mappings(record)) return;
    for (const std::string& dump : processes_.take_jitdumps()) {
      for (const perf::jitdump::function& one : files_.functions_of(dump)) code_.push_back({one, code_count_++});
      std::sort(code_.begin(), code_.end(), [](const made_code& a, const made_code& b) {
        return a.function.time != b.function.time ? a.function.time < b.function.time : a.number < b.number;
      });
    }
  }
  /// Code that processes made up to a time.
  void add_code(std::uint64_t time) {
    flush();
    for (; !code_.empty() && code_.front().function.time <= time; code_.pop_front()) {
      const perf::jitdump::function& one = code_.front().function;
      // A file of its own for each.
      const std::uint32_t number =
          processes_.add_code(one.pid, one.begin, one.begin + one.size, "[jit] " + std::to_string(code_.front().number),
                              [&](const perf::process* owner, std::uint64_t begin, std::uint64_t end) {
                                unwinder_.forget(owner->number, begin, end);
                              });
      files_.set_code(number, one);
    }
  }

  void take_sample(const perf::stored_record& record, std::uint32_t event) { add(record, event, {}, true); }

  void take_deferred(const perf::merged_record& merged) {
    if (merged.event == perf::no_event) return;
    const perf::sample_layout& layout = recording_.trace.events()[merged.event].layout;
    const auto chain = perf::read_deferred_chain(merged.record, layout);
    if (!chain) return damaged(chain.error());
    const std::uint32_t tid = perf::read_sample_id(merged.record, layout).tid;
    waiting_.deliver(tid, chain->cookie, [&](held& one, bool matches) {
      add(one.record, one.event, matches ? chain->addresses : perf::word_list(), false);
    });
  }

  void damaged(const backsight::trace_error& error) {
    (void)report_error(recording_.path, error);
    ++counts_.damaged;
  }

  [[nodiscard]] bool stays(byte_view bytes) const {
    const auto inside = [&](byte_view all) {
      return bytes.data() >= all.data() && bytes.data() < all.data() + all.size();
    };
    if (inside(recording_.trace.bytes())) return true;
    return std::any_of(recording_.others.begin(), recording_.others.end(), inside);
  }
  [[nodiscard]] byte_view keep(byte_view bytes) { return kept_.emplace_back(bytes.begin(), bytes.end()); }

  /// Adds a sample to the batch; of a group of counters one for each whose value has changed. One whose call chain
  /// comes later is held back where it `may_wait`.
  void add(perf::stored_record record, std::uint32_t event, perf::word_list deferred, bool may_wait) {
    const perf::sample_layout& layout = recording_.trace.events()[event].layout;
    if (!stays(record.bytes)) record.bytes = keep(record.bytes);
    sampled_stack& one = batch_.emplace_back();
    if (const auto error =
            perf::read_sample(backsight::record<perf::sample_record, O>(
                                  record.bytes.data(), record.bytes.size() - backsight::size_of<perf::sample_record>),
                              layout, record.offset, one.members)) {
      batch_.pop_back();
      return damaged(error);
    }
    if (may_wait) {
      if (const auto cookie = perf::cookie_of(one.members.callchain)) {
        held later{{record.bytes.begin(), record.bytes.end()}, record, event};
        later.record.bytes = later.bytes;
        if (waiting_.hold(one.members.tid, *cookie, std::move(later))) return batch_.pop_back();
      }
    }
    one.event = event;
    one.misc = record.misc;
    if (!deferred.empty()) one.deferred = copy(deferred);
    const auto& read = one.members.read;
    if (!read.is_present || !has(layout.sample_type, perf::sample_field::read)) return finish_adding();
    const sampled_stack whole = one;
    batch_.pop_back();
    for (std::size_t i = 0; i < whole.members.read.size(); ++i) {
      const perf::counter_value value = whole.members.read[i];
      std::uint64_t& last = last_values_[value.id];
      const std::uint64_t change = value.value - last;
      last = value.value;
      const std::uint32_t member = recording_.trace.table().find(value.id);
      if (change == 0) continue;
      sampled_stack& part = batch_.emplace_back(whole);
      part.members.period = change;
      if (member != perf::no_event) part.event = member;
      finish_adding();
    }
  }
  [[nodiscard]] perf::word_list copy(perf::word_list words) {
    std::vector<std::byte> bytes(words.size() * 8);
    for (std::size_t i = 0; i < words.size(); ++i) {
      for (std::size_t k = 0; k < 8; ++k) {
        const std::size_t shift = O == order::little ? k : 7 - k;
        bytes[i * 8 + k] = static_cast<std::byte>(words[i] >> (shift * 8));
      }
    }
    return {kept_.emplace_back(std::move(bytes)), O};
  }

  /// Completes the last sample of the batch.
  void finish_adding() {
    sampled_stack& one = batch_.back();
    const perf::thread& thread =
        processes_.find_thread(static_cast<std::int32_t>(one.members.pid), static_cast<std::int32_t>(one.members.tid));
    one.name = thread.name;
    one.owner = &processes_.find_process(thread.pid);
    place_.push_back(no_item);
    const auto& stack = one.members.user_stack;
    constexpr std::uint64_t abi_64 = 2;
    if (one.members.user_registers.abi == abi_64 && !stack.empty() && !one.owner->maps->empty()) {
      if (const auto first = perf::first_frame<Arch>(one.members.user_registers)) {
        one.is_unwound = true;
        place_.back() = static_cast<std::uint32_t>(items_.size());
        item& made = items_.emplace_back();
        auto& space = unwinder_.space_of(*one.owner);
        made.start = *first;
        made.space = &space.objects;
        made.memory = {stack.data(), first->stack_pointer(), stack.size() - (options_.as_perf ? 1 : 0),
                       one.owner->maps.get(), &memory_};
        made.pcs = std::span(pcs_.get() + (items_.size() - 1) * stride_, stride_);
        owners_.push_back(one.owner);
      }
    }
    if (batch_.size() == batch_size_) flush();
  }

  /// Gives the pages behind back that samples have been read from: they would count as this program's memory. A record
  /// that is still to come from there brings them back.
  void give_back() {
    const byte_view all = recording_.file.bytes();
    if (!recording_.file.mapped()) return;
    constexpr std::size_t step = std::size_t{1} << 19, page = std::size_t{1} << 16;
    std::size_t read = given_back_;
    for (const sampled_stack& one : batch_) {
      const std::byte* const at = one.members.user_stack.data();
      if (at >= all.data() && at < all.data() + all.size())
        read = std::max(read, static_cast<std::size_t>(at - all.data()));
    }
    if (read < given_back_ + step) return;
    // Mappings begin at a page, and the last records may be read again.
    const std::size_t end = (read - step / 2) / page * page;
    ::madvise(const_cast<std::byte*>(all.data()) + given_back_, end - given_back_, MADV_DONTNEED);
    given_back_ = end;
  }

  void flush() {
    if (batch_.empty()) return;
    files_.prepare();
    const std::size_t parts = batch_.size() < 512 ? 1 : workers_.size();
    const auto share = [&](std::size_t count, std::size_t part) { return count * part / parts; };
    const auto in_parts = [&](auto&& work) {
      if (parts == 1) return work(std::size_t{0});
      (void)backsight::analysis::for_each_part<int>(parts, static_cast<unsigned>(parts),
                                                    [&](int&, std::size_t part) { work(part); });
    };
    in_parts([&](std::size_t part) {
      const std::size_t begin = share(items_.size(), part), end = share(items_.size(), part + 1);
      unwinder::walk(std::span(items_).subspan(begin, end - begin), *caches_[part]);
    });
    for (std::size_t i = 0; i < items_.size(); ++i) {
      if (items_[i].result.why != cfi::stop::no_object) continue;
      unwinder::complete(items_[i], unwinder_.space_of(*owners_[i]), *caches_[0],
                         [&](const perf::mapping& at, std::uint64_t address, cfi::mapped_object& out) {
                           return files_.template find_object<Arch>(at, address, out);
                         });
    }
    in_parts([&](std::size_t part) {
      for (std::size_t i = share(batch_.size(), part); i < share(batch_.size(), part + 1); ++i) {
        sampled_stack& one = batch_[i];
        if (place_[i] != no_item) {
          const item& walked = items_[place_[i]];
          const bool says_so = marks_[part].make_addresses(walked);
          one.addresses = walked.pcs.first(walked.result.count);
          one.why = walked.result.why;
          one.stack_pointer = walked.start.stack_pointer();
          one.ends_with_zero = one.why == cfi::stop::outermost && !says_so;
        }
        workers_[part]->take(one);
      }
    });
    for (const item& walked : items_) counts_.frames += walked.result.count;
    counts_.samples += batch_.size();
    counts_.unwound += items_.size();
    give_back();
    batch_.clear();
    place_.clear();
    items_.clear();
    owners_.clear();
    kept_.clear();
    consumer_->done(workers_);
  }

  const recording_input& recording_;
  const stack_options& options_;
  stack_counts& counts_;
  perf::process_list processes_;
  objects files_;
  stack_context context_;
  perf::file_memory<O> memory_;
  unwinder unwinder_;
  std::unique_ptr<stack_consumer> consumer_;
  std::vector<std::unique_ptr<stack_worker>> workers_;
  std::vector<std::unique_ptr<typename unwinder::cache>> caches_;
  std::vector<typename unwinder::call_places> marks_;
  std::vector<sampled_stack> batch_;
  std::vector<std::uint32_t> place_;  // In items_, for each of the batch.
  std::vector<item> items_;
  std::vector<const perf::process*> owners_;
  std::unique_ptr<std::uint64_t[]> pcs_;  // Room for each item of a batch; what is not used is not touched.
  std::size_t stride_ = 0, batch_size_ = 0;
  std::size_t given_back_ = 0;  // Bytes of the file, from its start.
  std::deque<std::vector<std::byte>> kept_;
  std::unordered_map<std::uint64_t, std::uint64_t> last_values_;
  perf::deferred_samples<held> waiting_;
  std::deque<made_code> code_;  // What is still to be added, by time.
  std::size_t code_count_ = 0;
};

}  // namespace

void lost_counts::take(const perf::stored_record& record) {
  constexpr std::uint16_t left_out_by_filter = 1U << 15;
  if (record.type == perf::record_type::lost && record.bytes.size() >= backsight::size_of<perf::lost_record>) {
    records += record.get<perf::lost_record>(perf::lost_record::lost);
  } else if (record.type == perf::record_type::lost_samples &&
             record.bytes.size() >= backsight::size_of<perf::lost_samples_record>) {
    const auto count = record.get<perf::lost_samples_record>(perf::lost_samples_record::lost);
    ((record.misc & left_out_by_filter) != 0 ? filtered : samples) += count;
  }
}

void say_what_is_lost(const std::string& path, const lost_counts& lost) {
  if (lost.records != 0) note("%s: %" PRIu64 " records were lost when it was recorded\n", path.c_str(), lost.records);
  if (lost.samples != 0) note("%s: %" PRIu64 " samples were lost when it was recorded\n", path.c_str(), lost.samples);
  if (lost.filtered != 0)
    note("%s: %" PRIu64 " samples were left out by the filter of the recording\n", path.c_str(), lost.filtered);
}

int for_each_stack(const recording_input& recording, const stack_options& options,
                   const std::function<std::unique_ptr<stack_consumer>(const stack_context&)>& make,
                   stack_counts& counts) {
  const std::string machine = recording.text_feature(perf::feature::arch);
  const int code = with_order(recording.trace.byte_order(), [&](auto o) {
    if (machine == "aarch64" || machine == "arm64") {
      const auto reader = std::make_unique<stack_reader<cfi::arch::aarch64, o()>>(recording, options, counts);
      return reader->run(make);
    }
    const auto reader = std::make_unique<stack_reader<cfi::arch::x86_64, o()>>(recording, options, counts);
    return reader->run(make);
  });
  say_what_is_lost(recording.path, counts.lost);
  return code;
}

}  // namespace cli::perf_data
