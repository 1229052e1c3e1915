// RUN: tierup-opt %s --tierup-fuse-groups="policy=tensor-expressions" --tierup-verify-specialized | FileCheck %s
// RUN: tierup-opt %s --tierup-fuse-groups="policy=tensor-expressions" --tierup-fuse-groups="policy=tensor-expressions" | FileCheck %s

!t = !torch.vtensor<[4,4],f32>
!half = !torch.vtensor<[4,2],f32>

// Chunks, slices and concatenations stand anywhere in a group.
// CHECK-LABEL: func.func @moves
// CHECK: [[G:%.+]] = "tierup.fusion_group"(%arg0)
// CHECK: torch.aten.tanh
// CHECK: torch.aten.chunk
// CHECK: torch.prim.ListUnpack
// CHECK: torch.aten.mul.Tensor
// CHECK: torch.aten.cat
// CHECK: torch.aten.slice.Tensor
// CHECK: torch.aten.unsqueeze
// CHECK: torch.aten.neg
// CHECK: "tierup.yield"
// CHECK: return [[G]]
func.func @moves(%x: !t) -> !torch.vtensor<[1,2,4],f32> {
  %int0 = torch.constant.int 0
  %int1 = torch.constant.int 1
  %int2 = torch.constant.int 2
  %0 = torch.aten.tanh %x : !t -> !t
  %1 = torch.aten.chunk %0, %int2, %int1 : !t, !torch.int, !torch.int -> !torch.list<vtensor<[4,2],f32>>
  %2:2 = torch.prim.ListUnpack %1 : !torch.list<vtensor<[4,2],f32>> -> !half, !half
  %3 = torch.aten.mul.Tensor %2#0, %2#1 : !half, !half -> !half
  %4 = torch.prim.ListConstruct %3, %2#1 : (!half, !half) -> !torch.list<vtensor<[4,2],f32>>
  %5 = torch.aten.cat %4, %int1 : !torch.list<vtensor<[4,2],f32>>, !torch.int -> !t
  %6 = torch.aten.slice.Tensor %5, %int0, %int0, %int2, %int1 : !t, !torch.int, !torch.int, !torch.int, !torch.int -> !torch.vtensor<[2,4],f32>
  %7 = torch.aten.unsqueeze %6, %int0 : !torch.vtensor<[2,4],f32>, !torch.int -> !torch.vtensor<[1,2,4],f32>
  %8 = torch.aten.neg %7 : !torch.vtensor<[1,2,4],f32> -> !torch.vtensor<[1,2,4],f32>
  return %8 : !torch.vtensor<[1,2,4],f32>
}

// Sums, products, other views, branches and computed numbers stay outside.
// CHECK-LABEL: func.func @outside
// CHECK: torch.aten.mm
// CHECK: [[A:%.+]] = "tierup.fusion_group"
// CHECK: torch.aten.exp
// CHECK: torch.aten.tanh
// CHECK: "tierup.yield"
// CHECK: torch.aten.t [[A]]
// CHECK: torch.aten.sum
// CHECK: torch.aten.mul.Scalar %{{.+}}, %arg1
// CHECK: torch.prim.If
// CHECK: "tierup.fusion_group"
// CHECK: torch.aten.sin
// CHECK: torch.aten.cos
// CHECK: "tierup.yield"
// CHECK-NOT: tierup.fusion_group
func.func @outside(%x: !t, %s: !torch.float, %c: !torch.bool) -> (!t, !torch.vtensor<[],f32>) {
  %none = torch.constant.none
  %0 = torch.aten.mm %x, %x : !t, !t -> !t
  %1 = torch.aten.exp %0 : !t -> !t
  %2 = torch.aten.tanh %1 : !t -> !t
  %3 = torch.aten.t %2 : !t -> !t
  %4 = torch.aten.sum %3, %none : !t, !torch.none -> !torch.vtensor<[],f32>
  %5 = torch.aten.mul.Scalar %3, %s : !t, !torch.float -> !t
  %6 = torch.prim.If %c -> (!t) {
    %7 = torch.aten.sin %5 : !t -> !t
    %8 = torch.aten.cos %7 : !t -> !t
    torch.prim.If.yield %8 : !t
  } else {
    torch.prim.If.yield %5 : !t
  }
  return %6, %4 : !t, !torch.vtensor<[],f32>
}
