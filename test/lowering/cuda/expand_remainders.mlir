// RUN: tierup-opt %s --tierup-expand-remainders --canonicalize --cse | FileCheck %s

// Mantissas of 24 bits leave room for 40 at a time; how many times, the exponents say.
// CHECK-LABEL: func.func @kernel
// CHECK: gpu.launch
// CHECK: %[[FIRST:.*]] = arith.remui %{{.*}}, %[[D:.*]] : i64
// CHECK: scf.for %{{.*}} iter_args(%[[LEFT:.*]] = %[[FIRST]]) -> (i64)
// CHECK: %[[NOW:.*]] = arith.minui %{{.*}}, %c40_i64
// CHECK: %[[SHIFTED:.*]] = arith.shli %[[LEFT]], %[[NOW]]
// CHECK: arith.remui %[[SHIFTED]], %[[D]]
// CHECK: math.copysign
// CHECK-NOT: arith.remf %arg0, %arg1 : f32
// CHECK: arith.remf %{{.*}}, %{{.*}} {tierup.library_call}
// CHECK: gpu.terminator
// On the host it stays: tierup-expand-remainders is for kernels.
// CHECK: arith.remf
func.func @kernel(%x: f32, %y: f32, %out: memref<2xf32>) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1) threads(%tx, %ty, %tz) in (%sx = %c1, %sy = %c1, %sz = %c1) {
    %r = arith.remf %x, %y : f32
    memref.store %r, %out[%c0] : memref<2xf32>
    %s = arith.remf %x, %y {tierup.library_call} : f32
    memref.store %s, %out[%c1] : memref<2xf32>
    gpu.terminator
  }
  %h = arith.remf %x, %y : f32
  return %h : f32
}
