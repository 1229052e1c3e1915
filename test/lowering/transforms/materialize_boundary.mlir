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

// -----
// Where control left the function a result is unset: the other arm writes it, however deep it stands. A branch that sets it in both
// arms is a value like any other.
// CHECK-LABEL: func.func @left
// CHECK: scf.if
// CHECK: scf.if
// CHECK: %[[R:.*]] = linalg.exp
// CHECK-NEXT: bufferization.materialize_in_destination %[[R]] in restrict writable %arg3
// CHECK: [[BOTH:%.+]] = scf.if %arg1
// CHECK: bufferization.materialize_in_destination [[BOTH]] in restrict writable %arg4
// CHECK-NEXT: return
func.func @left(%x: tensor<4xf64>, %c: i1, %d: i1) -> (tensor<4xf64>, tensor<4xf64>) attributes {tierup.result_kinds = ["buffer", "buffer"]} {
  %0 = scf.if %c -> tensor<4xf64> {
    %2 = scf.if %d -> tensor<4xf64> {
      %f = tensor.empty() : tensor<4xf64>
      scf.yield %f : tensor<4xf64>
    } else {
      %f = tensor.empty() : tensor<4xf64>
      %3 = linalg.exp ins(%x : tensor<4xf64>) outs(%f : tensor<4xf64>) -> tensor<4xf64>
      scf.yield %3 : tensor<4xf64>
    }
    scf.yield %2 : tensor<4xf64>
  } else {
    %f = tensor.empty() : tensor<4xf64>
    scf.yield %f : tensor<4xf64>
  }
  %1 = scf.if %c -> tensor<4xf64> {
    scf.yield %x : tensor<4xf64>
  } else {
    %f = tensor.empty() : tensor<4xf64>
    %3 = linalg.exp ins(%x : tensor<4xf64>) outs(%f : tensor<4xf64>) -> tensor<4xf64>
    scf.yield %3 : tensor<4xf64>
  }
  return %0, %1 : tensor<4xf64>, tensor<4xf64>
}
