// RUN: tierup-opt %s --split-input-file --tierup-math-to-libdevice --tierup-expand-math | FileCheck %s
// RUN: tierup-opt %s --split-input-file --tierup-math-to-libdevice --tierup-math-to-libdevice --tierup-expand-math | FileCheck %s

// What libdevice computes better is left for it, halves in f32; the rest is expanded.
// CHECK-LABEL: func.func @better
module attributes {tierup.libdevice} {
  func.func @better(%x: f32, %h: f16, %d: f64) -> (f32, f16, f64, f32, f64) {
    // CHECK: %[[S:.*]] = math.sin %{{.*}} {tierup.library_call} : f32
    // CHECK: %[[W:.*]] = arith.extf %{{.*}} : f16 to f32
    // CHECK: %[[T:.*]] = math.tanh %[[W]] {tierup.library_call} : f32
    // CHECK: %[[N:.*]] = arith.truncf %[[T]] : f32 to f16
    // CHECK: %[[A:.*]] = math.atan2 %{{.*}}, %{{.*}} {tierup.library_call} : f64
    // CHECK-NOT: math.exp
    // CHECK-NOT: math.tanh
    // CHECK: return %[[S]], %[[N]], %[[A]]
    %0 = math.sin %x : f32
    %1 = math.tanh %h : f16
    %2 = math.atan2 %d, %d : f64
    %3 = math.exp %x : f32
    %4 = math.tanh %d : f64
    return %0, %1, %2, %3, %4 : f32, f16, f64, f32, f64
  }
}

// -----

// Without the library all is ours.
// CHECK-LABEL: func.func @ours
// CHECK-NOT: math.sin
func.func @ours(%x: f32) -> f32 {
  %0 = math.sin %x : f32
  return %0 : f32
}
