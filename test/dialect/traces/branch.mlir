// RUN: tierup-opt %s --tierup-pipeline=profiling-insensitive --tierup-pipeline=instrument | FileCheck %s
// A branch on a sum. Both arms are watched, as there; the one that does not run will have recorded nothing.

// CHECK-COUNT-17: "tierup.profile"
// CHECK-NOT: "tierup.profile"
// CHECK: "tierup.count_run"

func.func @branch(%x: !torch.vtensor {tierup.name = "x"}, %y: !torch.vtensor {tierup.name = "y"}) -> !torch.vtensor {
  %none = torch.constant.none
  %one = torch.constant.int 1
  %zero = torch.constant.int 0
  %two = torch.constant.float 2.000000e+00
  %0 = torch.aten.mul.Tensor %x, %y : !torch.vtensor, !torch.vtensor -> !torch.vtensor
  %z = torch.aten.add.Tensor %0, %y, %one : !torch.vtensor, !torch.vtensor, !torch.int -> !torch.vtensor
  %1 = torch.aten.sum %z, %none : !torch.vtensor, !torch.none -> !torch.vtensor
  %2 = torch.aten.gt.Scalar %1, %zero : !torch.vtensor, !torch.int -> !torch.vtensor
  %3 = torch.aten.Bool.Tensor %2 : !torch.vtensor -> !torch.bool
  %r = torch.prim.If %3 -> (!torch.vtensor) {
    %4 = torch.aten.tanh %z : !torch.vtensor -> !torch.vtensor
    %5 = torch.aten.mul.Tensor %4, %x : !torch.vtensor, !torch.vtensor -> !torch.vtensor
    torch.prim.If.yield %5 : !torch.vtensor
  } else {
    %4 = torch.aten.sigmoid %z : !torch.vtensor -> !torch.vtensor
    %5 = torch.aten.sub.Tensor %4, %y, %one : !torch.vtensor, !torch.vtensor, !torch.int -> !torch.vtensor
    torch.prim.If.yield %5 : !torch.vtensor
  }
  %6 = torch.aten.mul.Scalar %r, %two : !torch.vtensor, !torch.float -> !torch.vtensor
  return %6 : !torch.vtensor
}
