// Shared libraries that are opened at run time: drivers and run-time compilers. Wavefire links to
// none of them.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace wavefire::device {

/// What to open, and how to speak about it in errors.
struct LibraryName {
  std::string_view operation;           // begins the message: "cuda"
  std::string_view what;                // "NVIDIA's driver"
  std::vector<std::string> candidates;  // names or paths for dlopen, the best first
  std::string_view remedy;              // "install NVIDIA's driver 525 or newer"
};

/// An open library. It is a plain value: the library stays open as long as the process, since
/// drivers do not survive being closed.
class Library {
 public:
  /// Takes the copy that the process has mapped already, if it has one under any candidate's name
  /// (a framework's: two copies of a driver know nothing of each other), else opens the first
  /// candidate that can be. Throws `Error` (device) with what each attempt failed of.
  static Library open(const LibraryName& name);

  /// The file that was opened.
  const std::string& path() const { return path_; }
  /// The address of a symbol; null if the library has none of that name.
  void* find(const char* symbol) const;

 private:
  explicit Library(void* handle);
  void* handle_;
  std::string path_;
};

/// One function of a library: its name, and the member of `Table` that its address goes to.
template <class Table>
struct Symbol {
  const char* name;
  void (*store)(Table& table, void* address);
  bool is_required;
};

/// Of a pointer to a member that is a pointer to a function.
template <class Member>
struct FunctionMember;
template <class Owner, class Function>
struct FunctionMember<Function * Owner::*> {
  using Table = Owner;
  using Pointer = Function*;
};

template <auto member, bool is_required = true>
constexpr auto symbol(const char* name) {
  using Member = FunctionMember<decltype(member)>;
  using Table = typename Member::Table;
  return Symbol<Table>{name,
                       [](Table& table, void* address) {
                         table.*member = reinterpret_cast<typename Member::Pointer>(address);
                       },
                       is_required};
}

/// A symbol that older libraries lack: its member stays null there.
template <auto member>
constexpr auto optional_symbol(const char* name) {
  return symbol<member, false>(name);
}

[[noreturn]] void fail_missing_symbols(const LibraryName& name, const Library& library,
                                       const std::vector<std::string_view>& missing);

/// Fills the members of `table` that `symbols` lists. Throws `Error` (device) with the names of all
/// required ones that the library lacks.
template <class Table>
void load_into(Table& table, const LibraryName& name, const Library& library,
               std::span<const Symbol<std::type_identity_t<Table>>> symbols) {
  std::vector<std::string_view> missing;
  for (const Symbol<Table>& symbol : symbols) {
    void* address = library.find(symbol.name);
    if (address == nullptr && symbol.is_required) missing.emplace_back(symbol.name);
    symbol.store(table, address);
  }
  if (!missing.empty()) fail_missing_symbols(name, library, missing);
}

/// A new table.
///
///   struct Nvrtc { int (*version)(int* major, int* minor) = nullptr; };
///   constexpr Symbol<Nvrtc> nvrtc_symbols[] = {symbol<&Nvrtc::version>("nvrtcVersion")};
///   const auto nvrtc = load_table<Nvrtc>(name, Library::open(name), nvrtc_symbols);
template <class Table>
Table load_table(const LibraryName& name, const Library& library,
                 std::span<const Symbol<Table>> symbols) {
  Table table;
  load_into(table, name, library, symbols);
  return table;
}

/// The folder that this very library was loaded from, with a slash.
std::string own_folder();

}  // namespace wavefire::device
