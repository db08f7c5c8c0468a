# find_package(inline_prof): gives inline_prof::macros, and the path of the guest library in
# inline_prof_LIBRARY.
include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/inline_prof)

install(EXPORT inline_prof_targets NAMESPACE inline_prof:: DESTINATION ${package_dir})
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/inline_profConfig.cmake.in
  ${CMAKE_CURRENT_BINARY_DIR}/inline_profConfig.cmake
  INSTALL_DESTINATION ${package_dir}
  PATH_VARS CMAKE_INSTALL_LIBDIR)
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/inline_profConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/inline_profConfig.cmake
              ${CMAKE_CURRENT_BINARY_DIR}/inline_profConfigVersion.cmake
  DESTINATION ${package_dir})
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

install(FILES docs/man/prof-analyze.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
foreach(program IN ITEMS prof-analyze prof-model prof-schedule prof-run)  # found by the program's name
  install(FILES cmake/prof_completion.bash RENAME ${program}
    DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
endforeach()
