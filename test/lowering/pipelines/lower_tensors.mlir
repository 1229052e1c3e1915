// RUN: tierup-opt %S/inputs/softmax_of_product.mlir --tierup-pipeline=lower-torch --tierup-pipeline=lower-tensors | FileCheck %s
// Arguments and results are buffers at the boundary; the product reads its operand transposed and starts from nothing.

// CHECK-LABEL: func.func @main(%arg0: memref<?x8xf32>, %arg1: memref<16x8xf32>, %arg2: i64, %arg3: memref<?x16xf32>) -> i64
// CHECK-DAG: [[X:%.+]] = bufferization.to_tensor %arg0 restrict
// CHECK-DAG: [[W:%.+]] = bufferization.to_tensor %arg1 restrict
// CHECK: [[P:%.+]] = linalg.matmul indexing_maps = [#map{{.*}}, #map{{.*}}, #map{{.*}}] {tierup.overwrites} ins([[X]], [[W]] :
// CHECK: linalg.generic {{.*}}["parallel", "reduction"]} ins([[P]] :
// CHECK: bufferization.materialize_in_destination %{{.+}} in restrict writable %arg3
