// RUN: tierup-opt %s --split-input-file --tierup-split-gradient=entry=f --verify-diagnostics

func.func @f(%x: !torch.vtensor<[4],f32>) -> !torch.vtensor<[4],f32> {
  // expected-error@below {{has no gradient: give it a rule in dialect/ops/gradients, or keep what it gives out of the differentiated result}}
  %0 = torch.operator "somebody.op"(%x) : (!torch.vtensor<[4],f32>) -> !torch.vtensor<[4],f32>
  return %0 : !torch.vtensor<[4],f32>
}

// -----
// expected-error@below {{has no function @f}}
module {
}
