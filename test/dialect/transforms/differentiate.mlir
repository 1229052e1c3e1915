// RUN: tierup-opt %s --tierup-differentiate | FileCheck %s
// RUN: tierup-opt %s --tierup-differentiate --tierup-differentiate | FileCheck %s
!t = !torch.vtensor

// a * b * a + b captures, as its ancestor does, both inputs and the product of the first two, and of the other product the size and dtype
// alone. A second derivative comes in through the product that is captured.
// CHECK-LABEL: func.func @example
// CHECK: ^bb0(%[[A:.*]]: !torch.vtensor, %[[B:.*]]: !torch.vtensor):
// CHECK: %[[AB:.*]] = torch.aten.mul.Tensor %[[A]], %[[B]]
// CHECK-NEXT: %[[ABA:.*]] = torch.aten.mul.Tensor %[[AB]], %[[A]]
// CHECK: %[[R:.*]] = torch.aten.add.Tensor %[[ABA]], %[[B]]
// CHECK-NEXT: %[[SIZE:.*]] = torch.aten.size %[[ABA]]
// CHECK-NEXT: %[[DTYPE:.*]] = torch.prim.dtype %[[ABA]]
// CHECK-NEXT: "tierup.yield"(%[[R]], %[[AB]], %[[SIZE]], %[[DTYPE]])
// CHECK: ^bb0(%[[G:.*]]: !torch.vtensor, %[[H:.*]]: !torch.vtensor, %{{.*}}: !torch.vtensor, %{{.*}}: !torch.vtensor, %{{.*}}: !torch.vtensor, %{{.*}}: !torch.list<int>, %{{.*}}: !torch.int):
// CHECK-NEXT: %[[ADD:.*]]:2 = "tierup.grad_of"(%[[G]])
// CHECK: op = "aten.add.Tensor"
// CHECK-NEXT: %[[MUL:.*]]:2 = "tierup.grad_of"(%[[ADD]]#0)
// CHECK: op = "aten.mul.Tensor"
// CHECK-NEXT: %[[GAB:.*]] = "tierup.autograd_add"(%[[H]], %[[MUL]]#0)
// CHECK-NEXT: %[[LAST:.*]]:2 = "tierup.grad_of"(%[[GAB]])
// CHECK: op = "aten.mul.Tensor"
// CHECK-NEXT: %[[GA:.*]] = "tierup.autograd_add"(%[[MUL]]#1, %[[LAST]]#0)
// CHECK-NEXT: %[[GB:.*]] = "tierup.autograd_add"(%[[ADD]]#1, %[[LAST]]#1)
// CHECK-NEXT: "tierup.yield"(%[[GA]], %[[GB]])
// CHECK: captured_inputs = array<i64: 0, 1>, captured_outputs = array<i64: 1, 2, 3>, gradient_inputs = array<i64: 0, 1>, real_outputs = 1 : i64, vjp_outputs = array<i64: 0, 1>
func.func @example(%a: !t {tierup.requires_grad = true}, %b: !t {tierup.requires_grad = true}) -> !t {
  %0 = "tierup.differentiable"(%a, %b) ({
  ^bb0(%c: !t, %d: !t):
    %one = torch.constant.int 1
    %1 = torch.aten.mul.Tensor %c, %d : !t, !t -> !t
    %2 = torch.aten.mul.Tensor %1, %c : !t, !t -> !t
    %3 = torch.aten.add.Tensor %2, %d, %one : !t, !t, !torch.int -> !t
    "tierup.yield"(%3) : (!t) -> ()
  }, {
    "tierup.yield"() : () -> ()
  }) {real_outputs = 1 : i64, vjp_outputs = array<i64>, captured_inputs = array<i64>, captured_outputs = array<i64>,
      gradient_inputs = array<i64>} : (!t, !t) -> !t
  return %0 : !t
}

// Only %c requires a gradient: one mul has one, and of the inputs the other is captured. A view of an input and a comparison with it are
// computed again; through a profile the input itself is captured.
// CHECK-LABEL: func.func @cheap
// CHECK: "tierup.yield"(%{{[0-9]+}}) : (!torch.vtensor<[2,3],f32>) -> ()
// CHECK-NEXT: }, {
// CHECK-NEXT: ^bb0(%[[G:.*]]: !torch.vtensor<[2,3],f32>, %[[D:.*]]: !torch.vtensor<[3,2],f32>):
// CHECK: torch.aten.t %[[D]]
// CHECK: torch.aten.gt.Scalar %[[D]]
// CHECK-COUNT-2: "tierup.grad_of"
// CHECK: captured_inputs = array<i64: 1>, captured_outputs = array<i64>, gradient_inputs = array<i64: 0>, real_outputs = 1 : i64, vjp_outputs = array<i64: 0>
func.func @cheap(%a: !torch.vtensor<[2,3],f32> {tierup.requires_grad = true}, %b: !torch.vtensor<[3,2],f32> {tierup.requires_grad = false}) -> !t {
  %0 = "tierup.differentiable"(%a, %b) ({
  ^bb0(%c: !torch.vtensor<[2,3],f32>, %d: !torch.vtensor<[3,2],f32>):
    %zero = torch.constant.int 0
    %half = torch.constant.float 0.5
    %p = "tierup.profile"(%d) {slot = 0 : i64} : (!torch.vtensor<[3,2],f32>) -> !torch.vtensor<[3,2],f32>
    %1 = torch.aten.t %p : !torch.vtensor<[3,2],f32> -> !torch.vtensor<[2,3],f32>
    %2 = torch.aten.mul.Tensor %c, %1 : !torch.vtensor<[2,3],f32>, !torch.vtensor<[2,3],f32> -> !torch.vtensor<[2,3],f32>
    %3 = torch.aten.gt.Scalar %p, %zero : !torch.vtensor<[3,2],f32>, !torch.int -> !torch.vtensor<[3,2],i1>
    %4 = torch.aten.t %3 : !torch.vtensor<[3,2],i1> -> !torch.vtensor<[2,3],i1>
    %5 = torch.aten.where.ScalarOther %4, %2, %half : !torch.vtensor<[2,3],i1>, !torch.vtensor<[2,3],f32>, !torch.float -> !torch.vtensor<[2,3],f32>
    %6 = torch.tensor_static_info_cast %5 : !torch.vtensor<[2,3],f32> to !t
    "tierup.yield"(%5) : (!torch.vtensor<[2,3],f32>) -> ()
  }, {
    "tierup.yield"() : () -> ()
  }) {real_outputs = 1 : i64, vjp_outputs = array<i64>, captured_inputs = array<i64>, captured_outputs = array<i64>,
      gradient_inputs = array<i64>} : (!torch.vtensor<[2,3],f32>, !torch.vtensor<[3,2],f32>) -> !torch.vtensor<[2,3],f32>
  %1 = torch.tensor_static_info_cast %0 : !torch.vtensor<[2,3],f32> to !t
  return %1 : !t
}

// Nothing requires a gradient: no gradient.
// CHECK-LABEL: func.func @none
// CHECK: }, {
// CHECK-NEXT: "tierup.yield"() : () -> ()
// CHECK: vjp_outputs = array<i64>
func.func @none(%a: !t {tierup.requires_grad = false}) -> !t {
  %0 = "tierup.differentiable"(%a) ({
  ^bb0(%c: !t):
    %1 = torch.aten.exp %c : !t -> !t
    "tierup.yield"(%1) : (!t) -> ()
  }, {
    "tierup.yield"() : () -> ()
  }) {real_outputs = 1 : i64, vjp_outputs = array<i64>, captured_inputs = array<i64>, captured_outputs = array<i64>,
      gradient_inputs = array<i64>} : (!t) -> !t
  return %0 : !t
}

// What is captured is an output already: no temporary.
// CHECK-LABEL: func.func @output
// CHECK: "tierup.yield"(%{{[0-9]+}}) : (!torch.vtensor) -> ()
// CHECK: captured_inputs = array<i64>, captured_outputs = array<i64: 0>, gradient_inputs = array<i64: 0>, real_outputs = 1 : i64, vjp_outputs = array<i64: 0>
func.func @output(%a: !t {tierup.requires_grad = true}) -> !t {
  %0 = "tierup.differentiable"(%a) ({
  ^bb0(%c: !t):
    %1 = torch.aten.exp %c : !t -> !t
    "tierup.yield"(%1) : (!t) -> ()
  }, {
    "tierup.yield"() : () -> ()
  }) {real_outputs = 1 : i64, vjp_outputs = array<i64>, captured_inputs = array<i64>, captured_outputs = array<i64>,
      gradient_inputs = array<i64>} : (!t) -> !t
  return %0 : !t
}

// What comes in and is handed on as it is says more than the results of gradients do.
// CHECK-LABEL: func.func @handed_on
// CHECK: }, {
// CHECK-NEXT: ^bb0(%[[G:[a-z0-9]+]]: !torch.vtensor<[2],f32>):
// CHECK-NEXT: %{{[0-9]+}} = "tierup.grad_of"(%[[G]]) ({
// CHECK-NEXT: %[[CAST:.*]] = torch.tensor_static_info_cast %[[G]] : !torch.vtensor<[2],f32> to !torch.vtensor
// CHECK-NEXT: "tierup.yield"(%[[CAST]]) : (!torch.vtensor) -> ()
// CHECK: op = "aten.copy"
func.func @handed_on(%x: !torch.vtensor<[2],f32> {tierup.requires_grad = true}) -> !torch.vtensor<[2],f32> {
  %0 = "tierup.differentiable"(%x) ({
  ^bb0(%a: !torch.vtensor<[2],f32>):
    %false = torch.constant.bool false
    %1 = torch.aten.neg %a : !torch.vtensor<[2],f32> -> !t
    %2 = torch.aten.copy %a, %1, %false : !torch.vtensor<[2],f32>, !t, !torch.bool -> !torch.vtensor<[2],f32>
    "tierup.yield"(%2) : (!torch.vtensor<[2],f32>) -> ()
  }, {
    "tierup.yield"() : () -> ()
  }) {real_outputs = 1 : i64, vjp_outputs = array<i64>, captured_inputs = array<i64>, captured_outputs = array<i64>,
      gradient_inputs = array<i64>} : (!torch.vtensor<[2],f32>) -> !torch.vtensor<[2],f32>
  return %0 : !torch.vtensor<[2],f32>
}
