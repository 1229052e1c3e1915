// RUN: tierup-opt %s --tierup-annotate-kernels | FileCheck %s --check-prefix=ANNOTATED
// RUN: tierup-opt %s --tierup-pipeline=lower-gpu-nvvm | FileCheck %s --check-prefix=TRIMMED

// The host chooses between blocks of 64 and 256 threads.
// ANNOTATED: gpu.func @chosen({{.*}} kernel attributes {nvvm.maxntid = array<i32: 256, 1, 1>, tierup.apart
// TRIMMED: llvm.func @chosen({{.*}}nvvm.maxntid = array<i32: 256, 1, 1>

// %x is only read and nothing else is written there. %y and %z are two names for one buffer: not apart.
// ANNOTATED: gpu.func @apart(%arg0: memref<?xf32> {llvm.align = 16 : i64, llvm.readonly}, %arg1: memref<?xf32> {llvm.align = 16 : i64}, %arg2: f32) kernel attributes {tierup.apart = array<i64: 1, 6>}
// ANNOTATED: gpu.func @same(%arg0: memref<?xf32> {llvm.align = 16 : i64, llvm.readonly}, %arg1: memref<?xf32> {llvm.align = 16 : i64}, %arg2: f32) kernel attributes {tierup.apart = array<i64>}

// The kernels are left with the pointers and the number: 1 and 6 of pointer, pointer, offset, size, stride, ..., and 10.
// TRIMMED-NOT: gpu.func
// TRIMMED: llvm.func @apart(%arg0: !llvm.ptr {llvm.align = 16 : i64, llvm.noalias, llvm.readonly}, %arg1: !llvm.ptr {llvm.align = 16 : i64, llvm.noalias}, %arg2: f32) attributes {{.*}}nvvm.kernel{{.*}}tierup.parameters = array<i64: 1, 6, 10>
// TRIMMED: llvm.func @same(%arg0: !llvm.ptr {llvm.align = 16 : i64, llvm.readonly}, %arg1: !llvm.ptr {llvm.align = 16 : i64}, %arg2: f32)
// TRIMMED-NOT: tierup.apart
module attributes {gpu.container_module} {
  func.func @f(%x: memref<?xf32>, %y: memref<?xf32>, %v: f32) attributes {tierup.result_kinds = ["buffer"]} {
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    %c64 = arith.constant 64 : index
    %c256 = arith.constant 256 : index
    %n = memref.dim %x, %c1 : memref<?xf32>
    %short = arith.cmpi ult, %n, %c64 : index
    %t = arith.select %short, %c64, %c256 : index
    gpu.launch_func @kernels::@chosen blocks in (%c1, %c1, %c1) threads in (%t, %c1, %c1) args(%x : memref<?xf32>)
    gpu.launch_func @kernels::@apart blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1) args(%x : memref<?xf32>, %y : memref<?xf32>, %v : f32)
    gpu.launch_func @kernels::@same blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1) args(%y : memref<?xf32>, %y : memref<?xf32>, %v : f32)
    return
  }
  gpu.module @kernels {
    gpu.func @chosen(%x: memref<?xf32>) kernel {
      %t = gpu.thread_id x
      %0 = memref.load %x[%t] : memref<?xf32>
      %1 = arith.addf %0, %0 : f32
      memref.store %1, %x[%t] : memref<?xf32>
      gpu.return
    }
    gpu.func @apart(%x: memref<?xf32>, %y: memref<?xf32>, %v: f32) kernel {
      %t = gpu.thread_id x
      %0 = memref.load %x[%t] : memref<?xf32>
      %1 = arith.addf %0, %v : f32
      memref.store %1, %y[%t] : memref<?xf32>
      gpu.return
    }
    gpu.func @same(%x: memref<?xf32>, %y: memref<?xf32>, %v: f32) kernel {
      %t = gpu.thread_id x
      %0 = memref.load %x[%t] : memref<?xf32>
      %1 = arith.mulf %0, %v : f32
      memref.store %1, %y[%t] : memref<?xf32>
      gpu.return
    }
  }
}
