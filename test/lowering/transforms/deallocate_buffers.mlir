// RUN: tierup-opt %s --split-input-file --tierup-deallocate-buffers | FileCheck %s
// RUN: tierup-opt %s --split-input-file --tierup-deallocate-buffers --mlir-print-ir-after-all 2>&1 | FileCheck %s --check-prefix=ONE

// One pass to the user, however many of MLIR's run inside.
// ONE: IR Dump After tierup-deallocate-buffers
// ONE-NOT: IR Dump After {{(buffer|ownership|canonicalize)}}

// CHECK-LABEL: func.func @temporary
// CHECK: %[[M:.*]] = memref.alloc() : memref<4xf32>
// CHECK: memref.copy
// CHECK: memref.dealloc %[[M]] : memref<4xf32>
// CHECK-NEXT: return
func.func @temporary(%x: memref<4xf32>, %y: memref<4xf32>) {
  %m = memref.alloc() : memref<4xf32>
  memref.copy %x, %m : memref<4xf32> to memref<4xf32>
  memref.copy %m, %y : memref<4xf32> to memref<4xf32>
  return
}

// -----
// Nothing is allocated: not even dead code goes, since no pass of MLIR's runs.
// CHECK-LABEL: func.func @in_place
// CHECK: arith.constant 7
// CHECK: memref.subview
func.func @in_place(%x: memref<4xf32>, %y: memref<4xf32>) {
  %unused = arith.constant 7 : index
  %part = memref.subview %x[0] [2] [1] : memref<4xf32> to memref<2xf32, strided<[1]>>
  linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%x : memref<4xf32>) outs(%y : memref<4xf32>) {
  ^bb0(%a: f32, %b: f32):
    %c = arith.mulf %a, %a : f32
    linalg.yield %c : f32
  }
  return
}

// -----
// What is returned is the caller's to free, so an argument is copied.
// CHECK-LABEL: func.func @returned
// CHECK-SAME: %[[X:.*]]: memref<4xf32>
// CHECK: %[[M:.*]] = memref.alloc
// CHECK: memref.copy %[[X]], %[[M]]
// CHECK: return %[[M]]
func.func @returned(%x: memref<4xf32>) -> memref<4xf32> {
  return %x : memref<4xf32>
}

// -----
// Which of two memories it is, the run decides: MLIR's passes look.
// CHECK-LABEL: func.func @chosen
// CHECK-NOT: arith.constant 7
// CHECK: arith.select
func.func @chosen(%c: i1, %x: memref<4xf32>, %y: memref<4xf32>, %z: memref<4xf32>) {
  %unused = arith.constant 7 : index
  %m = arith.select %c, %x, %y : memref<4xf32>
  memref.copy %m, %z : memref<4xf32> to memref<4xf32>
  return
}
