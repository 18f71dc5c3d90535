# What an installation has: the program, the catalog and tables of measurements that it is judged by, examples, manual
# pages and completion. The last two are made by the program itself, so that they are of the same definitions as --help.
include(GNUInstallDirs)

set(pages ${CMAKE_BINARY_DIR}/pages)
add_custom_command(
  OUTPUT ${pages}/stamp
  COMMAND ${CMAKE_COMMAND} -E rm -rf ${pages}
  COMMAND weft help --quiet --man ${pages}/man1
  COMMAND weft completion bash > ${pages}/weft.bash
  COMMAND weft completion zsh > ${pages}/_weft
  COMMAND weft completion fish > ${pages}/weft.fish
  COMMAND ${CMAKE_COMMAND} -E touch ${pages}/stamp
  DEPENDS weft
  COMMENT "Writing manual pages and completion"
  VERBATIM)
add_custom_target(weft_pages DEPENDS ${pages}/stamp)

install(TARGETS weft weft-cni)
# What other programs load has a folder of its own, two below the usual one: nobody links with it, and CPack takes ldconfig for
# needed by what lies higher.
install(TARGETS nccl-net-weft LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/weft/plugins OPTIONAL)
if(TARGET weft-fi)
  install(TARGETS weft-fi LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/weft/plugins OPTIONAL)
endif()
if(TARGET weft-wire)
  install(TARGETS weft-wire ARCHIVE OPTIONAL)
endif()
install(FILES src/api/wire.hpp DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/weft)
file(RELATIVE_PATH up /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/generated/weft-wire.pc @ONLY CONTENT [[
prefix=${pcfiledir}/@up@
Name: weft-wire
Description: messages between processes over all paths of the network
Version: @PROJECT_VERSION@
Cflags: -I${prefix}@CMAKE_INSTALL_INCLUDEDIR@
Libs: -L${prefix}@CMAKE_INSTALL_LIBDIR@ -lweft-wire -lsodium -lpthread
]])
install(FILES ${CMAKE_BINARY_DIR}/generated/weft-wire.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
install(FILES share/wire/example.cpp DESTINATION ${CMAKE_INSTALL_DATADIR}/weft/wire)
install(DIRECTORY catalog truth examples schemas DESTINATION ${CMAKE_INSTALL_DATADIR}/weft)
install(DIRECTORY ${pages}/man1 DESTINATION ${CMAKE_INSTALL_MANDIR})
install(FILES ${pages}/weft.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME weft)
install(FILES ${pages}/_weft DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions)
install(FILES ${pages}/weft.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES README.md CHANGELOG.md LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_CONTACT "the weft authors <weft@localhost>")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION net)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_STRIP_FILES ON)
include(CPack)
