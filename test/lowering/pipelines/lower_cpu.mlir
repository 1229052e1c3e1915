// RUN: tierup-opt %S/inputs/softmax_of_product.mlir --tierup-pipeline=lower-cpu --mlir-print-ir-after-all -o %t 2>&1 | FileCheck %s
// Every stage can be watched, ours and MLIR's alike, in the order in which they run.

// CHECK: IR Dump After tierup-lower-ops ('func.func' operation: @main)
// CHECK: linalg.generic
// CHECK: IR Dump After tierup-verify-lowered
// CHECK: IR Dump After torch-func-backend-type-conversion
// CHECK: IR Dump After tierup-materialize-boundary
// CHECK: bufferization.materialize_in_destination
// CHECK: IR Dump After linalg-fuse-elementwise-ops
// CHECK: IR Dump After tierup-overwrite-products
// CHECK: linalg.matmul {{.*}}{tierup.overwrites}
// CHECK: IR Dump After one-shot-bufferize
// CHECK: IR Dump After tierup-products-to-blas
// CHECK: call @scipy_cblas_sgemm
// CHECK: IR Dump After tierup-asserts-to-status {{.*}}@main
// CHECK: memref.store {{.*}} : memref<i32>
// CHECK: IR Dump After tierup-deallocate-buffers
// CHECK: memref.dealloc
// CHECK: IR Dump After tierup-fuse-rows ('func.func' operation: @main)
// CHECK: scf.for
// CHECK: IR Dump After tierup-expand-math {{.*}}@main
// CHECK: IR Dump After convert-linalg-to-loops {{.*}}@main
// CHECK: IR Dump After convert-scf-to-cf
// CHECK: IR Dump After tierup-annotate-kernel
// CHECK: llvm.func internal @main
