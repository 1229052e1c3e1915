// RUN: tierup-opt %s --split-input-file --tierup-strip-mine | FileCheck %s
// RUN: tierup-opt %s --split-input-file --tierup-strip-mine --tierup-strip-mine | FileCheck %s

#turned = affine_map<(i, j) -> (j, i)>
#rows = affine_map<(i, j) -> (i, j)>

// One array along, one across: strips of eight rounds of the outer loop, within blocks of 256 of the inner one.
// CHECK-LABEL: func.func @copy
// CHECK-SAME: ([[X:%.+]]: memref<?x?xf64>, [[Y:%.+]]: memref<?x?xf64>)
// CHECK: scf.for [[BLOCK:%.+]] = %{{.+}} to [[LENGTH:%.+]] step %c256
// CHECK: scf.for [[STRIP:%.+]] = %{{.+}} to [[MAIN:%.+]] step %c8
// CHECK: scf.for [[J:%.+]] = [[BLOCK]] to
// CHECK: scf.for [[K:%.+]] = %{{.+}} to %c8
// CHECK: [[I:%.+]] = arith.addi [[STRIP]], [[K]]
// CHECK: [[V:%.+]] = memref.load [[X]]{{\[}}[[J]], [[I]]]
// CHECK: memref.store [[V]], [[Y]]{{\[}}[[I]], [[J]]]
// What is left of the outer loop.
// CHECK: scf.for [[REST:%.+]] = [[MAIN]] to
// CHECK: scf.for [[LAST:%.+]] = [[BLOCK]] to
// CHECK: memref.load [[X]]{{\[}}[[LAST]], [[REST]]]
// CHECK: return
func.func @copy(%x: memref<?x?xf64>, %y: memref<?x?xf64>) {
  linalg.generic {indexing_maps = [#turned, #rows], iterator_types = ["parallel", "parallel"]} ins(%x : memref<?x?xf64>) outs(%y : memref<?x?xf64>) {
  ^bb0(%in: f64, %out: f64):
    linalg.yield %in : f64
  }
  return
}

// -----

#turned = affine_map<(i, j) -> (j, i)>
#rows = affine_map<(i, j) -> (i, j)>

// Two arrays along: strips of four, so that no more than eight lines are met in turn.
// CHECK-LABEL: func.func @sum
// CHECK: scf.for {{.*}} step %c4
// CHECK-NOT: linalg.generic
func.func @sum(%x: memref<512x512xf32>, %y: memref<512x512xf32>, %z: memref<512x512xf32>) {
  linalg.generic {indexing_maps = [#turned, #rows, #rows], iterator_types = ["parallel", "parallel"]} ins(%x, %y : memref<512x512xf32>, memref<512x512xf32>) outs(%z : memref<512x512xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %0 = arith.addf %a, %b : f32
    linalg.yield %0 : f32
  }
  return
}

// -----

#turned = affine_map<(i, j) -> (j, i)>
#rows = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>

// Not taken: what a first cache holds; bodies that take longer than memory does; a number for each row, which lies across nothing; reductions.
// CHECK-LABEL: func.func @others
// CHECK-NOT: scf.for
// CHECK-COUNT-4: linalg.generic
// CHECK-NOT: scf.for
func.func @others(%small: memref<32x32xf64>, %y: memref<32x32xf64>, %x: memref<?x?xf64>, %z: memref<?x?xf64>, %r: memref<?xf64>) {
  linalg.generic {indexing_maps = [#turned, #rows], iterator_types = ["parallel", "parallel"]} ins(%small : memref<32x32xf64>) outs(%y : memref<32x32xf64>) {
  ^bb0(%in: f64, %out: f64):
    linalg.yield %in : f64
  }
  linalg.generic {indexing_maps = [#turned, #rows], iterator_types = ["parallel", "parallel"]} ins(%x : memref<?x?xf64>) outs(%z : memref<?x?xf64>) {
  ^bb0(%in: f64, %out: f64):
    %0 = math.exp %in : f64
    linalg.yield %0 : f64
  }
  linalg.generic {indexing_maps = [#row, #rows], iterator_types = ["parallel", "parallel"]} ins(%r : memref<?xf64>) outs(%z : memref<?x?xf64>) {
  ^bb0(%in: f64, %out: f64):
    linalg.yield %in : f64
  }
  linalg.generic {indexing_maps = [#turned, #row], iterator_types = ["parallel", "reduction"]} ins(%x : memref<?x?xf64>) outs(%r : memref<?xf64>) {
  ^bb0(%in: f64, %out: f64):
    %0 = arith.addf %in, %out : f64
    linalg.yield %0 : f64
  }
  return
}
