// RUN: tierup-opt %S/inputs/softmax_of_product.mlir --tierup-pipeline=lower-torch --tierup-pipeline=lower-tensors --tierup-pipeline=lower-buffers | FileCheck %s
// No tensor is left. The product is a call; the check writes to a status; the softmax is one loop over rows, with one row of memory of its own.

// CHECK: func.func private @scipy_cblas_sgemm
// CHECK-LABEL: func.func @main
// CHECK-SAME: [[OUT:%[a-z0-9]+]]: memref<?x16xf32>, [[STATUS:%[a-z0-9]+]]: memref<i32>) -> i64
// CHECK-SAME: tierup.error_sites = [{message = "index out of range"
// CHECK-NOT: tensor<
// CHECK-DAG: memref.alloca() {{.*}} : memref<f32>
// CHECK-DAG: memref.alloca() {{.*}} : memref<16xf32>
// CHECK: scf.if
// CHECK-NEXT: memref.store %c1_i32, [[STATUS]][]
// CHECK: [[P:%.+]] = memref.alloc(%{{.+}}) {{.*}} : memref<?x16xf32>
// CHECK: call @scipy_cblas_sgemm
// CHECK: scf.for
// CHECK: memref.subview [[P]]
// CHECK: arith.maximumf
// CHECK: math.exp
// CHECK: arith.addf %out, %in fastmath<reassoc>
// CHECK: memref.subview [[OUT]]
// CHECK: arith.divf
// CHECK-NOT: scf.for
// CHECK: memref.dealloc [[P]]
// CHECK-NOT: tensor<
