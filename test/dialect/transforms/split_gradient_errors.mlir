// RUN: tierup-opt %s --split-input-file --tierup-split-gradient=entry=f --verify-diagnostics

func.func @f(%x: !torch.vtensor<[4],f32>) -> !torch.vtensor<[4],f32> {
  %zero = torch.constant.int 0
  %false = torch.constant.bool false
  // expected-error@below {{has no gradient: give it a rule in dialect/gradients, or keep what it gives out of the differentiated result}}
  %0:2 = torch.aten.sort %x, %zero, %false : !torch.vtensor<[4],f32>, !torch.int, !torch.bool -> !torch.vtensor<[4],f32>, !torch.vtensor<[4],si64>
  return %0#0 : !torch.vtensor<[4],f32>
}

// -----
// expected-error@below {{has no result of floating dtype that depends on what its gradient is asked for}}
func.func @f(%x: !torch.vtensor<[4],f32>, %y: !torch.vtensor<[4],si64>) -> !torch.vtensor<[4],si64> {
  return %y : !torch.vtensor<[4],si64>
}

// -----
// expected-error@below {{has no function @f}}
module {
}
