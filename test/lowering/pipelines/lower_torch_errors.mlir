// RUN: tierup-opt %s --split-input-file --tierup-pipeline=lower-cpu --verify-diagnostics
// What has no native code is named at the op of the program, in its own words.

func.func @an_op_of_somebody_else(%x: !torch.vtensor<[4],f32>) -> !torch.vtensor<[4],f32> attributes {tierup.result_kinds = ["buffer"]} {
  %0 = torch.aten.tanh %x : !torch.vtensor<[4],f32> -> !torch.vtensor<[4],f32>
  // expected-error@below {{'torch.operator' op has no lowering for operands (!torch.vtensor<[4],f32>)}}
  %1 = torch.operator "mine.op"(%0) : (!torch.vtensor<[4],f32>) -> !torch.vtensor<[4],f32>
  return %1 : !torch.vtensor<[4],f32>
}

// -----
func.func @types_not_known(%x: !torch.vtensor, %n: !torch.int) -> !torch.vtensor attributes {tierup.result_kinds = ["buffer"]} {
  %true = torch.constant.bool true
  // expected-error@below {{'torch.prim.Loop' op has no lowering for operands (!torch.int, !torch.bool, !torch.vtensor)}}
  %0 = torch.prim.Loop %n, %true, init(%x) {
  ^bb0(%i: !torch.int, %v: !torch.vtensor):
    %1 = torch.aten.tanh %v : !torch.vtensor -> !torch.vtensor
    torch.prim.Loop.condition %true, iter(%1 : !torch.vtensor)
  } : (!torch.int, !torch.bool, !torch.vtensor) -> !torch.vtensor
  return %0 : !torch.vtensor
}

// -----
// expected-error@below {{'func.func' op has 1 results but tierup.result_kinds lists 2}}
func.func @wrong_attribute(%x: !torch.vtensor<[4],f32>) -> !torch.vtensor<[4],f32> attributes {tierup.result_kinds = ["buffer", "buffer"]} {
  %0 = torch.aten.tanh %x : !torch.vtensor<[4],f32> -> !torch.vtensor<[4],f32>
  return %0 : !torch.vtensor<[4],f32>
}
