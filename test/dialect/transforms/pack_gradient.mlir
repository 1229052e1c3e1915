// RUN: tierup-opt %s --tierup-pack-gradient | FileCheck %s
// RUN: tierup-opt %s --tierup-pack-gradient --tierup-pack-gradient | FileCheck %s
// RUN: tierup-opt %s --tierup-pack-gradient --tierup-create-differentiable-subgraphs="threshold=1" --tierup-differentiate | FileCheck %s --check-prefix=AGAIN

// Both graphs become functions; the lists stay with the group.
// CHECK-LABEL: func.func @f
// CHECK: "tierup.differentiable"(%arg0, %arg1)
// CHECK-NEXT: ^bb0(%[[A:.+]]: !torch.vtensor, %[[B:.+]]: !torch.vtensor):
// CHECK-NEXT: %[[F:.+]]:2 = func.call @f_forward_0(%[[A]], %[[B]])
// CHECK-NEXT: "tierup.yield"(%[[F]]#0, %[[F]]#1)
// CHECK: ^bb0(%[[G:.+]]: !torch.vtensor, %[[H:.+]]: !torch.vtensor, %[[C:.+]]: !torch.vtensor):
// CHECK-NEXT: %[[R:.+]] = func.call @f_backward_0(%[[G]], %[[H]], %[[C]])
// CHECK-NEXT: "tierup.yield"(%[[R]])
// CHECK: captured_inputs = array<i64: 1>, captured_outputs = array<i64>, gradient_inputs = array<i64: 0>, real_outputs = 1 : i64, vjp_outputs = array<i64: 0, 1>
// A group without a gradient stays as it is.
// CHECK-LABEL: func.func @waits
// CHECK: "tierup.differentiable"
// CHECK: torch.aten.exp
// CHECK-NOT: func.call
// What the forward function gets is detached, and neither function is grouped again.
// CHECK: func.func private @f_forward_0(%{{.+}}: !torch.vtensor {tierup.requires_grad = false}, %{{.+}}: !torch.vtensor {tierup.requires_grad = false}) -> (!torch.vtensor, !torch.vtensor) attributes {tierup.forward}
// CHECK-NEXT: torch.aten.tanh
// CHECK: func.func private @f_backward_0({{.*}}) -> !torch.vtensor attributes {tierup.backward}
// CHECK-NEXT: torch.aten.mul.Tensor
// CHECK-NOT: func.func
// AGAIN-COUNT-2: "tierup.differentiable"
// AGAIN-NOT: "tierup.differentiable"
func.func @f(%x: !torch.vtensor {tierup.requires_grad = true}, %y: !torch.vtensor {tierup.requires_grad = false}) -> !torch.vtensor {
  %0 = "tierup.differentiable"(%x, %y) ({
  ^bb0(%a: !torch.vtensor, %b: !torch.vtensor):
    %1 = torch.aten.tanh %a : !torch.vtensor -> !torch.vtensor
    %2 = torch.aten.mul.Tensor %1, %b : !torch.vtensor, !torch.vtensor -> !torch.vtensor
    "tierup.yield"(%2, %1) : (!torch.vtensor, !torch.vtensor) -> ()
  }, {
  ^bb0(%g: !torch.vtensor, %h: !torch.vtensor, %b: !torch.vtensor):
    %1 = torch.aten.mul.Tensor %g, %b : !torch.vtensor, !torch.vtensor -> !torch.vtensor
    "tierup.yield"(%1) : (!torch.vtensor) -> ()
  }) {real_outputs = 1 : i64, vjp_outputs = array<i64: 0, 1>, captured_inputs = array<i64: 1>, captured_outputs = array<i64>,
      gradient_inputs = array<i64: 0>} : (!torch.vtensor, !torch.vtensor) -> !torch.vtensor
  return %0 : !torch.vtensor
}

func.func @waits(%x: !torch.vtensor {tierup.requires_grad = false}) -> !torch.vtensor {
  %0 = "tierup.differentiable"(%x) ({
  ^bb0(%a: !torch.vtensor):
    %1 = torch.aten.exp %a : !torch.vtensor -> !torch.vtensor
    "tierup.yield"(%1) : (!torch.vtensor) -> ()
  }, {
    "tierup.yield"() : () -> ()
  }) {real_outputs = 1 : i64, vjp_outputs = array<i64>, captured_inputs = array<i64>, captured_outputs = array<i64>,
      gradient_inputs = array<i64>} : (!torch.vtensor) -> !torch.vtensor
  return %0 : !torch.vtensor
}
