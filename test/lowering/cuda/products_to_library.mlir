// RUN: tierup-opt %s --split-input-file --tierup-products-to-library --cse | FileCheck %s
// RUN: tierup-opt %s --split-input-file --tierup-products-to-library --tierup-products-to-library --cse | FileCheck %s
#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (j)>

// The op behind the product is its own kernel after the library's product, and one with our product.
// CHECK-LABEL: func.func @biased
// CHECK-SAME: (%[[X:.*]]: memref<?x?xf32>, %[[Y:.*]]: memref<?x?xf32>, %[[B:.*]]: memref<?xf32>, %[[R:.*]]: memref<?x?xf32>)
// CHECK: %[[FITS:.*]] = "tierup.library_fits"(%[[X]], %[[Y]]) {equation = "ac,cb->ab", least_depth = 128 : i64, least_work = 134217728 : i64}
// CHECK: scf.if %[[FITS]] {
// CHECK-NEXT: %[[T:.*]] = memref.alloc
// CHECK-NEXT: "tierup.library_product"(%[[X]], %[[Y]], %[[T]]) {equation = "ac,cb->ab"}
// CHECK-NEXT: linalg.generic {{.*}} ins(%[[T]], %[[B]] : {{.*}}) outs(%[[R]]
// CHECK: memref.dealloc %[[T]]
// CHECK: } else {
// CHECK-NEXT: %[[Z:.*]] = memref.alloc
// CHECK-NEXT: linalg.matmul {tierup.overwrites} ins(%[[X]], %[[Y]] : {{.*}}) outs(%[[Z]]
// CHECK-NEXT: linalg.generic {{.*}} ins(%[[Z]], %[[B]] : {{.*}}) outs(%[[R]]
// CHECK: }
func.func @biased(%x: memref<?x?xf32>, %y: memref<?x?xf32>, %b: memref<?xf32>, %r: memref<?x?xf32>) attributes {tierup.result_kinds = ["buffer"]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m = memref.dim %x, %c0 : memref<?x?xf32>
  %n = memref.dim %y, %c1 : memref<?x?xf32>
  %z = memref.alloc(%m, %n) : memref<?x?xf32>
  linalg.matmul {tierup.overwrites} ins(%x, %y : memref<?x?xf32>, memref<?x?xf32>) outs(%z : memref<?x?xf32>)
  linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]} ins(%z, %b : memref<?x?xf32>, memref<?xf32>) outs(%r : memref<?x?xf32>) {
  ^bb0(%in: f32, %bias: f32, %out: f32):
    %s = arith.addf %in, %bias : f32
    linalg.yield %s : f32
  }
  return
}

// -----
#x = affine_map<(b, m, k, n) -> (b, m, k)>
#y = affine_map<(b, m, k, n) -> (b, n, k)>
#z = affine_map<(b, m, k, n) -> (b, m, n)>
#id = affine_map<(b, i, j) -> (b, i, j)>

// To round sums to the operands' type is the library's own last step.
// CHECK-LABEL: func.func @halves
// CHECK-SAME: %[[X:.*]]: memref<8x512x512xf16>, %[[Y:.*]]: memref<8x512x512xf16>, %[[R:.*]]: memref<8x512x512xf16>
// CHECK: "tierup.library_fits"(%[[X]], %[[Y]], %[[R]]) {equation = "abc,adc->abd", least_depth = 0 : i64
// CHECK: scf.if
// CHECK-NEXT: "tierup.library_product"(%[[X]], %[[Y]], %[[R]]) {equation = "abc,adc->abd"}
// CHECK-NEXT: } else {
// CHECK: arith.mulf
// CHECK: arith.truncf
func.func @halves(%x: memref<8x512x512xf16>, %y: memref<8x512x512xf16>, %r: memref<8x512x512xf16>) attributes {tierup.result_kinds = ["buffer"]} {
  %z = memref.alloc() : memref<8x512x512xf32>
  linalg.generic {indexing_maps = [#x, #y, #z], iterator_types = ["parallel", "parallel", "reduction", "parallel"]} ins(%x, %y : memref<8x512x512xf16>, memref<8x512x512xf16>) outs(%z : memref<8x512x512xf32>) attrs = {tierup.overwrites} {
  ^bb0(%l: f16, %rr: f16, %t: f32):
    %lw = arith.extf %l : f16 to f32
    %rw = arith.extf %rr : f16 to f32
    %p = arith.mulf %lw, %rw : f32
    %s = arith.addf %t, %p : f32
    linalg.yield %s : f32
  }
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel"]} ins(%z : memref<8x512x512xf32>) outs(%r : memref<8x512x512xf16>) {
  ^bb0(%in: f32, %out: f16):
    %h = arith.truncf %in : f32 to f16
    linalg.yield %h : f16
  }
  return
}

// -----

// What the result holds is added to; a sum that others read is no temporary.
// CHECK-LABEL: func.func @adds
// CHECK: "tierup.library_product"(%{{.*}}, %{{.*}}, %{{.*}}) {adds, equation = "ac,cb->ab"}
func.func @adds(%x: memref<?x512xf64>, %y: memref<512x?xf64>, %z: memref<?x?xf64>) attributes {tierup.result_kinds = ["buffer"]} {
  linalg.matmul ins(%x, %y : memref<?x512xf64>, memref<512x?xf64>) outs(%z : memref<?x?xf64>)
  return
}

// -----

// Small products, and types that the library has not, are our kernels'.
// CHECK-LABEL: func.func @ours
// CHECK-NOT: tierup.library
func.func @ours(%x: memref<256x256xf32>, %y: memref<256x256xf32>, %z: memref<256x256xf32>, %i: memref<?x?xi32>, %j: memref<?x?xi32>, %k: memref<?x?xi32>) {
  linalg.matmul {tierup.overwrites} ins(%x, %y : memref<256x256xf32>, memref<256x256xf32>) outs(%z : memref<256x256xf32>)
  linalg.matmul {tierup.overwrites} ins(%i, %j : memref<?x?xi32>, memref<?x?xi32>) outs(%k : memref<?x?xi32>)
  return
}

// -----
// CHECK-LABEL: func.func @rounded_to_tf32
// CHECK: "tierup.library_fits"{{.*}} least_depth = 0
// CHECK: "tierup.library_product"{{.*}} tf32}
module attributes {tierup.tf32} {
  func.func @rounded_to_tf32(%x: memref<?x?xf32>, %y: memref<?x?xf32>, %z: memref<?x?xf32>) {
    linalg.matmul {tierup.overwrites} ins(%x, %y : memref<?x?xf32>, memref<?x?xf32>) outs(%z : memref<?x?xf32>)
    return
  }
}
