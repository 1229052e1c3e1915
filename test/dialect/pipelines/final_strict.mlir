// RUN: tierup-opt %s --tierup-pipeline=final-strict --split-input-file --verify-diagnostics -o %t

// Dead ops go first, so that only what runs must be fused.
func.func @fused(%x: !torch.vtensor<[4],f32>) -> !torch.vtensor<[4],f32> {
  %0 = torch.aten.exp %x : !torch.vtensor<[4],f32> -> !torch.vtensor<[4],f32>
  %1 = "tierup.fusion_group"(%x) ({
  ^bb0(%a: !torch.vtensor<[4],f32>):
    %2 = torch.aten.tanh %a : !torch.vtensor<[4],f32> -> !torch.vtensor<[4],f32>
    "tierup.yield"(%2) : (!torch.vtensor<[4],f32>) -> ()
  }, {}) : (!torch.vtensor<[4],f32>) -> !torch.vtensor<[4],f32>
  return %1 : !torch.vtensor<[4],f32>
}

// -----

func.func @left_out(%x: !torch.vtensor<[4],f32>) -> !torch.vtensor<[4],f32> {
  // expected-error @+1 {{left out of fusion}}
  %0 = torch.aten.exp %x : !torch.vtensor<[4],f32> -> !torch.vtensor<[4],f32>
  return %0 : !torch.vtensor<[4],f32>
}
