// RUN: tierup-opt %s --tierup-verify-graph --split-input-file --verify-diagnostics | FileCheck %s
// RUN: tierup-opt %s --tierup-verify-graph --tierup-verify-graph --split-input-file --verify-diagnostics | FileCheck %s

// CHECK-LABEL: func.func @control_flow_and_writes_to_written_tensors
func.func @control_flow_and_writes_to_written_tensors(%x: !torch.tensor, %n: !torch.int, %c: !torch.bool) -> !torch.tensor {
  %true = torch.constant.bool true
  %one = torch.constant.int 1
  %0 = torch.aten.t %x : !torch.tensor -> !torch.tensor
  // CHECK: torch.aten.add_.Scalar
  %1 = torch.aten.add_.Scalar %0, %one, %one : !torch.tensor, !torch.int, !torch.int -> !torch.tensor
  %2 = torch.prim.If %c -> (!torch.tensor) {
    torch.prim.If.yield %x : !torch.tensor
  } else {
    %3 = torch.aten.tanh %x : !torch.tensor -> !torch.tensor
    torch.prim.If.yield %3 : !torch.tensor
  }
  %4 = torch.prim.Loop %n, %true, init(%2) {
  ^bb0(%i: !torch.int, %acc: !torch.tensor):
    %5 = torch.aten.tanh %acc : !torch.tensor -> !torch.tensor
    torch.prim.Loop.condition %true, iter(%5 : !torch.tensor)
  } : (!torch.int, !torch.bool, !torch.tensor) -> !torch.tensor
  return %4 : !torch.tensor
}

// -----
// CHECK-LABEL: func.func @promotion_is_an_attribute_of_the_op
func.func @promotion_is_an_attribute_of_the_op(%x: !torch.vtensor, %y: !torch.vtensor) -> !torch.vtensor {
  %0 = torch.aten.mul.Tensor %x, %y {tierup.promotion = "numpy"} : !torch.vtensor, !torch.vtensor -> !torch.vtensor
  return %0 : !torch.vtensor
}

// -----
func.func @view_forgets_that_it_may_be_written(%x: !torch.tensor) -> !torch.vtensor {
  // expected-error@below {{gives !torch.vtensor, a view of memory that may be written; its type is !torch.tensor}}
  %0 = torch.aten.t %x : !torch.tensor -> !torch.vtensor
  return %0 : !torch.vtensor
}

// -----
func.func @speculates(%x: !torch.vtensor) -> !torch.vtensor {
  // expected-error@below {{'tierup.profile' op breaks the contract 'graph': speculation has no place here}}
  %0 = "tierup.profile"(%x) {slot = 0 : i64} : (!torch.vtensor) -> !torch.vtensor
  // expected-error@below {{'tierup.guard' op breaks the contract 'graph': speculation has no place here}}
  %1 = "tierup.guard"(%0) {expected = #tierup.profiled<f32[4]>} : (!torch.vtensor) -> !torch.vtensor
  return %1 : !torch.vtensor
}

// -----
func.func @op_without_a_row(%x: !torch.vtensor) -> !torch.vtensor {
  %none = torch.constant.none
  %int = torch.constant.int 0
  // expected-error@below {{'torch.aten.fft_fft' op breaks the contract 'graph': no part of tierup knows this op}}
  %0 = torch.aten.fft_fft %x, %none, %int, %none : !torch.vtensor, !torch.none, !torch.int, !torch.none -> !torch.vtensor
  return %0 : !torch.vtensor
}

// -----
func.func @foreign_operator(%x: !torch.vtensor) -> !torch.vtensor {
  // expected-error@below {{no part of tierup knows "mylib.gelu"}}
  %0 = torch.operator "mylib.gelu"(%x) : (!torch.vtensor) -> !torch.vtensor
  return %0 : !torch.vtensor
}

// -----
// expected-error@below {{function @elsewhere has no body}}
func.func private @elsewhere(%x: !torch.vtensor) -> !torch.vtensor

// -----
func.func @promotion_of_no_kind(%x: !torch.vtensor, %y: !torch.vtensor) -> !torch.vtensor {
  // expected-error@below {{'torch.aten.mul.Tensor' op breaks the contract 'graph': has tierup.promotion = "torch"; it is "numpy", or left out for torch's rules}}
  %0 = torch.aten.mul.Tensor %x, %y {tierup.promotion = "torch"} : !torch.vtensor, !torch.vtensor -> !torch.vtensor
  // expected-error@below {{has tierup.promotion = true; it is "numpy"}}
  %1 = torch.aten.mul.Tensor %0, %y {tierup.promotion = true} : !torch.vtensor, !torch.vtensor -> !torch.vtensor
  return %1 : !torch.vtensor
}

// -----
// expected-error@below {{argument 1 has tierup.requires_grad = "yes"; it is true or false}}
func.func @gradient_of_no_kind(%x: !torch.vtensor {tierup.requires_grad = true}, %y: !torch.vtensor {tierup.requires_grad = "yes"}) -> !torch.vtensor {
  return %x : !torch.vtensor
}

// -----
// expected-error@below {{argument 0 has tierup.requires_grad = 1 : i64; it is true or false}}
func.func @gradient_as_a_number(%x: !torch.vtensor {tierup.requires_grad = 1 : i64}) -> !torch.vtensor {
  return %x : !torch.vtensor
}

// -----
// CHECK-LABEL: func.func @gradients_stated
func.func @gradients_stated(%x: !torch.vtensor {tierup.requires_grad = true}, %y: !torch.vtensor {tierup.requires_grad = false}) -> !torch.vtensor {
  return %x : !torch.vtensor
}
