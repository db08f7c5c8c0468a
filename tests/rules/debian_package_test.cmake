# Makes the Debian package, unpacks it, and lets its programs and its Python package run from there.
include(${CMAKE_CURRENT_LIST_DIR}/run.cmake)
include(${CMAKE_CURRENT_LIST_DIR}/python_of_prefix.cmake)

file(REMOVE_RECURSE ${WORK_DIR})
# Packed quickly, for it is unpacked at once.
run(${CPACK} -G DEB --config ${BUILD_DIR}/CPackConfig.cmake -B ${WORK_DIR}
  -D CPACK_DEBIAN_COMPRESSION_TYPE=zstd)
file(GLOB package ${WORK_DIR}/*.deb)
run(dpkg-deb --extract ${package} ${WORK_DIR}/root)
set(prefix ${WORK_DIR}/root/usr)

# Every file of the Python package, and nothing that Python has left beside it.
file(GLOB_RECURSE sources RELATIVE ${PYTHON_SOURCE_DIR} ${PYTHON_SOURCE_DIR}/*)
list(FILTER sources EXCLUDE REGEX "__pycache__|pyproject.toml|CMakeLists.txt")
file(GLOB_RECURSE installed RELATIVE ${prefix}/${LIBDIR}/inline_prof/python
  ${prefix}/${LIBDIR}/inline_prof/python/*)
list(SORT sources)
list(SORT installed)
if(NOT installed STREQUAL sources)
  message(FATAL_ERROR "the package has\n${installed}\nexpected\n${sources}")
endif()

run(${prefix}/bin/prof-analyze --version)
find_program(python python3)
if(EXPECT_LIBRARY AND python)
  check_python(${prefix} ${python})
endif()
