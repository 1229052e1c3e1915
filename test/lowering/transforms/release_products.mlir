// RUN: tierup-opt %s --tierup-release-products | FileCheck %s

// CHECK-LABEL: func.func @inside_a_loop
// CHECK: scf.for
// CHECK-NOT: tierup.held_product
// CHECK: linalg.matmul ins(%arg0, %arg1 : tensor<4x8xf32>, tensor<8x16xf32>) outs(%{{.*}} : tensor<4x16xf32>) -> tensor<4x16xf32>
func.func @inside_a_loop(%x: tensor<4x8xf32>, %w: tensor<8x16xf32>, %start: tensor<4x16xf32>, %n: index) -> tensor<4x16xf32> {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %r = scf.for %i = %zero to %n step %one iter_args(%sum = %start) -> tensor<4x16xf32> {
    %p = "tierup.held_product"(%x, %w, %sum) {kind = "linalg.matmul", indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]}
        : (tensor<4x8xf32>, tensor<8x16xf32>, tensor<4x16xf32>) -> tensor<4x16xf32>
    scf.yield %p : tensor<4x16xf32>
  }
  return %r : tensor<4x16xf32>
}
