# The libraries from their sources, with the names that their packages have: nothing of the machine that
# builds gets into a program that is to run on others.  INLINE_PROF_LIBRARY_SOURCES holds the folders
# Eigen, fmt, nlohmann and CLI, each with its headers, simdjson with simdjson.h and simdjson.cpp, and zlib-ng as
# its project is.
function(add_library_of_headers target)
  add_library(${target} INTERFACE IMPORTED)
  target_include_directories(${target} SYSTEM INTERFACE ${INLINE_PROF_LIBRARY_SOURCES})
endfunction()

add_library_of_headers(Eigen3::Eigen)
add_library_of_headers(fmt::fmt)
target_compile_definitions(fmt::fmt INTERFACE FMT_HEADER_ONLY=1)
add_library_of_headers(nlohmann_json::nlohmann_json)
add_library_of_headers(CLI11::CLI11)

add_library(inline_prof_simdjson STATIC ${INLINE_PROF_LIBRARY_SOURCES}/simdjson/simdjson.cpp)
add_library(simdjson::simdjson ALIAS inline_prof_simdjson)
target_compile_features(inline_prof_simdjson PRIVATE cxx_std_20)
target_include_directories(inline_prof_simdjson SYSTEM PUBLIC ${INLINE_PROF_LIBRARY_SOURCES}/simdjson)
set_target_properties(inline_prof_simdjson PROPERTIES POSITION_INDEPENDENT_CODE ON CXX_VISIBILITY_PRESET hidden)

# zlib-ng under zlib's names, in plain C: it reads a few compressed files.
set(BUILD_SHARED_LIBS OFF)
set(ZLIB_COMPAT ON CACHE BOOL "" FORCE)
set(WITH_OPTIM OFF CACHE BOOL "" FORCE)
set(BUILD_TESTING OFF CACHE BOOL "" FORCE)
set(WITH_GTEST OFF CACHE BOOL "" FORCE)
add_subdirectory(${INLINE_PROF_LIBRARY_SOURCES}/zlib-ng ${CMAKE_BINARY_DIR}/zlib-ng EXCLUDE_FROM_ALL)
if(NOT TARGET ZLIB::ZLIB)
  add_library(ZLIB::ZLIB ALIAS zlib-ng)  # `zlib` is an alias itself
endif()
