// RUN: tierup-opt %s --tierup-expand-math | FileCheck %s
// RUN: tierup-opt %s --tierup-expand-math --tierup-expand-math | FileCheck %s
// RUN: tierup-opt %s --pass-pipeline="builtin.module(func.func(tierup-expand-math{fma=false}))" | FileCheck %s --check-prefix=SPLIT
// RUN: tierup-opt %s --pass-pipeline="builtin.module(func.func(tierup-expand-math{functions=log}))" | FileCheck %s --check-prefix=LOG
// A math function in a loop becomes arithmetic on scalars: no call, no branch, constants before the loop.

// CHECK-LABEL: func.func @loop
// CHECK-NOT: scf.for
// CHECK: arith.constant 1.44269502 : f32
// CHECK: scf.for
// CHECK: %[[X:.*]] = memref.load
// CHECK-NOT: arith.constant
// CHECK-NOT: math.exp
// CHECK: math.fma
// CHECK: arith.bitcast
// CHECK: arith.mulf
// CHECK: arith.mulf
// CHECK-NEXT: memref.store

// SPLIT-LABEL: func.func @loop
// SPLIT-NOT: math.
// SPLIT: memref.store

// LOG-LABEL: func.func @loop
// LOG: math.exp
func.func @loop(%m: memref<?xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    %x = memref.load %m[%i] : memref<?xf32>
    %y = math.exp %x : f32
    memref.store %y, %m[%i] : memref<?xf32>
  }
  return
}

// What has an instruction of its own stays; so do ops on tensors.
// CHECK-LABEL: func.func @kept
// CHECK: math.sqrt
// CHECK: math.absf
// CHECK: math.tanh %{{.*}} : tensor<4xf32>
func.func @kept(%x: f32, %t: tensor<4xf32>) -> (f32, tensor<4xf32>) {
  %0 = math.sqrt %x : f32
  %1 = math.absf %0 : f32
  %2 = math.tanh %t : tensor<4xf32>
  return %1, %2 : f32, tensor<4xf32>
}

// A small constant exponent is a product.
// CHECK-LABEL: func.func @square
// CHECK-NEXT: arith.constant
// CHECK-NEXT: arith.mulf %[[X:.*]], %[[X]] : f32
// CHECK-NEXT: return
func.func @square(%x: f32) -> f32 {
  %c = arith.constant 2.0 : f32
  %0 = math.powf %x, %c : f32
  return %0 : f32
}

// f16 is computed in f32 and rounded once; sin of f32 in f64.
// CHECK-LABEL: func.func @half
// CHECK: arith.extf %{{.*}} : f16 to f32
// CHECK: arith.extf %{{.*}} : f32 to f64
// CHECK: arith.truncf %{{.*}} : f64 to f32
// CHECK: arith.truncf %{{.*}} : f32 to f16
func.func @half(%x: f16) -> f16 {
  %0 = math.sin %x : f16
  return %0 : f16
}

// A remainder is a division and a fused multiply-add, or a long division; by a power of two, and beside other functions, LLVM's.
// CHECK-LABEL: func.func @remainders
// CHECK: %[[N:.*]] = math.trunc
// CHECK: %[[SHORT:.*]] = arith.cmpf olt, %[[N]], %cst
// CHECK: scf.if %[[SHORT]] -> (f64) {
// CHECK: math.fma
// CHECK: math.copysign
// CHECK: } else {
// CHECK: arith.remui
// CHECK: scf.for
// CHECK: arith.remui
// CHECK: scf.yield
// CHECK-NOT: scf.if
// CHECK: arith.remf %{{.*}}, %cst{{.*}} {tierup.library_call} : f64
func.func @remainders(%x: f64, %y: f64) -> (f64, f64) {
  %quarter = arith.constant 0.25 : f64
  %0 = arith.remf %x, %y : f64
  %1 = arith.remf %x, %quarter : f64
  return %0, %1 : f64, f64
}

// CHECK-LABEL: func.func @beside_a_sine
// CHECK: arith.remf %{{.*}} {tierup.library_call} : f64
func.func @beside_a_sine(%x: f64, %y: f64) -> f64 {
  %0 = arith.remf %x, %y : f64
  %1 = math.sin %0 : f64
  return %1 : f64
}
