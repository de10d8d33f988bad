// A program outside of Wavefire's tree, against the installed package.
#include <wavefire/version.h>

#include <cstdio>
#include <filesystem>

int main() {
  std::printf("wavefire %s\n", wavefire::version());
  return std::filesystem::exists(INSTALLED_KERNELS "/tile/target.h") ? 0 : 1;
}
