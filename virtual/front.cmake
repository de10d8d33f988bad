# Code objects and memory.
list(APPEND WAVEFIRE_VIRTUAL_PLAIN
     bundle.cpp code_object.cpp code_object_loader.cpp elf.cpp kernel_metadata.cpp line_table.cpp
     kernarg.cpp memory.cpp message_pack.cpp)
