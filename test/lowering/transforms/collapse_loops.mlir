// RUN: tierup-opt %s --split-input-file --tierup-collapse-loops | FileCheck %s

#all = affine_map<(i, j, k) -> (i, j, k)>

// All loops of arrays without gaps are one.
// CHECK-LABEL: func.func @whole
// CHECK: [[X:%.+]] = memref.collapse_shape %arg0 {{\[\[}}0, 1, 2]] : memref<?x3x7xf32> into memref<?xf32>
// CHECK: [[Y:%.+]] = memref.collapse_shape %arg1 {{\[\[}}0, 1, 2]] : memref<?x3x7xf32> into memref<?xf32>
// CHECK: linalg.generic {{.*}}iterator_types = ["parallel"]} ins([[X]] : memref<?xf32>) outs([[Y]] : memref<?xf32>)
func.func @whole(%x: memref<?x3x7xf32>, %y: memref<?x3x7xf32>) {
  linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x : memref<?x3x7xf32>) outs(%y : memref<?x3x7xf32>) {
  ^bb0(%a: f32, %b: f32):
    %0 = arith.negf %a : f32
    linalg.yield %0 : f32
  }
  return
}

// -----

#all = affine_map<(i, j, k) -> (i, j, k)>
#last = affine_map<(i, j, k) -> (k)>
#outer = affine_map<(i, j, k) -> (i, j)>

// A loop that another operand has alone stays apart; so does one of another kind.
// CHECK-DAG: [[ROWS:#.+]] = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-DAG: [[COLUMN:#.+]] = affine_map<(d0, d1) -> (d1)>
// CHECK-DAG: [[ROW:#.+]] = affine_map<(d0, d1) -> (d0)>
// CHECK-LABEL: func.func @groups
// CHECK: linalg.generic {indexing_maps = {{\[}}[[ROWS]], [[COLUMN]], [[ROWS]]], iterator_types = ["parallel", "parallel"]} ins(%{{.+}}, %arg1 : memref<15x7xf32>, memref<7xf32>) outs(%{{.+}} : memref<15x7xf32>)
// CHECK: linalg.generic {indexing_maps = {{\[}}[[ROWS]], [[ROW]]], iterator_types = ["parallel", "reduction"]} ins(%{{.+}} : memref<15x7xf32>) outs(%{{.+}} : memref<15xf32>)
func.func @groups(%x: memref<3x5x7xf32>, %v: memref<7xf32>, %y: memref<3x5x7xf32>, %s: memref<3x5xf32>) {
  linalg.generic {indexing_maps = [#all, #last, #all], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x, %v : memref<3x5x7xf32>, memref<7xf32>) outs(%y : memref<3x5x7xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %0 = arith.addf %a, %b : f32
    linalg.yield %0 : f32
  }
  linalg.generic {indexing_maps = [#all, #outer], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x : memref<3x5x7xf32>) outs(%s : memref<3x5xf32>) {
  ^bb0(%a: f32, %b: f32):
    %0 = arith.addf %b, %a : f32
    linalg.yield %0 : f32
  }
  return
}

// -----

#id = affine_map<(i, j) -> (i, j)>
#swapped = affine_map<(i, j) -> (j, i)>

// Rows with a gap between them, axes in another order, and a body that asks for its position: two loops.
// CHECK-LABEL: func.func @apart
// CHECK-NOT: memref.collapse_shape
// CHECK-COUNT-3: linalg.generic {{.*}}["parallel", "parallel"]
// CHECK: return
func.func @apart(%gap: memref<3x5xf32, strided<[8, 1]>>, %x: memref<5x3xf32>, %y: memref<3x5xf32>, %i: memref<3x5xindex>) {
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%gap : memref<3x5xf32, strided<[8, 1]>>) outs(%y : memref<3x5xf32>) {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  }
  linalg.generic {indexing_maps = [#swapped, #id], iterator_types = ["parallel", "parallel"]} ins(%x : memref<5x3xf32>) outs(%y : memref<3x5xf32>) {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  }
  linalg.generic {indexing_maps = [#id], iterator_types = ["parallel", "parallel"]} outs(%i : memref<3x5xindex>) {
  ^bb0(%b: index):
    %0 = linalg.index 1 : index
    linalg.yield %0 : index
  }
  return
}
