// SPDX-License-Identifier: Apache-2.0
#include <string>

#include <backsight/xray/names.hpp>

#include <support/catch.hpp>
#include <support/files.hpp>

using namespace backsight;

TEST_CASE("functions are named by the symbols at the addresses of the instrumentation map") {
  const auto program = test::read_file(test::data_path("xray/bin/workload-19"));
  const auto names = xray::function_names::open(program);
  REQUIRE(names);
  // llvm-xray has worker((anonymous namespace)::Ctx*, char const*):
  // tests/data/xray/expected/c19/fdr-threads/account-names.csv.
  CHECK((*names)[1].source == "xray-workload.cpp");
  CHECK((*names)[1].function == "_Z6workerPN12_GLOBAL__N_13CtxEPKc");
  CHECK_FALSE(names->knows(0));
  CHECK_FALSE(names->knows(100000));
  CHECK((*names)[100000].function == "#100000");
  CHECK_FALSE((*names)[100000].named);
  const auto loud = xray::function_names::open(program, [](const std::string& name) { return name + "!"; });
  CHECK((*loud)[1].function == (*names)[1].function + "!");
  CHECK((*loud)[1].named);
}

TEST_CASE("without a program functions have their numbers for names") {
  const xray::function_names names;
  CHECK(names[7].function == "#7");
  CHECK(names[7].source.empty());
  CHECK_FALSE(names.knows(7));
}

TEST_CASE("what is no program with a map is refused") {
  CHECK(xray::function_names::open({}).error().code != errc::ok);
  const auto other = test::read_file(test::data_path("cfi/elf/gcc-O2"));
  CHECK(xray::function_names::open(other).error().code == errc::missing_section);
}
