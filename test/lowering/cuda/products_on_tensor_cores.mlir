// RUN: tierup-opt %s --tierup-products-to-tiles | FileCheck %s
#x = affine_map<(m, k, n) -> (m, k)>
#y = affine_map<(m, k, n) -> (n, k)>
#z = affine_map<(m, k, n) -> (m, n)>
#id = affine_map<(d0, d1) -> (d0, d1)>
module attributes {tierup.target = "sm_90"} {
  // Both operands' lines are along k, begin at multiples of 16 bytes, and go to shared memory by copies of eight.
  // CHECK-LABEL: @product
  // CHECK-SAME: %[[X:.*]]: memref<64x40xf16>, %[[Y:.*]]: memref<48x40xf16>
  // CHECK: gpu.launch
  // CHECK-SAME: workgroup(%[[XS:.*]] : memref<4x32x32xf16, #gpu.address_space<workgroup>>, %[[YS:.*]] : memref<4x32x32xf16, #gpu.address_space<workgroup>>)
  // CHECK: scf.for
  // CHECK: nvgpu.device_async_copy %[[X]]{{.*}}, %[[XS]]{{.*}}, 8, %{{.*}} {bypassL1}
  // CHECK: nvgpu.device_async_copy %[[Y]]{{.*}}, %[[YS]]{{.*}}, 8, %{{.*}} {bypassL1}
  // CHECK: nvgpu.device_async_wait {{.*}} {numGroups = 2 : i32}
  // CHECK: gpu.barrier
  // The first step's operands, and then those of the step after the one that is multiplied.
  // CHECK: nvgpu.ldmatrix %[[XS]]{{.*}} {numTiles = 4 : i32, transpose = false}
  // CHECK: nvgpu.ldmatrix %[[YS]]{{.*}} {numTiles = 4 : i32, transpose = false}
  // CHECK: scf.for {{.*}} iter_args
  // CHECK: nvgpu.device_async_copy
  // CHECK: nvgpu.ldmatrix %[[XS]]
  // CHECK: nvgpu.mma.sync
  // CHECK-SAME: mmaShape = [16, 8, 16]
  // CHECK: nvgpu.device_async_wait {{.*}} {numGroups = 2 : i32}
  // CHECK: gpu.barrier
  // CHECK: nvgpu.ldmatrix
  // CHECK: nvgpu.mma.sync
  // CHECK-NOT: nvgpu.device_async_wait
  // CHECK: arith.truncf
  // CHECK: memref.store {{.*}} : memref<64x48xf16>
  func.func @product(%x: memref<64x40xf16>, %y: memref<48x40xf16>, %r: memref<64x48xf16>) attributes {tierup.result_kinds = ["buffer"]} {
    %z = memref.alloc() : memref<64x48xf32>
    linalg.generic {indexing_maps = [#x, #y, #z], iterator_types = ["parallel", "reduction", "parallel"]} ins(%x, %y : memref<64x40xf16>, memref<48x40xf16>) outs(%z : memref<64x48xf32>) attrs = {tierup.overwrites} {
    ^bb0(%l: f16, %rr: f16, %t: f32):
      %lw = arith.extf %l : f16 to f32
      %rw = arith.extf %rr : f16 to f32
      %p = arith.mulf %lw, %rw : f32
      %s = arith.addf %t, %p : f32
      linalg.yield %s : f32
    }
    linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%z : memref<64x48xf32>) outs(%r : memref<64x48xf16>) {
    ^bb0(%in: f32, %out: f16):
      %h = arith.truncf %in : f32 to f16
      linalg.yield %h : f16
    }
    return
  }

  // Lines of 41 elements do not begin at multiples of 16 bytes: elements are moved one by one.
  // CHECK-LABEL: @odd_lines
  // CHECK-NOT: device_async_copy
  // CHECK: nvgpu.mma.sync
  func.func @odd_lines(%x: memref<64x41xf16>, %y: memref<48x41xf16>, %z: memref<64x48xf32>) {
    linalg.generic {indexing_maps = [#x, #y, #z], iterator_types = ["parallel", "reduction", "parallel"]} ins(%x, %y : memref<64x41xf16>, memref<48x41xf16>) outs(%z : memref<64x48xf32>) attrs = {tierup.overwrites} {
    ^bb0(%l: f16, %rr: f16, %t: f32):
      %lw = arith.extf %l : f16 to f32
      %rw = arith.extf %rr : f16 to f32
      %p = arith.mulf %lw, %rw : f32
      %s = arith.addf %t, %p : f32
      linalg.yield %s : f32
    }
    return
  }
}
