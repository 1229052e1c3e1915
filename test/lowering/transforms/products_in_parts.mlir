// RUN: tierup-opt %s --split-input-file --tierup-products-to-blas --canonicalize | FileCheck %s

#x = affine_map<(m, n, k) -> (m, k)>
#w = affine_map<(m, n, k) -> (n, k)>
#out = affine_map<(m, n, k) -> (m, n)>

// Few rows are a kernel's of our own, declared with what it is; its numbers: sizes, how far apart rows and columns and lines lie.
// CHECK-DAG: func.func private @product_f32_transposed_4x4(index, index, index, index, index, index, index, !llvm.ptr, !llvm.ptr, !llvm.ptr) attributes {tierup.product_kernel = {element = f32, kind = "transposed", rows = 4 : i64, vectors = 4 : i64, whole = false}}
// CHECK-DAG: func.func private @product_f32_dots_4x6_whole
// CHECK-DAG: func.func private @product_f32_packed_4x4
// CHECK-DAG: func.func private @product_f32_direct_4x4
// CHECK-LABEL: func.func @few
// CHECK: call @product_f32_transposed_4x4(%c32, %c1024, %c512, %c512, %c1, %c512, %c1024, {{.*}})
// CHECK: call @product_f32_dots_4x6_whole
// CHECK: call @product_f32_packed_4x4(%c32, %c1024, %c512, %c512, %c1, %c1024, %c1024, {{.*}})
// CHECK: call @product_f32_direct_4x4
// One row is a vector, many rows are BLAS's, and so is a small matrix.
// CHECK: call @scipy_cblas_sgemv
// CHECK: call @scipy_cblas_sgemm
// CHECK: call @scipy_cblas_sgemm
module attributes {tierup.wide_vectors} {
func.func @few(%x: memref<32x512xf32>, %few: memref<4x512xf32>, %one: memref<1x512xf32>, %many: memref<300x512xf32>, %w: memref<1024x512xf32>, %y: memref<512x1024xf32>, %out: memref<32x1024xf32>, %out4: memref<4x1024xf32>, %out1: memref<1x1024xf32>, %out300: memref<300x1024xf32>, %a: memref<64x64xf32>, %b: memref<64x64xf32>, %c: memref<64x64xf32>) {
  linalg.matmul indexing_maps = [#x, #w, #out] {tierup.overwrites} ins(%x, %w : memref<32x512xf32>, memref<1024x512xf32>) outs(%out : memref<32x1024xf32>)
  linalg.matmul indexing_maps = [#x, #w, #out] {tierup.overwrites} ins(%few, %w : memref<4x512xf32>, memref<1024x512xf32>) outs(%out4 : memref<4x1024xf32>)
  linalg.matmul {tierup.overwrites} ins(%x, %y : memref<32x512xf32>, memref<512x1024xf32>) outs(%out : memref<32x1024xf32>)
  linalg.matmul {tierup.overwrites} ins(%few, %y : memref<4x512xf32>, memref<512x1024xf32>) outs(%out4 : memref<4x1024xf32>)
  linalg.matmul indexing_maps = [#x, #w, #out] {tierup.overwrites} ins(%one, %w : memref<1x512xf32>, memref<1024x512xf32>) outs(%out1 : memref<1x1024xf32>)
  linalg.matmul indexing_maps = [#x, #w, #out] {tierup.overwrites} ins(%many, %w : memref<300x512xf32>, memref<1024x512xf32>) outs(%out300 : memref<300x1024xf32>)
  linalg.matmul {tierup.overwrites} ins(%a, %b : memref<64x64xf32>, memref<64x64xf32>) outs(%c : memref<64x64xf32>)
  return
}
}

// -----

// A number of rows that the run counts decides between the two.
// CHECK-LABEL: func.func @counted
// CHECK: [[AT_LEAST:%.+]] = arith.cmpi uge, [[ROWS:%.+]], %c8
// CHECK: [[AT_MOST:%.+]] = arith.cmpi ule, [[ROWS]], %c256
// CHECK: [[FEW:%.+]] = arith.andi [[AT_LEAST]], [[AT_MOST]]
// CHECK: scf.if [[FEW]] {
// CHECK:   call @product_f64_
// CHECK: } else {
// CHECK:   call @scipy_cblas_dgemm
// A matrix that lies in neither rows nor columns is copied, the left one is read as it lies.
// CHECK-LABEL: func.func @strided
// CHECK: memref.copy %arg1, [[COPY:%.+]] :
// CHECK-NOT: memref.copy
// CHECK: call @product_f64_{{[a-z]+_[0-9x]+}}(%c16, %c200, %c300, %c2000, %c3, %c200, %c200
module attributes {tierup.wide_vectors} {
func.func @counted(%x: memref<?x512xf64>, %w: memref<1024x512xf64>, %out: memref<?x1024xf64>) {
  linalg.matmul indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>] {tierup.overwrites} ins(%x, %w : memref<?x512xf64>, memref<1024x512xf64>) outs(%out : memref<?x1024xf64>)
  return
}
func.func @strided(%x: memref<16x300xf64, strided<[2000, 3]>>, %y: memref<300x200xf64, strided<[1000, 2]>>, %out: memref<16x200xf64>) {
  linalg.matmul {tierup.overwrites} ins(%x, %y : memref<16x300xf64, strided<[2000, 3]>>, memref<300x200xf64, strided<[1000, 2]>>) outs(%out : memref<16x200xf64>)
  return
}
}

// -----

// Threads share the columns.
// CHECK-LABEL: func.func @parts
// CHECK: scf.for [[PART:%.+]] = %c0 to %c6 step %c1 {
// CHECK:   call @scipy_cblas_sgemm
// CHECK: } {tierup.parts}

// Little to do, or matrices that BLAS does not take as they lie: one call.
// CHECK-LABEL: func.func @wholes
// CHECK-NOT: scf.for
// CHECK-COUNT-2: call @scipy_cblas_sgemm
module attributes {tierup.threads = 2 : i64} {
func.func @parts(%x: memref<256x1024xf32>, %y: memref<1024x1024xf32>, %out: memref<256x1024xf32>) {
  linalg.matmul {tierup.overwrites} ins(%x, %y : memref<256x1024xf32>, memref<1024x1024xf32>) outs(%out : memref<256x1024xf32>)
  return
}
func.func @wholes(%x: memref<32x64xf32>, %y: memref<64x64xf32>, %out: memref<32x64xf32>, %a: memref<512x512xf32, strided<[2048, 2]>>, %b: memref<512x512xf32>, %c: memref<512x512xf32>) {
  linalg.matmul {tierup.overwrites} ins(%x, %y : memref<32x64xf32>, memref<64x64xf32>) outs(%out : memref<32x64xf32>)
  linalg.matmul {tierup.overwrites} ins(%a, %b : memref<512x512xf32, strided<[2048, 2]>>, memref<512x512xf32>) outs(%c : memref<512x512xf32>)
  return
}
}

// -----

// Batches are shared matrix by matrix.
// CHECK-LABEL: func.func @batches
// CHECK: scf.for %{{.+}} = %c0 to %c16 step %c1 {
// CHECK:   scf.for
// CHECK:     call @scipy_cblas_sgemm
// CHECK:   }
// CHECK: } {tierup.parts}
module attributes {tierup.threads = 2 : i64} {
func.func @batches(%x: memref<16x128x64xf32>, %y: memref<16x64x128xf32>, %out: memref<16x128x128xf32>) {
  linalg.batch_matmul {tierup.overwrites} ins(%x, %y : memref<16x128x64xf32>, memref<16x64x128xf32>) outs(%out : memref<16x128x128xf32>)
  return
}
}
