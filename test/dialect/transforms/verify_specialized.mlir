// RUN: tierup-opt %s --tierup-verify-specialized --split-input-file --verify-diagnostics | FileCheck %s
// RUN: tierup-opt %s --tierup-verify-specialized --tierup-verify-specialized --split-input-file --verify-diagnostics | FileCheck %s

// CHECK-LABEL: func.func @static_sizes
func.func @static_sizes(%x: !torch.vtensor<[2,4],f32>, %n: !torch.int) -> !torch.vtensor<[2,4],f32> {
  // CHECK: torch.aten.tanh
  %0 = torch.aten.tanh %x : !torch.vtensor<[2,4],f32> -> !torch.vtensor<[2,4],f32>
  return %0 : !torch.vtensor<[2,4],f32>
}

// -----
// CHECK-LABEL: func.func @symbols_that_are_declared_and_bound
func.func @symbols_that_are_declared_and_bound(%x: !torch.vtensor<[?,4],f32>, %y: !torch.vtensor<[?,1],f32>) -> !torch.vtensor<[?,4],f32> {
  %s0 = torch.symbolic_int "s0" {min_val = 2, max_val = 9223372036854775807} : !torch.int
  torch.bind_symbolic_shape %x, [%s0], affine_map<()[s0] -> (s0, 4)> : !torch.vtensor<[?,4],f32>
  torch.bind_symbolic_shape %y, [%s0], affine_map<()[s0] -> (s0, 1)> : !torch.vtensor<[?,1],f32>
  // CHECK: torch.aten.mul.Tensor
  %0 = torch.aten.mul.Tensor %x, %y : !torch.vtensor<[?,4],f32>, !torch.vtensor<[?,1],f32> -> !torch.vtensor<[?,4],f32>
  return %0 : !torch.vtensor<[?,4],f32>
}

// -----
// Only the bodies of groups need to be specialised; what is around them is tier 0's.
// CHECK-LABEL: func.func @a_group_in_an_unspecialised_function
func.func @a_group_in_an_unspecialised_function(%x: !torch.vtensor) -> !torch.vtensor {
  %0 = "tierup.guard"(%x) {expected = #tierup.profiled<f32[4]>} : (!torch.vtensor) -> !torch.vtensor<[4],f32>
  %1 = "tierup.fusion_group"(%0) ({
  ^bb0(%a: !torch.vtensor<[4],f32>):
    %2 = torch.aten.tanh %a : !torch.vtensor<[4],f32> -> !torch.vtensor<[4],f32>
    "tierup.yield"(%2) : (!torch.vtensor<[4],f32>) -> ()
  }, {}) : (!torch.vtensor<[4],f32>) -> !torch.vtensor<[4],f32>
  %3 = torch.tensor_static_info_cast %1 : !torch.vtensor<[4],f32> to !torch.vtensor
  return %3 : !torch.vtensor
}

// -----
// expected-error@below {{'func.func' op breaks the contract 'specialized': argument 0 has no known dtype and rank: !torch.vtensor}}
func.func @unknown_argument(%x: !torch.vtensor) -> !torch.vtensor<[4],f32> {
  // expected-error@below {{'torch.aten.tanh' op breaks the contract 'specialized': the result has no known rank: !torch.vtensor<*,f32>}}
  %0 = torch.aten.tanh %x : !torch.vtensor -> !torch.vtensor<*,f32>
  %1 = torch.tensor_static_info_cast %0 : !torch.vtensor<*,f32> to !torch.vtensor<[4],f32>
  return %1 : !torch.vtensor<[4],f32>
}

// -----
// expected-error@below {{argument 0 of type !torch.vtensor<[?],f32> has a size that no torch.bind_symbolic_shape names}}
func.func @unbound_size(%x: !torch.vtensor<[?],f32>) -> !torch.vtensor<[?],f32> {
  return %x : !torch.vtensor<[?],f32>
}

// -----
// expected-error@below {{the sizes s0 and s1 must be equal, and no symbol says so}}
func.func @sizes_that_nobody_ties(%x: !torch.vtensor<[?],f32>, %y: !torch.vtensor<[?],f32>) -> !torch.vtensor<[?],f32> {
  %s0 = torch.symbolic_int "s0" {min_val = 2, max_val = 9223372036854775807} : !torch.int
  %s1 = torch.symbolic_int "s1" {min_val = 2, max_val = 9223372036854775807} : !torch.int
  torch.bind_symbolic_shape %x, [%s0], affine_map<()[s0] -> (s0)> : !torch.vtensor<[?],f32>
  torch.bind_symbolic_shape %y, [%s1], affine_map<()[s0] -> (s0)> : !torch.vtensor<[?],f32>
  %0 = torch.aten.mul.Tensor %x, %y : !torch.vtensor<[?],f32>, !torch.vtensor<[?],f32> -> !torch.vtensor<[?],f32>
  return %0 : !torch.vtensor<[?],f32>
}

// -----
func.func @written_tensor(%x: !torch.vtensor<[4],f32>) -> !torch.vtensor<[4],f32> {
  // expected-error@below {{breaks the contract 'specialized': copy.to_tensor is left to tier 0: there is no native code for it}}
  // expected-error@below {{the result is a tensor that may be written: !torch.tensor<[4],f32>}}
  %0 = torch.copy.to_tensor %x : !torch.tensor<[4],f32>
  return %x : !torch.vtensor<[4],f32>
}

// -----
func.func @speculation_inside(%x: !torch.vtensor<[4],f32>) -> !torch.vtensor<[4],f32> {
  // expected-error@below {{'tierup.guard' op breaks the contract 'specialized': speculation has no place here}}
  %0 = "tierup.guard"(%x) {expected = #tierup.profiled<f32[4]>} : (!torch.vtensor<[4],f32>) -> !torch.vtensor<[4],f32>
  return %0 : !torch.vtensor<[4],f32>
}

// -----
func.func @type_that_contradicts(%x: !torch.vtensor<[4],f32>) -> !torch.vtensor<[5],f32> {
  // expected-error@below {{its result is !torch.vtensor<[4],f32>, but the type says !torch.vtensor<[5],f32>}}
  %0 = torch.aten.tanh %x : !torch.vtensor<[4],f32> -> !torch.vtensor<[5],f32>
  return %0 : !torch.vtensor<[5],f32>
}

// -----
func.func @number_of_unknown_kind(%x: !torch.vtensor<[4],f32>, %n: !torch.int) -> !torch.vtensor<[4],f32> {
  // expected-error@below {{the result is a !torch.number, int or float is not known}}
  %0 = torch.derefine %n : !torch.int to !torch.number
  return %x : !torch.vtensor<[4],f32>
}

// -----
func.func @shapes_that_do_not_fit(%x: !torch.vtensor<[3],f32>, %y: !torch.vtensor<[4],f32>) -> !torch.vtensor<[3],f32> {
  // expected-error@below {{cannot run on operands of these types}}
  %0 = torch.aten.mul.Tensor %x, %y : !torch.vtensor<[3],f32>, !torch.vtensor<[4],f32> -> !torch.vtensor<[3],f32>
  return %0 : !torch.vtensor<[3],f32>
}

// -----
func.func @no_native_code(%x: !torch.vtensor<[4],f32>) -> !torch.vtensor<[4],si64> {
  %false = torch.constant.bool false
  %dim = torch.constant.int 0
  // expected-error@below {{aten.argsort is left to tier 0: there is no native code for it}}
  %0 = torch.aten.argsort %x, %dim, %false : !torch.vtensor<[4],f32>, !torch.int, !torch.bool -> !torch.vtensor<[4],si64>
  return %0 : !torch.vtensor<[4],si64>
}

// -----
// expected-error@below {{argument 0 is a tensor that may be written: !torch.tensor<[4],f32>}}
func.func @writes_in_place(%x: !torch.tensor<[4],f32>) {
  // expected-error@below {{aten.zero_ is left to tier 0: it writes its operand}}
  // expected-error@below {{the result is a tensor that may be written}}
  %0 = torch.aten.zero_ %x : !torch.tensor<[4],f32> -> !torch.tensor<[4],f32>
  return
}

// -----
func.func @two_results(%x: !torch.vtensor<[2,4],f32>) -> !torch.vtensor<[2],f32> {
  %one = torch.constant.int 1
  %false = torch.constant.bool false
  // expected-error@below {{result 1 has no known dtype and rank: !torch.vtensor}}
  %0:2 = torch.aten.max.dim %x, %one, %false : !torch.vtensor<[2,4],f32>, !torch.int, !torch.bool -> !torch.vtensor<[2],f32>, !torch.vtensor
  return %0#0 : !torch.vtensor<[2],f32>
}

// -----
// expected-error@below {{argument 0 has no known rank: !torch.vtensor<*,f32>}}
func.func @body_of_a_loop(%x: !torch.vtensor<*,f32>, %n: !torch.int) -> !torch.vtensor<*,f32> {
  %true = torch.constant.bool true
  // expected-error@below {{argument 1 of its body has no known rank: !torch.vtensor<*,f32>}}
  // expected-error@below {{the result has no known rank: !torch.vtensor<*,f32>}}
  %0 = torch.prim.Loop %n, %true, init(%x) {
  ^bb0(%i: !torch.int, %a: !torch.vtensor<*,f32>):
    torch.prim.Loop.condition %true, iter(%a : !torch.vtensor<*,f32>)
  } : (!torch.int, !torch.bool, !torch.vtensor<*,f32>) -> !torch.vtensor<*,f32>
  return %0 : !torch.vtensor<*,f32>
}

// -----
func.func @sizes_that_only_a_list_knows(%x: !torch.vtensor<[4],f32>, %sizes: !torch.list<int>) -> !torch.vtensor<[?,?],f32> {
  // expected-error@below {{the sizes of its result follow from no symbol: !torch.vtensor<[?,?],f32>}}
  %0 = torch.aten.view %x, %sizes : !torch.vtensor<[4],f32>, !torch.list<int> -> !torch.vtensor<[?,?],f32>
  return %0 : !torch.vtensor<[?,?],f32>
}
