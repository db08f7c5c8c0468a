# Installs the build to an empty prefix and lets a project of its own find it there.
include(${CMAKE_CURRENT_LIST_DIR}/run.cmake)
include(${CMAKE_CURRENT_LIST_DIR}/python_of_prefix.cmake)

file(REMOVE_RECURSE ${WORK_DIR})
run(${CMAKE_COMMAND} --install ${BUILD_DIR} --prefix ${WORK_DIR}/prefix)
run(${CMAKE_COMMAND} -G ${GENERATOR} -S ${CONSUMER_SOURCE_DIR} -B ${WORK_DIR}/build
  -D CMAKE_CXX_COMPILER=${CXX_COMPILER} -D CMAKE_PREFIX_PATH=${WORK_DIR}/prefix
  -D EXPECT_LIBRARY=${EXPECT_LIBRARY})
run(${CMAKE_COMMAND} --build ${WORK_DIR}/build)
run(${WORK_DIR}/build/consumer)
if(NOT output STREQUAL "consumer ok\n")
  message(FATAL_ERROR "the consumer said: ${output}")
endif()

find_program(python python3)
if(EXPECT_LIBRARY AND python)
  check_python(${WORK_DIR}/prefix ${python})
endif()
