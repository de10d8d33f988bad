#include "generate/cache.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>

#include "core/check.h"
#include "core/log.h"
#include "generate/files.h"
#include "generate/sha256.h"

namespace wavefire::generate {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view magic = "wavefire kernel 1\n";
constexpr std::size_t hash_digits = 64;

std::string_view take(std::string_view& bytes, std::size_t count) {
  const std::string_view part = bytes.substr(0, count);
  bytes.remove_prefix(part.size());
  return part;
}

/// A number and the character behind it.
std::size_t take_number(std::string_view& bytes) {
  std::size_t value = 0;
  const auto [stop, error] = std::from_chars(bytes.data(), bytes.data() + bytes.size(), value);
  take(bytes, static_cast<std::size_t>(stop - bytes.data()) + 1);
  return value;
}

void check_folder(const fs::path& folder) {
  struct stat status = {};
  if (stat(folder.c_str(), &status) != 0) fail_system("look at", folder);
  constexpr std::string_view operation = "generate", argument = "WAVEFIRE_CACHE_DIR";
  core::require(S_ISDIR(status.st_mode), operation, argument, folder.string(), "a folder");
  core::require(status.st_uid == geteuid(), operation, argument,
                core::join(folder.string(), ", which belongs to user ", status.st_uid),
                core::join("a folder of user ", geteuid(), "'s own"));
  core::require((status.st_mode & (S_IWGRP | S_IWOTH)) == 0, operation, argument,
                core::join(folder.string(), ", which others can write to"),
                "a private folder (chmod 700)");
}

/// Opens and locks a file that others may remove at the same time; -1 if it is taken and `wait` is
/// false.
int lock_file(const fs::path& path, bool wait) {
  for (;;) {
    const int file = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0) fail_system("open", path);
    while (flock(file, LOCK_EX | (wait ? 0 : LOCK_NB)) != 0) {
      if (errno == EINTR) continue;
      const bool is_taken = errno == EWOULDBLOCK;
      if (!is_taken) fail_system("lock", path);
      close(file);
      return -1;
    }
    struct stat mine = {}, current = {};
    if (fstat(file, &mine) == 0 && stat(path.c_str(), &current) == 0 &&
        mine.st_ino == current.st_ino && mine.st_dev == current.st_dev) {
      return file;
    }
    close(file);  // its last holder has removed it: what is locked has no name any more
  }
}

void unlock_file(const fs::path& path, int file) {
  unlink(path.c_str());  // first: nobody may find a name whose lock is free
  close(file);
}

}  // namespace

std::string encode(const Entry& entry) {
  const std::string body =
      core::join(entry.spec.size(), " ", entry.compiler.size(), " ", entry.object.size(), "\n",
                 entry.spec, entry.compiler, entry.object);
  return core::join(magic, sha256(body), "\n", body);
}

std::optional<Entry> decode(std::string_view bytes) {
  if (take(bytes, magic.size()) != magic) return std::nullopt;
  const std::string_view hash = take(bytes, hash_digits);
  take(bytes, 1);
  if (hash != sha256(bytes)) return std::nullopt;
  const std::size_t spec = take_number(bytes), compiler = take_number(bytes),
                    object = take_number(bytes);
  if (bytes.size() != spec + compiler + object) return std::nullopt;
  Entry entry;
  entry.spec = take(bytes, spec);
  entry.compiler = take(bytes, compiler);
  entry.object = take(bytes, object);
  return entry;
}

Cache::Cache(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder.parent_path(), error);
  if (mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) fail_system("make", folder);
  folder_ = fs::canonical(folder);
  check_folder(folder_);
}

fs::path Cache::entry_path(const std::string& key) const { return folder_ / (key + ".kernel"); }
fs::path Cache::lock_path(const std::string& key) const { return folder_ / (key + ".lock"); }

std::optional<Entry> Cache::load(const std::string& key) const {
  const fs::path path = entry_path(key);
  if (!fs::exists(path)) return std::nullopt;
  std::optional<Entry> entry = decode(read_file(path));
  if (!entry) {
    core::log(LogLevel::warning, core::join("generate: broken cache entry ", path.string()));
  }
  return entry;
}

std::optional<Entry> Cache::load_any(const std::string& key_begin) const {
  std::vector<fs::directory_entry> files;
  for (const fs::directory_entry& file : fs::directory_iterator(folder_)) {
    const bool fits = file.path().filename().string().starts_with(key_begin);
    if (fits && file.path().extension() == ".kernel") files.push_back(file);
  }
  std::ranges::sort(files, [](const fs::directory_entry& a, const fs::directory_entry& b) {
    return a.last_write_time() > b.last_write_time();
  });
  for (const fs::directory_entry& file : files) {
    if (auto entry = load(file.path().stem())) return entry;
  }
  return std::nullopt;
}

std::vector<Cache::Listed> Cache::list() const {
  std::vector<Listed> all;
  for (const fs::directory_entry& file : fs::directory_iterator(folder_)) {
    if (file.path().extension() != ".kernel") continue;
    Listed listed;
    listed.key = file.path().stem();
    listed.bytes = file.file_size();
    std::optional<Entry> entry = decode(read_file(file.path()));
    listed.is_broken = !entry;
    if (entry) listed.entry = std::move(*entry);
    all.push_back(std::move(listed));
  }
  return all;
}

int Cache::clear() const {
  remove_leftovers();
  int count = 0;
  for (const fs::directory_entry& file : fs::directory_iterator(folder_)) {
    if (file.path().extension() == ".kernel" && fs::remove(file.path())) ++count;
  }
  return count;
}

void Cache::remove_work_of(const std::string& key) const {
  for (const fs::directory_entry& file : fs::directory_iterator(folder_)) {
    const std::string name = file.path().filename();
    if (name.starts_with(key + ".work.")) fs::remove_all(file.path());
  }
}

void Cache::remove_leftovers() const {
  for (const fs::directory_entry& file : fs::directory_iterator(folder_)) {
    if (file.path().extension() != ".lock") continue;
    const int lock = lock_file(file.path(), false);
    if (lock < 0) continue;
    remove_work_of(file.path().stem());
    unlock_file(file.path(), lock);
  }
}

Cache::Writer::Writer(const Cache& cache, const std::string& key) : cache_(cache), key_(key) {
  cache_.remove_leftovers();
  lock_ = lock_file(cache_.lock_path(key_), true);
  cache_.remove_work_of(key_);
  std::string pattern = cache_.folder_ / (key_ + ".work.XXXXXX");
  if (mkdtemp(pattern.data()) == nullptr) {
    unlock_file(cache_.lock_path(key_), lock_);
    fail_system("make", pattern);
  }
  work_folder_ = pattern;
}

Cache::Writer::~Writer() {
  std::error_code ignored;
  fs::remove_all(work_folder_, ignored);
  unlock_file(cache_.lock_path(key_), lock_);
}

void Cache::Writer::store(const Entry& entry) const {
  const fs::path file = work_folder_ / "entry";
  write_file(file, encode(entry));
  sync(file);
  std::error_code error;
  fs::rename(file, cache_.entry_path(key_), error);
  if (error) {
    errno = error.value();
    fail_system("store", cache_.entry_path(key_));
  }
  sync(cache_.folder_);
}

}  // namespace wavefire::generate
