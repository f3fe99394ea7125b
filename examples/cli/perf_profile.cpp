// SPDX-License-Identifier: Apache-2.0
#include "perf_profile.hpp"

#include <algorithm>

namespace cli::perf_data {

namespace perf = backsight::perf;

namespace {

class profile_worker : public stack_worker {
 public:
  profile_worker(const stack_context& context, stack_profile& to)
      : context_(&context), to_(&to), texts_(context, text_maker{&context}) {}

  void take(const sampled_stack& one) override {
    stack_.clear();
    const auto add = [&](const perf::stack_entry& entry) { stack_.push_back(function_of(*one.owner, entry)); };
    one.for_each(context_->options.longest, add);
    if (stack_.empty()) add({one.members.ip, perf::cpu_mode_of(one.misc), true, false});
    std::reverse(stack_.begin(), stack_.end());
    const std::uint64_t value = one.members.period == 0 ? 1 : one.members.period;
    to_->add(stack_, value);
    const std::string& name = context_->processes.name(one.name);
    stack_profile::count(to_->threads, to_->by_thread, name + " " + std::to_string(static_cast<std::int32_t>(one.members.tid)), value);
    stack_profile::count(to_->events, to_->by_event, std::string(context_->recording.trace.events()[one.event].name), value);
  }

 private:
  /// A line for the function, one for its module.
  struct text_maker {
    const stack_context* context;
    void operator()(const described_address& at, std::string& to) const {
      const std::string module = at.at == nullptr ? "[unknown]" : module_name(context->processes.files()[at.at->file]);
      if (at.name.is_known) to += at.name.is_mangled ? demangle_function(at.name.symbol) : std::string(at.name.symbol);
      else to += "[" + module.substr(module.rfind('/') + 1) + "]";
      to += '\n' + module;
    }
  };
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

class profile_consumer : public stack_consumer {
 public:
  profile_consumer(const stack_context& context, stack_profile& to) : context_(&context), to_(&to) {}
  std::unique_ptr<stack_worker> make_worker() override { return std::make_unique<profile_worker>(*context_, *to_); }
  void done(std::span<const std::unique_ptr<stack_worker>>) override {}

 private:
  const stack_context* context_;
  stack_profile* to_;
};

}  // namespace

int read_profile(const recording_input& recording, const stack_options& options, stack_profile& profile,
                 stack_counts& counts) {
  // One worker: the profile is one.
  stack_options alone = options;
  alone.jobs = 1;
  return for_each_stack(
      recording, alone,
      [&](const stack_context& context) { return std::make_unique<profile_consumer>(context, profile); }, counts);
}

}  // namespace cli::perf_data
