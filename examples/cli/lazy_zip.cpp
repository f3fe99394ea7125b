// SPDX-License-Identifier: Apache-2.0
// libzip, loaded when the first zip archive is opened: it brings libcrypto and others along, which would be a quarter
// of the time that every command takes to start. What io/zip.hpp calls leads to it from here, so that the program does
// not need the library itself.
#include <dlfcn.h>

#pragma GCC visibility push(hidden)  // The library's own calls are not to come here.
#include <zip.h>
#pragma GCC visibility pop

#include "terminal.hpp"

namespace {

/// A function of the library; null when that cannot be loaded, which is said once.
void* find(const char* name) {
  static void* const library = [] {
    void* const opened = ::dlopen(BACKSIGHT_LIBZIP, RTLD_NOW | RTLD_LOCAL);
    if (opened == nullptr) cli::say("backsight: zip archives cannot be read: %s\n", ::dlerror());
    return opened;
  }();
  return library == nullptr ? nullptr : ::dlsym(library, name);
}

template <class Result, class... Parameters, class... Arguments>
Result call(const char* name, Result (*)(Parameters...), Result otherwise, Arguments... arguments) {
  void* const found = find(name);
  return found == nullptr ? otherwise : reinterpret_cast<Result (*)(Parameters...)>(found)(arguments...);
}

}  // namespace

extern "C" {

void zip_error_init(zip_error_t* error) {
  if (void* const found = find("zip_error_init")) reinterpret_cast<decltype(&zip_error_init)>(found)(error);
}
void zip_error_fini(zip_error_t* error) {
  if (void* const found = find("zip_error_fini")) reinterpret_cast<decltype(&zip_error_fini)>(found)(error);
}
void zip_discard(zip_t* archive) {
  if (void* const found = find("zip_discard")) reinterpret_cast<decltype(&zip_discard)>(found)(archive);
}
void zip_source_free(zip_source_t* source) {
  if (void* const found = find("zip_source_free")) reinterpret_cast<decltype(&zip_source_free)>(found)(source);
}
zip_source_t* zip_source_buffer_create(const void* bytes, zip_uint64_t size, int owned, zip_error_t* error) {
  return call("zip_source_buffer_create", &zip_source_buffer_create, static_cast<zip_source_t*>(nullptr), bytes, size,
              owned, error);
}
zip_t* zip_open_from_source(zip_source_t* source, int flags, zip_error_t* error) {
  return call("zip_open_from_source", &zip_open_from_source, static_cast<zip_t*>(nullptr), source, flags, error);
}
zip_int64_t zip_get_num_entries(zip_t* archive, zip_flags_t flags) {
  return call("zip_get_num_entries", &zip_get_num_entries, zip_int64_t{-1}, archive, flags);
}
int zip_stat_index(zip_t* archive, zip_uint64_t index, zip_flags_t flags, zip_stat_t* status) {
  return call("zip_stat_index", &zip_stat_index, -1, archive, index, flags, status);
}
zip_file_t* zip_fopen_index(zip_t* archive, zip_uint64_t index, zip_flags_t flags) {
  return call("zip_fopen_index", &zip_fopen_index, static_cast<zip_file_t*>(nullptr), archive, index, flags);
}
zip_int64_t zip_fread(zip_file_t* file, void* to, zip_uint64_t size) {
  return call("zip_fread", &zip_fread, zip_int64_t{-1}, file, to, size);
}
int zip_fclose(zip_file_t* file) { return call("zip_fclose", &zip_fclose, -1, file); }
zip_error_t* zip_file_get_error(zip_file_t* file) {
  return call("zip_file_get_error", &zip_file_get_error, static_cast<zip_error_t*>(nullptr), file);
}
int zip_error_code_zip(const zip_error_t* error) { return call("zip_error_code_zip", &zip_error_code_zip, -1, error); }

}  // extern "C"
