// RUN: tierup-opt %s --tierup-products-to-tiles | FileCheck %s

// The next tiles are loaded, sixteen bytes at a time, before the present ones are multiplied, and stored behind.
// CHECK-LABEL: @product
// CHECK-SAME: %[[X:.*]]: memref<2048x64xf32>, %[[Y:.*]]: memref<64x2048xf32>
// CHECK: gpu.launch
// CHECK-SAME: workgroup(%[[XS:.*]] : memref<2x8x132xf32, #gpu.address_space<workgroup>>, %[[YS:.*]] : memref<2x8x132xf32, #gpu.address_space<workgroup>>)
// CHECK: vector.load %[[X]]
// CHECK: vector.load %[[Y]]
// CHECK: gpu.barrier
// CHECK: scf.for
// CHECK: vector.load %[[X]][{{.*}}] {alignment = 16 : i64}
// CHECK: vector.load %[[Y]]
// CHECK: affine.for %{{.*}} = 0 to 8 iter_args
// CHECK: memref.load %[[XS]]
// CHECK: memref.load %[[YS]]
// CHECK: arith.mulf
// CHECK: memref.store %{{.*}}, %[[XS]]
// CHECK: memref.store %{{.*}}, %[[YS]]
// CHECK: gpu.barrier
// CHECK-NOT: gpu.barrier
func.func @product(%x: memref<2048x64xf32>, %y: memref<64x2048xf32>, %z: memref<2048x2048xf32>) {
  linalg.matmul {tierup.overwrites} ins(%x, %y : memref<2048x64xf32>, memref<64x2048xf32>) outs(%z : memref<2048x2048xf32>)
  return
}
