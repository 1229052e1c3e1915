// RUN: tierup-opt %s --split-input-file --tierup-convert-math | FileCheck %s
// RUN: tierup-opt %s --split-input-file --tierup-convert-math --tierup-convert-math | FileCheck %s

// CHECK-DAG: func.func private @erf(f64) -> f64
// CHECK-DAG: func.func @both
// CHECK: %[[S:.*]] = llvm.intr.sqrt(%{{.*}}) : (f64) -> f64
// CHECK: call @erf(%[[S]])
func.func @both(%x: f64) -> f64 {
  %s = math.sqrt %x : f64
  %t = math.erf %s : f64
  return %t : f64
}

// -----
// Arithmetic is left to others.
// CHECK-LABEL: func.func @none
// CHECK: arith.mulf
func.func @none(%x: f64) -> f64 {
  %s = arith.mulf %x, %x : f64
  return %s : f64
}
