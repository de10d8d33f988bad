# Compiled once per level of the CPU.
list(APPEND WAVEFIRE_VIRTUAL_SEMANTICS semantics/matrix.cpp semantics/trigonometry.cpp)
