// RUN: tierup-opt %s --gpu-kernel-outlining --tierup-merge-kernels | FileCheck %s

// One module; kernels that are equal are one; each is named after the function that launches it.
// CHECK-LABEL: func.func @f
// CHECK: gpu.launch_func @kernels::@[[SAME:f_[0-9]+]]
// CHECK: gpu.launch_func @kernels::@[[SAME]]
// CHECK: gpu.module @kernels
// CHECK-NEXT: gpu.func @[[OTHER:g_[0-9]+]](
// CHECK: gpu.func @[[SAME]](
// CHECK-NOT: gpu.func
// CHECK: func.func @g
// CHECK: gpu.launch_func @kernels::@[[OTHER]]
// CHECK-NOT: gpu.module
func.func @f(%x: memref<8xf32>, %y: memref<8xf32>, %v: f32) {
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  gpu.launch blocks(%a, %b, %c) in (%d = %c1, %e = %c1, %f = %c1) threads(%t, %u, %w) in (%o = %c8, %p = %c1, %q = %c1) {
    memref.store %v, %x[%t] : memref<8xf32>
    gpu.terminator
  }
  gpu.launch blocks(%a, %b, %c) in (%d = %c1, %e = %c1, %f = %c1) threads(%t, %u, %w) in (%o = %c8, %p = %c1, %q = %c1) {
    memref.store %v, %y[%t] : memref<8xf32>
    gpu.terminator
  }
  return
}
func.func @g(%x: memref<8xf32>) {
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  gpu.launch blocks(%a, %b, %c) in (%d = %c1, %e = %c1, %f = %c1) threads(%t, %u, %w) in (%o = %c8, %p = %c1, %q = %c1) {
    %0 = memref.load %x[%t] : memref<8xf32>
    %1 = arith.negf %0 : f32
    memref.store %1, %x[%t] : memref<8xf32>
    gpu.terminator
  }
  return
}
