// SPDX-License-Identifier: Apache-2.0
// The main function of the test programs, with Catch2 2.13 and 3: exit code 0 when every test case that was chosen
// passed, 1 when one failed or none was found, and 77, which ctest shows as skipped, when one said with test::skip()
// that it cannot run here.
#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
#else
#define CATCH_CONFIG_RUNNER
#include <catch2/catch.hpp>
#endif

#include <support/skip.hpp>

int main(int argc, char** argv) {
  Catch::Session session;
  if (session.applyCommandLine(argc, argv) != 0) return 1;
#if CATCH_VERSION_MAJOR == 2
  // Version 3 does so of itself.
  session.configData().warnings =
      static_cast<Catch::WarnAbout::What>(session.configData().warnings | Catch::WarnAbout::NoTests);
#endif
  if (session.run() != 0) return 1;
  return backsight::test::skipped() == 0 ? 0 : 77;
}
