# What the library links to: packages of the distribution, which scripts/setup.sh installs. Included by the build and, for
# a static library, by the installed package.
include(${CMAKE_CURRENT_LIST_DIR}/dependencies_proof.cmake)
find_package(ZLIB REQUIRED)
find_package(CURL REQUIRED)
find_package(LibArchive REQUIRED)
find_package(JPEG REQUIRED)
find_package(PNG REQUIRED)
pkg_check_modules(libzip REQUIRED IMPORTED_TARGET libzip)
find_library(ZEROLOSS_CSV_LIBRARY csv REQUIRED)

set(ZEROLOSS_PRIVATE_LIBRARIES
  OpenMP::OpenMP_CXX ${ZEROLOSS_BLAS_LIBRARIES} fmt::fmt nlohmann_json::nlohmann_json ZLIB::ZLIB CURL::libcurl
  LibArchive::LibArchive OpenSSL::Crypto PkgConfig::libhwy PkgConfig::libzip SQLite::SQLite3 JPEG::JPEG PNG::PNG onnx
  ${ZEROLOSS_CSV_LIBRARY} ${CMAKE_DL_LIBS})
