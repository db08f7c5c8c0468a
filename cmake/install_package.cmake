# find_package(inline_prof): gives inline_prof::macros, and the path of the injected library in
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

foreach(program IN ITEMS prof-analyze prof-model prof-schedule prof-run)
  install(FILES docs/man/${program}.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
  # Found by the program's name.
  install(FILES cmake/prof_completion.bash RENAME ${program}
    DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
endforeach()
# The page of the library gets its variables from the tables of docs/configuration.md.
include(cmake/man_page.cmake)
make_man_page(docs/man/inline_prof.7.in docs/configuration.md ${CMAKE_CURRENT_BINARY_DIR}/man/inline_prof.7)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/man/inline_prof.7 DESTINATION ${CMAKE_INSTALL_MANDIR}/man7)

# cmake --build BUILD --target package: a .tar.gz, and a .deb where dpkg can tell what it depends on.
set(CPACK_PACKAGE_NAME inline-prof)
set(CPACK_PACKAGE_VENDOR "inline_prof")
set(CPACK_PACKAGE_CONTACT "inline_prof developers")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_GENERATOR TGZ)
find_program(INLINE_PROF_DPKG_SHLIBDEPS dpkg-shlibdeps)
mark_as_advanced(INLINE_PROF_DPKG_SHLIBDEPS)
if(INLINE_PROF_DPKG_SHLIBDEPS)
  list(APPEND CPACK_GENERATOR DEB)
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
  set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
  set(CPACK_DEBIAN_PACKAGE_SECTION devel)
endif()
include(CPack)
