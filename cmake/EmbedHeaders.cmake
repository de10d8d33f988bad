# cmake -DOUTPUT=<file.cpp> -DROOTS=<folder>|... -DHEADERS=<path below a root>|...
#       -P EmbedHeaders.cmake
#
# Writes the headers that kernels are made of into a source file, as wavefire::generate::headers().

string(REPLACE "|" ";" ROOTS "${ROOTS}")
string(REPLACE "|" ";" HEADERS "${HEADERS}")

set(text "// Written by cmake/EmbedHeaders.cmake.\n#include \"generate/headers.h\"\n\n")
string(APPEND text "namespace wavefire::generate {\nnamespace {\n\nconstexpr Header all[] = {\n")
foreach(header IN LISTS HEADERS)
  foreach(root IN LISTS ROOTS)
    if(EXISTS ${root}/${header})
      file(READ ${root}/${header} content)
      break()
    endif()
  endforeach()
  string(APPEND text "    {\"${header}\", R\"wavefire(${content})wavefire\"},\n")
endforeach()
string(APPEND text "};\n\n}  // namespace\n\nstd::span<const Header> headers() { return all; }\n\n"
                   "}  // namespace wavefire::generate\n")
file(WRITE ${OUTPUT} "${text}")
