// RUN: tierup-opt %s --split-input-file --tierup-transposes-to-tiles --canonicalize --cse | FileCheck %s

#id = affine_map<(i, j) -> (i, j)>
#swapped = affine_map<(i, j) -> (j, i)>

// Read with lanes along i, written with lanes along j; %z is read as it is written.
// CHECK-LABEL: func.func @crossing
// CHECK-SAME: [[X:%[a-z0-9]+]]: memref<?x?xf32>, [[Z:%[a-z0-9]+]]: memref<?x?xf32>, [[Y:%[a-z0-9]+]]: memref<?x?xf32>
// CHECK: gpu.launch blocks([[BX:%[a-z0-9]+]], {{.*}}) threads([[TX:%[a-z0-9]+]], [[TY:%[a-z0-9]+]], {{.*}} = %c32, {{.*}} = %c8,
// CHECK-SAME: workgroup([[TILE:%[a-z0-9]+]] : memref<32x33xf32, #gpu.address_space<workgroup>>)
// CHECK: [[ACROSS:%.+]] = arith.muli [[BX]], %c32
// CHECK: scf.for [[NUMBER:%[a-z0-9]+]] =
// CHECK: [[DOWN:%.+]] = arith.muli [[NUMBER]], %c32
// CHECK: [[I:%.+]] = arith.addi [[DOWN]], [[TX]]
// CHECK: [[J:%.+]] = arith.addi [[ACROSS]], [[TY]]
// CHECK: scf.if
// CHECK-NEXT: [[V:%.+]] = memref.load [[X]]{{\[}}[[J]], [[I]]]
// CHECK-NEXT: memref.store [[V]], [[TILE]]{{\[}}[[TY]], [[TX]]]
// CHECK-COUNT-3: memref.load [[X]]
// CHECK: gpu.barrier
// CHECK: scf.if
// CHECK: [[T:%.+]] = memref.load [[TILE]]{{\[}}[[TX]], [[TY]]]
// CHECK: memref.load [[Z]]
// CHECK: arith.addf [[T]]
// CHECK-COUNT-4: memref.store {{.*}}, [[Y]]
// CHECK: gpu.barrier
func.func @crossing(%x: memref<?x?xf32>, %z: memref<?x?xf32>, %y: memref<?x?xf32>) attributes {tierup.result_kinds = ["buffer"]} {
  linalg.generic {indexing_maps = [#swapped, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%x, %z : memref<?x?xf32>, memref<?x?xf32>) outs(%y : memref<?x?xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %0 = arith.addf %a, %b : f32
    linalg.yield %0 : f32
  }
  return
}

// -----

#id = affine_map<(i, j) -> (i, j)>
#swapped = affine_map<(i, j) -> (j, i)>

// Three long: most of a tile would be empty.
// CHECK-LABEL: func.func @short
// CHECK-NOT: gpu.launch
// CHECK: linalg.generic
func.func @short(%x: memref<?x3xf32>, %y: memref<3x?xf32>) attributes {tierup.result_kinds = ["buffer"]} {
  linalg.generic {indexing_maps = [#swapped, #id], iterator_types = ["parallel", "parallel"]} ins(%x : memref<?x3xf32>) outs(%y : memref<3x?xf32>) {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  }
  return
}

// -----

#id = affine_map<(i, j) -> (i, j)>
#column = affine_map<(i, j) -> (i)>

// An operand that the written loop does not index is the same for all of a row: nothing crosses.
// CHECK-LABEL: func.func @repeated
// CHECK-NOT: gpu.launch
// CHECK: linalg.generic
func.func @repeated(%x: memref<?xf32>, %y: memref<?x?xf32>) attributes {tierup.result_kinds = ["buffer"]} {
  linalg.generic {indexing_maps = [#column, #id], iterator_types = ["parallel", "parallel"]} ins(%x : memref<?xf32>) outs(%y : memref<?x?xf32>) {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  }
  return
}
