// The cache of compiled kernels: who compiles, what is trusted, what stays behind.
#include "generate/cache.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <thread>

#include "device/cpu/object.h"
#include "generate/files.h"
#include "generate/generate.h"
#include "support.h"
#include "wavefire/error.h"

namespace wavefire::generate {
namespace {

namespace fs = std::filesystem;

const KernelSpec small = parse_spec("append.scalar");  // about half a second

void expect_works(const Kernel& kernel) {
  const cpu::Object object("append", kernel.object);
  EXPECT_NE(object.find(kernel.entry), nullptr);
}

fs::path only_entry(const TestCache& cache) {
  for (const auto& file : fs::directory_iterator(cache.folder())) {
    if (file.path().extension() == ".kernel") return file.path();
  }
  throw std::runtime_error("no entry");
}

std::string message_of(const std::function<void()>& action, ErrorKind kind) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind);
    return error.what();
  }
  ADD_FAILURE() << "no error";
  return "";
}

/// Forks; the child's exit status is what `action` returns.
pid_t start_process(const std::function<int()>& action) {
  const pid_t child = fork();
  if (child != 0) return child;
  int status = 99;
  try {
    status = action();
  } catch (...) {
  }
  _exit(status);
}

int status_of(pid_t child) {
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(Cache, ConcurrentProcessesCompileOnce) {
  const TestCache cache;
  std::vector<pid_t> children;
  for (int i = 0; i < 4; ++i) {
    children.push_back(start_process([] {
      const CompileCounter counter;
      return provide(small)->object.empty() ? 98 : counter.count();
    }));
  }
  int compilations = 0;
  for (const pid_t child : children) compilations += status_of(child);
  EXPECT_EQ(compilations, 1);
  EXPECT_EQ(cache.count(""), 1) << "only the entry stays";
}

TEST(Cache, ConcurrentThreadsCompileOnce) {
  const TestCache cache;
  const CompileCounter counter;
  std::vector<std::shared_ptr<const Kernel>> kernels(4);
  std::vector<std::thread> threads;
  threads.reserve(kernels.size());
  for (auto& kernel : kernels) threads.emplace_back([&] { kernel = provide(small); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(counter.count(), 1);
  for (const auto& kernel : kernels) {
    ASSERT_NE(kernel, nullptr);
    EXPECT_EQ(kernel->object, kernels[0]->object);
  }
  EXPECT_EQ(cache.count(""), 1) << "only the entry stays";
}

TEST(Cache, AKilledCompileLeavesNothingBehind) {
  const TestCache cache;
  const pid_t child = start_process([] {
    // Takes seconds: it is killed long before it is done.
    provide(parse_spec("attention.scalar:tile_rows=16,head_dim_qk=64,head_dim_vo=64"));
    return 0;
  });
  for (int i = 0; i < 2000 && cache.count(".work.") == 0; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  ASSERT_EQ(cache.count(".work."), 1) << "it has begun";
  kill(child, SIGKILL);
  EXPECT_EQ(status_of(child), -1);
  EXPECT_EQ(cache.count(".kernel"), 0);

  expect_works(*provide(small));  // whoever compiles next, whatever it compiles, clears up
  EXPECT_EQ(cache.count(".kernel"), 1);
  EXPECT_EQ(cache.count(""), 1);
}

TEST(Cache, ABrokenEntryIsRebuilt) {
  const TestCache cache;
  const std::string good = provide(small)->object;
  const std::string bytes = read_file(only_entry(cache));
  std::vector<std::string> broken = {"", bytes.substr(0, bytes.size() / 2), bytes + "x",
                                     "not an entry"};
  broken.push_back(bytes);
  broken.back()[bytes.size() - 100] ^= 1;
  for (const std::string& text : broken) {
    write_file(only_entry(cache), text);
    const CompileCounter counter;
    const auto kernel = provide(small);
    EXPECT_EQ(kernel->origin, Origin::compiled);
    EXPECT_EQ(counter.count(), 1);
    EXPECT_EQ(read_file(only_entry(cache)), bytes);
    EXPECT_EQ(provide(small)->origin, Origin::cached);
    expect_works(*kernel);
  }
}

TEST(Cache, AFolderOfSomebodyElseIsRefused) {
  const TestCache cache;
  // Root's, unless we are root: then nobody's.
  fs::path folder = "/usr";
  if (geteuid() == 0) {
    folder = cache.folder();
    fs::create_directories(folder);
    ASSERT_EQ(chown(folder.c_str(), 65534, 65534), 0);
  }
  Config changed = config();
  changed.cache_dir = folder;
  set_config(changed);
  const std::string message = message_of([] { provide(small); }, ErrorKind::invalid_argument);
  EXPECT_NE(message.find("WAVEFIRE_CACHE_DIR"), std::string::npos) << message;
  EXPECT_NE(message.find("belongs to user"), std::string::npos) << message;
}

TEST(Cache, AFolderThatOthersWriteToIsRefused) {
  const TestCache cache;
  fs::create_directories(cache.folder());
  ASSERT_EQ(chmod(cache.folder().c_str(), 0777), 0);
  const std::string message = message_of([] { provide(small); }, ErrorKind::invalid_argument);
  EXPECT_NE(message.find("others can write"), std::string::npos) << message;
}

TEST(Cache, ItsFolderIsPrivate) {
  const TestCache cache;
  const Cache opened(cache.folder());
  struct stat status = {};
  ASSERT_EQ(stat(cache.folder().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0700u);
}

TEST(Cache, EntriesAreListedAndCleared) {
  const TestCache cache;
  provide(small);
  const Cache opened(cache.folder());
  ASSERT_EQ(opened.list().size(), 1u);
  EXPECT_EQ(opened.list()[0].entry.spec, "append.scalar");
  EXPECT_FALSE(opened.list()[0].is_broken);
  EXPECT_EQ(opened.clear(), 1);
  EXPECT_EQ(cache.count(""), 0);
}

TEST(Cache, WithoutCompilingTheErrorSaysWhatToDo) {
  const TestCache cache;
  Config off = config();
  off.jit = "off";
  set_config(off);
  const std::string message = message_of([] { provide(small); }, ErrorKind::compile);
  EXPECT_NE(message.find("wavefire compile 'append.scalar'"), std::string::npos) << message;
  EXPECT_NE(message.find("WAVEFIRE_JIT"), std::string::npos) << message;
  EXPECT_EQ(cache.count(""), 0);

  off.jit = "on";
  set_config(off);
  provide(small);
  off.jit = "off";
  set_config(off);
  EXPECT_EQ(provide(small)->origin, Origin::cached);
}

TEST(Cache, AnotherCompilerIsAnotherEntry) {
  const TestCache cache;
  provide(small);
  // The same compiler under another name: a script that stands for it.
  const fs::path other = cache.folder().parent_path() / "other";
  write_file(other, "#!/bin/sh\nexec g++ \"$@\"\n");
  fs::permissions(other, fs::perms::owner_all);
  Config changed = config();
  changed.host_compiler = other;
  set_config(changed);
  EXPECT_EQ(provide(small)->origin, Origin::compiled);
  EXPECT_EQ(cache.count(".kernel"), 2);
}

TEST(Cache, WhereNothingCanBeCompiledAnyCompilersEntryServes) {
  const TestCache cache;
  const std::string object = provide(small)->object;
  Config changed = config();
  changed.host_compiler = "/no/such/compiler";
  set_config(changed);
  const auto kernel = provide(small);
  EXPECT_EQ(kernel->origin, Origin::cached);
  EXPECT_EQ(kernel->object, object);
  const std::string message =
      message_of([] { provide(parse_spec("rope.scalar")); }, ErrorKind::compile);
  EXPECT_NE(message.find("no compiler for scalar"), std::string::npos) << message;
}

}  // namespace
}  // namespace wavefire::generate
