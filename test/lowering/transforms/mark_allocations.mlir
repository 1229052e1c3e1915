// RUN: tierup-opt %s --split-input-file --tierup-mark-allocations | FileCheck %s
// RUN: tierup-opt %s --split-input-file --tierup-mark-allocations --tierup-mark-allocations | FileCheck %s

// CHECK: module attributes {tierup.allocates}
// CHECK-LABEL: func.func @as_the_run_says
func.func @as_the_run_says(%n: index) {
  %0 = memref.alloc(%n) : memref<?xf32>
  return
}

// -----
// CHECK: module attributes {tierup.allocates}
// CHECK-LABEL: func.func @much
func.func @much() {
  %0 = memref.alloc() : memref<8192xf64>
  return
}

// -----
// CHECK: module {
// CHECK-LABEL: func.func @little
func.func @little() {
  %0 = memref.alloc() : memref<8191xf64>
  return
}
