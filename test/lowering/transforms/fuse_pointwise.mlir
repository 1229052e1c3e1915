// RUN: tierup-opt %s --tierup-fuse-pointwise --split-input-file | FileCheck %s
// RUN: tierup-opt %s --tierup-fuse-pointwise --tierup-fuse-pointwise --split-input-file | FileCheck %s

#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (j)>

// A chain and a diamond: %1 is computed once though two loops of the group read it. The row is read once as well.
// CHECK-LABEL: func.func @group
// CHECK: linalg.generic
// CHECK-SAME: ins(%arg0, %arg1 : tensor<4x8xf32>, tensor<8xf32>)
// CHECK-NEXT: ^bb0([[X:%.+]]: f32, [[Y:%.+]]: f32, %{{.+}}: f32):
// CHECK-NEXT: [[A:%.+]] = arith.mulf [[X]], [[Y]]
// CHECK-NEXT: [[B:%.+]] = arith.addf [[A]], [[Y]]
// CHECK-NEXT: [[C:%.+]] = arith.subf [[B]], [[A]]
// CHECK-NEXT: linalg.yield [[C]]
// CHECK-NOT: linalg.generic
// CHECK: return
func.func @group(%x: tensor<4x8xf32>, %y: tensor<8xf32>) -> tensor<4x8xf32> {
  %e = tensor.empty() : tensor<4x8xf32>
  %1 = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]} ins(%x, %y : tensor<4x8xf32>, tensor<8xf32>) outs(%e : tensor<4x8xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %r = arith.mulf %a, %b : f32
    linalg.yield %r : f32
  } -> tensor<4x8xf32>
  %2 = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]} ins(%1, %y : tensor<4x8xf32>, tensor<8xf32>) outs(%e : tensor<4x8xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %r = arith.addf %a, %b : f32
    linalg.yield %r : f32
  } -> tensor<4x8xf32>
  %3 = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%2, %1 : tensor<4x8xf32>, tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %r = arith.subf %a, %b : f32
    linalg.yield %r : f32
  } -> tensor<4x8xf32>
  return %3 : tensor<4x8xf32>
}

// -----
#id = affine_map<(i, j) -> (i, j)>

// The element that is passed on may be one that was read: its producer disappears. What the last loop's destination holds still counts.
// CHECK-LABEL: func.func @passes_on
// CHECK: linalg.generic
// CHECK-SAME: ins(%arg0 : tensor<4x8xf32>) outs(%arg1 : tensor<4x8xf32>)
// CHECK-NEXT: ^bb0([[X:%.+]]: f32, [[O:%.+]]: f32):
// CHECK-NEXT: [[S:%.+]] = arith.addf [[X]], [[O]]
// CHECK-NEXT: linalg.yield [[S]]
func.func @passes_on(%x: tensor<4x8xf32>, %o: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %e = tensor.empty() : tensor<4x8xf32>
  %1 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) {
  ^bb0(%a: f32, %old: f32):
    linalg.yield %a : f32
  } -> tensor<4x8xf32>
  %2 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%1 : tensor<4x8xf32>) outs(%o : tensor<4x8xf32>) {
  ^bb0(%a: f32, %old: f32):
    %r = arith.addf %a, %old : f32
    linalg.yield %r : f32
  } -> tensor<4x8xf32>
  return %2 : tensor<4x8xf32>
}

// -----
#id = affine_map<(i, j) -> (i, j)>
#swap = affine_map<(i, j) -> (j, i)>

// Kept apart: %1 is returned too, %2 is read transposed, %5 (into which %4 goes) is read as a destination.
// CHECK-LABEL: func.func @apart
// CHECK-COUNT-5: linalg.generic
// CHECK-NOT: linalg.generic
func.func @apart(%x: tensor<4x4xf32>, %o: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>) {
  %e = tensor.empty() : tensor<4x4xf32>
  %1 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) {
  ^bb0(%a: f32, %old: f32):
    %r = arith.negf %a : f32
    linalg.yield %r : f32
  } -> tensor<4x4xf32>
  %2 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%1 : tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) {
  ^bb0(%a: f32, %old: f32):
    %r = arith.mulf %a, %a : f32
    linalg.yield %r : f32
  } -> tensor<4x4xf32>
  %3 = linalg.generic {indexing_maps = [#swap, #id], iterator_types = ["parallel", "parallel"]} ins(%2 : tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) {
  ^bb0(%a: f32, %old: f32):
    %r = arith.negf %a : f32
    linalg.yield %r : f32
  } -> tensor<4x4xf32>
  %4 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<4x4xf32>) outs(%o : tensor<4x4xf32>) {
  ^bb0(%a: f32, %old: f32):
    %r = arith.addf %a, %old : f32
    linalg.yield %r : f32
  } -> tensor<4x4xf32>
  %5 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%4 : tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) {
  ^bb0(%a: f32, %old: f32):
    %r = arith.negf %a : f32
    linalg.yield %r : f32
  } -> tensor<4x4xf32>
  %6 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<4x4xf32>) outs(%5 : tensor<4x4xf32>) {
  ^bb0(%a: f32, %old: f32):
    %r = arith.addf %a, %old : f32
    linalg.yield %r : f32
  } -> tensor<4x4xf32>
  return %1, %6, %3 : tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>
}

// -----
#none = affine_map<() -> ()>
#all = affine_map<(i) -> (i)>
#one = affine_map<(i) -> ()>

// A sum over no axes is pointwise to MLIR: it takes what it starts from as an input, or the loop that it is put into would go on from its
// own result. One that is only returned stays as it is.
// CHECK-LABEL: func.func @sum_of_a_number
// CHECK-SAME: %[[X:.*]]: tensor<4xf64>, %[[C:.*]]: tensor<f64>, %[[Z:.*]]: tensor<f64>
// CHECK: linalg.generic {{.*}} ins(%[[C]], %[[Z]] : tensor<f64>, tensor<f64>)
// CHECK: linalg.generic {{.*}} ins(%[[C]] : tensor<f64>) outs(%[[Z]] : tensor<f64>)
func.func @sum_of_a_number(%x: tensor<4xf64>, %c: tensor<f64>, %z: tensor<f64>) -> (tensor<f64>, tensor<f64>, tensor<f64>) {
  %1 = linalg.generic {indexing_maps = [#none, #none], iterator_types = []} ins(%c : tensor<f64>) outs(%z : tensor<f64>) {
  ^bb0(%a: f64, %acc: f64):
    %r = arith.addf %acc, %a : f64
    linalg.yield %r : f64
  } -> tensor<f64>
  %2 = linalg.generic {indexing_maps = [#all, #one, #one], iterator_types = ["reduction"]} ins(%x, %1 : tensor<4xf64>, tensor<f64>) outs(%z : tensor<f64>) {
  ^bb0(%a: f64, %s: f64, %acc: f64):
    %m = arith.mulf %a, %s : f64
    %r = arith.addf %acc, %m : f64
    linalg.yield %r : f64
  } -> tensor<f64>
  %3 = linalg.generic {indexing_maps = [#none, #none], iterator_types = []} ins(%c : tensor<f64>) outs(%z : tensor<f64>) {
  ^bb0(%a: f64, %acc: f64):
    %r = arith.mulf %acc, %a : f64
    linalg.yield %r : f64
  } -> tensor<f64>
  return %1, %2, %3 : tensor<f64>, tensor<f64>, tensor<f64>
}
