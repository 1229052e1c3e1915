// RUN: tierup-opt %s --split-input-file --tierup-materialize-boundary | FileCheck %s
// RUN: tierup-opt %s --split-input-file --tierup-materialize-boundary --tierup-materialize-boundary | FileCheck %s

// CHECK-LABEL: func.func @every_kind
// CHECK-SAME: (%arg0: memref<?x4xf32, strided<[?, ?]>>, %arg1: memref<3xi8>, %arg2: i64, %arg3: memref<?x4xf32>, %arg4: memref<3xi8>) -> (memref<?x4xf32>, i64)
// CHECK: [[X:%.+]] = bufferization.to_tensor %arg0 restrict
// CHECK-NOT: writable
// CHECK: [[BYTES:%.+]] = bufferization.to_tensor %arg1 restrict
// CHECK: arith.cmpi ne, %in, %c0_i8 : i8
// CHECK: bufferization.materialize_in_destination [[X]] in restrict writable %arg3
// CHECK: [[OUT:%.+]] = linalg.generic
// CHECK: arith.extui %in : i1 to i8
// CHECK: bufferization.materialize_in_destination [[OUT]] in restrict writable %arg4
// CHECK: [[FRESH:%.+]] = memref.alloc(%{{.+}}) : memref<?x4xf32>
// CHECK: bufferization.materialize_in_destination [[X]] in restrict writable [[FRESH]]
// CHECK: return [[FRESH]], %arg2
func.func @every_kind(%x: tensor<?x4xf32> {tierup.layout = "strided"}, %m: tensor<3xi1>, %n: i64) -> (tensor<?x4xf32>, tensor<3xi1>, tensor<?x4xf32>, i64)
    attributes {tierup.result_kinds = ["buffer", "buffer", "allocated", "scalar"]} {
  return %x, %m, %x, %n : tensor<?x4xf32>, tensor<3xi1>, tensor<?x4xf32>, i64
}

// -----
// A rank-0 array has no strides to read.
// CHECK-LABEL: func.func @rank_0
// CHECK-SAME: (%arg0: memref<f32>, %arg1: memref<f32>)
func.func @rank_0(%x: tensor<f32> {tierup.layout = "strided"}) -> tensor<f32> attributes {tierup.result_kinds = ["buffer"]} {
  return %x : tensor<f32>
}

// -----
// Not an entry; an entry of numbers.
// CHECK-LABEL: func.func @inner
// CHECK-SAME: (%arg0: tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT: return %arg0
func.func @inner(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
// CHECK-LABEL: func.func @numbers
// CHECK-SAME: (%arg0: i64) -> i64
// CHECK-NEXT: return %arg0
func.func @numbers(%x: i64) -> i64 attributes {tierup.result_kinds = ["scalar"]} {
  return %x : i64
}
