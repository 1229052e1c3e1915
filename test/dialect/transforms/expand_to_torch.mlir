// RUN: tierup-opt %s --tierup-expand-to-torch | FileCheck %s
// RUN: tierup-opt %s --tierup-expand-to-torch --tierup-expand-to-torch | FileCheck %s

!t = !torch.vtensor

// CHECK-LABEL: func.func @choice
// CHECK: %[[R:.*]] = torch.prim.If %arg0 -> (!torch.int) {
// CHECK-NEXT: torch.prim.If.yield %arg1 : !torch.int
// CHECK-NEXT: } else {
// CHECK-NEXT: torch.prim.If.yield %arg2 : !torch.int
// CHECK: return %[[R]]
func.func @choice(%c: !torch.bool, %n: !torch.int, %m: !torch.int) -> !torch.int {
  %0 = "tierup.if_then_else"(%c, %n, %m) : (!torch.bool, !torch.int, !torch.int) -> !torch.int
  return %0 : !torch.int
}

// One type for what is in a list; casts say the rest.
// CHECK-LABEL: func.func @chunk
// CHECK-DAG: %[[N:.*]] = torch.constant.int 2
// CHECK-DAG: %[[D:.*]] = torch.constant.int -1
// CHECK: %[[L:.*]] = torch.aten.chunk %arg0, %[[N]], %[[D]] : !torch.vtensor<[2,5],f32>, !torch.int, !torch.int -> !torch.list<vtensor>
// CHECK: %[[P:.*]]:2 = torch.prim.ListUnpack %[[L]] : !torch.list<vtensor> -> !torch.vtensor, !torch.vtensor
// CHECK: %[[A:.*]] = torch.tensor_static_info_cast %[[P]]#0 : !torch.vtensor to !torch.vtensor<[2,3],f32>
// CHECK: return %[[A]], %[[P]]#1
func.func @chunk(%x: !torch.vtensor<[2,5],f32>) -> (!torch.vtensor<[2,3],f32>, !t) {
  %0:2 = "tierup.constant_chunk"(%x) {chunks = 2 : i64, dim = -1 : i64} : (!torch.vtensor<[2,5],f32>) -> (!torch.vtensor<[2,3],f32>, !t)
  return %0#0, %0#1 : !torch.vtensor<[2,3],f32>, !t
}

// From left to right. The sum of products of one type has it; of others nothing is said but what the op said.
// CHECK-LABEL: func.func @tree
// CHECK: %[[P:.*]] = torch.aten.mm %arg0, %arg1 : !torch.vtensor<[2,3],f32>, !torch.vtensor<[3,?],f32> -> !torch.vtensor<[2,?],f32>
// CHECK: %[[Q:.*]] = torch.aten.mm %arg0, %arg1 :
// CHECK: %[[X:.*]] = torch.aten.mm %arg2, %arg1 : !torch.vtensor, !torch.vtensor<[3,?],f32> -> !torch.vtensor
// CHECK: %[[PQ:.*]] = torch.aten.add.Tensor %[[P]], %[[Q]], %{{.*}} -> !torch.vtensor<[2,?],f32>
// CHECK: %[[S:.*]] = torch.aten.add.Tensor %[[PQ]], %[[X]], %{{.*}} -> !torch.vtensor
// CHECK: %[[R:.*]] = torch.tensor_static_info_cast %[[S]] : !torch.vtensor to !torch.vtensor<[2,?],f32>
// CHECK: return %[[R]]
func.func @tree(%a: !torch.vtensor<[2,3],f32>, %b: !torch.vtensor<[3,?],f32>, %x: !t) -> !torch.vtensor<[2,?],f32> {
  %0 = "tierup.batched_mm_tree"(%a, %a, %x, %b, %b, %b) : (!torch.vtensor<[2,3],f32>, !torch.vtensor<[2,3],f32>, !t, !torch.vtensor<[3,?],f32>, !torch.vtensor<[3,?],f32>, !torch.vtensor<[3,?],f32>) -> !torch.vtensor<[2,?],f32>
  return %0 : !torch.vtensor<[2,?],f32>
}

// Inside branches too.
// CHECK-LABEL: func.func @sides
// CHECK: torch.prim.If
// CHECK: torch.aten.mm %arg1, %arg2 : !torch.tensor, !torch.vtensor<[3,4],f32> -> !torch.tensor
// CHECK: torch.aten.mm %arg1, %arg3
// CHECK: } else {
// CHECK: torch.aten.mm %arg2, %arg1
// CHECK: torch.aten.mm %arg3, %arg1
// CHECK-NOT: tierup
func.func @sides(%c: !torch.bool, %w: !torch.tensor, %x: !torch.vtensor<[3,4],f32>, %y: !torch.tensor) -> (!torch.tensor, !torch.tensor) {
  %0:2 = torch.prim.If %c -> (!torch.tensor, !torch.tensor) {
    %1:2 = "tierup.batched_mm_side"(%w, %x, %y) {side = "left"} : (!torch.tensor, !torch.vtensor<[3,4],f32>, !torch.tensor) -> (!torch.tensor, !torch.tensor)
    torch.prim.If.yield %1#0, %1#1 : !torch.tensor, !torch.tensor
  } else {
    %1:2 = "tierup.batched_mm_side"(%w, %x, %y) {side = "right"} : (!torch.tensor, !torch.vtensor<[3,4],f32>, !torch.tensor) -> (!torch.tensor, !torch.tensor)
    torch.prim.If.yield %1#0, %1#1 : !torch.tensor, !torch.tensor
  }
  return %0#0, %0#1 : !torch.tensor, !torch.tensor
}

// Nothing to do.
// CHECK-LABEL: func.func @torch
// CHECK-NEXT: torch.aten.mm
// CHECK-NEXT: return
func.func @torch(%a: !t) -> !t {
  %0 = torch.aten.mm %a, %a : !t, !t -> !t
  return %0 : !t
}
