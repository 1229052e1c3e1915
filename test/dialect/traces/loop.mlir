// RUN: tierup-opt %s --tierup-pipeline=profiling-insensitive --tierup-pipeline=instrument | FileCheck %s
// A loop over elementwise ops. Watched inside, at the end of each round, and behind it, as there.

// CHECK-COUNT-6: "tierup.profile"
// CHECK-NOT: "tierup.profile"
// CHECK: "tierup.count_run"

func.func @loop(%x: !torch.vtensor {tierup.name = "x"}, %n: !torch.int {tierup.name = "n"}) -> !torch.vtensor {
  %one = torch.constant.int 1
  %true = torch.constant.bool true
  %half = torch.constant.float 5.000000e-01
  %acc = torch.prim.Loop %n, %true, init(%x) {
  ^bb0(%i: !torch.int, %a: !torch.vtensor):
    %0 = torch.aten.add.Tensor %a, %x, %one : !torch.vtensor, !torch.vtensor, !torch.int -> !torch.vtensor
    %1 = torch.aten.tanh %0 : !torch.vtensor -> !torch.vtensor
    %2 = torch.aten.mul.Scalar %1, %half : !torch.vtensor, !torch.float -> !torch.vtensor
    torch.prim.Loop.condition %true, iter(%2 : !torch.vtensor)
  } : (!torch.int, !torch.bool, !torch.vtensor) -> !torch.vtensor
  return %acc : !torch.vtensor
}
