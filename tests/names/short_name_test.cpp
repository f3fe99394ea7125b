// SPDX-License-Identifier: Apache-2.0
// Stands for names/detail/name_limits.hpp, names/detail/rust_component.hpp, names/detail/rust_v0_parser.hpp
// Stands for names/detail/short_name_names.hpp, names/detail/short_name_parser.hpp, names/detail/short_name_types.hpp
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include <backsight/names/short_name.hpp>

#include <support/catch.hpp>
#include <support/files.hpp>

using namespace backsight;
using namespace backsight::names;

namespace {

std::string repeated(std::string_view text, std::size_t times) {
  std::string all;
  for (std::size_t i = 0; i < times; ++i) all += text;
  return all;
}

/// The steps that reading a C++ name takes.
std::size_t steps_of(const std::string& mangled) {
  detail::short_name_parser parser(std::string_view(mangled).substr(2));
  (void)parser.run();
  return parser.steps();
}

}  // namespace

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
      {"_ZGRZNK5blink8Variable27GetPropertyNameAtomicStringEvE4name_",
       "__ref_temp__blink::Variable::GetPropertyNameAtomicString::name"},
      {"_ZGTtNSt11range_errorD1Ev", "std::range_error::~range_error"},
      {"_ZTWN6__xray19__xray_fdr_internal7RunningE", "TLS_wrap::__xray::__xray_fdr_internal::Running"},
      {"_ZGVNSt7__cxx117collateIcE2idE", "__guard_variable__std::__cxx11::collate::id"},
      {"_ZTSSt12system_error", "__typeinfo__std::system_error"},
      {"_Z", "_Z"},
      {"_Z3f", "_Z3f"},
      {"_ZN3Foo", "_ZN3Foo"},
  };
  for (const auto& [mangled, expected] : all) CHECK(short_name(mangled) == expected);
}

TEST_CASE("short names of newer Rust symbols") {
  const std::pair<const char*, const char*> all[] = {
      {"_RNvCs15kBYyAo9fc_7mycrate7example", "mycrate::example"},
      {"_RNvMsr_NtCs3ssYzQotkvD_3std4pathNtB5_7PathBuf3newCs15kBYyAo9fc_7mycrate", "<std::path::PathBuf>::new"},
      {"_RNvXCs15kBYyAo9fc_7mycrateNtB2_7ExampleNtB2_5Trait3foo", "<mycrate::Example>::foo"},
      {"_RNvYNtCs15kBYyAo9fc_7mycrate7ExampleNtB4_5Trait7exampleB4_", "<mycrate::Example>::example"},
      {"_RNCNvCsgStHSCytQ6I_7mycrate4mains_0B3_", "mycrate::main::{closure}"},
      {"_RNvNvMCsd9PVOYlP1UU_7mycrateINtB4_7ExamplepKpE3foo14EXAMPLE_STATIC",
       "<mycrate::Example<_,_>>::foo::EXAMPLE_STATIC"},
      {"_RINvCs7qp2U7fqm6G_7mycrate7exampleAtj8_EB2_", "mycrate::example<[u16;8]>"},
      {"_RINvCs7qp2U7fqm6G_7mycrate7exampleNtB2_7ExampleBw_EB2_",
       "mycrate::example<mycrate::Example,mycrate::Example>"},
      {"_RINvMsY_NtCseXNvpPnDBDp_3std4pathNtB6_4Path3neweECs7qp2U7fqm6G_7mycrate", "<std::path::Path>::new<str>"},
      {"_RNvNvNvCs7qp2U7fqm6G_7mycrate7EXAMPLE7___getit5___KEY$tlv$init", "mycrate::EXAMPLE::__getit::__KEY"},
      {"_RNvCs466Js1JEauR_7___rustc11___rdl_alloc", "__rustc::__rdl_alloc"},
      {"_RINvXs1h_NtCs89T1blTxxU8_3std4pathNtB7_4PathNtNtCs1EZQAllfVpG_4core4hash4Hash4hash"
       "INtNtCs3BHNliyzCTk_17rustc_stable_hash13stable_hasher12StableHasherNtNtB1n_"
       "6sip12812SipHasher128EECseQ5aOgbVAxM_5cargo",
       "<std::path::Path>::hash<rustc_stable_hash::stable_hasher::StableHasher<rustc_stable_hash::sip128::SipHasher128>"
       ">"},
      {"_RNCINvMs0_NtNtCs89T1blTxxU8_3std4sync4onceNtB8_4Once9call_onceNCNvCsdmFG1u7ySow_4curl4init0E0B12_.llvm."
       "12688736362657155723",
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
}

TEST_CASE("short names of real symbols are those of uftrace") {
  // See the README beside the list.
  const auto bytes = test::read_file(test::data_path("names/short_names.tsv"));
  std::string_view rest(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  std::size_t names = 0;
  for (std::size_t end = rest.find('\n'); end != std::string_view::npos; end = rest.find('\n'), ++names) {
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(end + 1);
    const std::size_t tab = line.find('\t');
    REQUIRE(tab != std::string_view::npos);
    CHECK(short_name(line.substr(0, tab)) == line.substr(tab + 1));
  }
  CHECK(rest.empty());
  CHECK(names > 200);
}

TEST_CASE("ABI tags are components of the name") {
  CHECK(short_name("_ZN4shop4showB5cxx11ERKNS_4itemE") == "shop::show::cxx11");
  CHECK(short_name("_ZNK4shop4item5taxedB2v2Ev") == "shop::item::taxed::v2");
  CHECK(short_name("_ZL13ModelSelectorB5cxx11") == "ModelSelector::cxx11");
  CHECK(short_name("_ZTSNSt8ios_base7failureB5cxx11E") == "__typeinfo__std::ios_base::failure::cxx11");
  CHECK(short_name("_ZZN4llvm10Attributor16getOrCreateAAForINS_16AAAllocationInfoEEEPKT_NS_10IRPositionEPKNS_"
                   "17AbstractAttributeENS_"
                   "10DepClassTyEbbENKUlvE_clB5cxx11Ev") ==
        "llvm::Attributor::getOrCreateAAFor::$_0::operator()::cxx11");
  // Of two tags uftrace reads the first, and shows the name mangled.
  CHECK(short_name("_ZN1A4tag2B2t1B2t2Ev") == "_ZN1A4tag2B2t1B2t2Ev");
}

TEST_CASE("lambdas have numbers, and template parameters of their own") {
  CHECK(short_name("_ZZ4mainENKUliE0_clEi") == "main::$_1::operator()");
  CHECK(short_name("_ZZ4mainENKUlRKT_E_clIN4shop4itemEEEDaS1_") == "main::$_0::operator()");
  CHECK(short_name("_ZZNSt6chrono12_GLOBAL__N_114do_locate_zoneERKSt6vectorINS_9time_zoneESaIS2_EERKS1_INS_14time_zone_"
                   "linkESaIS7_"
                   "EESt17basic_string_viewIcSt11char_traitsIcEEENKUlTyRKT_SF_E_clIS9_EEDaSI_SF_.isra.0") ==
        "std::chrono::_GLOBAL__N_1::do_locate_zone::$_0::operator()");
  CHECK(short_name("_ZZ4mainENKUlTyTpTyDpT0_E_clIiJlEEEDaT_S0_") == "main::$_0::operator()");
  CHECK(short_name("_ZZ4mainENKUlTniT_E_clILi1EEEDaS_") == "main::$_0::operator()");
  CHECK(short_name("_ZZ4mainENKUlTtTyET_E_clIiEEDaS_") == "main::$_0::operator()");
  // In a default argument, and in the initializer of a member.
  CHECK(short_name("_ZZ3defiEd_NKUlvE_clEv") == "def::$_0::operator()");
  CHECK(short_name("_ZNK1A1vMUlvE_clEv") == "A::v::$_0::operator()");
}

TEST_CASE("names of a type show the classes of its signature, not of its template arguments") {
  CHECK(short_name("_ZTSPFbN4llvm7SDValueEE") == "__typeinfo__llvm::SDValue");
  CHECK(short_name("_ZTSFvN1A1BE1CE") == "__typeinfo__A::B::C");
  CHECK(short_name("_ZTSPDoFvvE") == "__typeinfo__");
  CHECK(short_name("_ZTIN4llvm2cl3optI13ChangePrinterLb0ENS0_6parserIS2_EEEUlRKS2_E_E") ==
        "__typeinfo_name__llvm::cl::opt");
  CHECK(short_name("_ZTVZL18computePointerICmpN4llvm12CmpPredicateEPNS_5ValueES2_RKNS_"
                   "13SimplifyQueryEE20CustomCaptureTracker") ==
        "__vtable__computePointerICmp::llvm::CmpPredicate::Value::SimplifyQuery::CustomCaptureTracker");
  CHECK(short_name("_ZTIZ4mainEUlvE_") == "__typeinfo_name__main");
}

TEST_CASE("expressions are read as far as uftrace reads them") {
  CHECK(short_name(
            "_ZN2v84base8internalmlIiiEENS1_14CheckedNumericINS1_19ArithmeticPromotionIT_T0_XqugtsrNS1_"
            "11MaxExponentIS5_EE"
            "5valuesrNS7_IS6_EE5valuequgtsrS8_5valueL_ZNS7_IiE5valueEELNS1_27ArithmeticPromotionCategoryE0ELSB_2E"
            "qugtsrS9_5valueL_ZNSA_5valueEELSB_1ELSB_2EEE4typeEEERKNS3_IS5_EES6_") == "v8::base::internal::operator*");
  CHECK(short_name("_Z3enfIiEN2enIXsr3isxIT_E5valueEiE4typeES1_") == "enf");
  // Its shortcomings: comma, complement, `new` with arguments, folds, floating literals.
  for (const char* const name : {"_Z3comIiEDTcmfp_fp0_ET_S1_", "_Z4cmplIiEDTcofp_ET_", "_Z4foldIJiiiEEDTfrplfp_EDpT_",
                                 "_Z2ddILd3ff8000000000000EEdv",
                                 "_ZSt12construct_atIcJRKcEEDTgsnwcvPvLi0E_T_pispcl7declvalIT0_EEEEPS3_DpOS4_"}) {
    CHECK(short_name(name) == name);
  }
}

TEST_CASE("prefixes of compilers stay in front of the name") {
  CHECK(short_name("_GLOBAL__sub_I__ZN1A1bE") == "_GLOBAL__sub_I_A::b");
  CHECK(short_name("__device_stub__Z13mul_mat_vec_qIL9ggml_type13ELi2EEvPKvS2_Pfiiii") ==
        "__device_stub_mul_mat_vec_q");
  CHECK(short_name("_GLOBAL__sub_I___device_stub__Z1fv") == "_GLOBAL__sub_I___device_stub__Z1fv");
  CHECK(short_name("_GLOBAL__sub_I_main.cpp") == "_GLOBAL__sub_I_main.cpp");
}

TEST_CASE("discriminators tell entities of one name apart and are not shown") {
  CHECK(short_name("_ZZ1fvE1a_0") == "f::a");
  CHECK(short_name("_ZZ1fvE1a__12_") == "f::a");
  CHECK(short_name("_ZZ1fvEs_1") == "f");
  CHECK(short_name("_ZZ1fvE1a_10") == "f::a");
}

TEST_CASE("constants of Rust names are numbers of 32 bits") {
  CHECK(short_name("_RINvC1a1fKj1f_E") == "a::f<31>");
  CHECK(short_name("_RINvC1a1fKj7fffffff_E") == "a::f<2147483647>");
  CHECK(short_name("_RINvC1a1fKjffffffff_E") == "a::f<-1>");
  CHECK(short_name("_RINvC1a1fKj7fffffffffffffff_E") == "a::f<-1>");
  CHECK(short_name("_RINvC1a1fKj8000000000000000_E") == "a::f<-1>");
  CHECK(short_name("_RINvC1a1fKj10000000000000000_E") == "a::f<-1>");
}

TEST_CASE("a name that would grow is shown mangled") {
  using detail::longest_short_name;
  // Each C1 says the class once more: at most as long as the limit.
  const std::string once = std::string(1000, 'a');
  const std::size_t most = (longest_short_name - once.size()) / (once.size() + 2);
  const auto constructors = [&](std::size_t n) { return "_ZN1000" + once + repeated("C1", n) + "Ev"; };
  CHECK(short_name(constructors(1)) == once + "::" + once);
  CHECK(short_name(constructors(most)).size() == once.size() + most * (once.size() + 2));
  CHECK(short_name(constructors(most + 1)) == constructors(most + 1));
  const auto plain = [](std::size_t n) { return "_Z" + std::to_string(n) + std::string(n, 'a') + "v"; };
  CHECK(short_name(plain(longest_short_name)) == std::string(longest_short_name, 'a'));
  CHECK(short_name(plain(longest_short_name + 1)) == plain(longest_short_name + 1));
  const std::string destructors = "_ZN1a" + repeated("D1", 100000) + "Ev";
  CHECK(short_name(destructors) == destructors);
  const std::string large = "_ZN30000" + std::string(30000, 'a') + repeated("C1", 15000) + "Ev";
  CHECK(short_name(large) == large);
  const std::string legacy = "_ZN" + repeated("20$u20$$u20$$u20$$u20$", 20000) + "E";
  CHECK(short_name(legacy) == legacy);
  // References to references double the text.
  const auto reference = [](std::size_t place) {  // to a place behind `_R`, in base 62
    constexpr std::string_view digits = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    std::string number;
    for (std::size_t n = place - 1;; n /= 62) {
      number.insert(number.begin(), digits[n % 62]);
      if (n < 62) return "B" + number + "_";
    }
  };
  const auto doubling = [&](int n) {
    std::string name = "_RINvC1a1f";
    std::size_t last = name.size() - 2;
    name += "NtC1a1b";
    for (int i = 0; i < n; ++i) {
      const std::size_t here = name.size() - 2;
      name += "INtC1a1c" + reference(last) + reference(last) + "E";
      last = here;
    }
    return name + "E";
  };
  CHECK(short_name(doubling(1)) == "a::f<a::b,a::c<a::b,a::b>>");
  CHECK(short_name(doubling(2)) == "a::f<a::b,a::c<a::b,a::b>,a::c<a::c<a::b,a::b>,a::c<a::b,a::b>>>");
  CHECK(short_name(doubling(30)) == doubling(30));
  const std::string bomb = doubling(30);
  detail::rust_v0_parser parser(bomb);
  CHECK_FALSE(parser.run());
  CHECK(parser.steps() <= detail::name_steps_per_byte * (bomb.size() + 1));
  const std::string path = "_RINvNtC1a1000" + once + "1f" + repeated("NtB7_1b", 100) + "E";
  CHECK(short_name(path) == path);
}

TEST_CASE("the work that a name takes grows with its length") {
  // Substitutions that double are not followed: the template arguments are not shown.
  const auto doubling = [](int n) {
    std::string name = "_Z1f1AIiiE";
    std::string last = "S0_";
    for (int i = 0; i < n; ++i) {
      name += "S_I" + last + last + "E";
      last = "S" + std::to_string(i % 9 + 1) + "_";
    }
    return name;
  };
  CHECK(short_name(doubling(25)) == "f");
  const auto linear = [](const std::string& one, const std::string& twice) {
    return steps_of(twice) <= 2 * steps_of(one) + 16;
  };
  CHECK(linear(doubling(100), doubling(200)));
  CHECK(linear("_Z1f" + repeated("1AIiE", 1000), "_Z1f" + repeated("1AIiE", 2000)));
  CHECK(linear("_ZN1a" + repeated("D1", 1000) + "Ev", "_ZN1a" + repeated("D1", 2000) + "Ev"));
  CHECK(linear("_Z1fI" + repeated("F", 100) + repeated("v", 500), "_Z1fI" + repeated("F", 200) + repeated("v", 1000)));
  CHECK(linear("_Z1fDT" + repeated("pl", 100), "_Z1fDT" + repeated("pl", 200)));
  for (const std::string_view part :
       {"P", "I", "N", "Z", "DT", "X", "L_Z", "UlTt", "FDO", "sr", "J", "A", "M", "plT_"}) {
    CAPTURE(part);
    CHECK(steps_of("_Z1f" + repeated(part, 20000)) <= 2 * 20000 * part.size() + 16);
    CHECK(steps_of("_Z1fI" + repeated(part, 20000)) <= 2 * 20000 * part.size() + 16);
  }
}

TEST_CASE("depth of names is limited, not that of pointers") {
  CHECK(short_name("_Z1f" + std::string(100000, 'P') + "i") == "f");
  const auto nested = [](std::size_t n) { return "_Z1f" + repeated("1AI", n) + "i" + std::string(n, 'E'); };
  CHECK(short_name(nested(100)) == "f");
  CHECK(short_name(nested(100000)) == nested(100000));
  const std::string slices = "_RINvC1a1f" + std::string(100000, 'S');
  CHECK(short_name(slices) == slices);
  const std::string names = "_R" + repeated("Nv", 100000);
  CHECK(short_name(names) == names);
}

TEST_CASE("each beginning of a name ends cleanly") {
  const auto bytes = test::read_file(test::data_path("names/short_names.tsv"));
  std::string_view rest(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  for (std::size_t end = rest.find('\n'); end != std::string_view::npos; end = rest.find('\n')) {
    const std::string_view name = rest.substr(0, rest.find('\t'));
    for (std::size_t size = 0; size < name.size(); ++size) {
      const std::string exact(name.substr(0, size));  // on the heap: a read behind its end shows under ASan
      REQUIRE(short_name(exact).size() <= 8 * size);
    }
    rest.remove_prefix(end + 1);
  }
}
