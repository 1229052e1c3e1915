// RUN: tierup-opt %s --split-input-file --tierup-lower-ops | FileCheck %s
// RUN: tierup-opt %s --split-input-file --tierup-lower-ops --tierup-lower-ops | FileCheck %s

// A position from the end is counted from the start; parts of a join go one behind the other.
// CHECK-LABEL: func.func @select_and_cat
// CHECK: [[NEGATIVE:%.+]] = arith.cmpi slt, [[I:%.+]], %c0 : index
// CHECK: [[WRAPPED:%.+]] = arith.addi [[I]], %c3 : index
// CHECK: [[AT:%.+]] = arith.select [[NEGATIVE]], [[WRAPPED]], [[I]] : index
// CHECK: [[ROW:%.+]] = tensor.extract_slice %0{{\[}}[[AT]], 0] [1, %{{.+}}] [1, 1] : tensor<3x?xf32> to tensor<?xf32>
// CHECK: [[FIRST:%.+]] = tensor.insert_slice [[ROW]] into %{{.+}}[0] [%{{.+}}] [1]
// CHECK: tensor.insert_slice %{{.+}} into [[FIRST]][%{{.+}}] [2] [1]
// CHECK-NOT: torch.aten
func.func @select_and_cat(%x: !torch.vtensor<[3,?],f32>, %y: !torch.vtensor<[2],f32>, %i: !torch.int) -> !torch.vtensor<[?],f32> {
  %int0 = torch.constant.int 0
  %0 = torch.aten.select.int %x, %int0, %i : !torch.vtensor<[3,?],f32>, !torch.int, !torch.int -> !torch.vtensor<[?],f32>
  %1 = torch.prim.ListConstruct %0, %y : (!torch.vtensor<[?],f32>, !torch.vtensor<[2],f32>) -> !torch.list<vtensor>
  %2 = torch.aten.cat %1, %int0 : !torch.list<vtensor>, !torch.int -> !torch.vtensor<[?],f32>
  return %2 : !torch.vtensor<[?],f32>
}

// -----
// CHECK-DAG: [[SWAP:#.+]] = affine_map<(d0, d1) -> (d1, d0)>
// CHECK-LABEL: func.func @views
// CHECK: [[T:%.+]] = linalg.generic {indexing_maps = {{\[}}[[SWAP]],
// CHECK: tensor.collapse_shape [[T]] {{\[}}[0, 1]] : tensor<3x2xf32> into tensor<6xf32>
func.func @views(%x: !torch.vtensor<[2,3],f32>) -> !torch.vtensor<[6],f32> {
  %int0 = torch.constant.int 0
  %int1 = torch.constant.int 1
  %int6 = torch.constant.int 6
  %0 = torch.aten.transpose.int %x, %int0, %int1 : !torch.vtensor<[2,3],f32>, !torch.int, !torch.int -> !torch.vtensor<[3,2],f32>
  %1 = torch.prim.ListConstruct %int6 : (!torch.int) -> !torch.list<int>
  %2 = torch.aten.view %0, %1 : !torch.vtensor<[3,2],f32>, !torch.list<int> -> !torch.vtensor<[6],f32>
  return %2 : !torch.vtensor<[6],f32>
}

// -----
// Along an axis that the run computes.
// CHECK-LABEL: func.func @kept
// CHECK-NEXT: torch.aten.select.int
// CHECK-NEXT: return
func.func @kept(%x: !torch.vtensor<[3,4],f32>, %axis: !torch.int, %i: !torch.int) -> !torch.vtensor<[?],f32> {
  %0 = torch.aten.select.int %x, %axis, %i : !torch.vtensor<[3,4],f32>, !torch.int, !torch.int -> !torch.vtensor<[?],f32>
  return %0 : !torch.vtensor<[?],f32>
}
