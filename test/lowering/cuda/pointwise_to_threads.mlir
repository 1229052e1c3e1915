// RUN: tierup-opt %s --split-input-file --tierup-pointwise-to-threads --canonicalize --cse | FileCheck %s

#id = affine_map<(i) -> (i)>
#swapped = affine_map<(i, j) -> (j, i)>
#rows = affine_map<(i, j) -> (i, j)>
#column = affine_map<(i, j) -> (j)>

// Four neighbours a thread, all read before one is written; what four do not divide, in a loop.
// CHECK-LABEL: func.func @whole
// CHECK: [[SIZE:%.+]] = memref.dim %arg0, %c0
// CHECK: [[UP:%.+]] = arith.addi [[SIZE]], %c1023
// CHECK-NEXT: [[BLOCKS:%.+]] = arith.divui [[UP]], %c1024
// CHECK-NEXT: gpu.launch blocks([[B:%[a-z0-9]+]], {{.*}} = [[BLOCKS]], {{.*}}) threads([[T:%[a-z0-9]+]], {{.*}} = %c256,
// CHECK: [[LAST:%.+]] = arith.addi %{{.+}}, %c3
// CHECK-NEXT: [[ALL:%.+]] = arith.cmpi ult, [[LAST]], [[SIZE]]
// CHECK-NEXT: scf.if [[ALL]] {
// CHECK-COUNT-4: memref.load %arg0
// CHECK-COUNT-4: arith.negf
// CHECK-COUNT-4: memref.store %{{.+}}, %arg1
// CHECK: } else {
// CHECK-NEXT: scf.for [[I:%[a-z0-9]+]] = %{{.+}} to [[SIZE]] step %c1 {
// CHECK-NEXT: memref.load %arg0{{\[}}[[I]]]
// CHECK-NOT: linalg
// CHECK: return
func.func @whole(%x: memref<?xf32>, %y: memref<?xf32>) attributes {tierup.result_kinds = ["buffer"]} {
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : memref<?xf32>) outs(%y : memref<?xf32>) {
  ^bb0(%a: f32, %b: f32):
    %0 = arith.negf %a : f32
    linalg.yield %0 : f32
  }
  return
}

// -----

#rows = affine_map<(i, j) -> (i, j)>
#column = affine_map<(i, j) -> (j)>

// Rows of 3: blocks of 4 x 64 for 2 elements a thread would be too wide, so 2 x 128; rows along y, as many as a grid may have.
// CHECK-LABEL: func.func @narrow_rows
// CHECK: [[ROWS:%.+]] = memref.dim %arg0, %c0
// CHECK: [[DOWN:%.+]] = arith.minui %{{.+}}, %c65535
// CHECK: gpu.launch blocks({{.*}}) in ({{.*}} = %c1, {{.*}} = [[DOWN]], {{.*}}) threads({{.*}}) in ({{.*}} = %c2, {{.*}} = %c128, {{.*}})
// CHECK: [[STEP:%.+]] = arith.muli
// CHECK: scf.for [[ROW:%[a-z0-9]+]] = %{{.+}} to [[ROWS]] step
// CHECK: scf.if
// CHECK: memref.load %arg0{{\[}}[[ROW]], [[COLUMN:%.+]]]
// CHECK: memref.load %arg1{{\[}}[[COLUMN]]]
func.func @narrow_rows(%x: memref<?x3xf64>, %v: memref<3xf64>, %y: memref<?x3xf64>) attributes {tierup.result_kinds = ["buffer"]} {
  linalg.generic {indexing_maps = [#rows, #column, #rows], iterator_types = ["parallel", "parallel"]} ins(%x, %v : memref<?x3xf64>, memref<3xf64>) outs(%y : memref<?x3xf64>) {
  ^bb0(%a: f64, %b: f64, %c: f64):
    %0 = arith.addf %a, %b : f64
    linalg.yield %0 : f64
  }
  return
}

// -----

#swapped = affine_map<(i, j) -> (j, i)>
#rows = affine_map<(i, j) -> (i, j)>

// Read along another axis than written: one element a thread.
// CHECK-LABEL: func.func @transposed
// CHECK: gpu.launch
// CHECK-COUNT-1: memref.load %arg0
// CHECK-NOT: memref.load
// CHECK: memref.store
// CHECK-NOT: memref.store
// CHECK: return
func.func @transposed(%x: memref<40x60xf32>, %y: memref<60x40xf32>) attributes {tierup.result_kinds = ["buffer"]} {
  linalg.generic {indexing_maps = [#swapped, #rows], iterator_types = ["parallel", "parallel"]} ins(%x : memref<40x60xf32>) outs(%y : memref<60x40xf32>) {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  }
  return
}

// -----

// Fills, copies, and numbers: one thread for those. A reduction is another pass's.
// CHECK-LABEL: func.func @others
// CHECK: gpu.launch
// CHECK: memref.store %c7_i8, %arg0
// CHECK: gpu.launch
// CHECK: [[V:%.+]] = memref.load %arg0
// CHECK: memref.store [[V]], %arg1
// CHECK: gpu.launch blocks({{.*}}) threads({{.*}}) in ({{.*}} = %c1, {{.*}} = %c1, {{.*}} = %c1)
// CHECK-NEXT: memref.store %cst, %arg2[]
// CHECK: linalg.generic {{.*}}["reduction"]
func.func @others(%x: memref<9xi8>, %y: memref<9xi8>, %s: memref<f32>, %z: memref<9xf32>) attributes {tierup.result_kinds = ["buffer"]} {
  %byte = arith.constant 7 : i8
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%byte : i8) outs(%x : memref<9xi8>)
  memref.copy %x, %y : memref<9xi8> to memref<9xi8>
  linalg.fill ins(%zero : f32) outs(%s : memref<f32>)
  linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>], iterator_types = ["reduction"]} ins(%z : memref<9xf32>) outs(%s : memref<f32>) {
  ^bb0(%a: f32, %b: f32):
    %0 = arith.addf %b, %a : f32
    linalg.yield %0 : f32
  }
  return
}
