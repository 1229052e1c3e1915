// RUN: tierup-opt %s --tierup-inline-differentiable | FileCheck %s
// RUN: tierup-opt %s --tierup-inline-differentiable --tierup-inline-differentiable | FileCheck %s
// RUN: tierup-opt %s --tierup-inline-differentiable="threshold=5" | FileCheck %s --check-prefix=FIVE

// One sigmoid is not worth a graph. What the profile saw of requires_grad was seen of a detached tensor.
// CHECK-LABEL: func.func @one_op
// CHECK-NEXT: [[P:%.+]] = "tierup.profile"(%arg0) {profiled = #tierup.profiled<f32[4]>, slot = 0 : i64}
// CHECK-NEXT: [[S:%.+]] = torch.aten.sigmoid [[P]]
// CHECK-NEXT: [[T:%.+]] = torch.aten.t [[S]]
// CHECK-NEXT: return [[T]]
func.func @one_op(%x: !torch.vtensor) -> !torch.vtensor {
  %0 = "tierup.differentiable"(%x) ({
  ^bb0(%a: !torch.vtensor):
    %p = "tierup.profile"(%a) {slot = 0 : i64, profiled = #tierup.profiled<f32[4] requires_grad=false>} : (!torch.vtensor) -> !torch.vtensor
    %1 = torch.aten.sigmoid %p : !torch.vtensor -> !torch.vtensor
    %2 = torch.aten.t %1 : !torch.vtensor -> !torch.vtensor
    "tierup.yield"(%2) : (!torch.vtensor) -> ()
  }, {
    "tierup.yield"() : () -> ()
  }) {real_outputs = 1 : i64, vjp_outputs = array<i64>, captured_inputs = array<i64>, captured_outputs = array<i64>, gradient_inputs = array<i64>} : (!torch.vtensor) -> !torch.vtensor
  return %0 : !torch.vtensor
}

// Two are, with a threshold of 2. The temporaries for a gradient go with it.
// CHECK-LABEL: func.func @two_ops
// CHECK: "tierup.differentiable"
// FIVE-LABEL: func.func @two_ops
// FIVE-NEXT: [[S:%.+]] = torch.aten.sigmoid %arg0
// FIVE-NEXT: [[T:%.+]] = torch.aten.sigmoid [[S]]
// FIVE-NEXT: return [[T]]
func.func @two_ops(%x: !torch.vtensor) -> !torch.vtensor {
  %0 = "tierup.differentiable"(%x) ({
  ^bb0(%a: !torch.vtensor):
    %1 = torch.aten.sigmoid %a : !torch.vtensor -> !torch.vtensor
    %2 = torch.aten.sigmoid %1 : !torch.vtensor -> !torch.vtensor
    "tierup.yield"(%2, %1) : (!torch.vtensor, !torch.vtensor) -> ()
  }, {
  ^bb0(%g: !torch.vtensor, %y: !torch.vtensor):
    %1 = torch.aten.mul.Tensor %g, %y : !torch.vtensor, !torch.vtensor -> !torch.vtensor
    "tierup.yield"(%1) : (!torch.vtensor) -> ()
  }) {real_outputs = 1 : i64, vjp_outputs = array<i64: 0>, captured_inputs = array<i64>, captured_outputs = array<i64: 1>, gradient_inputs = array<i64: 0>} : (!torch.vtensor) -> !torch.vtensor
  return %0 : !torch.vtensor
}

// Ops in branches count; ops of which autograd knows nothing keep their group, at any size.
// CHECK-LABEL: func.func @counted_and_unknown
// CHECK: "tierup.differentiable"
// CHECK: torch.prim.If
// CHECK: "tierup.differentiable"
// CHECK: torch.operator "my.op"
// CHECK: "tierup.differentiable"
// CHECK: "tierup.fusion_group"
// FIVE-LABEL: func.func @counted_and_unknown
// FIVE: torch.prim.If
// FIVE: "tierup.differentiable"
// FIVE: torch.operator "my.op"
// FIVE: "tierup.differentiable"
// FIVE: "tierup.fusion_group"
func.func @counted_and_unknown(%x: !torch.vtensor, %c: !torch.bool) -> (!torch.vtensor, !torch.vtensor, !torch.vtensor) {
  %0 = "tierup.differentiable"(%x, %c) ({
  ^bb0(%a: !torch.vtensor, %b: !torch.bool):
    %1 = torch.prim.If %b -> (!torch.vtensor) {
      %2 = torch.aten.sigmoid %a : !torch.vtensor -> !torch.vtensor
      torch.prim.If.yield %2 : !torch.vtensor
    } else {
      torch.prim.If.yield %a : !torch.vtensor
    }
    "tierup.yield"(%1) : (!torch.vtensor) -> ()
  }, {
    "tierup.yield"() : () -> ()
  }) {real_outputs = 1 : i64, vjp_outputs = array<i64>, captured_inputs = array<i64>, captured_outputs = array<i64>, gradient_inputs = array<i64>} : (!torch.vtensor, !torch.bool) -> !torch.vtensor
  %3 = "tierup.differentiable"(%x) ({
  ^bb0(%a: !torch.vtensor):
    %1 = torch.operator "my.op"(%a) : (!torch.vtensor) -> !torch.vtensor
    "tierup.yield"(%1) : (!torch.vtensor) -> ()
  }, {
    "tierup.yield"() : () -> ()
  }) {real_outputs = 1 : i64, vjp_outputs = array<i64>, captured_inputs = array<i64>, captured_outputs = array<i64>, gradient_inputs = array<i64>} : (!torch.vtensor) -> !torch.vtensor
  %4 = "tierup.differentiable"(%x) ({
  ^bb0(%a: !torch.vtensor):
    %1 = "tierup.fusion_group"(%a) ({
    ^bb0(%d: !torch.vtensor):
      "tierup.yield"(%d) : (!torch.vtensor) -> ()
    }, {}) : (!torch.vtensor) -> !torch.vtensor
    "tierup.yield"(%1) : (!torch.vtensor) -> ()
  }, {
    "tierup.yield"() : () -> ()
  }) {real_outputs = 1 : i64, vjp_outputs = array<i64>, captured_inputs = array<i64>, captured_outputs = array<i64>, gradient_inputs = array<i64>} : (!torch.vtensor) -> !torch.vtensor
  return %0, %3, %4 : !torch.vtensor, !torch.vtensor, !torch.vtensor
}

// Sizes that only the gradient wanted go too, though asking for them could raise.
// CHECK-LABEL: func.func @sizes
// CHECK-NEXT: [[S:%.+]] = torch.aten.sigmoid %arg0
// CHECK-NOT: torch.aten.size.int
// CHECK: return [[S]]
func.func @sizes(%x: !torch.vtensor) -> !torch.vtensor {
  %0 = "tierup.differentiable"(%x) ({
  ^bb0(%a: !torch.vtensor):
    %1 = torch.aten.sigmoid %a : !torch.vtensor -> !torch.vtensor
    %zero = torch.constant.int 0
    %2 = torch.aten.size.int %a, %zero : !torch.vtensor, !torch.int -> !torch.int
    "tierup.yield"(%1, %2) : (!torch.vtensor, !torch.int) -> ()
  }, {
  ^bb0(%g: !torch.vtensor, %n: !torch.int):
    "tierup.yield"(%g) : (!torch.vtensor) -> ()
  }) {real_outputs = 1 : i64, vjp_outputs = array<i64: 0>, captured_inputs = array<i64>, captured_outputs = array<i64: 1>, gradient_inputs = array<i64: 0>} : (!torch.vtensor) -> !torch.vtensor
  return %0 : !torch.vtensor
}
