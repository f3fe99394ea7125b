// SPDX-License-Identifier: Apache-2.0
// Prints the members of every record of a format as Markdown tables, for docs/formats:   format_tables FORMAT
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>

#include <backsight/cfi/bpf_pages.hpp>
#include <backsight/cfi/table.hpp>
#include <backsight/core/print.hpp>
#include <backsight/ftrace/schema.hpp>
#include <backsight/memtrace/index.hpp>
#include <backsight/memtrace/memtrace.hpp>
#include <backsight/perf/perf.hpp>
#include <backsight/uftrace/files/task_messages.hpp>
#include <backsight/uftrace/index.hpp>
#include <backsight/uftrace/records.hpp>
#include <backsight/xray/profile_schema.hpp>
#include <backsight/xray/records.hpp>

#include "../../examples/formats/pcapng.hpp"

using namespace backsight;

namespace {

/// The name of a type as the compiler spells it, without namespaces.
template <class T>
std::string name_of_type() {
  std::string_view text = __PRETTY_FUNCTION__;
  text = text.substr(text.find("T = ") + 4);
  text = text.substr(0, text.find_first_of(";]<"));
  while (text.find("::") != std::string_view::npos) text.remove_prefix(text.find("::") + 2);
  return std::string(text);
}

/// "as many as `length`", where a member tells it.
template <class M>
std::string counted_by() {
  if constexpr (requires { M::count.name(); }) return ", as many as `" + std::string(M::count.name()) + "`";
  else if constexpr (requires { M::count; }) return ", counted";
  else return "";
}

template <class M>
std::string type_of_member() {
  using value = typename M::value_type;
  if constexpr (M::is_padding) return "";
  else if constexpr (requires { M::form; }) {
    constexpr const char* forms[] = {"unsigned LEB128", "signed LEB128", "protobuf number", "protobuf zigzag number"};
    return forms[static_cast<std::size_t>(M::form)];
  } else if constexpr (requires { M::is_part; })
    return (M::takes_rest ? "records, what is left" : "records" + counted_by<M>() + " bytes");
  else if constexpr (requires { M::is_text; }) return "text up to a NUL";
  else if constexpr (requires { typename M::element; }) return "records" + counted_by<M>();
  else if constexpr (std::is_same_v<value, byte_view>)
    return M::takes_rest ? "bytes, what is left" : "bytes" + counted_by<M>();
  else if constexpr (requires { M::count; }) return "numbers" + counted_by<M>();
  else if constexpr (std::is_same_v<value, bool>) return "bool";
  else if constexpr (std::is_enum_v<value>) return name_of_type<value>();
  else if constexpr (detail::byte_array_size<value> != 0) return "bytes";
  else if constexpr (std::is_floating_point_v<value>) return "float";
  else if constexpr (std::is_signed_v<value>) return "signed";
  else return "unsigned";
}

/// One table: a row for each member, in wire order. Bits count from the least significant one of the member's storage
/// word on little-endian machines, from the most significant one on big-endian machines.
template <class S>
void print_record() {
  // A template basic_x over the width of addresses is called by the name that it prints.
  const std::string type = name_of_type<S>();
  const std::string name_of_record =
      type.starts_with("basic_") && !type.ends_with("_record") ? name_of_schema<S>() : type;
  using fields = detail::layout_of<S>;
  std::printf("### %s\n\n%zu bytes%s%s.\n\n", name_of_record.c_str(), fields::smallest,
              detail::varying<S> ? " and more" : "", has_payload<S> ? " and a payload" : "");
  std::printf("| offset | bits | member | type |\n|---:|---:|---|---|\n");
  for_each_member<S>([]<class M>(M, auto index) {
    constexpr detail::placement place = detail::layout_of<S>::template place_of<index>;
    const std::size_t shift = place.first_bit % 8;
    std::string bits = std::to_string(M::bits);
    if (shift != 0 || M::bits % 8 != 0) bits += " from bit " + std::to_string(shift);
    if (varying_member<M>) bits.clear();
    std::string sort = type_of_member<M>();
    std::string offset = std::to_string(place.first_bit / 8);
    if constexpr (index >= fields::fixed_members) {
      // Only the bytes tell where it lies.
      offset.clear();
      using unit = typename fields::units::template at<fields::fixed_units + fields::template unit_of<index>>;
      if (requires { typename unit::unit; }) sort += ", where its condition holds";
    }
    const std::string name = M::is_padding ? "(not used)" : "`" + std::string(M::name()) + "`";
    std::printf("| %s | %s | %s | %s |\n", offset.c_str(), bits.c_str(), name.c_str(), sort.c_str());
  });
  if constexpr (detail::varying<S> && has_payload<S>) std::printf("| | | payload | bytes |\n");
  else if constexpr (has_payload<S>) std::printf("| %zu | | payload | bytes |\n", size_of<S>);
  std::printf("\n");
}

/// The enumerators of a type that has names, by number.
template <class E>
void print_enumerators(unsigned count) {
  std::printf("| number | name |\n|---:|---|\n");
  for (unsigned i = 0; i < count; ++i) std::printf("| %u | `%s` |\n", i, enumerator_name(static_cast<E>(i)));
}

template <class... Schemas>
void print_records(detail::type_list<Schemas...>) {
  (print_record<Schemas>(), ...);
}

}  // namespace

int main(int count, char** words) {
  if (count != 2) return 2;
  const std::string_view format = words[1];
  // A format is one line: its headers, then its kinds of record.
  if (format == "xray")
    return print_record<xray::file_header>(), print_records(xray::fdr_format<order::little>::records{}), 0;
  if (format == "xray_basic") return print_records(xray::basic_format<order::little>::records{}), 0;
  if (format == "xray_profile") {
    return print_record<xray::profile_header>(), print_record<xray::profile_block>(),
           print_record<xray::profile_function>(), print_record<xray::profile_data>(), 0;
  }
  if (format == "unwind_table") {
    return print_record<saved_index_head>(), print_record<cfi::table_header>(), print_record<cfi::table_run>(),
           print_record<cfi::table_page>(), print_record<cfi::unwind_rule>(), print_record<cfi::table_sequence>(), 0;
  }
  if (format == "bpf_pages") return print_record<cfi::bpf_header>(), 0;
  if (format == "memtrace") return print_records(memtrace::final_format::records{}), 0;
  if (format == "memtrace_raw") return print_records(memtrace::raw_format::records{}), 0;
  if (format == "memtrace_files") {
    print_records(
        detail::type_list<memtrace::encodings_header, memtrace::encodings_entry, memtrace::schedule_entry,
                          saved_index_head, memtrace::index_entry, memtrace::index_lists, memtrace::index_file>{});
    return 0;
  }
  if (format == "memtrace_types") return print_enumerators<memtrace::trace_type>(memtrace::trace_type_count), 0;
  if (format == "memtrace_markers") return print_enumerators<memtrace::marker_type>(memtrace::marker_type_count), 0;
  if (format == "uftrace") {
    print_record<uftrace::file_header>();
    print_records(uftrace::task_format<order::little>::records{});
    print_records(uftrace::task_message_format<order::little>::records{});
    print_records(uftrace::perf_format<order::little>::records{});
    print_records(ftrace::ring_format<order::little>::records{});
    return 0;
  }
  if (format == "perf_files") {
    print_records(
        detail::type_list<perf::file_header, perf::pipe_header, perf::file_section, perf::attribute_record>{});
    return 0;
  }
  if (format == "perf_samples") return print_enumerators<perf::sample_field>(perf::sample_field_count), 0;
  if (format == "perf") return print_records(perf::perf_format<order::little>::records{}), 0;
  if (format == "jitdump") {
    print_record<perf::jitdump::file_header>();
    print_records(perf::jitdump::jitdump_format<order::little>::records{});
    return 0;
  }
  if (format == "pcapng") {
    print_records(pcapng::options_format<order::little>::records{});
    print_records(pcapng::file::format<order::little>::records{});
    return 0;
  }
  if (format == "uftrace_index") return print_record<saved_index_head>(), print_record<uftrace::time_index_entry>(), 0;
  std::fprintf(stderr, "format_tables: no format is called %s\n", words[1]);
  return 1;
}
