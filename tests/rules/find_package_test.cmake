# Installs the build to an empty prefix and lets a project of its own find it there.
function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT status EQUAL 0)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "${command}\n${output}\nexit status ${status}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

file(REMOVE_RECURSE ${WORK_DIR})
run(${CMAKE_COMMAND} --install ${BUILD_DIR} --prefix ${WORK_DIR}/prefix)
run(${CMAKE_COMMAND} -G ${GENERATOR} -S ${CONSUMER_SOURCE_DIR} -B ${WORK_DIR}/build
  -D CMAKE_CXX_COMPILER=${CXX_COMPILER} -D CMAKE_PREFIX_PATH=${WORK_DIR}/prefix
  -D EXPECT_GUEST=${EXPECT_GUEST})
run(${CMAKE_COMMAND} --build ${WORK_DIR}/build)
run(${WORK_DIR}/build/consumer)
if(NOT output STREQUAL "consumer ok\n")
  message(FATAL_ERROR "the consumer said: ${output}")
endif()

# prof-run finds the installed Python package, and Python the library.
find_program(python python3)
if(EXPECT_GUEST AND python)
  run(${WORK_DIR}/prefix/bin/prof-run --torch -- ${python} -c
    "import inline_prof.abi as abi\nprint(abi.__file__, abi.library_path(), abi.find().wants())")
  if(NOT output MATCHES "^${WORK_DIR}/prefix/[^ ]*/inline_prof/python/inline_prof/abi.py ${WORK_DIR}/prefix/[^ ]*/libinline_prof.so 7\n$")
    message(FATAL_ERROR "Python said: ${output}")
  endif()
endif()
