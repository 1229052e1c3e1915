// RUN: tierup-opt %s --tierup-pipeline=profiling-insensitive --tierup-pipeline=instrument | FileCheck %s
// A product, a bias, a relu. Each use of a tensor is watched, as many as there.

// CHECK-COUNT-6: "tierup.profile"
// CHECK-NOT: "tierup.profile"
// CHECK: "tierup.count_run"

func.func @mm(%x: !torch.vtensor {tierup.name = "x"}, %w: !torch.vtensor {tierup.name = "w"}, %b: !torch.vtensor {tierup.name = "b"}) -> !torch.vtensor {
  %one = torch.constant.int 1
  %0 = torch.aten.mm %x, %w : !torch.vtensor, !torch.vtensor -> !torch.vtensor
  %1 = torch.aten.add.Tensor %0, %b, %one : !torch.vtensor, !torch.vtensor, !torch.int -> !torch.vtensor
  %2 = torch.aten.relu %1 : !torch.vtensor -> !torch.vtensor
  return %2 : !torch.vtensor
}
