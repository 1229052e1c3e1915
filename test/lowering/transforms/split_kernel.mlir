// RUN: tierup-opt %s --pass-pipeline='builtin.module(tierup-split-kernel{size=1})' --split-input-file | FileCheck %s
// RUN: tierup-opt %s --pass-pipeline='builtin.module(tierup-split-kernel{size=1},tierup-split-kernel{size=1})' --split-input-file | FileCheck %s
// RUN: tierup-opt %s --tierup-split-kernel --split-input-file | FileCheck %s --check-prefix=WHOLE
// WHOLE-NOT: call @

// What later parts read lies in memory of its own, or in the result's where it is one. What costs nothing is made again.
// CHECK-LABEL: func.func @f(
// CHECK-SAME: [[X:%.+]]: memref<4x4xf32>, [[W:%.+]]: memref<4x4xf32>, [[R:%.+]]: memref<4x4xf32>, [[S:%.+]]: memref<4x4xf32>)
// CHECK-NEXT: call @f_part0([[X]], [[W]], [[R]])
// CHECK-NEXT: [[A:%.+]] = memref.alloc() {{.*}}: memref<4x4xf32>
// CHECK-NEXT: call @f_part1([[R]], [[W]], [[A]])
// CHECK-NEXT: call @f_part2([[A]], [[R]], [[S]])
// CHECK-NEXT: return
// CHECK: func.func private @f_part0([[P:%.+]]: memref<4x4xf32>, [[Q:%.+]]: memref<4x4xf32>, [[O:%.+]]: memref<4x4xf32>) attributes {tierup.part}
// CHECK-DAG: [[PT:%.+]] = bufferization.to_tensor [[P]] restrict
// CHECK-DAG: [[QT:%.+]] = bufferization.to_tensor [[Q]] restrict
// CHECK-DAG: [[E:%.+]] = tensor.empty
// CHECK: [[M:%.+]] = linalg.matmul ins([[PT]], [[QT]] : {{.*}}) outs([[E]]
// CHECK-NEXT: bufferization.materialize_in_destination [[M]] in restrict writable [[O]]
// CHECK-NEXT: return
// CHECK: func.func private @f_part1(
// CHECK: func.func private @f_part2(
// CHECK: linalg.add
func.func @f(%x: memref<4x4xf32>, %w: memref<4x4xf32>, %r: memref<4x4xf32>, %s: memref<4x4xf32>) attributes {tierup.result_kinds = ["buffer", "buffer"]} {
  %xt = bufferization.to_tensor %x restrict : memref<4x4xf32> to tensor<4x4xf32>
  %wt = bufferization.to_tensor %w restrict : memref<4x4xf32> to tensor<4x4xf32>
  %e = tensor.empty() : tensor<4x4xf32>
  %1 = linalg.matmul ins(%xt, %wt : tensor<4x4xf32>, tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = linalg.matmul ins(%1, %wt : tensor<4x4xf32>, tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) -> tensor<4x4xf32>
  %3 = linalg.add ins(%2, %1 : tensor<4x4xf32>, tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) -> tensor<4x4xf32>
  bufferization.materialize_in_destination %1 in restrict writable %r : (tensor<4x4xf32>, memref<4x4xf32>) -> ()
  bufferization.materialize_in_destination %3 in restrict writable %s : (tensor<4x4xf32>, memref<4x4xf32>) -> ()
  return
}

// -----
// No cut where a number goes across; a value that a nested region uses goes across like any other.
// CHECK-LABEL: func.func @numbers(
// CHECK: call @numbers_part0(
// CHECK: call @numbers_part1(
// CHECK: call @numbers_part2(
// CHECK-NEXT: return
// CHECK: func.func private @numbers_part0(
// CHECK: linalg.add
// CHECK-NOT: linalg.
// CHECK: func.func private @numbers_part1(
// CHECK: tensor.extract
// CHECK: linalg.add
// CHECK: tensor.from_elements
// CHECK: func.func private @numbers_part2(
// CHECK: scf.if
// CHECK: linalg.sub
func.func @numbers(%x: memref<4xf32>, %r: memref<4xf32>, %s: memref<4xf32>, %t: memref<4xf32>) attributes {tierup.result_kinds = ["buffer", "buffer", "buffer"]} {
  %xt = bufferization.to_tensor %x restrict : memref<4xf32> to tensor<4xf32>
  %e = tensor.empty() : tensor<4xf32>
  %c0 = arith.constant 0 : index
  %true = arith.constant true
  %1 = linalg.add ins(%xt, %xt : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %n = tensor.extract %1[%c0] : tensor<4xf32>
  %2 = linalg.add ins(%1, %xt : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %p = arith.cmpf olt, %n, %n : f32
  %i = tensor.from_elements %n, %n, %n, %n : tensor<4xf32>
  %3 = scf.if %true -> tensor<4xf32> {
    %4 = linalg.sub ins(%2, %1 : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
    scf.yield %4 : tensor<4xf32>
  } else {
    scf.yield %i : tensor<4xf32>
  }
  %5 = linalg.add ins(%3, %3 : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  bufferization.materialize_in_destination %1 in restrict writable %r : (tensor<4xf32>, memref<4xf32>) -> ()
  bufferization.materialize_in_destination %2 in restrict writable %s : (tensor<4xf32>, memref<4xf32>) -> ()
  bufferization.materialize_in_destination %5 in restrict writable %t : (tensor<4xf32>, memref<4xf32>) -> ()
  return
}

// -----
// Left whole: a check that may fail, sizes of the run, a number as a result, no entry.
// CHECK-LABEL: func.func @checked
// CHECK-NOT: call @
func.func @checked(%x: memref<4xf32>, %ok: i1, %r: memref<4xf32>) attributes {tierup.result_kinds = ["buffer"]} {
  %xt = bufferization.to_tensor %x restrict : memref<4xf32> to tensor<4xf32>
  %e = tensor.empty() : tensor<4xf32>
  %1 = linalg.add ins(%xt, %xt : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %2 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%1 : tensor<4xf32>) outs(%e : tensor<4xf32>) {
  ^bb0(%a: f32, %o: f32):
    cf.assert %ok, "an index"
    linalg.yield %a : f32
  } -> tensor<4xf32>
  %3 = linalg.add ins(%2, %1 : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  bufferization.materialize_in_destination %3 in restrict writable %r : (tensor<4xf32>, memref<4xf32>) -> ()
  return
}
// CHECK-LABEL: func.func @sizes_of_the_run
// CHECK-NOT: call @
func.func @sizes_of_the_run(%x: memref<?xf32>, %r: memref<?xf32>) attributes {tierup.result_kinds = ["buffer"]} {
  %xt = bufferization.to_tensor %x restrict : memref<?xf32> to tensor<?xf32>
  %1 = linalg.add ins(%xt, %xt : tensor<?xf32>, tensor<?xf32>) outs(%xt : tensor<?xf32>) -> tensor<?xf32>
  %2 = linalg.add ins(%1, %xt : tensor<?xf32>, tensor<?xf32>) outs(%xt : tensor<?xf32>) -> tensor<?xf32>
  %3 = linalg.add ins(%2, %xt : tensor<?xf32>, tensor<?xf32>) outs(%xt : tensor<?xf32>) -> tensor<?xf32>
  bufferization.materialize_in_destination %3 in restrict writable %r : (tensor<?xf32>, memref<?xf32>) -> ()
  return
}
// CHECK-LABEL: func.func @no_entry
// CHECK-NOT: call @
func.func @no_entry(%x: tensor<4xf32>) -> tensor<4xf32> {
  %1 = linalg.add ins(%x, %x : tensor<4xf32>, tensor<4xf32>) outs(%x : tensor<4xf32>) -> tensor<4xf32>
  %2 = linalg.add ins(%1, %x : tensor<4xf32>, tensor<4xf32>) outs(%x : tensor<4xf32>) -> tensor<4xf32>
  %3 = linalg.add ins(%2, %x : tensor<4xf32>, tensor<4xf32>) outs(%x : tensor<4xf32>) -> tensor<4xf32>
  return %3 : tensor<4xf32>
}
// CHECK-LABEL: func.func @scalar
// CHECK-NOT: call @
func.func @scalar(%x: memref<4xf32>, %r: memref<4xf32>) -> f32 attributes {tierup.result_kinds = ["buffer", "scalar"]} {
  %xt = bufferization.to_tensor %x restrict : memref<4xf32> to tensor<4xf32>
  %c0 = arith.constant 0 : index
  %1 = linalg.add ins(%xt, %xt : tensor<4xf32>, tensor<4xf32>) outs(%xt : tensor<4xf32>) -> tensor<4xf32>
  %2 = linalg.add ins(%1, %xt : tensor<4xf32>, tensor<4xf32>) outs(%xt : tensor<4xf32>) -> tensor<4xf32>
  %3 = linalg.add ins(%2, %xt : tensor<4xf32>, tensor<4xf32>) outs(%xt : tensor<4xf32>) -> tensor<4xf32>
  %n = tensor.extract %3[%c0] : tensor<4xf32>
  bufferization.materialize_in_destination %3 in restrict writable %r : (tensor<4xf32>, memref<4xf32>) -> ()
  return %n : f32
}
