# Headers of the system that many sources include, parsed once: a fifth to a half of the time of a
# build without optimisation.  With INLINE_PROF_PCH=OFF, as in preset dev, nothing of this exists: a
# source has what it includes itself and no more, so a forgotten #include fails there.
set(precompiled_standard_headers
  <algorithm> <array> <atomic> <cmath> <cstdint> <cstring> <functional> <map> <memory> <mutex>
  <optional> <set> <span> <stdexcept> <string> <string_view> <unordered_map> <utility> <variant>
  <vector>)

# Behind a precompiled header GCC 12 takes unoptimised code for optimised in <xmmintrin.h>, and refuses
# what Eigen does with it.  Every target has to agree on it: it decides on alignments.
if(INLINE_PROF_PCH AND CMAKE_BUILD_TYPE STREQUAL "Debug")
  add_compile_definitions(EIGEN_DONT_VECTORIZE)
endif()

# Headers that targets share must be compiled with the options of all of them: the first are for code
# of shared libraries, the second for tests.
if(INLINE_PROF_PCH)
  add_library(inline_prof_precompiled_shared OBJECT ${CMAKE_CURRENT_LIST_DIR}/precompiled/nothing.cpp)
  set_target_properties(inline_prof_precompiled_shared PROPERTIES
    POSITION_INDEPENDENT_CODE ON
    CXX_VISIBILITY_PRESET hidden
    VISIBILITY_INLINES_HIDDEN ON)
  target_link_libraries(inline_prof_precompiled_shared PRIVATE inline_prof::build_flags)
  target_precompile_headers(inline_prof_precompiled_shared PRIVATE ${precompiled_standard_headers})

  if(INLINE_PROF_TESTS)
    add_library(inline_prof_precompiled_tests OBJECT ${CMAKE_CURRENT_LIST_DIR}/precompiled/nothing.cpp)
    target_link_libraries(inline_prof_precompiled_tests PRIVATE
      nlohmann_json::nlohmann_json GTest::gmock inline_prof::build_flags)
    target_precompile_headers(inline_prof_precompiled_tests PRIVATE
      ${precompiled_standard_headers} <gmock/gmock.h> <gtest/gtest.h> <nlohmann/json.hpp>)
  endif()
endif()

# precompile_own(TARGET HEADER...): the standard's headers and these, for this target alone.
function(precompile_own target)
  if(INLINE_PROF_PCH)
    target_precompile_headers(${target} PRIVATE ${precompiled_standard_headers} ${ARGN})
  endif()
endfunction()

# precompile_shared(TARGET...): for position-independent code with hidden symbols.
function(precompile_shared)
  if(INLINE_PROF_PCH)
    foreach(target IN LISTS ARGN)
      target_precompile_headers(${target} REUSE_FROM inline_prof_precompiled_shared)
    endforeach()
  endif()
endfunction()

# precompile_tests(TARGET...): for programs of GoogleTest.
function(precompile_tests)
  if(INLINE_PROF_PCH)
    foreach(target IN LISTS ARGN)
      target_precompile_headers(${target} REUSE_FROM inline_prof_precompiled_tests)
    endforeach()
  endif()
endfunction()
