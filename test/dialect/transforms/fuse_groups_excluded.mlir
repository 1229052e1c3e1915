// RUN: tierup-opt %s --tierup-fuse-groups="excluded=aten.exp" | FileCheck %s
// RUN: tierup-opt %s --tierup-fuse-groups="excluded=aten.exp" --tierup-fuse-groups="excluded=aten.exp" | FileCheck %s
// RUN: tierup-opt %s --tierup-fuse-groups | FileCheck %s --check-prefix=ALL

// An op that is excluded stays outside, by its name or its place, and leaves no mark behind.
// CHECK-NOT: tierup.refused
// CHECK: tierup.fusion_group
// CHECK: torch.aten.tanh
// CHECK: torch.aten.mul.Tensor
// CHECK: tierup.yield
// CHECK: %[[E:.*]] = torch.aten.exp
// CHECK-NOT: tierup.refused
// CHECK: tierup.fusion_group"(%[[E]]
// CHECK: torch.aten.sigmoid
// CHECK: torch.aten.neg
// CHECK-NOT: tierup.refused
// ALL-COUNT-1: tierup.fusion_group
// ALL-NOT: tierup.fusion_group
func.func @f(%x: !torch.vtensor<[4],f32>) -> !torch.vtensor<[4],f32> {
  %0 = torch.aten.tanh %x : !torch.vtensor<[4],f32> -> !torch.vtensor<[4],f32>
  %1 = torch.aten.mul.Tensor %0, %x : !torch.vtensor<[4],f32>, !torch.vtensor<[4],f32> -> !torch.vtensor<[4],f32>
  %2 = torch.aten.exp %1 : !torch.vtensor<[4],f32> -> !torch.vtensor<[4],f32>
  %3 = torch.aten.sigmoid %2 : !torch.vtensor<[4],f32> -> !torch.vtensor<[4],f32>
  %4 = torch.aten.neg %3 : !torch.vtensor<[4],f32> -> !torch.vtensor<[4],f32>
  return %4 : !torch.vtensor<[4],f32>
}
