// RUN: tierup-opt %s --split-input-file --verify-diagnostics

func.func @unknown_op(%x: !torch.vtensor) {
  // expected-error@below {{the tierup dialect has no op 'tierup.profil'; did you mean 'tierup.profile'?}}
  %0 = "tierup.profil"(%x) {slot = 0 : i64} : (!torch.vtensor) -> !torch.vtensor
  return
}

// -----
func.func @unknown_dialect(%x: !torch.vtensor) {
  // expected-error@below {{unregistered operation 'toch.aten.tanh'}}
  %0 = "toch.aten.tanh"(%x) : (!torch.vtensor) -> !torch.vtensor
  return
}

// -----
func.func @no_slot(%x: !torch.vtensor) {
  // expected-error@below {{'tierup.profile' op needs the attribute 'slot': where the value is recorded}}
  %0 = "tierup.profile"(%x) : (!torch.vtensor) -> !torch.vtensor
  return
}

// -----
func.func @negative_slot(%x: !torch.vtensor) {
  // expected-error@below {{attribute 'slot' is at least 0, got -1}}
  %0 = "tierup.profile"(%x) {slot = -1 : i64} : (!torch.vtensor) -> !torch.vtensor
  return
}

// -----
func.func @profile_changes_the_type(%x: !torch.vtensor) {
  // expected-error@below {{result 0 has type !torch.vtensor<[4],f32>, but operand 0 has type !torch.vtensor}}
  %0 = "tierup.profile"(%x) {slot = 0 : i64} : (!torch.vtensor) -> !torch.vtensor<[4],f32>
  return
}

// -----
func.func @profile_of_two(%x: !torch.vtensor) {
  // expected-error@below {{has 2 operands, expected 1 (value)}}
  %0 = "tierup.profile"(%x, %x) {slot = 0 : i64} : (!torch.vtensor, !torch.vtensor) -> !torch.vtensor
  return
}

// -----
func.func @misspelt_attribute(%x: !torch.vtensor) {
  // expected-error@below {{has no attribute 'profile'; did you mean 'profiled'?}}
  %0 = "tierup.profile"(%x) {slot = 0 : i64, profile = #tierup.profiled<f32[4]>} : (!torch.vtensor) -> !torch.vtensor
  return
}

// -----
func.func @tensor_facts_for_a_number(%n: !torch.int) {
  // expected-error@below {{has facts about a tensor (f32[4]) for a value of type !torch.int}}
  %0 = "tierup.profile"(%n) {slot = 0 : i64, profiled = #tierup.profiled<f32[4]>} : (!torch.int) -> !torch.int
  return
}

// -----
func.func @facts_of_another_kind(%n: !torch.int) {
  // expected-error@below {{has facts about a !torch.float (float=1.0) for a value of type !torch.int}}
  %0 = "tierup.guard"(%n) {expected = #tierup.profiled<float=1.0>} : (!torch.int) -> !torch.int
  return
}

// -----
func.func @malformed_facts(%x: !torch.vtensor) {
  // expected-error@below {{malformed #tierup.profiled<f31[4]>: 'f31' is no element type}}
  %0 = "tierup.guard"(%x) {expected = #tierup.profiled<f31[4]>} : (!torch.vtensor) -> !torch.vtensor
  return
}

// -----
func.func @no_facts(%x: !torch.vtensor) {
  // expected-error@below {{attribute 'expected' is #tierup.profiled, got "f32[4]"}}
  %0 = "tierup.guard"(%x) {expected = "f32[4]"} : (!torch.vtensor) -> !torch.vtensor
  return
}

// -----
func.func @guard_claims_a_size(%x: !torch.vtensor) {
  // expected-error@below {{result size 5 of dimension 1 follows neither from !torch.vtensor nor from f32[4,s0]}}
  %0 = "tierup.guard"(%x) {expected = #tierup.profiled<f32[4,s0]>} : (!torch.vtensor) -> !torch.vtensor<[4,5],f32>
  return
}

// -----
func.func @guard_claims_a_rank(%x: !torch.vtensor) {
  // expected-error@below {{result rank 1 follows neither from}}
  %0 = "tierup.guard"(%x) {expected = #tierup.profiled<f32[*]>} : (!torch.vtensor) -> !torch.vtensor<[?],f32>
  return
}

// -----
func.func @guard_claims_a_dtype(%x: !torch.vtensor) {
  // expected-error@below {{result dtype f64 follows neither from}}
  %0 = "tierup.guard"(%x) {expected = #tierup.profiled<f32[4]>} : (!torch.vtensor) -> !torch.vtensor<[4],f64>
  return
}

// -----
func.func @guard_changes_semantics(%x: !torch.tensor) {
  // expected-error@below {{keeps its value semantics, but !torch.tensor became !torch.vtensor<[4],f32>}}
  %0 = "tierup.guard"(%x) {expected = #tierup.profiled<f32[4]>} : (!torch.tensor) -> !torch.vtensor<[4],f32>
  return
}

// -----
func.func @bailout_to_nowhere(%x: !torch.vtensor) {
  // expected-error@below {{continuation @rest is no function of this module}}
  %0 = "tierup.bailout"(%x) {index = 0 : i64, expected = #tierup.profiled<f32[4]>, continuation = @rest} : (!torch.vtensor) -> !torch.vtensor
  return
}

// -----
func.func @bailout_with_too_little(%x: !torch.vtensor) {
  // expected-error@below {{has 1 operand for 2 parameters of @rest}}
  %0 = "tierup.bailout"(%x) {index = 0 : i64, expected = #tierup.profiled<f32[4]>, continuation = @rest} : (!torch.vtensor) -> !torch.vtensor
  return
}
func.func private @rest(%x: !torch.vtensor, %n: !torch.int) { return }

// -----
func.func @check_without_an_answer(%x: !torch.vtensor) {
  // expected-error@below {{has 1 results for 1 values: one refined value each, then whether all fit}}
  %0 = "tierup.check"(%x) {expected = [#tierup.profiled<f32[4]>]} : (!torch.vtensor) -> !torch.vtensor
  return
}

// -----
func.func @check_with_too_few_facts(%x: !torch.vtensor) {
  // expected-error@below {{attribute 'expected' has 0 elements for 1 values}}
  %0:2 = "tierup.check"(%x) {expected = []} : (!torch.vtensor) -> (!torch.vtensor, !torch.bool)
  return
}

// -----
func.func @answer_of_another_type(%x: !torch.vtensor) {
  // expected-error@below {{the last result is !torch.bool or i1, got !torch.int}}
  %0:2 = "tierup.check"(%x) {expected = [#tierup.profiled<f32[4]>]} : (!torch.vtensor) -> (!torch.vtensor, !torch.int)
  return
}

// -----
func.func @check_shapes_without_a_rank(%x: !torch.vtensor) {
  // expected-error@below {{needs a rank in #tierup.profiled<f32[*]>}}
  %0 = "tierup.check_shapes"(%x) {expected = [#tierup.profiled<f32[*]>]} : (!torch.vtensor) -> !torch.bool
  return
}

// -----
func.func @unknown_layout(%x: !torch.vtensor) {
  // expected-error@below {{attribute 'layouts' holds 'contiguous' or 'strided', got "transposed"}}
  %0 = "tierup.check_shapes"(%x) {expected = [#tierup.profiled<f32[4]>], layouts = ["transposed"]} : (!torch.vtensor) -> !torch.bool
  return
}

// -----
func.func @group_with_one_region(%x: !torch.vtensor) {
  // expected-error@below {{has 1 region, expected 2 (body, empty); write ({...}, {})}}
  %0 = "tierup.fusion_group"(%x) ({
  ^bb0(%a: !torch.vtensor):
    "tierup.yield"(%a) : (!torch.vtensor) -> ()
  }) : (!torch.vtensor) -> !torch.vtensor
  return
}

// -----
func.func @group_reads_from_outside(%x: !torch.vtensor) {
  // expected-error@below {{the body is isolated from above, but torch.aten.tanh in it reads a value of type !torch.vtensor from outside}}
  %0 = "tierup.fusion_group"(%x) ({
  ^bb0(%a: !torch.vtensor):
    %1 = torch.aten.tanh %x : !torch.vtensor -> !torch.vtensor
    "tierup.yield"(%1) : (!torch.vtensor) -> ()
  }, {}) : (!torch.vtensor) -> !torch.vtensor
  return
}

// -----
func.func @group_yields_another_type(%x: !torch.vtensor, %n: !torch.int) {
  // expected-error@below {{yielded value 0 has type !torch.int, but result 0 has type !torch.vtensor}}
  %0 = "tierup.fallback"(%x, %n) ({
  ^bb0(%a: !torch.vtensor, %b: !torch.int):
    "tierup.yield"(%b) : (!torch.int) -> ()
  }, {}) : (!torch.vtensor, !torch.int) -> !torch.vtensor
  return
}

// -----
func.func @group_arguments_differ(%x: !torch.vtensor) {
  // expected-error@below {{has 0 block arguments for 1 operand}}
  %0 = "tierup.fallback"(%x) ({
    %1 = "tierup.autograd_zero"() : () -> !torch.vtensor
    "tierup.yield"(%1) : (!torch.vtensor) -> ()
  }, {}) : (!torch.vtensor) -> !torch.vtensor
  return
}

// -----
func.func @gradients_without_an_operand(%x: !torch.vtensor) {
  // expected-error@below {{attribute 'gradient_inputs' names operand 1, but there are 1}}
  %0 = "tierup.differentiable"(%x) ({
  ^bb0(%a: !torch.vtensor):
    "tierup.yield"(%a) : (!torch.vtensor) -> ()
  }, {
  ^bb0(%g: !torch.vtensor):
    "tierup.yield"(%g) : (!torch.vtensor) -> ()
  }) {real_outputs = 1 : i64, vjp_outputs = array<i64: 0>, captured_inputs = array<i64>, captured_outputs = array<i64>, gradient_inputs = array<i64: 1>}
    : (!torch.vtensor) -> !torch.vtensor
  return
}

// -----
func.func @odd_number_of_matrices(%a: !torch.vtensor) {
  // expected-error@below {{has 1 operands, expected as many left sides as right sides}}
  %0 = "tierup.batched_mm_tree"(%a) : (!torch.vtensor) -> !torch.vtensor
  return
}

// -----
func.func @common_matrix_in_the_middle(%a: !torch.vtensor) {
  // expected-error@below {{attribute 'side' is one of left, right, got 'middle'}}
  %0 = "tierup.batched_mm_side"(%a, %a) {side = "middle"} : (!torch.vtensor, !torch.vtensor) -> !torch.vtensor
  return
}

// -----
func.func @select_of_two_types(%c: !torch.bool, %n: !torch.int, %f: !torch.float) {
  // expected-error-re@below {{has one type for both values and the result, got !torch.{{float|int}}, !torch.int}}
  %0 = "tierup.if_then_else"(%c, %n, %f) : (!torch.bool, !torch.int, !torch.float) -> !torch.int
  return
}

// -----

func.func @product_of_another_type(%x: tensor<4x8xf32>, %zeros: tensor<4x16xf32>) {
  // expected-error@+1 {{'tierup.held_product' op has a result of type tensor<4x4xf32>, but starts from tensor<4x16xf32>}}
  %0 = "tierup.held_product"(%x, %x, %zeros) {indexing_maps = [], kind = "linalg.matmul"} : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x16xf32>) -> tensor<4x4xf32>
  return
}
