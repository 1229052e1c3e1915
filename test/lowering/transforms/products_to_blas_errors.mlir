// RUN: tierup-opt %s --split-input-file --tierup-products-to-blas --verify-diagnostics

func.func @tensors(%x: tensor<4x8xf32>, %w: tensor<8x16xf32>, %e: tensor<4x16xf32>) -> tensor<4x16xf32> {
  // expected-error@below {{stands on tensors: products become calls on buffers, after bufferization}}
  %p = linalg.matmul {tierup.overwrites} ins(%x, %w : tensor<4x8xf32>, tensor<8x16xf32>) outs(%e : tensor<4x16xf32>) -> tensor<4x16xf32>
  return %p : tensor<4x16xf32>
}

// -----
// It would be left as a product that adds to what its buffer holds, which is nothing in particular.
func.func @halves(%x: memref<4x8xf16>, %w: memref<8x16xf16>, %o: memref<4x16xf16>) {
  // expected-error@below {{'linalg.matmul' op is marked tierup.overwrites, but BLAS has only products of matrices of f32 or f64, as they are or transposed}}
  linalg.matmul {tierup.overwrites} ins(%x, %w : memref<4x8xf16>, memref<8x16xf16>) outs(%o : memref<4x16xf16>)
  return
}

// -----
func.func @broadcast(%x: memref<4x8xf32>, %w: memref<8xf32>, %o: memref<4x16xf32>) {
  // expected-error@below {{BLAS has only products of matrices}}
  linalg.matmul indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k)>, affine_map<(m, n, k) -> (m, n)>] {tierup.overwrites}
      ins(%x, %w : memref<4x8xf32>, memref<8xf32>) outs(%o : memref<4x16xf32>)
  return
}

// -----
func.func @another_op(%x: memref<8xf32>, %y: memref<8xf32>, %o: memref<f32>) {
  // expected-error@below {{'linalg.dot' op is marked tierup.overwrites}}
  linalg.dot {tierup.overwrites} ins(%x, %y : memref<8xf32>, memref<8xf32>) outs(%o : memref<f32>)
  return
}
