// RUN: tierup-opt %s --split-input-file --tierup-order-loops | FileCheck %s
// RUN: tierup-opt %s --split-input-file --tierup-order-loops --tierup-order-loops | FileCheck %s

#turned = affine_map<(i, j) -> (j, i)>
#column = affine_map<(i, j) -> (j)>

// Sums over what is in front in the program, and behind in memory.
// CHECK-DAG: [[ALL:#.+]] = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-DAG: [[ROW:#.+]] = affine_map<(d0, d1) -> (d0)>
// CHECK-LABEL: func.func @sums
// CHECK: linalg.generic {indexing_maps = {{\[}}[[ALL]], [[ROW]]], iterator_types = ["parallel", "reduction"]}
func.func @sums(%x: tensor<5x3xf32>, %y: tensor<5xf32>) -> tensor<5xf32> {
  %0 = linalg.generic {indexing_maps = [#turned, #column], iterator_types = ["reduction", "parallel"]} ins(%x : tensor<5x3xf32>) outs(%y : tensor<5xf32>) {
  ^bb0(%in: f32, %out: f32):
    %1 = arith.mulf %in, %out : f32
    linalg.yield %1 : f32
  } -> tensor<5xf32>
  return %0 : tensor<5xf32>
}

// -----

#turned = affine_map<(i, j) -> (j, i)>
#none = affine_map<(i, j) -> ()>

// Of several dims that are reduced the order is kept where it counts: not for sums that may be taken in any, but for products.
// CHECK-DAG: [[ALL:#.+]] = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-DAG: [[TURNED:#.+]] = affine_map<(d0, d1) -> (d1, d0)>
// CHECK-LABEL: func.func @over_all
// CHECK: linalg.generic {indexing_maps = {{\[}}[[ALL]]
// CHECK: linalg.generic {indexing_maps = {{\[}}[[TURNED]]
// CHECK: linalg.generic {indexing_maps = {{\[}}[[TURNED]]
func.func @over_all(%x: tensor<5x3xf32>, %y: tensor<f32>) -> (tensor<f32>, tensor<f32>, tensor<f32>) {
  %0 = linalg.generic {indexing_maps = [#turned, #none], iterator_types = ["reduction", "reduction"]} ins(%x : tensor<5x3xf32>) outs(%y : tensor<f32>) {
  ^bb0(%in: f32, %out: f32):
    %s = arith.addf %in, %out fastmath<reassoc> : f32
    linalg.yield %s : f32
  } -> tensor<f32>
  %1 = linalg.generic {indexing_maps = [#turned, #none], iterator_types = ["reduction", "reduction"]} ins(%x : tensor<5x3xf32>) outs(%y : tensor<f32>) {
  ^bb0(%in: f32, %out: f32):
    %s = arith.addf %in, %out : f32
    linalg.yield %s : f32
  } -> tensor<f32>
  %2 = linalg.generic {indexing_maps = [#turned, #none], iterator_types = ["reduction", "reduction"]} ins(%x : tensor<5x3xf32>) outs(%y : tensor<f32>) {
  ^bb0(%in: f32, %out: f32):
    %s = arith.mulf %in, %out : f32
    linalg.yield %s : f32
  } -> tensor<f32>
  return %0, %1, %2 : tensor<f32>, tensor<f32>, tensor<f32>
}

// -----

#turned = affine_map<(i, j) -> (j, i)>
#all = affine_map<(i, j) -> (i, j)>
#column = affine_map<(i, j) -> (j)>

// Positions are asked for where the loops are now; where an operand is in the order of the loops they stay.
// CHECK-LABEL: func.func @positions
// CHECK: linalg.generic {{.*}}iterator_types = ["parallel", "reduction"]
// CHECK: linalg.index 1
// CHECK: linalg.generic {{.*}}iterator_types = ["parallel", "parallel"]
// CHECK: linalg.index 0
func.func @positions(%x: tensor<5x3xindex>, %y: tensor<5xindex>, %z: tensor<3x5xindex>) -> (tensor<5xindex>, tensor<3x5xindex>) {
  %0 = linalg.generic {indexing_maps = [#turned, #column], iterator_types = ["reduction", "parallel"]} ins(%x : tensor<5x3xindex>) outs(%y : tensor<5xindex>) {
  ^bb0(%in: index, %out: index):
    %1 = linalg.index 0 : index
    %2 = arith.addi %1, %out : index
    linalg.yield %2 : index
  } -> tensor<5xindex>
  %3 = linalg.generic {indexing_maps = [#turned, #all], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<5x3xindex>) outs(%z : tensor<3x5xindex>) {
  ^bb0(%in: index, %out: index):
    %1 = linalg.index 0 : index
    %2 = arith.addi %1, %in : index
    linalg.yield %2 : index
  } -> tensor<3x5xindex>
  return %0, %3 : tensor<5xindex>, tensor<3x5xindex>
}
