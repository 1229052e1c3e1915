// RUN: tierup-opt %s --split-input-file --tierup-build-bailout-continuations --verify-diagnostics

func.func @moved_code(%x: !torch.vtensor, %y: !torch.vtensor) -> !torch.vtensor {
  // expected-error@below {{does not capture a block argument of type !torch.vtensor, which the rest of the program reads}}
  %0 = "tierup.bailout"(%x) {index = 0 : i64, expected = #tierup.profiled<f32[4]>} : (!torch.vtensor) -> !torch.vtensor<[4],f32>
  %1 = torch.aten.mul.Tensor %0, %y : !torch.vtensor<[4],f32>, !torch.vtensor -> !torch.vtensor
  return %1 : !torch.vtensor
}

// -----
func.func @loop_counter(%x: !torch.vtensor, %n: !torch.int) -> !torch.vtensor {
  %true = torch.constant.bool true
  %0 = torch.prim.Loop %n, %true, init(%x) {
  ^bb0(%i: !torch.int, %a: !torch.vtensor):
    // expected-error@below {{does not capture a block argument of type !torch.int, which the rest of the program reads}}
    %1 = "tierup.bailout"(%a, %n) {index = 0 : i64, expected = #tierup.profiled<f32[4]>} : (!torch.vtensor, !torch.int) -> !torch.vtensor<[4],f32>
    %2 = torch.tensor_static_info_cast %1 : !torch.vtensor<[4],f32> to !torch.vtensor
    torch.prim.Loop.condition %true, iter(%2 : !torch.vtensor)
  } : (!torch.int, !torch.bool, !torch.vtensor) -> !torch.vtensor
  return %0 : !torch.vtensor
}
