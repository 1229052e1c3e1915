// RUN: tierup-opt %s --tierup-merge-kernels --split-input-file | FileCheck %s

// The module's name is none of the user's; PTX takes the kernels' names; what kernels call comes along, once; kernels of one module stay
// apart, launched or not.
// CHECK: gpu.launch_func @kernels_0::@gr__e_0
// CHECK: gpu.launch_func @kernels_0::@gr__e_1
// CHECK: gpu.launch_func @kernels_0::@gr__e_2
// CHECK: gpu.module @kernels_0
// CHECK-DAG: func.func private @h
// CHECK-DAG: memref.global "private" constant @g
// CHECK-DAG: gpu.func @gr__e_2
// CHECK-DAG: gpu.func @unlaunched_3
// CHECK: func.func @kernels
// CHECK-NOT: @h
module attributes {gpu.container_module} {
  func.func @"größe"(%x: memref<8xf32>) {
    %c1 = arith.constant 1 : index
    gpu.launch_func @a::@k blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<8xf32>)
    gpu.launch_func @b::@k blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<8xf32>)
    gpu.launch_func @b::@l blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<8xf32>)
    return
  }
  gpu.module @a {
    func.func private @h(%v: f32) -> f32 {
      %0 = arith.addf %v, %v : f32
      return %0 : f32
    }
    gpu.func @k(%x: memref<8xf32>) kernel {
      %c = arith.constant 0 : index
      %v = memref.load %x[%c] : memref<8xf32>
      %w = func.call @h(%v) : (f32) -> f32
      memref.store %w, %x[%c] : memref<8xf32>
      gpu.return
    }
  }
  gpu.module @b {
    func.func private @h(%v: f32) -> f32 {
      %0 = arith.addf %v, %v : f32
      return %0 : f32
    }
    memref.global "private" constant @g : memref<2xf32> = dense<[1.0, 2.0]>
    gpu.func @k(%x: memref<8xf32>) kernel {
      %c = arith.constant 1 : index
      %v = memref.load %x[%c] : memref<8xf32>
      %w = func.call @h(%v) : (f32) -> f32
      memref.store %w, %x[%c] : memref<8xf32>
      gpu.return
    }
    gpu.func @l(%x: memref<8xf32>) kernel {
      %c = arith.constant 0 : index
      %g = memref.get_global @g : memref<2xf32>
      %v = memref.load %g[%c] : memref<2xf32>
      memref.store %v, %x[%c] : memref<8xf32>
      gpu.return
    }
    gpu.func @unlaunched(%x: memref<8xf32>) kernel {
      gpu.return
    }
  }
  func.func @kernels() {
    return
  }
}

// -----

// Different functions of one name: the modules stay.
// CHECK-LABEL: gpu.module @a
// CHECK: arith.addf
// CHECK: gpu.module @b
// CHECK: arith.mulf
gpu.module @a {
  func.func private @h(%v: f32) -> f32 {
    %0 = arith.addf %v, %v : f32
    return %0 : f32
  }
}
gpu.module @b {
  func.func private @h(%v: f32) -> f32 {
    %0 = arith.mulf %v, %v : f32
    return %0 : f32
  }
}
