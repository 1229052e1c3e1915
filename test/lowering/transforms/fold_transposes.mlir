// RUN: tierup-opt %s --split-input-file --tierup-fold-transposes | FileCheck %s
// RUN: tierup-opt %s --split-input-file --tierup-fold-transposes --tierup-fold-transposes | FileCheck %s

// CHECK-DAG: [[X:#.+]] = affine_map<(d0, d1, d2) -> (d0, d2)>
// CHECK-DAG: [[W:#.+]] = affine_map<(d0, d1, d2) -> (d1, d2)>
// CHECK-LABEL: func.func @right
// CHECK: linalg.matmul indexing_maps = {{\[}}[[X]], [[W]], #{{.+}}] ins(%arg0, %arg1 : tensor<4x8xf32>, tensor<16x8xf32>)
func.func @right(%x: tensor<4x8xf32>, %w: tensor<16x8xf32>, %o: tensor<4x16xf32>) -> tensor<4x16xf32> {
  %e = tensor.empty() : tensor<8x16xf32>
  %t = linalg.generic {indexing_maps = [affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%w : tensor<16x8xf32>) outs(%e : tensor<8x16xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<8x16xf32>
  %p = linalg.matmul ins(%x, %t : tensor<4x8xf32>, tensor<8x16xf32>) outs(%o : tensor<4x16xf32>) -> tensor<4x16xf32>
  return %p : tensor<4x16xf32>
}

// -----
// The left one; and one of a batch, whose batches stay in place.
// CHECK-DAG: [[LEFT:#.+]] = affine_map<(d0, d1, d2) -> (d2, d0)>
// CHECK-DAG: [[BATCHED:#.+]] = affine_map<(d0, d1, d2, d3) -> (d0, d2, d3)>
// CHECK-LABEL: func.func @left
// CHECK: linalg.matmul indexing_maps = {{\[}}[[LEFT]], #{{.+}}, #{{.+}}] ins(%arg0,
// CHECK: linalg.batch_matmul indexing_maps = [#{{.+}}, [[BATCHED]], #{{.+}}] ins(%arg3, %arg4
func.func @left(%x: tensor<8x4xf32>, %w: tensor<8x16xf32>, %o: tensor<4x16xf32>, %a: tensor<2x3x5xf32>, %b: tensor<2x7x5xf32>, %c: tensor<2x3x7xf32>) -> (tensor<4x16xf32>, tensor<2x3x7xf32>) {
  %e = tensor.empty() : tensor<4x8xf32>
  %t = linalg.generic {indexing_maps = [affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<8x4xf32>) outs(%e : tensor<4x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<4x8xf32>
  %p = linalg.matmul ins(%t, %w : tensor<4x8xf32>, tensor<8x16xf32>) outs(%o : tensor<4x16xf32>) -> tensor<4x16xf32>
  %f = tensor.empty() : tensor<2x5x7xf32>
  %u = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, k, j)>, affine_map<(i, j, k) -> (i, j, k)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%b : tensor<2x7x5xf32>) outs(%f : tensor<2x5x7xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<2x5x7xf32>
  %q = linalg.batch_matmul ins(%a, %u : tensor<2x3x5xf32>, tensor<2x5x7xf32>) outs(%c : tensor<2x3x7xf32>) -> tensor<2x3x7xf32>
  return %p, %q : tensor<4x16xf32>, tensor<2x3x7xf32>
}

// -----
// Not folded: what computes on the way, what repeats, batches that change places, what the product adds to.
// CHECK-LABEL: func.func @kept
// CHECK: linalg.matmul ins(%arg0, %{{.+}} :
// CHECK: linalg.matmul ins(%arg0, %{{.+}} :
// CHECK: linalg.batch_matmul ins(%{{.+}}, %arg4 :
// CHECK: linalg.matmul ins(%arg0, %arg5 : {{.*}}) outs(%{{.+}} :
func.func @kept(%x: tensor<8x8xf32>, %w: tensor<8x8xf32>, %v: tensor<8xf32>, %a: tensor<3x2x5xf32>, %b: tensor<2x5x7xf32>, %y: tensor<8x8xf32>, %o: tensor<8x8xf32>, %c: tensor<2x3x7xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>, tensor<2x3x7xf32>, tensor<8x8xf32>) {
  %e = tensor.empty() : tensor<8x8xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%w : tensor<8x8xf32>) outs(%e : tensor<8x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %n = arith.negf %in : f32
    linalg.yield %n : f32
  } -> tensor<8x8xf32>
  %p = linalg.matmul ins(%x, %s : tensor<8x8xf32>, tensor<8x8xf32>) outs(%o : tensor<8x8xf32>) -> tensor<8x8xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%v : tensor<8xf32>) outs(%e : tensor<8x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<8x8xf32>
  %q = linalg.matmul ins(%x, %r : tensor<8x8xf32>, tensor<8x8xf32>) outs(%o : tensor<8x8xf32>) -> tensor<8x8xf32>
  %f = tensor.empty() : tensor<2x3x5xf32>
  %u = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (j, i, k)>, affine_map<(i, j, k) -> (i, j, k)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%a : tensor<3x2x5xf32>) outs(%f : tensor<2x3x5xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<2x3x5xf32>
  %d = linalg.batch_matmul ins(%u, %b : tensor<2x3x5xf32>, tensor<2x5x7xf32>) outs(%c : tensor<2x3x7xf32>) -> tensor<2x3x7xf32>
  %t = linalg.generic {indexing_maps = [affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%w : tensor<8x8xf32>) outs(%e : tensor<8x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<8x8xf32>
  %g = linalg.matmul ins(%x, %y : tensor<8x8xf32>, tensor<8x8xf32>) outs(%t : tensor<8x8xf32>) -> tensor<8x8xf32>
  return %p, %q, %d, %g : tensor<8x8xf32>, tensor<8x8xf32>, tensor<2x3x7xf32>, tensor<8x8xf32>
}
