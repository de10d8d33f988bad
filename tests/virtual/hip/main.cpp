// The devices are decided before the first call of HIP.
#include <gtest/gtest.h>

#include <cstdlib>

int main(int argc, char** argv) {
  setenv("WAVEFIRE_VIRTUAL_DEVICES", "gfx942,gfx950", 1);
  setenv("WAVEFIRE_VIRTUAL_MEMORY", "1073741824", 1);
  setenv("WAVEFIRE_VIRTUAL_QUIET", "1", 1);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
