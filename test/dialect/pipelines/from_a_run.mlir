// RUN: tierup-run %s --arg 'f32[4,8]' --arg 3 --repeat 2 --emit=profiled > %t
// RUN: tierup-opt %t --tierup-pipeline=pre-autodiff-2.x --tierup-pipeline=no-grad --tierup-outline-fallbacks --tierup-pipeline=final | FileCheck %s
// The example of docs/pipelines.md: what a run recorded, through the pipelines of 2.x.

// CHECK-LABEL: func.func @loop
// CHECK: torch.prim.Loop
// CHECK: "tierup.check"(%{{.+}}, %arg0) {expected = [#tierup.profiled<f32[4,8]>, #tierup.profiled<f32[4,8]>]}
// CHECK-COUNT-8: torch.aten.tanh
// CHECK: call @loop_fallback_0
// CHECK: torch.prim.Loop
// CHECK: "tierup.check"
// CHECK: call @loop_fallback_1
func.func @loop(%x: !torch.vtensor, %n: !torch.int) -> !torch.vtensor {
  %one = torch.constant.int 1
  %true = torch.constant.bool true
  %0 = torch.prim.Loop %n, %true, init(%x) {
  ^bb0(%i: !torch.int, %a: !torch.vtensor):
    %1 = torch.aten.add.Tensor %a, %x, %one : !torch.vtensor, !torch.vtensor, !torch.int -> !torch.vtensor
    %2 = torch.aten.tanh %1 : !torch.vtensor -> !torch.vtensor
    torch.prim.Loop.condition %true, iter(%2 : !torch.vtensor)
  } : (!torch.int, !torch.bool, !torch.vtensor) -> !torch.vtensor
  return %0 : !torch.vtensor
}
