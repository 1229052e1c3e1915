// RUN: tierup-opt %s --split-input-file --tierup-differentiate --verify-diagnostics

func.func @f(%a: !torch.vtensor {tierup.requires_grad = true}) -> !torch.vtensor {
  %0 = "tierup.differentiable"(%a) ({
  ^bb0(%c: !torch.vtensor):
    // expected-error@below {{has no gradient: give it a rule in dialect/gradients, or keep what it gives out of the differentiated result}}
    %1 = torch.operator "somebody.op"(%c) : (!torch.vtensor) -> !torch.vtensor
    "tierup.yield"(%1) : (!torch.vtensor) -> ()
  }, {
    "tierup.yield"() : () -> ()
  }) {real_outputs = 1 : i64, vjp_outputs = array<i64>, captured_inputs = array<i64>, captured_outputs = array<i64>,
      gradient_inputs = array<i64>} : (!torch.vtensor) -> !torch.vtensor
  return %0 : !torch.vtensor
}

// -----
func.func @f(%a: !torch.vtensor {tierup.requires_grad = true}, %n: !torch.int) -> !torch.vtensor {
  %0 = "tierup.differentiable"(%a, %n) ({
  ^bb0(%c: !torch.vtensor, %m: !torch.int):
    %dims = torch.prim.ListConstruct %m : (!torch.int) -> !torch.list<int>
    // expected-error@below {{has no gradient: its operand 'dims' is not a list of constants: write it as numbers}}
    %1 = torch.aten.permute %c, %dims : !torch.vtensor, !torch.list<int> -> !torch.vtensor
    "tierup.yield"(%1) : (!torch.vtensor) -> ()
  }, {
    "tierup.yield"() : () -> ()
  }) {real_outputs = 1 : i64, vjp_outputs = array<i64>, captured_inputs = array<i64>, captured_outputs = array<i64>,
      gradient_inputs = array<i64>} : (!torch.vtensor, !torch.int) -> !torch.vtensor
  return %0 : !torch.vtensor
}
