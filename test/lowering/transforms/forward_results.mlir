// RUN: tierup-opt %s --split-input-file --tierup-forward-results | FileCheck %s

// CHECK-LABEL: func.func @stored
// CHECK-NOT: memref.alloc
// CHECK: memref.store %{{.+}}, %arg1[%arg2]
// CHECK: memref.subview %arg1
// CHECK-NOT: memref.copy
func.func @stored(%x: memref<8xf32>, %y: memref<8xf32>) attributes {tierup.result_kinds = ["buffer"]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %t = memref.alloc() : memref<8xf32>
  scf.for %i = %c0 to %c8 step %c1 {
    %v = memref.load %x[%i] : memref<8xf32>
    memref.store %v, %t[%i] : memref<8xf32>
  }
  %s = memref.subview %t[0] [1] [1] : memref<8xf32> to memref<1xf32, strided<[1]>>
  %first = memref.load %x[%c0] : memref<8xf32>
  memref.store %first, %s[%c0] : memref<1xf32, strided<[1]>>
  memref.copy %t, %y : memref<8xf32> to memref<8xf32>
  return
}

// -----

// Not where the memory is used afterwards, the result's buffer has been used, one is a view of the other's kind, or the function may be
// left in between.
// CHECK-LABEL: func.func @others
// CHECK-COUNT-4: memref.copy
func.func @others(%x: memref<8xf32>, %y: memref<8xf32>, %z: memref<8xf32>, %w: memref<4x8xf32>) attributes {tierup.result_kinds = ["buffer", "buffer", "buffer"]} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %t = memref.alloc() : memref<8xf32>
  linalg.fill ins(%zero : f32) outs(%t : memref<8xf32>)
  memref.copy %t, %y : memref<8xf32> to memref<8xf32>
  memref.store %zero, %t[%c0] : memref<8xf32>
  %u = memref.alloc() : memref<8xf32>
  linalg.fill ins(%zero : f32) outs(%u : memref<8xf32>)
  memref.store %zero, %z[%c0] : memref<8xf32>
  memref.copy %u, %z : memref<8xf32> to memref<8xf32>
  %row = memref.subview %w[1, 0] [1, 8] [1, 1] : memref<4x8xf32> to memref<8xf32, strided<[1], offset: 8>>
  %v = memref.alloc() : memref<8xf32>
  memref.copy %x, %v : memref<8xf32> to memref<8xf32>
  memref.copy %v, %row : memref<8xf32> to memref<8xf32, strided<[1], offset: 8>>
  return
}

// CHECK-LABEL: func.func @may_be_left
// CHECK: memref.copy
func.func @may_be_left(%x: memref<8xf32>, %y: memref<8xf32>) attributes {tierup.result_kinds = ["buffer"]} {
  %t = memref.alloc() : memref<8xf32>
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%t : memref<8xf32>)
  func.call @exit(%t) : (memref<8xf32>) -> ()
  memref.copy %t, %y : memref<8xf32> to memref<8xf32>
  return
}
func.func private @exit(memref<8xf32>)

// -----

// An allocated result is made where the memory was that would be copied to it, without alignment, since the caller frees it.
// CHECK-LABEL: func.func @allocated
// CHECK: %[[Y:.*]] = memref.alloc(%{{.*}}) : memref<?xf32>
// CHECK-NOT: memref.alloc
// CHECK: memref.store %{{.*}}, %[[Y]]
// CHECK-NOT: memref.copy
// CHECK: return %[[Y]]
func.func @allocated(%n: index, %v: f32) -> memref<?xf32> attributes {tierup.result_kinds = ["allocated"]} {
  %c0 = arith.constant 0 : index
  %t = memref.alloc(%n) {alignment = 64 : i64} : memref<?xf32>
  memref.store %v, %t[%c0] : memref<?xf32>
  %y = memref.alloc(%n) : memref<?xf32>
  memref.copy %t, %y : memref<?xf32> to memref<?xf32>
  return %y : memref<?xf32>
}

// -----

// Not one that is read behind the copy.
// CHECK-LABEL: func.func @read_behind
// CHECK: memref.copy
func.func @read_behind(%n: index, %v: f32) -> (memref<?xf32>, f32) attributes {tierup.result_kinds = ["allocated", "scalar"]} {
  %c0 = arith.constant 0 : index
  %t = memref.alloc(%n) {alignment = 64 : i64} : memref<?xf32>
  memref.store %v, %t[%c0] : memref<?xf32>
  %y = memref.alloc(%n) : memref<?xf32>
  memref.copy %t, %y : memref<?xf32> to memref<?xf32>
  %r = memref.load %t[%c0] : memref<?xf32>
  return %y, %r : memref<?xf32>, f32
}
