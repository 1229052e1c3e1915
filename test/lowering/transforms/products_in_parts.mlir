// RUN: tierup-opt %s --split-input-file --tierup-products-to-blas --canonicalize | FileCheck %s

#x = affine_map<(m, n, k) -> (m, k)>
#w = affine_map<(m, n, k) -> (n, k)>
#out = affine_map<(m, n, k) -> (m, n)>

// Few rows times a transposed matrix: 1024 columns in pieces of 32, as BLAS does those of up to 1200 results sooner.
// CHECK-LABEL: func.func @pieces
// CHECK: scf.for [[I:%.+]] = %c0 to %c32 step %c1 {
// CHECK:   [[LOW:%.+]] = arith.muli [[I]], %c32
// CHECK:   memref.subview %arg1[[[LOW]], 0]
// CHECK:   memref.subview %arg2[0, [[LOW]]]
// CHECK:   call @scipy_cblas_sgemm
// CHECK-NOT: tierup.parts
module attributes {tierup.small_products} {
func.func @pieces(%x: memref<32x512xf32>, %w: memref<1024x512xf32>, %out: memref<32x1024xf32>) {
  linalg.matmul indexing_maps = [#x, #w, #out] {tierup.overwrites} ins(%x, %w : memref<32x512xf32>, memref<1024x512xf32>) outs(%out : memref<32x1024xf32>)
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
