// RUN: tierup-opt %s --tierup-pipeline=profiling-insensitive --tierup-pipeline=instrument | FileCheck %s
// Elementwise: a gated gelu of x * w + b. Each use of a tensor is watched, as many as there.

// CHECK-COUNT-21: "tierup.profile"
// CHECK-NOT: "tierup.profile"
// CHECK: "tierup.count_run"

func.func @ew(%x: !torch.vtensor {tierup.name = "x"}, %w: !torch.vtensor {tierup.name = "w"}, %b: !torch.vtensor {tierup.name = "b"}) -> !torch.vtensor {
  %one = torch.constant.int 1
  %half = torch.constant.float 5.000000e-01
  %unit = torch.constant.float 1.000000e+00
  %root = torch.constant.float 0.79788456080000003
  %cubic = torch.constant.float 4.471500e-02
  %0 = torch.aten.mul.Tensor %x, %w : !torch.vtensor, !torch.vtensor -> !torch.vtensor
  %y = torch.aten.add.Tensor %0, %b, %one : !torch.vtensor, !torch.vtensor, !torch.int -> !torch.vtensor
  %1 = torch.aten.mul.Scalar %y, %half : !torch.vtensor, !torch.float -> !torch.vtensor
  %2 = torch.aten.mul.Scalar %y, %cubic : !torch.vtensor, !torch.float -> !torch.vtensor
  %3 = torch.aten.mul.Tensor %2, %y : !torch.vtensor, !torch.vtensor -> !torch.vtensor
  %4 = torch.aten.mul.Tensor %3, %y : !torch.vtensor, !torch.vtensor -> !torch.vtensor
  %5 = torch.aten.add.Tensor %y, %4, %one : !torch.vtensor, !torch.vtensor, !torch.int -> !torch.vtensor
  %6 = torch.aten.mul.Scalar %5, %root : !torch.vtensor, !torch.float -> !torch.vtensor
  %7 = torch.aten.tanh %6 : !torch.vtensor -> !torch.vtensor
  %8 = torch.aten.add.Scalar %7, %unit, %one : !torch.vtensor, !torch.float, !torch.int -> !torch.vtensor
  %9 = torch.aten.mul.Tensor %1, %8 : !torch.vtensor, !torch.vtensor -> !torch.vtensor
  %10 = torch.aten.sigmoid %x : !torch.vtensor -> !torch.vtensor
  %11 = torch.aten.mul.Tensor %9, %10 : !torch.vtensor, !torch.vtensor -> !torch.vtensor
  return %11 : !torch.vtensor
}
