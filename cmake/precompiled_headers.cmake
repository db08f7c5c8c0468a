# Headers of the system that many sources include, parsed once: a fifth to a half of the time of a
# build without optimisation.  With INLINE_PROF_PCH=OFF, as in preset dev, nothing of this exists: a
# source has what it includes itself and no more, so a forgotten #include fails there.
set(precompiled_standard_headers
  <algorithm> <array> <atomic> <cmath> <cstdint> <cstring> <functional> <map> <memory> <mutex>
  <optional> <set> <span> <stdexcept> <string> <string_view> <unordered_map> <utility> <variant>
  <vector>)

set(precompile_sources ${INLINE_PROF_PCH})
set(precompile_tests OFF)
if(INLINE_PROF_PCH)
  set(precompile_tests ${INLINE_PROF_TESTS})
endif()

# Behind a precompiled header GCC 12 takes unoptimised code for optimised in <xmmintrin.h>, and refuses
# what Eigen does with it.  Every target has to agree on it: it decides on alignments.
if(INLINE_PROF_PCH AND CMAKE_BUILD_TYPE STREQUAL "Debug")
  add_compile_definitions(EIGEN_DONT_VECTORIZE)
endif()

# A test program's own code need not be quick; the code it calls is compiled as ever.
set(test_program_options $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<NOT:$<CONFIG:Debug>>>:-O0>)

# Headers that targets share must be compiled with the options of all of them: the first are for code
# of shared libraries, the second for tests.
if(precompile_sources)
  add_library(inline_prof_precompiled_shared OBJECT ${CMAKE_CURRENT_LIST_DIR}/precompiled/nothing.cpp)
  set_target_properties(inline_prof_precompiled_shared PROPERTIES
    POSITION_INDEPENDENT_CODE ON
    CXX_VISIBILITY_PRESET hidden
    VISIBILITY_INLINES_HIDDEN ON)
  target_link_libraries(inline_prof_precompiled_shared PRIVATE inline_prof::build_flags)
  target_precompile_headers(inline_prof_precompiled_shared PRIVATE ${precompiled_standard_headers})
endif()
if(precompile_tests)
  add_library(inline_prof_precompiled_tests OBJECT ${CMAKE_CURRENT_LIST_DIR}/precompiled/nothing.cpp)
  target_link_libraries(inline_prof_precompiled_tests PRIVATE
    nlohmann_json::nlohmann_json GTest::gmock inline_prof::build_flags)
  target_precompile_headers(inline_prof_precompiled_tests PRIVATE
    ${precompiled_standard_headers} <gmock/gmock.h> <gtest/gtest.h> <nlohmann/json.hpp>)
  target_compile_options(inline_prof_precompiled_tests PRIVATE ${test_program_options})
endif()

# precompile_own(TARGET HEADER...): the standard's headers and these, for this target alone.
function(precompile_own target)
  if(precompile_sources)
    target_precompile_headers(${target} PRIVATE ${precompiled_standard_headers} ${ARGN})
  endif()
endfunction()

# precompile_shared(TARGET...): for position-independent code with hidden symbols.
function(precompile_shared)
  if(precompile_sources)
    foreach(target IN LISTS ARGN)
      target_precompile_headers(${target} REUSE_FROM inline_prof_precompiled_shared)
    endforeach()
  endif()
endfunction()

# test_programs(TARGET...): programs of GoogleTest, built quickly.
function(test_programs)
  foreach(target IN LISTS ARGN)
    target_compile_options(${target} PRIVATE ${test_program_options})
    if(precompile_tests)
      target_precompile_headers(${target} REUSE_FROM inline_prof_precompiled_tests)
    endif()
  endforeach()
endfunction()
