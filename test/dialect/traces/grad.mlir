// RUN: tierup-opt %s --tierup-pipeline=profiling-insensitive --tierup-pipeline=instrument | FileCheck %s
// The forward graph of a gradient. Each use of a tensor is watched, as many as there.

// CHECK-COUNT-10: "tierup.profile"
// CHECK-NOT: "tierup.profile"
// CHECK: "tierup.count_run"

func.func @grad(%x: !torch.vtensor {tierup.name = "x"}, %w: !torch.vtensor {tierup.name = "w"}, %b: !torch.vtensor {tierup.name = "b"}) -> !torch.vtensor {
  %one = torch.constant.int 1
  %0 = torch.aten.mul.Tensor %x, %w : !torch.vtensor, !torch.vtensor -> !torch.vtensor
  %1 = torch.aten.add.Tensor %0, %b, %one : !torch.vtensor, !torch.vtensor, !torch.int -> !torch.vtensor
  %2 = torch.aten.sigmoid %1 : !torch.vtensor -> !torch.vtensor
  %y = torch.aten.mul.Tensor %2, %x : !torch.vtensor, !torch.vtensor -> !torch.vtensor
  %3 = torch.aten.mul.Tensor %y, %y : !torch.vtensor, !torch.vtensor -> !torch.vtensor
  return %3 : !torch.vtensor
}
