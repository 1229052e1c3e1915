// RUN: tierup-opt %s --split-input-file --tierup-fuse-groups | FileCheck %s
// RUN: tierup-opt %s --split-input-file --tierup-fuse-groups --tierup-fuse-groups | FileCheck %s

// A result that is a view of an argument is made outside, once more where the program computes with one, also behind a cast.
// CHECK-LABEL: func.func @computed_with
// CHECK: %[[G:.+]] = "tierup.fusion_group"(%arg0)
// CHECK: torch.aten.transpose.int
// CHECK: "tierup.yield"(%{{.+}}) : (!torch.vtensor<[3,3],f32>)
// CHECK: %[[V:.+]] = torch.aten.transpose.int %arg0
// CHECK-NEXT: %[[C:.+]] = torch.tensor_static_info_cast %[[V]]
// CHECK-NEXT: return %[[G]], %[[C]]
func.func @computed_with(%x: !torch.vtensor<[3,4],f32>) -> (!torch.vtensor<[3,3],f32>, !torch.vtensor) attributes {tierup.result_aliases = ["fresh", "view:0"]} {
  %int0 = torch.constant.int 0
  %int1 = torch.constant.int 1
  %0 = torch.aten.tanh %x : !torch.vtensor<[3,4],f32> -> !torch.vtensor<[3,4],f32>
  %v = torch.aten.transpose.int %x, %int0, %int1 : !torch.vtensor<[3,4],f32>, !torch.int, !torch.int -> !torch.vtensor<[4,3],f32>
  %1 = torch.aten.sin %v : !torch.vtensor<[4,3],f32> -> !torch.vtensor<[4,3],f32>
  %2 = torch.aten.mm %0, %1 : !torch.vtensor<[3,4],f32>, !torch.vtensor<[4,3],f32> -> !torch.vtensor<[3,3],f32>
  %c = torch.tensor_static_info_cast %v : !torch.vtensor<[4,3],f32> to !torch.vtensor
  return %2, %c : !torch.vtensor<[3,3],f32>, !torch.vtensor
}

// -----
// An item of a list that is returned reaches another result through a bailout: it is the list's own item there, so the list stays the only one.
// CHECK-LABEL: func.func @item_behind_a_bailout
// CHECK: %[[L:.+]] = torch.aten.chunk
// CHECK-NOT: torch.aten.chunk
// CHECK: torch.aten.__getitem__.t %[[L]]
// CHECK: return %[[L]]
func.func @item_behind_a_bailout(%x: !torch.vtensor<[2,3],f32>) -> (!torch.list<vtensor>, !torch.vtensor<[2,3],f32>) attributes {tierup.result_aliases = ["view:0", "may_be:0"]} {
  %int0 = torch.constant.int 0
  %int1 = torch.constant.int 1
  %l = torch.aten.chunk %x, %int1, %int0 : !torch.vtensor<[2,3],f32>, !torch.int, !torch.int -> !torch.list<vtensor>
  %i = torch.aten.__getitem__.t %l, %int0 : !torch.list<vtensor>, !torch.int -> !torch.vtensor
  %t = "tierup.bailout"(%i, %l) {expected = #tierup.profiled<f32[2,3]>, index = 0 : i64} : (!torch.vtensor, !torch.list<vtensor>) -> !torch.vtensor<[2,3],f32>
  return %l, %t : !torch.list<vtensor>, !torch.vtensor<[2,3],f32>
}

// -----
// So does a view through a branch, and through a list that is made of it.
// CHECK-LABEL: func.func @view_behind_a_branch
// CHECK: %[[V:.+]] = torch.aten.transpose.int
// CHECK: %[[B:.+]] = torch.prim.If
// CHECK: torch.prim.If.yield %[[V]]
// CHECK-NOT: torch.aten.transpose.int
// CHECK: return %[[V]], %[[B]]
func.func @view_behind_a_branch(%x: !torch.vtensor<[3,4],f32>, %y: !torch.vtensor<[4,3],f32>, %c: !torch.bool) -> (!torch.vtensor<[4,3],f32>, !torch.vtensor<[4,3],f32>) attributes {tierup.result_aliases = ["view:0", "may_be:0;may_be:1;result:0"]} {
  %int0 = torch.constant.int 0
  %int1 = torch.constant.int 1
  %v = torch.aten.transpose.int %x, %int0, %int1 : !torch.vtensor<[3,4],f32>, !torch.int, !torch.int -> !torch.vtensor<[4,3],f32>
  %b = torch.prim.If %c -> (!torch.vtensor<[4,3],f32>) {
    torch.prim.If.yield %v : !torch.vtensor<[4,3],f32>
  } else {
    torch.prim.If.yield %y : !torch.vtensor<[4,3],f32>
  }
  return %v, %b : !torch.vtensor<[4,3],f32>, !torch.vtensor<[4,3],f32>
}

// -----
// CHECK-LABEL: func.func @view_in_a_list
// CHECK: %[[V:.+]] = torch.aten.transpose.int
// CHECK-NOT: torch.aten.transpose.int
// CHECK: %[[L:.+]] = torch.prim.ListConstruct %[[V]]
// CHECK: return %[[V]], %[[L]]
func.func @view_in_a_list(%x: !torch.vtensor<[3,4],f32>) -> (!torch.vtensor<[4,3],f32>, !torch.list<vtensor>) attributes {tierup.result_aliases = ["view:0", "fresh"]} {
  %int0 = torch.constant.int 0
  %int1 = torch.constant.int 1
  %v = torch.aten.transpose.int %x, %int0, %int1 : !torch.vtensor<[3,4],f32>, !torch.int, !torch.int -> !torch.vtensor<[4,3],f32>
  %l = torch.prim.ListConstruct %v : (!torch.vtensor<[4,3],f32>) -> !torch.list<vtensor>
  return %v, %l : !torch.vtensor<[4,3],f32>, !torch.list<vtensor>
}
