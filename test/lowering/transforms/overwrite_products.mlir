// RUN: tierup-opt %s --tierup-overwrite-products --split-input-file | FileCheck %s
// RUN: tierup-opt %s --tierup-overwrite-products --tierup-overwrite-products --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @starts_from_zeros
// CHECK-NOT: linalg.fill
// CHECK: [[E:%.+]] = tensor.empty
// CHECK-NOT: linalg.fill
// CHECK: linalg.matmul {tierup.overwrites} ins(%arg0, %arg1 : {{.*}}) outs([[E]] :
func.func @starts_from_zeros(%x: tensor<4x8xf32>, %w: tensor<8x16xf32>) -> tensor<4x16xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x16xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<4x16xf32>) -> tensor<4x16xf32>
  %p = linalg.matmul ins(%x, %w : tensor<4x8xf32>, tensor<8x16xf32>) outs(%f : tensor<4x16xf32>) -> tensor<4x16xf32>
  return %p : tensor<4x16xf32>
}

// -----
// Batches, sizes of the run, operands read transposed, zeros that a loop writes.
// CHECK-LABEL: func.func @batches
// CHECK: [[E:%.+]] = tensor.empty
// CHECK-NEXT: linalg.batch_matmul {{.*}}{tierup.overwrites} ins(%arg0, %arg1 : {{.*}}) outs([[E]] :
func.func @batches(%x: tensor<?x?x?xf64>, %w: tensor<?x?x?xf64>, %b: index, %m: index, %n: index) -> tensor<?x?x?xf64> {
  %zero = arith.constant 0.0 : f64
  %e = tensor.empty(%b, %m, %n) : tensor<?x?x?xf64>
  %f = linalg.generic {indexing_maps = [affine_map<(b, m, n) -> (b, m, n)>], iterator_types = ["parallel", "parallel", "parallel"]} outs(%e : tensor<?x?x?xf64>) {
  ^bb0(%out: f64):
    linalg.yield %zero : f64
  } -> tensor<?x?x?xf64>
  %p = linalg.batch_matmul
      indexing_maps = [affine_map<(b, m, n, k) -> (b, m, k)>, affine_map<(b, m, n, k) -> (b, n, k)>, affine_map<(b, m, n, k) -> (b, m, n)>]
      ins(%x, %w : tensor<?x?x?xf64>, tensor<?x?x?xf64>) outs(%f : tensor<?x?x?xf64>) -> tensor<?x?x?xf64>
  return %p : tensor<?x?x?xf64>
}

// -----
// Zeros that something else reads stay, for that.
// CHECK-LABEL: func.func @zeros_with_another_use
// CHECK: [[E:%.+]] = tensor.empty
// CHECK: [[F:%.+]] = linalg.fill {{.*}} outs([[E]]
// CHECK: [[P:%.+]] = linalg.matmul {tierup.overwrites} {{.*}} outs([[E]]
// CHECK: return [[P]], [[F]]
func.func @zeros_with_another_use(%x: tensor<4x8xf32>, %w: tensor<8x16xf32>) -> (tensor<4x16xf32>, tensor<4x16xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x16xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<4x16xf32>) -> tensor<4x16xf32>
  %p = linalg.matmul ins(%x, %w : tensor<4x8xf32>, tensor<8x16xf32>) outs(%f : tensor<4x16xf32>) -> tensor<4x16xf32>
  return %p, %f : tensor<4x16xf32>, tensor<4x16xf32>
}

// -----
// CHECK-LABEL: func.func @two_products_of_the_same_zeros
// CHECK-NOT: linalg.fill
// CHECK-COUNT-2: linalg.matmul {tierup.overwrites}
func.func @two_products_of_the_same_zeros(%x: tensor<4x8xf32>, %w: tensor<8x16xf32>, %v: tensor<8x16xf32>) -> (tensor<4x16xf32>, tensor<4x16xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x16xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<4x16xf32>) -> tensor<4x16xf32>
  %p = linalg.matmul ins(%x, %w : tensor<4x8xf32>, tensor<8x16xf32>) outs(%f : tensor<4x16xf32>) -> tensor<4x16xf32>
  %q = linalg.matmul ins(%x, %v : tensor<4x8xf32>, tensor<8x16xf32>) outs(%f : tensor<4x16xf32>) -> tensor<4x16xf32>
  return %p, %q : tensor<4x16xf32>, tensor<4x16xf32>
}

// -----
// A product that adds to something, be it -0.0, keeps adding.
// CHECK-LABEL: func.func @adds_to_something
// CHECK-NOT: tierup.overwrites
// CHECK: return
func.func @adds_to_something(%x: tensor<4x8xf32>, %w: tensor<8x16xf32>, %bias: tensor<4x16xf32>, %number: f32) -> (tensor<4x16xf32>, tensor<4x16xf32>, tensor<4x16xf32>, tensor<4x16xf32>, tensor<4x16xf32>) {
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %negative_zero = arith.constant -0.0 : f32
  %e = tensor.empty() : tensor<4x16xf32>
  %p = linalg.matmul ins(%x, %w : tensor<4x8xf32>, tensor<8x16xf32>) outs(%bias : tensor<4x16xf32>) -> tensor<4x16xf32>
  %f = linalg.fill ins(%one : f32) outs(%e : tensor<4x16xf32>) -> tensor<4x16xf32>
  %q = linalg.matmul ins(%x, %w : tensor<4x8xf32>, tensor<8x16xf32>) outs(%f : tensor<4x16xf32>) -> tensor<4x16xf32>
  %g = linalg.fill ins(%number : f32) outs(%e : tensor<4x16xf32>) -> tensor<4x16xf32>
  %r = linalg.matmul ins(%x, %w : tensor<4x8xf32>, tensor<8x16xf32>) outs(%g : tensor<4x16xf32>) -> tensor<4x16xf32>
  %h = linalg.generic {indexing_maps = [affine_map<(m, n) -> (m, n)>], iterator_types = ["parallel", "parallel"]} outs(%bias : tensor<4x16xf32>) {
  ^bb0(%out: f32):
    %i = arith.addf %zero, %out : f32
    linalg.yield %i : f32
  } -> tensor<4x16xf32>
  %s = linalg.matmul ins(%x, %w : tensor<4x8xf32>, tensor<8x16xf32>) outs(%h : tensor<4x16xf32>) -> tensor<4x16xf32>
  %j = linalg.fill ins(%negative_zero : f32) outs(%e : tensor<4x16xf32>) -> tensor<4x16xf32>
  %t = linalg.matmul ins(%x, %w : tensor<4x8xf32>, tensor<8x16xf32>) outs(%j : tensor<4x16xf32>) -> tensor<4x16xf32>
  return %p, %q, %r, %s, %t : tensor<4x16xf32>, tensor<4x16xf32>, tensor<4x16xf32>, tensor<4x16xf32>, tensor<4x16xf32>
}

// -----
// Only what tierup-products-to-blas takes over may leave its buffer unwritten: products of f32 and of f64, of matrices.
// CHECK-LABEL: func.func @no_blas_for_it
// CHECK-NOT: tierup.overwrites
// CHECK: return
func.func @no_blas_for_it(%h: tensor<4x8xf16>, %k: tensor<8x16xf16>, %x: tensor<4x8xf32>, %row: tensor<8xf32>, %i: tensor<4x8xi32>, %j: tensor<8x16xi32>)
    -> (tensor<4x16xf16>, tensor<4x16xf32>, tensor<4x16xf32>, tensor<4x16xi32>) {
  %zero16 = arith.constant 0.0 : f16
  %zero = arith.constant 0.0 : f32
  %nought = arith.constant 0 : i32
  %e16 = tensor.empty() : tensor<4x16xf16>
  %f16 = linalg.fill ins(%zero16 : f16) outs(%e16 : tensor<4x16xf16>) -> tensor<4x16xf16>
  %p = linalg.matmul ins(%h, %k : tensor<4x8xf16>, tensor<8x16xf16>) outs(%f16 : tensor<4x16xf16>) -> tensor<4x16xf16>
  %e = tensor.empty() : tensor<4x16xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<4x16xf32>) -> tensor<4x16xf32>
  %q = linalg.matmul ins(%h, %k : tensor<4x8xf16>, tensor<8x16xf16>) outs(%f : tensor<4x16xf32>) -> tensor<4x16xf32>
  %r = linalg.matmul indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k)>, affine_map<(m, n, k) -> (m, n)>]
      ins(%x, %row : tensor<4x8xf32>, tensor<8xf32>) outs(%f : tensor<4x16xf32>) -> tensor<4x16xf32>
  %ei = tensor.empty() : tensor<4x16xi32>
  %fi = linalg.fill ins(%nought : i32) outs(%ei : tensor<4x16xi32>) -> tensor<4x16xi32>
  %s = linalg.matmul ins(%i, %j : tensor<4x8xi32>, tensor<8x16xi32>) outs(%fi : tensor<4x16xi32>) -> tensor<4x16xi32>
  return %p, %q, %r, %s : tensor<4x16xf16>, tensor<4x16xf32>, tensor<4x16xf32>, tensor<4x16xi32>
}

// -----
// Products over no elements are erased from buffers, so the zeros stay.
// CHECK-LABEL: func.func @over_nothing
// CHECK-COUNT-2: linalg.fill
// CHECK-NOT: tierup.overwrites
// CHECK: return
func.func @over_nothing(%x: tensor<4x0xf32>, %w: tensor<0x16xf32>, %y: tensor<2x4x0xf64>, %z: tensor<2x0x16xf64>)
    -> (tensor<4x16xf32>, tensor<2x4x16xf64>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x16xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<4x16xf32>) -> tensor<4x16xf32>
  %p = linalg.matmul ins(%x, %w : tensor<4x0xf32>, tensor<0x16xf32>) outs(%f : tensor<4x16xf32>) -> tensor<4x16xf32>
  %zero64 = arith.constant 0.0 : f64
  %d = tensor.empty() : tensor<2x4x16xf64>
  %g = linalg.fill ins(%zero64 : f64) outs(%d : tensor<2x4x16xf64>) -> tensor<2x4x16xf64>
  %q = linalg.batch_matmul ins(%y, %z : tensor<2x4x0xf64>, tensor<2x0x16xf64>) outs(%g : tensor<2x4x16xf64>) -> tensor<2x4x16xf64>
  return %p, %q : tensor<4x16xf32>, tensor<2x4x16xf64>
}

// -----
// On buffers there is nothing to find: the zeros are not the product's operand any more.
// CHECK-LABEL: func.func @buffers
// CHECK: linalg.fill
// CHECK-NEXT: linalg.matmul ins
func.func @buffers(%x: memref<4x8xf32>, %w: memref<8x16xf32>, %d: memref<4x16xf32>) {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%d : memref<4x16xf32>)
  linalg.matmul ins(%x, %w : memref<4x8xf32>, memref<8x16xf32>) outs(%d : memref<4x16xf32>)
  return
}

// -----
// Zeros of which a unit dim was folded away are zeros.
// CHECK-LABEL: func.func @unit_dim_folded
// CHECK: [[E:%.+]] = tensor.empty() : tensor<1x16xf32>
// CHECK: linalg.matmul {tierup.overwrites} ins(%arg0, %arg1 : {{.*}}) outs([[E]] : tensor<1x16xf32>)
func.func @unit_dim_folded(%x: tensor<1x8xf32>, %w: tensor<8x16xf32>) -> tensor<1x16xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<16xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<16xf32>) -> tensor<16xf32>
  %r = tensor.expand_shape %f [[0, 1]] output_shape [1, 16] : tensor<16xf32> into tensor<1x16xf32>
  %p = linalg.matmul ins(%x, %w : tensor<1x8xf32>, tensor<8x16xf32>) outs(%r : tensor<1x16xf32>) -> tensor<1x16xf32>
  return %p : tensor<1x16xf32>
}
