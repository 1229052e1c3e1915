// RUN: tierup-opt %s --tierup-differentiate="undo=true" | FileCheck %s

// An op without a rule, behind one that has: the group is undone, and nothing of the gradient stays. The other group has its gradient.
// CHECK-LABEL: func.func @f
// CHECK-NEXT: %[[E:.+]] = torch.aten.exp %arg0
// CHECK-NEXT: %[[O:.+]] = torch.operator "somebody.op"(%[[E]])
// CHECK-NEXT: %[[T:.+]] = torch.aten.tanh %[[O]]
// CHECK-NEXT: "tierup.differentiable"(%[[T]])
// CHECK: vjp_outputs = array<i64: 0>
func.func @f(%a: !torch.vtensor {tierup.requires_grad = true}) -> !torch.vtensor {
  %0 = "tierup.differentiable"(%a) ({
  ^bb0(%c: !torch.vtensor):
    %1 = torch.aten.exp %c : !torch.vtensor -> !torch.vtensor
    %2 = torch.operator "somebody.op"(%1) : (!torch.vtensor) -> !torch.vtensor
    %3 = torch.aten.tanh %2 : !torch.vtensor -> !torch.vtensor
    "tierup.yield"(%3) : (!torch.vtensor) -> ()
  }, {
    "tierup.yield"() : () -> ()
  }) {real_outputs = 1 : i64, vjp_outputs = array<i64>, captured_inputs = array<i64>, captured_outputs = array<i64>,
      gradient_inputs = array<i64>} : (!torch.vtensor) -> !torch.vtensor
  %4 = "tierup.differentiable"(%0) ({
  ^bb0(%c: !torch.vtensor):
    %5 = torch.aten.exp %c : !torch.vtensor -> !torch.vtensor
    "tierup.yield"(%5) : (!torch.vtensor) -> ()
  }, {
    "tierup.yield"() : () -> ()
  }) {real_outputs = 1 : i64, vjp_outputs = array<i64>, captured_inputs = array<i64>, captured_outputs = array<i64>,
      gradient_inputs = array<i64>} : (!torch.vtensor) -> !torch.vtensor
  return %4 : !torch.vtensor
}

// Backward would read %b as it is written later.
// CHECK-LABEL: func.func @written
// CHECK-NEXT: torch.aten.mul.Tensor
// CHECK-NEXT: torch.aten.neg_
// CHECK-NEXT: return
func.func @written(%a: !torch.tensor {tierup.requires_grad = true}, %b: !torch.tensor {tierup.requires_grad = false}) -> !torch.tensor {
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
