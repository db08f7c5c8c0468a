# Every header compiles alone: one that relies on what its users include fails the build.  Most are
# what some source of their folder includes before anything else, which shows it; for each of the rest
# a source file is made that includes nothing else, and the ordinary build compiles it, without the
# precompiled headers that sources may have.
set(vendor_includes)
if(INLINE_PROF_CUDA)
  set(vendor_includes ${CUDAToolkit_INCLUDE_DIRS})
endif()

# first_includes(COMPONENT RESULT): the headers of `component` that one of its sources begins with.
function(first_includes component result)
  set(found)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${component}/*.cpp)
  foreach(source IN LISTS sources)
    file(STRINGS ${source} line REGEX "^#include" LIMIT_COUNT 1)
    if(line MATCHES "^#include \"(${component}/)?([^\"]+)\"")
      list(APPEND found ${CMAKE_MATCH_2})
    endif()
  endforeach()
  set(${result} ${found} PARENT_SCOPE)
endfunction()

function(check_headers_alone component)
  set(patterns)
  foreach(extension IN LISTS ARGN)
    list(APPEND patterns ${PROJECT_SOURCE_DIR}/${component}/*.${extension})
  endforeach()
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}/${component} ${patterns})
  first_includes(${component} shown)
  set(sources)
  foreach(header IN LISTS headers)
    # A second time is then no matter, and a first time may be somebody's source.
    file(STRINGS ${PROJECT_SOURCE_DIR}/${component}/${header} once REGEX "^#pragma once$")
    if(once AND header IN_LIST shown)
      continue()
    endif()
    set(language_suffix cpp)
    if(header MATCHES "\\.h$")
      set(language_suffix c)
    endif()
    set(source ${CMAKE_CURRENT_BINARY_DIR}/headers/${component}/${header}.${language_suffix})
    # CONFIGURE leaves an unchanged file alone, so that it is not compiled again.
    file(CONFIGURE OUTPUT ${source} CONTENT
      "// Twice: it must not mind.\n#include \"${header}\"\n#include \"${header}\"\nextern int ignored;\n")
    list(APPEND sources ${source})
  endforeach()
  if(NOT sources)
    return()
  endif()
  string(REPLACE / _ target ${component})
  add_library(inline_prof_headers_of_${target} OBJECT ${sources})
  set_target_properties(inline_prof_headers_of_${target} PROPERTIES UNITY_BUILD OFF)
  target_include_directories(inline_prof_headers_of_${target} PRIVATE
    ${PROJECT_SOURCE_DIR}/${component})
  target_include_directories(inline_prof_headers_of_${target} SYSTEM PRIVATE ${vendor_includes})
  target_link_libraries(inline_prof_headers_of_${target} PRIVATE inline_prof::build_flags
    inline_prof::base inline_prof::macros $<TARGET_NAME_IF_EXISTS:inline_prof::schedule> fmt::fmt nlohmann_json::nlohmann_json simdjson::simdjson CLI11::CLI11 Eigen3::Eigen)
  # Only the front end matters: the quickest build that still parses everything.
  target_compile_options(inline_prof_headers_of_${target} PRIVATE -O0 -g0)
endfunction()

check_headers_alone(base hpp)
check_headers_alone(macros/include h hpp)
check_headers_alone(schedule hpp)
check_headers_alone(watch hpp)
check_headers_alone(analyzer hpp)
if(INLINE_PROF_CUDA)
  check_headers_alone(libinject hpp)
endif()
