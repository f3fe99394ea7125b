// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <string_view>
#include <vector>

#include <backsight/uftrace/arguments.hpp>
#include <backsight/uftrace/debug_file.hpp>
#include <backsight/uftrace/enumerations.hpp>
#include <backsight/uftrace/info.hpp>
#include <backsight/uftrace/memory_map.hpp>
#include <backsight/uftrace/short_name.hpp>
#include <backsight/uftrace/symbols.hpp>
#include <backsight/uftrace/task_list.hpp>

#include <support/catch.hpp>
#include <support/files.hpp>

using namespace backsight;
using namespace backsight::uftrace;

namespace {

byte_view view_of(std::string_view text) { return {reinterpret_cast<const std::byte*>(text.data()), text.size()}; }

}  // namespace

TEST_CASE("info gives the header and every line") {
  const auto bytes = test::read_file(test::data_path("uftrace/single-pg/uftrace.data/info"));
  const auto read = read_info(bytes);
  REQUIRE(read);
  CHECK(read->version == 4);
  CHECK(read->is_64);
  CHECK(read->max_stack == 1024);
  CHECK(read->has(feature::perf_event));
  CHECK(read->value("cpuinfo", "desc") == "AMD EPYC");
  CHECK(read->value("usageinfo", "ctxsw") == "2 / 0 (voluntary / involuntary)");
  CHECK(read->tids() == std::vector<std::uint32_t>{16767});
  CHECK(read->elapsed_ns() == 9687851);
  const auto big = test::read_file(test::data_path("uftrace/bigendian-derived/uftrace.data/info"));
  CHECK(read_info(big)->feat_mask == 0x1263);
}

TEST_CASE("info tells what is wrong and where") {
  auto bytes = test::read_file(test::data_path("uftrace/single-pg/uftrace.data/info"));
  for (std::size_t size = 0; size < 40; ++size) CHECK(read_info(byte_view(bytes).first(size)).error() == trace_error{errc::truncated, size});
  for (std::size_t size = 40; size < bytes.size(); ++size) (void)read_info(byte_view(bytes).first(size));
  CHECK(read_info(byte_view(bytes).first(40)).error() == trace_error{errc::bad_text, 40});
  bytes[8] = std::byte{9};
  CHECK(read_info(bytes).error() == trace_error{errc::unsupported_version, 8});
  bytes[14] = std::byte{3};
  CHECK(read_info(bytes).error() == trace_error{errc::bad_value, 14});
  bytes[2] = std::byte{'x'};
  CHECK(read_info(bytes).error() == trace_error{errc::bad_magic, 2});
}

TEST_CASE("task.txt gives its lines and names those that it cannot read") {
  const std::string_view text =
      "SESS timestamp=752.558306252 pid=16800 sid=59f78b1edbef9b90 exename=\"/opt/a \"b\" c\"\n"
      "TASK timestamp=752.558445519 tid=16801 pid=16800\n"
      "FORK timestamp=752.558726685 pid=16802 ppid=16800\n"
      "NEWS timestamp=1.0\n"
      "DLOP timestamp=752.669198085 tid=16819 sid=75e60b06076e5063 base=7feae0231000 libname=\"./libpluga.so\"\n"
      "SESS timestamp=752.5 tid=7 sid=59f78b1edbef9b90 exename=\"x\"\n"
      "TASK timestamp=752\n";
  const task_list list = read_task_text(view_of(text));
  REQUIRE(list.events.size() == 5);
  CHECK(list.events[0].name == "/opt/a \"b\" c");
  CHECK(list.events[0].time == 752558306252);
  CHECK(list.events[1].tid == 16801);
  CHECK(list.events[2].parent == 16800);
  CHECK(list.events[3].base == 0x7feae0231000);
  CHECK(list.events[4].pid == 7);
  CHECK(list.events[4].time == 752500000000);
  REQUIRE(list.faults.size() == 2);
  CHECK(list.faults[0].code == errc::unknown_record);
  CHECK(list.faults[1].code == errc::bad_text);
  CHECK(text.substr(static_cast<std::size_t>(list.faults[1].offset)) == "TASK timestamp=752\n");
}

TEST_CASE("a map gives files with their build-ids and leaves special mappings out") {
  const memory_map map = read_memory_map(view_of(
      "55e1dd205000-55e1dd20a000 r-xp 00000000 00:00 0      /opt/app with blank/dl-pg build-id:44b7\n"
      "7ffe0d922000-7ffe0d943000 rw-p 00000000 00:00 0      [stack]\n"
      "nonsense\n"
      "7feae028a000-7feae02bf000 r-xp 00000000 00:00 0      /lib/ld.so\n"));
  REQUIRE(map.mappings.size() == 2);
  CHECK(map.mappings[0].path == "/opt/app with blank/dl-pg");
  CHECK(map.mappings[0].build_id == "44b7");
  CHECK(map.mappings[1].build_id.empty());
  CHECK(map.kernel_base == 0xffff800000000000);
  CHECK(map.faults.size() == 1);
}

TEST_CASE("symbols have sizes of their own or up to the next line") {
  const symbol_table with = read_symbols(view_of("# path name: /a\n# build-id: 12\n"
                                                 "0000000000000010 00000008 T first\n0000000000000010 00000004 T second\n"
                                                 "0000000000000020 00000010 P third\n"));
  CHECK(with.path() == "/a");
  CHECK(with.build_id() == "12");
  REQUIRE(with.symbols().size() == 2);
  CHECK(with.find(0x17) == 0);
  CHECK(with.find(0x18) == symbol_table::none);
  CHECK(with.find(0x2f) == 1);
  CHECK(with.find(0xf) == symbol_table::none);
  const symbol_table without = read_symbols(view_of("0000000000000010 P first\n0000000000000020 ? __dynsym_end\n"
                                                    "0000000000000040 t second\n0000000000000050 T __sym_end\nrubbish\n"));
  REQUIRE(without.symbols().size() == 2);
  CHECK(without.find(0x1f) == 0);
  CHECK(without.find(0x20) == symbol_table::none);
  CHECK(without.find(0x4f) == 1);
  CHECK(without.faults().size() == 1);
}

TEST_CASE("a .dbg file gives functions, values and lines") {
  const debug_file file = read_debug_file(view_of("# path name: /a\nE: enum color {RED,GREEN=2,BLUE=4}\nF: 20 g\nL: 11 args.c\n"
                                                  "F: 10 f\nA: @arg1,arg2/s\nR: @retval\n"));
  REQUIRE(file.functions.size() == 2);
  CHECK(file.find(0x10)->arguments == "@arg1,arg2/s");
  CHECK(file.find(0x20)->line == 11);
  CHECK(file.find(0x11) == nullptr);
  CHECK(file.enumerations.size() == 1);
}

TEST_CASE("enumerations print names, sums of names and what is left") {
  std::vector<enumeration> all;
  read_enumerations("enum color {RED,GREEN=2,BLUE=4};enum other { A = 0x10, B, N = -1, };", all);
  REQUIRE(all.size() == 2);
  const auto text = [&](std::size_t i, std::int64_t value) {
    std::string out;
    all[i].text_of(value, out);
    return out;
  };
  CHECK(text(0, 0) == "RED");
  CHECK(text(0, 6) == "BLUE|GREEN");
  CHECK(text(0, 7) == "BLUE|GREEN+0x1");
  CHECK(text(0, 1).empty());
  CHECK(text(1, 17) == "B");
  CHECK(text(1, -1) == "N");
}

TEST_CASE("specifications give kind, format and size of each value") {
  const auto specs = read_function_specs("f@arg1/i32,fparg2/80%stack+1,arg3/t8:pt%RDI,arg4/e:color;_Znwm@arg1/u;g.*@retval/s", 4);
  REQUIRE(specs.size() == 3);
  CHECK(specs[0].pattern == "f");
  REQUIRE(specs[0].values.size() == 4);
  CHECK(specs[0].values[0].size == 4);
  CHECK(specs[0].values[1].size == 10);
  CHECK(specs[0].values[1].stack == 1);
  CHECK(specs[0].values[2].type_name == "pt");
  CHECK(specs[0].values[3].size == 4);
  CHECK(specs[1].pattern == "operator new");
  CHECK_FALSE(specs[1].is_pattern);
  CHECK(specs[2].is_pattern);
  const std::byte text[] = {std::byte{3}, std::byte{0}, std::byte{'a'}, std::byte{'b'}, std::byte{'c'}, {}, {}, {}};
  CHECK(values_extent(specs[2].values, text, order::little).size == 8);
  CHECK(values_extent(specs[2].values, byte_view(text).first(6), order::little).code == errc::truncated);
  CHECK(values_extent(specs[2].values, byte_view(text).first(1), order::little).code == errc::truncated);
}

TEST_CASE("globs match as a shell does") {
  CHECK(matches_glob("f*o", "foo"));
  CHECK(matches_glob("*", ""));
  CHECK(matches_glob("f?[a-c]", "fxb"));
  CHECK_FALSE(matches_glob("f?[!a-c]", "fxb"));
  CHECK_FALSE(matches_glob("f*o", "fob"));
  CHECK(matches_glob("a*b*c", "axxbyybzzc"));
  CHECK(matches_glob("a\\*", "a*"));
  CHECK_FALSE(matches_glob("a\\*", "ab"));
}

TEST_CASE("short names of newer Rust symbols") {
  const std::pair<const char*, const char*> all[] = {
      {"_RNvCs15kBYyAo9fc_7mycrate7example", "mycrate::example"},
      {"_RNvMsr_NtCs3ssYzQotkvD_3std4pathNtB5_7PathBuf3newCs15kBYyAo9fc_7mycrate", "<std::path::PathBuf>::new"},
      {"_RNvXCs15kBYyAo9fc_7mycrateNtB2_7ExampleNtB2_5Trait3foo", "<mycrate::Example>::foo"},
      {"_RNvYNtCs15kBYyAo9fc_7mycrate7ExampleNtB4_5Trait7exampleB4_", "<mycrate::Example>::example"},
      {"_RNCNvCsgStHSCytQ6I_7mycrate4mains_0B3_", "mycrate::main::{closure}"},
      {"_RNvNvMCsd9PVOYlP1UU_7mycrateINtB4_7ExamplepKpE3foo14EXAMPLE_STATIC", "<mycrate::Example<_,_>>::foo::EXAMPLE_STATIC"},
      {"_RINvCs7qp2U7fqm6G_7mycrate7exampleAtj8_EB2_", "mycrate::example<[u16;8]>"},
      {"_RINvCs7qp2U7fqm6G_7mycrate7exampleNtB2_7ExampleBw_EB2_", "mycrate::example<mycrate::Example,mycrate::Example>"},
      {"_RINvMsY_NtCseXNvpPnDBDp_3std4pathNtB6_4Path3neweECs7qp2U7fqm6G_7mycrate", "<std::path::Path>::new<str>"},
      {"_RNvNvNvCs7qp2U7fqm6G_7mycrate7EXAMPLE7___getit5___KEY$tlv$init", "mycrate::EXAMPLE::__getit::__KEY"},
      {"_RNvCs466Js1JEauR_7___rustc11___rdl_alloc", "__rustc::__rdl_alloc"},
      {"_RINvXs1h_NtCs89T1blTxxU8_3std4pathNtB7_4PathNtNtCs1EZQAllfVpG_4core4hash4Hash4hash"
       "INtNtCs3BHNliyzCTk_17rustc_stable_hash13stable_hasher12StableHasherNtNtB1n_6sip12812SipHasher128EECseQ5aOgbVAxM_5cargo",
       "<std::path::Path>::hash<rustc_stable_hash::stable_hasher::StableHasher<rustc_stable_hash::sip128::SipHasher128>>"},
      {"_RNCINvMs0_NtNtCs89T1blTxxU8_3std4sync4onceNtB8_4Once9call_onceNCNvCsdmFG1u7ySow_4curl4init0E0B12_.llvm.12688736362657155723",
       "<std::sync::once::Once>::call_once<curl::init::{closure}>::{closure}"},
      {"_RINvC1a1fTRePhEFUKCeEuE", "a::f<(&str,*const_u8),fn(str)>"},
      {"_RINvC1a1fQShE", "a::f<&mut_[u8]>"},
      {"_RNvC1as", "_RNvC1as"},
      {"_RNvC9a1f", "_RNvC9a1f"},
      {"_R", "_R"},
      {"_RB_", "_RB_"},
      {"_RNvB9999999999999999999999_1f", "_RNvB9999999999999999999999_1f"},
  };
  for (const auto& [mangled, expected] : all) CHECK(short_name(mangled) == expected);
  for (const auto& [mangled, expected] : all) {
    const std::string_view whole = mangled;
    for (std::size_t size = 0; size < whole.size(); ++size) CHECK(short_name(whole.substr(0, size)).size() <= 200);
  }
  // References to references, which would take exponential time.
  std::string bomb = "_RINvC1a1f";
  for (int i = 0; i < 40; ++i) bomb += "TB1_B1_E";
  CHECK(short_name(bomb) == bomb);
  const std::string deep = "_RNvC1a1fI" + std::string(100000, 'S');
  CHECK(short_name(deep) == deep);
}

TEST_CASE("short names keep the function's own name") {
  const std::pair<const char*, const char*> all[] = {
      {"main", "main"},
      {"_Znwm", "operator new"},
      {"_ZN3FooC1Ei", "Foo::Foo"},
      {"_ZN3FooD0Ev", "Foo::~Foo"},
      {"_ZNK3FooclEv", "Foo::operator()"},
      {"_ZNSt6vectorIiSaIiEE9push_backERKi", "std::vector::push_back"},
      {"_ZZ4mainENKUlvE_clEv", "main::$_0::operator()"},
      {"_ZZ4mainENKUlvE0_clEv", "main::$_1::operator()"},
      {"_ZN12_GLOBAL__N_11fEv", "_GLOBAL__N_1::f"},
      {"_ZTV3Foo", "__vtable__Foo"},
      {"_ZThn8_N1B1fEv", "B::f"},
      {"_ZN3FoocviEv", "Foo::operator(cast)"},
      {"_Z1fv.part.0", "f"},
      {"_GLOBAL__sub_I__ZN1A1bE", "_GLOBAL__sub_I_A::b"},
      {"_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE", "core::fmt::Write::write_fmt"},
      {"_ZN50_$LT$T$u20$as$u20$core..convert..Into$LT$U$GT$$GT$4into17h0123456789abcdefE", "_<T>::into"},
      {"_ZN8$BP$test3fooE", "*test::foo"},
      {"_ZN35Bar$LT$$u5b$u32$u3b$$u20$4$u5d$$GT$E", "Bar<[u32; 4]>"},
      {"_ZN71_$LT$Test$u20$$u2b$$u20$$u27$static$u20$as$u20$foo..Bar$LT$Test$GT$$GT$3barE", "_<Test + 'static>::bar"},
      {"_ZN61_$LT$$RF$std..io..stdio..Stdout$u20$as$u20$std..io..Write$GT$9write_fmt17h75c561f414a62159E",
       "_<&std::io::stdio::Stdout>::write_fmt"},
      {"_ZZNK1A1fERK1BENK3$_0clEv", "A::f::$_0::operator()"},
      {"_ZTCN2v88internal12StdoutStreamE0_NS0_8OFStreamE", "__construction_vtable__v8::internal::StdoutStream"},
      {"_ZTCSt10istrstream0_Si", "__construction_vtable__std::istrstream"},
      {"_ZTCNSt7__cxx1119basic_istringstreamIwSt11char_traitsIwESaIwEEE0_St13basic_istreamIwS2_E",
       "__construction_vtable__std::__cxx11::basic_istringstream::std::std::allocator"},
      {"_ZGRZNK5blink8Variable27GetPropertyNameAtomicStringEvE4name_", "__ref_temp__blink::Variable::GetPropertyNameAtomicString::name"},
      {"_ZGTtNSt11range_errorD1Ev", "std::range_error::~range_error"},
      {"_ZTWN6__xray19__xray_fdr_internal7RunningE", "TLS_wrap::__xray::__xray_fdr_internal::Running"},
      {"_ZGVNSt7__cxx117collateIcE2idE", "__guard_variable__std::__cxx11::collate::id"},
      {"_ZTSSt12system_error", "__typeinfo__std::system_error"},
      {"_Z", "_Z"},
      {"_Z3f", "_Z3f"},
      {"_ZN3Foo", "_ZN3Foo"},
  };
  for (const auto& [mangled, expected] : all) CHECK(short_name(mangled) == expected);
  const std::string deep = "_Z1f" + std::string(100000, 'P') + "i";
  CHECK(short_name(deep) == deep);
}
