// RUN: tierup-opt %s --tierup-fuse-groups | FileCheck %s --check-prefix=TWO
// RUN: tierup-opt %s --tierup-fuse-groups="min-group-size=1" | FileCheck %s --check-prefix=ONE

// Views and scalars do not count, and stay outside when no other member needs them.
// TWO-LABEL: func.func @one_op_and_views
// TWO-NOT: tierup.fusion_group
// ONE-LABEL: func.func @one_op_and_views
// ONE: torch.aten.t %arg0
// ONE: "tierup.fusion_group"
// ONE-NOT: torch.aten.t %
// ONE: torch.aten.tanh
// ONE: "tierup.yield"
// ONE: torch.aten.nonzero
func.func @one_op_and_views(%x: !torch.vtensor<[2,4],f32>) -> (!torch.vtensor<[4,2],f32>, !torch.vtensor<[2,4],f32>, !torch.vtensor) {
  %0 = torch.aten.t %x : !torch.vtensor<[2,4],f32> -> !torch.vtensor<[4,2],f32>
  %1 = torch.aten.tanh %x : !torch.vtensor<[2,4],f32> -> !torch.vtensor<[2,4],f32>
  %2 = torch.aten.nonzero %1 : !torch.vtensor<[2,4],f32> -> !torch.vtensor
  return %0, %1, %2 : !torch.vtensor<[4,2],f32>, !torch.vtensor<[2,4],f32>, !torch.vtensor
}

// ONE-LABEL: func.func @untyped
// ONE-NOT: tierup.fusion_group
// ONE: return
func.func @untyped(%x: !torch.vtensor) -> !torch.vtensor {
  %0 = torch.aten.tanh %x : !torch.vtensor -> !torch.vtensor
  return %0 : !torch.vtensor
}
