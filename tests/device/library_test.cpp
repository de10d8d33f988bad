// Opening libraries at run time, with small ones that the build makes for it.
#include "device/library.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include "wavefire/error.h"

namespace wavefire::device {
namespace {

struct Functions {
  int (*answer)() = nullptr;
  int (*newer)() = nullptr;
};

constexpr Symbol<Functions> symbols[] = {
    symbol<&Functions::answer>("opened_answer"),
    optional_symbol<&Functions::newer>("opened_newer"),
};

LibraryName named(std::vector<std::string> candidates) {
  return {"opened", "the library of this test", std::move(candidates), "build the tests"};
}

template <class F>
void expect_device_error(F&& f, std::initializer_list<const char*> words) {
  try {
    f();
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::device);
    for (const char* word : words) {
      EXPECT_NE(std::string(error.what()).find(word), std::string::npos) << error.what();
    }
  }
}

TEST(Library, OpensTheFirstCandidateThatItCan) {
  const LibraryName name = named({"libwavefire_absent.so.3", WAVEFIRE_OPENED});
  const Library library = Library::open(name);
  EXPECT_EQ(library.path(), WAVEFIRE_OPENED);
  const auto table = load_table<Functions>(name, library, symbols);
  EXPECT_EQ(table.answer(), 42);
  EXPECT_EQ(table.newer, nullptr);
}

TEST(Library, TakesTheMappedCopyFirst) {
  // The copy's folder is on no search path: only its name in the process finds it.
  void* mapped = dlopen(WAVEFIRE_MAPPED, RTLD_NOW);
  ASSERT_NE(mapped, nullptr) << dlerror();
  const Library library = Library::open(named({WAVEFIRE_NOT_MAPPED, "libwavefire_mapped.so.1"}));
  EXPECT_EQ(library.path(), WAVEFIRE_MAPPED);
}

TEST(Library, SaysWhatItTriedAndWhy) {
  expect_device_error([] { Library::open(named({"libwavefire_absent.so.3", "/nowhere/lib.so"})); },
                      {"opened: cannot open the library of this test", "libwavefire_absent.so.3",
                       "/nowhere/lib.so", "No such file or directory", "build the tests"});
}

TEST(Library, NamesEverySymbolThatIsMissing) {
  constexpr Symbol<Functions> wanted[] = {symbol<&Functions::answer>("opened_first"),
                                          symbol<&Functions::newer>("opened_second")};
  const LibraryName name = named({WAVEFIRE_OPENED});
  expect_device_error([&] { load_table<Functions>(name, Library::open(name), wanted); },
                      {"lacks opened_first, opened_second", WAVEFIRE_OPENED, "build the tests"});
}

}  // namespace
}  // namespace wavefire::device
