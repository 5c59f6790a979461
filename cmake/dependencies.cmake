# What the library links to: packages of the distribution, which scripts/setup.sh installs. Included by the build and, for
# a static library, by the installed package.
find_package(Eigen3 3.4 REQUIRED NO_MODULE)
find_package(OpenMP REQUIRED)
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(ZLIB REQUIRED)
find_package(CURL REQUIRED)
find_package(LibArchive REQUIRED)
find_package(OpenSSL REQUIRED COMPONENTS Crypto)
find_package(Protobuf REQUIRED)
find_package(ONNX REQUIRED)  # its target links protobuf::libprotobuf and carries ONNX_NAMESPACE and ONNX_ML
find_package(SQLite3 REQUIRED)
find_package(JPEG REQUIRED)
find_package(PNG REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(libhwy REQUIRED IMPORTED_TARGET libhwy)
pkg_check_modules(libzip REQUIRED IMPORTED_TARGET libzip)
set(ZEROLOSS_BLAS system CACHE STRING "system (FindBLAS, FindLAPACK) or scipy (scipy-openblas32 from PyPI, for wheels)")
if(ZEROLOSS_BLAS STREQUAL "scipy")
  pkg_check_modules(scipy-openblas REQUIRED scipy-openblas)
  pkg_get_variable(scipy_openblas_folder scipy-openblas libdir)
  find_library(ZEROLOSS_SCIPY_OPENBLAS scipy_openblas PATHS ${scipy_openblas_folder} NO_DEFAULT_PATH REQUIRED)
  set(ZEROLOSS_BLAS_LIBRARIES ${ZEROLOSS_SCIPY_OPENBLAS})
else()
  find_package(BLAS REQUIRED)
  find_package(LAPACK REQUIRED)
  set(ZEROLOSS_BLAS_LIBRARIES LAPACK::LAPACK BLAS::BLAS)
endif()
find_library(ZEROLOSS_CSV_LIBRARY csv REQUIRED)

set(ZEROLOSS_PRIVATE_LIBRARIES
  OpenMP::OpenMP_CXX ${ZEROLOSS_BLAS_LIBRARIES} fmt::fmt nlohmann_json::nlohmann_json ZLIB::ZLIB CURL::libcurl
  LibArchive::LibArchive OpenSSL::Crypto PkgConfig::libhwy PkgConfig::libzip SQLite::SQLite3 JPEG::JPEG PNG::PNG onnx
  ${ZEROLOSS_CSV_LIBRARY} ${CMAKE_DL_LIBS})
