# What the room proof and those below it link to, and with them the component zeroloss::proof.
include(${CMAKE_CURRENT_LIST_DIR}/dependencies_kernel.cmake)
find_package(Protobuf REQUIRED)
find_package(ONNX REQUIRED)  # its target links protobuf::libprotobuf and carries ONNX_NAMESPACE and ONNX_ML
find_package(SQLite3 REQUIRED)
