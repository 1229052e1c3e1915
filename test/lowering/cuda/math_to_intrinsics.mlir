// RUN: tierup-opt %s --tierup-math-to-intrinsics | FileCheck %s

// Math with an instruction of its own in kernels; elsewhere, and what has none, is left.
// CHECK-LABEL: func.func @host
// CHECK: math.sqrt
// CHECK-LABEL: gpu.func @k
// CHECK: llvm.call_intrinsic "llvm.fma.f32"(%arg0, %arg0, %arg0) : (f32, f32, f32) -> f32
// CHECK: llvm.call_intrinsic "llvm.sqrt.f32"
// CHECK: llvm.call_intrinsic "llvm.rint.f32"
// CHECK: llvm.call_intrinsic "llvm.abs.i32"(%arg1, %false) : (i32, i1) -> i32
// CHECK: llvm.call_intrinsic "llvm.ctpop.i32"(%arg1) : (i32) -> i32
// CHECK: math.atan
module attributes {gpu.container_module} {
  func.func @host(%x: f32) -> f32 {
    %0 = math.sqrt %x : f32
    return %0 : f32
  }
  gpu.module @kernels {
    gpu.func @k(%x: f32, %i: i32, %to: memref<6xf32>, %also: memref<2xi32>) kernel {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %0 = math.fma %x, %x, %x : f32
      %1 = math.sqrt %0 : f32
      %2 = math.roundeven %1 : f32
      %3 = math.absi %i : i32
      %4 = math.ctpop %i : i32
      %5 = math.atan %2 : f32
      memref.store %5, %to[%c0] : memref<6xf32>
      memref.store %3, %also[%c0] : memref<2xi32>
      memref.store %4, %also[%c1] : memref<2xi32>
      gpu.return
    }
  }
}
