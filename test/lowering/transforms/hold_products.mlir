// RUN: tierup-opt %s --split-input-file --tierup-hold-products | FileCheck %s --check-prefix=HELD
// RUN: tierup-opt %s --split-input-file --tierup-hold-products --tierup-hold-products | FileCheck %s --check-prefix=HELD
// RUN: tierup-opt %s --split-input-file --tierup-hold-products --linalg-fuse-elementwise-ops --tierup-release-products --canonicalize | FileCheck %s
// RUN: tierup-opt %s --split-input-file --linalg-fuse-elementwise-ops | FileCheck %s --check-prefix=FUSED

// Without being held the product becomes a loop that computes tanh for each of the 32 columns.
// FUSED-LABEL: func.func @of_computed_rows
// FUSED: linalg.generic {{.*}}iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
// HELD-LABEL: func.func @of_computed_rows
// HELD: tensor.collapse_shape
// HELD: "tierup.held_product"(%{{.*}}, %arg1, %{{.*}}) {indexing_maps = [{{.*}}], kind = "linalg.matmul"} : (tensor<128x64xf32>, tensor<64x32xf32>, tensor<128x32xf32>) -> tensor<128x32xf32>
// CHECK-LABEL: func.func @of_computed_rows
// CHECK: math.tanh
// CHECK: tensor.collapse_shape
// CHECK: linalg.matmul ins(%{{.*}}, %arg1 : tensor<128x64xf32>, tensor<64x32xf32>) outs(%{{.*}} : tensor<128x32xf32>)
func.func @of_computed_rows(%x: tensor<8x16x64xf32>, %w: tensor<64x32xf32>, %zeros: tensor<128x32xf32>) -> tensor<128x32xf32> {
  %e = tensor.empty() : tensor<8x16x64xf32>
  %t = linalg.generic {indexing_maps = [affine_map<(a, b, c) -> (a, b, c)>, affine_map<(a, b, c) -> (a, b, c)>], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x : tensor<8x16x64xf32>) outs(%e : tensor<8x16x64xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = math.tanh %in : f32
    linalg.yield %0 : f32
  } -> tensor<8x16x64xf32>
  %rows = tensor.collapse_shape %t [[0, 1], [2]] : tensor<8x16x64xf32> into tensor<128x64xf32>
  %p = linalg.matmul ins(%rows, %w : tensor<128x64xf32>, tensor<64x32xf32>) outs(%zeros : tensor<128x32xf32>) -> tensor<128x32xf32>
  return %p : tensor<128x32xf32>
}

// -----
// Batches and operands that are read transposed come back as they were.
// HELD-LABEL: func.func @transposed
// HELD: kind = "linalg.batch_matmul"
// CHECK-LABEL: func.func @transposed
// CHECK: linalg.batch_matmul indexing_maps = [{{.*}}, {{.*}}, {{.*}}] ins(%arg0, %arg1 : tensor<?x?x?xf64>, tensor<?x?x?xf64>)
func.func @transposed(%x: tensor<?x?x?xf64>, %w: tensor<?x?x?xf64>, %start: tensor<?x?x?xf64>) -> tensor<?x?x?xf64> {
  %p = linalg.batch_matmul
      indexing_maps = [affine_map<(b, m, n, k) -> (b, m, k)>, affine_map<(b, m, n, k) -> (b, n, k)>, affine_map<(b, m, n, k) -> (b, m, n)>]
      ins(%x, %w : tensor<?x?x?xf64>, tensor<?x?x?xf64>) outs(%start : tensor<?x?x?xf64>) -> tensor<?x?x?xf64>
  return %p : tensor<?x?x?xf64>
}

// -----
// A product of one row is held as well; one of integers is nothing that BLAS has.
// HELD-LABEL: func.func @others
// HELD: "tierup.held_product"(%arg0, %arg1, %arg2)
// HELD: linalg.matmul ins(%arg3, %arg3
func.func @others(%x: tensor<1x8xf32>, %w: tensor<8x16xf32>, %r: tensor<1x16xf32>, %i: tensor<8x8xi32>) -> (tensor<1x16xf32>, tensor<8x8xi32>) {
  %p = linalg.matmul ins(%x, %w : tensor<1x8xf32>, tensor<8x16xf32>) outs(%r : tensor<1x16xf32>) -> tensor<1x16xf32>
  %q = linalg.matmul ins(%i, %i : tensor<8x8xi32>, tensor<8x8xi32>) outs(%i : tensor<8x8xi32>) -> tensor<8x8xi32>
  return %p, %q : tensor<1x16xf32>, tensor<8x8xi32>
}
