// Compiled kernels on disk, safe between threads, processes and hosts on a shared file system.
//
//   <folder>/                private: its user's, writable by nobody else
//     <key>.kernel           an entry: a checksum, then spec, compiler and object
//     <key>.lock             held (flock) by the process that compiles it
//     <key>.work.<random>/   what it works in
//
// An entry appears by rename, complete and on the disk, or not at all. Work folders and locks whose
// process has died are removed by the next process that compiles anything.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "generate/spec.h"

namespace wavefire::generate {

/// What a cache entry or the bundle holds of a kernel.
struct Entry {
  std::string spec;      // text_of
  std::string compiler;  // Compiler::name
  std::string object;
};

/// With a checksum in front, and back: nothing if the bytes are not what was written.
std::string encode(const Entry& entry);
std::optional<Entry> decode(std::string_view bytes);

class Cache {
 public:
  /// Makes the folder if there is none. Throws `Error` (invalid_argument) if it belongs to somebody
  /// else or others can write to it.
  explicit Cache(const std::filesystem::path& folder);

  const std::filesystem::path& folder() const { return folder_; }

  /// The entry of `key`; nothing if there is none or it is broken.
  std::optional<Entry> load(const std::string& key) const;
  /// Of the entries whose keys begin so, the newest that is not broken.
  std::optional<Entry> load_any(const std::string& key_begin) const;

  struct Listed {
    std::string key;
    Entry entry;
    std::uintmax_t bytes = 0;
    bool is_broken = false;
  };
  std::vector<Listed> list() const;
  /// Removes all entries and what dead processes left; returns the number of entries.
  int clear() const;

  /// The right to write the entry of one key, and a folder to do it in. Waits for whoever has it.
  class Writer {
   public:
    Writer(const Cache& cache, const std::string& key);
    Writer(const Writer&) = delete;
    Writer& operator=(const Writer&) = delete;
    ~Writer();

    const std::filesystem::path& work_folder() const { return work_folder_; }
    void store(const Entry& entry) const;

   private:
    const Cache& cache_;
    std::string key_;
    int lock_ = -1;
    std::filesystem::path work_folder_;
  };

 private:
  std::filesystem::path entry_path(const std::string& key) const;
  std::filesystem::path lock_path(const std::string& key) const;
  void remove_work_of(const std::string& key) const;
  void remove_leftovers() const;

  std::filesystem::path folder_;
};

}  // namespace wavefire::generate
