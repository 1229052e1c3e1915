// RUN: tierup-opt %s --split-input-file --tierup-differentiate --verify-diagnostics

func.func @f(%a: !torch.vtensor {tierup.requires_grad = true}) -> !torch.vtensor {
  %0 = "tierup.differentiable"(%a) ({
  ^bb0(%c: !torch.vtensor):
    // expected-error@below {{has no gradient: give it a rule in dialect/ops/gradients, or keep what it gives out of the differentiated result}}
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

// -----
// What backward captures is read when backward runs: %b is another number then.
func.func @written(%a: !torch.tensor {tierup.requires_grad = true}, %b: !torch.tensor {tierup.requires_grad = false}) -> !torch.tensor {
  // expected-error@below {{has a gradient that reads a tensor or list that is written: run tierup-functionalize first}}
  %0 = "tierup.differentiable"(%a, %b) ({
  ^bb0(%c: !torch.tensor, %d: !torch.tensor):
    %1 = torch.aten.mul.Tensor %c, %d : !torch.tensor, !torch.tensor -> !torch.tensor
    "tierup.yield"(%1) : (!torch.tensor) -> ()
  }, {
    "tierup.yield"() : () -> ()
  }) {real_outputs = 1 : i64, vjp_outputs = array<i64>, captured_inputs = array<i64>, captured_outputs = array<i64>,
      gradient_inputs = array<i64>} : (!torch.tensor, !torch.tensor) -> !torch.tensor
  %2 = torch.aten.neg_ %b : !torch.tensor -> !torch.tensor
  return %0 : !torch.tensor
}

// -----
// The same of a result that is captured, and of one in whose memory somebody writes.
func.func @written_result(%a: !torch.tensor {tierup.requires_grad = true}) -> !torch.tensor {
  // expected-error@below {{has a gradient that reads a tensor or list that is written}}
  %0 = "tierup.differentiable"(%a) ({
  ^bb0(%c: !torch.tensor):
    %1 = torch.aten.exp %c : !torch.tensor -> !torch.tensor
    "tierup.yield"(%1) : (!torch.tensor) -> ()
  }, {
    "tierup.yield"() : () -> ()
  }) {real_outputs = 1 : i64, vjp_outputs = array<i64>, captured_inputs = array<i64>, captured_outputs = array<i64>,
      gradient_inputs = array<i64>} : (!torch.tensor) -> !torch.tensor
  %2 = torch.aten.detach %0 : !torch.tensor -> !torch.tensor
  %3 = torch.aten.neg_ %2 : !torch.tensor -> !torch.tensor
  return %0 : !torch.tensor
}
