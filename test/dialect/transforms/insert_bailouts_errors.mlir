// RUN: tierup-opt %s --split-input-file --tierup-insert-bailouts --verify-diagnostics

func.func @in_a_group(%x: !torch.vtensor) -> !torch.vtensor {
  %0 = "tierup.fusion_group"(%x) ({
  ^bb0(%a: !torch.vtensor):
    // expected-error@below {{stands in a tierup.fusion_group, which cannot be left in the middle}}
    %1 = "tierup.guard"(%a) {expected = #tierup.profiled<f32[4]>} : (!torch.vtensor) -> !torch.vtensor
    "tierup.yield"(%1) : (!torch.vtensor) -> ()
  }, {}) : (!torch.vtensor) -> !torch.vtensor
  return %0 : !torch.vtensor
}

// -----
func.func @blocks(%x: !torch.vtensor) -> !torch.vtensor {
  // expected-error@below {{stands in a function of several blocks}}
  %0 = "tierup.guard"(%x) {expected = #tierup.profiled<f32[4]>} : (!torch.vtensor) -> !torch.vtensor
  cf.br ^end
^end:
  return %0 : !torch.vtensor
}
