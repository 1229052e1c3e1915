// RUN: tierup-opt %s --tierup-fuse-groups="policy=legacy" --tierup-verify-specialized | FileCheck %s
// RUN: tierup-opt %s --tierup-fuse-groups="policy=legacy" --tierup-fuse-groups="policy=legacy" | FileCheck %s
// RUN: tierup-opt %s --tierup-fuse-groups="symbolic=false" | FileCheck %s --check-prefix=STATIC
// RUN: tierup-opt %s --tierup-fuse-groups="symbolic=false" --tierup-fuse-groups="symbolic=false" | FileCheck %s --check-prefix=STATIC
// RUN: not tierup-opt %s --tierup-fuse-groups="policy=eager" 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// UNKNOWN: option 'policy' of pass 'tierup-fuse-groups' is one of native, legacy, tensor-expressions, not eager

!t = !torch.vtensor<[4,4],f32>
!half = !torch.vtensor<[4,2],f32>

// Chunks begin a group, concatenations end it: what makes the chunked tensor and what reads the whole are groups of their own.
// CHECK-LABEL: func.func @edges
// CHECK: "tierup.fusion_group"(%arg0)
// CHECK-NEXT: ^bb0
// CHECK: torch.aten.tanh
// CHECK: torch.aten.exp
// CHECK-NEXT: "tierup.yield"
// CHECK: "tierup.fusion_group"
// CHECK-NEXT: ^bb0
// CHECK: torch.aten.chunk
// CHECK: torch.prim.ListUnpack
// CHECK: torch.aten.sigmoid
// CHECK: torch.aten.mul.Tensor
// CHECK: torch.aten.cat
// CHECK-NEXT: "tierup.yield"
// CHECK: "tierup.fusion_group"
// CHECK-NEXT: ^bb0
// CHECK: torch.aten.relu
// CHECK: torch.aten.neg
// CHECK-NEXT: "tierup.yield"
// CHECK-NOT: tierup.fusion_group
// CHECK: return
// STATIC-LABEL: func.func @edges
// STATIC-COUNT-1: "tierup.fusion_group"
// STATIC-NOT: tierup.fusion_group
// STATIC: return
func.func @edges(%x: !t) -> !t {
  %one = torch.constant.int 1
  %two = torch.constant.int 2
  %0 = torch.aten.tanh %x : !t -> !t
  %1 = torch.aten.exp %0 : !t -> !t
  %l = torch.aten.chunk %1, %two, %one : !t, !torch.int, !torch.int -> !torch.list<vtensor<[4,2],f32>>
  %2:2 = torch.prim.ListUnpack %l : !torch.list<vtensor<[4,2],f32>> -> !half, !half
  %3 = torch.aten.sigmoid %2#0 : !half -> !half
  %4 = torch.aten.mul.Tensor %3, %2#1 : !half, !half -> !half
  %parts = torch.prim.ListConstruct %4, %3 : (!half, !half) -> !torch.list<vtensor<[4,2],f32>>
  %5 = torch.aten.cat %parts, %one : !torch.list<vtensor<[4,2],f32>>, !torch.int -> !t
  %6 = torch.aten.relu %5 : !t -> !t
  %7 = torch.aten.neg %6 : !t -> !t
  return %7 : !t
}

// No reductions, products, views, branches or loops, and no number that is not constant.
// CHECK-LABEL: func.func @others
// CHECK-NOT: tierup.fusion_group
// CHECK: torch.prim.If
// CHECK: "tierup.fusion_group"
// CHECK: torch.aten.tanh
// CHECK: torch.aten.mul.Scalar {{.+}}, %int2
// CHECK: "tierup.yield"
// CHECK-NOT: tierup.fusion_group
// CHECK: return
func.func @others(%x: !t, %n: !torch.int, %c: !torch.bool) -> (!t, !t, !torch.vtensor<[],f32>, !t) {
  %none = torch.constant.none
  %two = torch.constant.int 2
  %0 = torch.aten.mm %x, %x : !t, !t -> !t
  %t = torch.aten.tanh %x : !t -> !t
  %1 = torch.aten.mul.Scalar %t, %n : !t, !torch.int -> !t
  %2 = torch.aten.sum %x, %none : !t, !torch.none -> !torch.vtensor<[],f32>
  %3 = torch.prim.If %c -> (!t) {
    %4 = torch.aten.tanh %x : !t -> !t
    %5 = torch.aten.mul.Scalar %4, %two : !t, !torch.int -> !t
    torch.prim.If.yield %5 : !t
  } else {
    torch.prim.If.yield %x : !t
  }
  return %0, %1, %2, %3 : !t, !t, !torch.vtensor<[],f32>, !t
}

// Tensors whose sizes only the run knows: a group of their own that names them, or none.
// CHECK-LABEL: func.func @symbolic
// CHECK: "tierup.fusion_group"(%arg0, %arg1)
// CHECK: torch.symbolic_int "s0"
// STATIC-LABEL: func.func @symbolic
// STATIC: torch.aten.tanh %arg0
// STATIC: torch.aten.exp
// STATIC: "tierup.fusion_group"(%arg1) ({
// STATIC-NEXT: ^bb0
// STATIC-NEXT: torch.aten.sigmoid
// STATIC-NEXT: torch.aten.relu
// STATIC-NEXT: "tierup.yield"
// STATIC-NOT: tierup.fusion_group
// STATIC: return
func.func @symbolic(%x: !torch.vtensor<[?],f32>, %y: !t) -> (!torch.vtensor<[?],f32>, !t) {
  %s0 = torch.symbolic_int "s0" {min_val = 2, max_val = 9223372036854775807} : !torch.int
  torch.bind_symbolic_shape %x, [%s0], affine_map<()[s0] -> (s0)> : !torch.vtensor<[?],f32>
  %0 = torch.aten.tanh %x : !torch.vtensor<[?],f32> -> !torch.vtensor<[?],f32>
  %1 = torch.aten.exp %0 : !torch.vtensor<[?],f32> -> !torch.vtensor<[?],f32>
  %2 = torch.aten.sigmoid %y : !t -> !t
  %3 = torch.aten.relu %2 : !t -> !t
  return %1, %3 : !torch.vtensor<[?],f32>, !t
}
