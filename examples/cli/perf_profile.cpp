// SPDX-License-Identifier: Apache-2.0
#include "perf_profile.hpp"

#include <algorithm>
#include <unordered_set>

#include <backsight/emit/perfetto.hpp>

namespace cli::perf_data {

namespace perf = backsight::perf;

namespace {

/// A line for the function, one for its module.
struct text_maker {
  const stack_context* context;
  void operator()(const described_address& at, std::string& to) const {
    const std::string module = at.at == nullptr ? "[unknown]" : module_name(context->processes.files()[at.at->file]);
    if (at.name.is_known) to += at.name.text;
    else to += "[" + module.substr(module.rfind('/') + 1) + "]";
    to += '\n' + module;
  }
};

/// Takes all samples with one worker.
template <class Worker>
class one_consumer : public stack_consumer {
 public:
  explicit one_consumer(std::unique_ptr<Worker> worker) : worker_(std::move(worker)) {}
  std::unique_ptr<stack_worker> make_worker() override { return std::move(worker_); }
  void done(std::span<const std::unique_ptr<stack_worker>>) override {}

 private:
  std::unique_ptr<Worker> worker_;
};
template <class Worker, class To>
int read_with(const recording_input& recording, const stack_options& options, To& to, stack_counts& counts) {
  stack_options alone = options;
  alone.jobs = 1;
  return for_each_stack(
      recording, alone,
      [&](const stack_context& context) {
        return std::make_unique<one_consumer<Worker>>(std::make_unique<Worker>(context, to));
      },
      counts);
}

/// The addresses of a sample's stack, the innermost first; where none were recorded, its own.
template <class F>
void for_each_entry(const stack_context& context, const sampled_stack& one, F&& f) {
  bool any = false;
  one.for_each(context.options.longest, [&](const perf::stack_entry& entry) { any = true, f(entry); });
  if (!any) f(perf::stack_entry{one.members.ip, perf::cpu_mode_of(one.misc), true, false});
}

class profile_worker : public stack_worker {
 public:
  profile_worker(const stack_context& context, stack_profile& to)
      : context_(&context), to_(&to), texts_(context, text_maker{&context}) {}

  void take(const sampled_stack& one) override {
    stack_.clear();
    for_each_entry(*context_, one,
                   [&](const perf::stack_entry& entry) { stack_.push_back(function_of(*one.owner, entry)); });
    std::reverse(stack_.begin(), stack_.end());
    const std::uint64_t value = one.members.period == 0 ? 1 : one.members.period;
    to_->add(stack_, value);
    const std::string& name = context_->processes.name(one.name);
    stack_profile::count(to_->threads, to_->by_thread,
                         name + " " + std::to_string(static_cast<std::int32_t>(one.members.tid)), value);
    to_->count_process(one.owner->number, one.owner->pid, name,
                       one.owner->pid == static_cast<std::int32_t>(one.members.tid), value);
    stack_profile::count(to_->events, to_->by_event, std::string(context_->recording.trace.events()[one.event].name),
                         value);
  }

 private:
  std::uint32_t function_of(const perf::process& owner, const perf::stack_entry& entry) {
    const std::string& both = texts_(owner, entry.address, entry.mode);
    const std::size_t end = both.rfind('\n');
    const std::uint32_t number = to_->functions.add(both);
    if (to_->module_of.size() <= number) to_->module_of.push_back(to_->modules.add(both.substr(end + 1)));
    return number;
  }

  const stack_context* context_;
  stack_profile* to_;
  text_cache<text_maker> texts_;
  std::vector<std::uint32_t> stack_;
};

class perfetto_worker : public stack_worker {
 public:
  perfetto_worker(const stack_context& context, output& out)
      : context_(&context), writer_(output_iterator(out)), texts_(context, text_maker{&context}) {}

  void take(const sampled_stack& one) override {
    stack_.clear();
    texts_of_stack_.clear();
    for_each_entry(*context_, one, [&](const perf::stack_entry& entry) {
      texts_of_stack_.push_back(texts_(*one.owner, entry.address, entry.mode));
    });
    // Views of what is kept until the next sample: texts of addresses may displace each other.
    for (auto at = texts_of_stack_.rbegin(); at != texts_of_stack_.rend(); ++at) {
      const std::string_view both = *at;
      const std::size_t end = both.rfind('\n');
      stack_.push_back({both.substr(0, end), both.substr(end + 1)});
    }
    const std::int64_t process = one.owner->pid, thread = static_cast<std::int32_t>(one.members.tid);
    const std::string& name = context_->processes.name(one.name);
    if (processes_.insert(one.owner->pid).second) writer_.process(process, name);
    writer_.thread(process, thread, name);
    std::optional<std::uint32_t> cpu;
    if (one.members.cpu != perf::no_cpu) cpu = one.members.cpu;
    writer_.sample({process, thread, one.members.time, cpu, static_cast<unsigned>(perf::cpu_mode_of(one.misc))},
                   stack_);
  }

 private:
  using writer = backsight::emit::perfetto<output_iterator>;
  const stack_context* context_;
  writer writer_;
  text_cache<text_maker> texts_;
  std::vector<std::string> texts_of_stack_;
  std::vector<writer::stack_frame> stack_;
  std::unordered_set<std::int32_t> processes_;
};

}  // namespace

int read_profile(const recording_input& recording, const stack_options& options, stack_profile& profile,
                 stack_counts& counts) {
  return read_with<profile_worker>(recording, options, profile, counts);
}

int write_perfetto(const recording_input& recording, const stack_options& options, output& out, stack_counts& counts) {
  return read_with<perfetto_worker>(recording, options, out, counts);
}

}  // namespace cli::perf_data
