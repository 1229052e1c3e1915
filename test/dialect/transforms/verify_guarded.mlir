// RUN: tierup-opt %s --tierup-verify-guarded --split-input-file --verify-diagnostics | FileCheck %s
// RUN: tierup-opt %s --tierup-verify-guarded --tierup-verify-guarded --split-input-file --verify-diagnostics | FileCheck %s

// CHECK-LABEL: func.func @types_follow_from_arguments_guards_and_constants
func.func @types_follow_from_arguments_guards_and_constants(%x: !torch.vtensor<[?,4],f32>, %y: !torch.vtensor) -> !torch.vtensor<[?,4],f32> {
  %one = torch.constant.int 1
  // CHECK: "tierup.guard"
  %0 = "tierup.guard"(%y) {expected = #tierup.profiled<f32[4]>} : (!torch.vtensor) -> !torch.vtensor<[4],f32>
  %1 = torch.aten.add.Tensor %x, %0, %one : !torch.vtensor<[?,4],f32>, !torch.vtensor<[4],f32>, !torch.int -> !torch.vtensor<[?,4],f32>
  return %1 : !torch.vtensor<[?,4],f32>
}

// -----
// CHECK-LABEL: func.func @a_check_holds_in_the_branch_of_its_answer
func.func @a_check_holds_in_the_branch_of_its_answer(%x: !torch.vtensor, %also: !torch.bool) -> !torch.vtensor {
  %0:2 = "tierup.check"(%x) {expected = [#tierup.profiled<f32[4]>]} : (!torch.vtensor) -> (!torch.vtensor<[4],f32>, !torch.bool)
  %both = torch.aten.__and__.bool %0#1, %also : !torch.bool, !torch.bool -> !torch.bool
  // CHECK: torch.prim.If
  %1 = torch.prim.If %both -> (!torch.vtensor) {
    %2 = torch.aten.tanh %0#0 : !torch.vtensor<[4],f32> -> !torch.vtensor<[4],f32>
    %3 = torch.tensor_static_info_cast %2 : !torch.vtensor<[4],f32> to !torch.vtensor
    torch.prim.If.yield %3 : !torch.vtensor
  } else {
    %2 = torch.aten.tanh %x : !torch.vtensor -> !torch.vtensor
    torch.prim.If.yield %2 : !torch.vtensor
  }
  return %1 : !torch.vtensor
}

// -----
// CHECK-LABEL: func.func @equal_symbols_are_equal_sizes
func.func @equal_symbols_are_equal_sizes(%x: !torch.vtensor, %y: !torch.vtensor) -> !torch.vtensor<[?],f32> {
  %0 = "tierup.guard"(%x) {expected = #tierup.profiled<f32[s0]>} : (!torch.vtensor) -> !torch.vtensor<[?],f32>
  %1 = "tierup.guard"(%y) {expected = #tierup.profiled<f32[s0]>} : (!torch.vtensor) -> !torch.vtensor<[?],f32>
  // CHECK: torch.aten.mul.Tensor
  %2 = torch.aten.mul.Tensor %0, %1 : !torch.vtensor<[?],f32>, !torch.vtensor<[?],f32> -> !torch.vtensor<[?],f32>
  return %2 : !torch.vtensor<[?],f32>
}

// -----
// A second round of a loop that profiles saw once: its guards never hold, and nothing behind one runs.
// CHECK-LABEL: func.func @guards_that_contradict_what_is_known_give_what_they_state
func.func @guards_that_contradict_what_is_known_give_what_they_state(%x: !torch.vtensor<[1,2,1],f64>, %n: !torch.vtensor<[?,3],f32>) -> (!torch.vtensor<[1,1],si32>, !torch.vtensor<[?,4],f32>) {
  %one = torch.constant.int 1
  %0 = "tierup.guard"(%x) {expected = #tierup.profiled<i32[1,1,1]>} : (!torch.vtensor<[1,2,1],f64>) -> !torch.vtensor<[1,1,1],si32>
  %1 = torch.aten.squeeze.dim %0, %one : !torch.vtensor<[1,1,1],si32>, !torch.int -> !torch.vtensor<[1,1],si32>
  %2 = "tierup.guard"(%x) {expected = #tierup.profiled<i32[1,1]>} : (!torch.vtensor<[1,2,1],f64>) -> !torch.vtensor<[1,1],si32>
  %3 = torch.aten.add.Tensor %1, %2, %one : !torch.vtensor<[1,1],si32>, !torch.vtensor<[1,1],si32>, !torch.int -> !torch.vtensor<[1,1],si32>
  // CHECK: torch.prim.If
  %4:2 = "tierup.check"(%n) {expected = [#tierup.profiled<f32[s0,4]>]} : (!torch.vtensor<[?,3],f32>) -> (!torch.vtensor<[?,4],f32>, !torch.bool)
  %5 = torch.prim.If %4#1 -> (!torch.vtensor<[?,4],f32>) {
    torch.prim.If.yield %4#0 : !torch.vtensor<[?,4],f32>
  } else {
    %6 = "tierup.guard"(%n) {expected = #tierup.profiled<f32[s1,4]>} : (!torch.vtensor<[?,3],f32>) -> !torch.vtensor<[?,4],f32>
    torch.prim.If.yield %6 : !torch.vtensor<[?,4],f32>
  }
  return %3, %5 : !torch.vtensor<[1,1],si32>, !torch.vtensor<[?,4],f32>
}

// -----
// A size that is known is not forgotten for a symbol.
// CHECK-LABEL: func.func @a_symbol_stands_for_a_known_size
func.func @a_symbol_stands_for_a_known_size(%x: !torch.vtensor<[3],f32>) -> !torch.vtensor<[3],f32> {
  %0 = "tierup.guard"(%x) {expected = #tierup.profiled<f32[s0]>} : (!torch.vtensor<[3],f32>) -> !torch.vtensor<[3],f32>
  return %0 : !torch.vtensor<[3],f32>
}

// -----
func.func @type_out_of_nowhere(%x: !torch.vtensor) -> !torch.vtensor<[4],f32> {
  // expected-error@below {{breaks the contract 'guarded': no guard or check that dominates this gives its result the type !torch.vtensor<[4],f32>; what follows is !torch.vtensor}}
  %0 = torch.aten.tanh %x : !torch.vtensor -> !torch.vtensor<[4],f32>
  return %0 : !torch.vtensor<[4],f32>
}

// -----
func.func @type_that_contradicts(%x: !torch.vtensor<[2,3],f32>) -> !torch.vtensor<[2],f32> {
  %dim = torch.constant.int 0
  %dims = torch.prim.ListConstruct %dim : (!torch.int) -> !torch.list<int>
  %false = torch.constant.bool false
  %none = torch.constant.none
  // expected-error@below {{the type !torch.vtensor<[2],f32>; what follows is !torch.vtensor<[3],f32>}}
  %0 = torch.aten.sum.dim_IntList %x, %dims, %false, %none : !torch.vtensor<[2,3],f32>, !torch.list<int>, !torch.bool, !torch.none -> !torch.vtensor<[2],f32>
  return %0 : !torch.vtensor<[2],f32>
}

// -----
func.func @a_cast_proves_nothing(%x: !torch.vtensor) -> !torch.vtensor<[4],f32> {
  // expected-error@below {{no guard or check that dominates this gives its result the type !torch.vtensor<[4],f32>}}
  %0 = torch.tensor_static_info_cast %x : !torch.vtensor to !torch.vtensor<[4],f32>
  return %0 : !torch.vtensor<[4],f32>
}

// -----
func.func @checked_value_used_in_the_fallback(%x: !torch.vtensor) -> !torch.vtensor {
  // expected-note@below {{only the then-branch of an If on its answer may rely on it}}
  %0:2 = "tierup.check"(%x) {expected = [#tierup.profiled<f32[4]>]} : (!torch.vtensor) -> (!torch.vtensor<[4],f32>, !torch.bool)
  %1 = torch.prim.If %0#1 -> (!torch.vtensor) {
    torch.prim.If.yield %x : !torch.vtensor
  } else {
    // expected-error@below {{'torch.tensor_static_info_cast' op breaks the contract 'guarded': uses a checked value where the check may have failed}}
    %2 = torch.tensor_static_info_cast %0#0 : !torch.vtensor<[4],f32> to !torch.vtensor
    torch.prim.If.yield %2 : !torch.vtensor
  }
  return %1 : !torch.vtensor
}

// -----
// The answer is negated: the first region runs when the check failed.
func.func @answer_through_a_not(%x: !torch.vtensor) -> !torch.vtensor {
  // expected-note@below {{the check is here}}
  %0:2 = "tierup.check"(%x) {expected = [#tierup.profiled<f32[4]>]} : (!torch.vtensor) -> (!torch.vtensor<[4],f32>, !torch.bool)
  %not = torch.aten.__not__ %0#1 : !torch.bool -> !torch.bool
  %1 = torch.prim.If %not -> (!torch.vtensor) {
    // expected-error@below {{uses a checked value where the check may have failed}}
    %2 = torch.tensor_static_info_cast %0#0 : !torch.vtensor<[4],f32> to !torch.vtensor
    torch.prim.If.yield %2 : !torch.vtensor
  } else {
    torch.prim.If.yield %x : !torch.vtensor
  }
  return %1 : !torch.vtensor
}

// -----
// expected-error@below {{the sizes s0 and s1 must be equal, and no guard ensures it}}
func.func @sizes_that_nobody_ties(%x: !torch.vtensor, %y: !torch.vtensor) -> !torch.vtensor<[?],f32> {
  %0 = "tierup.guard"(%x) {expected = #tierup.profiled<f32[s0]>} : (!torch.vtensor) -> !torch.vtensor<[?],f32>
  %1 = "tierup.guard"(%y) {expected = #tierup.profiled<f32[s1]>} : (!torch.vtensor) -> !torch.vtensor<[?],f32>
  %2 = torch.aten.mul.Tensor %0, %1 : !torch.vtensor<[?],f32>, !torch.vtensor<[?],f32> -> !torch.vtensor<[?],f32>
  return %2 : !torch.vtensor<[?],f32>
}

// -----
// An op that raises breaks nothing: its result, of whatever type, is never there.
func.func @shapes_that_do_not_fit(%x: !torch.vtensor<[3],f32>, %y: !torch.vtensor<[4],f32>) -> !torch.vtensor {
  %0 = torch.aten.mul.Tensor %x, %y : !torch.vtensor<[3],f32>, !torch.vtensor<[4],f32> -> !torch.vtensor
  return %0 : !torch.vtensor
}

// -----
// A list that is appended to later has more items than it was made with.
func.func @lists_that_grow(%x: !torch.vtensor<[2],f32>) -> !torch.vtensor<[2],f32> {
  %zero = torch.constant.int 0
  %list = torch.prim.ListConstruct %x : (!torch.vtensor<[2],f32>) -> !torch.list<vtensor<[2],f32>>
  %0 = torch.aten.append.t %list, %x : !torch.list<vtensor<[2],f32>>, !torch.vtensor<[2],f32> -> !torch.list<vtensor<[2],f32>>
  // expected-error@below {{gives its result the type !torch.vtensor<[2],f32>}}
  %1 = torch.aten.cat %list, %zero : !torch.list<vtensor<[2],f32>>, !torch.int -> !torch.vtensor<[2],f32>
  return %1 : !torch.vtensor<[2],f32>
}

// -----
// The answer decides a branch around the branch that the use stands in.
// CHECK-LABEL: func.func @a_check_holds_in_branches_inside
func.func @a_check_holds_in_branches_inside(%x: !torch.vtensor, %c: !torch.bool) -> !torch.vtensor {
  %0:2 = "tierup.check"(%x) {expected = [#tierup.profiled<f32[4]>]} : (!torch.vtensor) -> (!torch.vtensor<[4],f32>, !torch.bool)
  // CHECK-COUNT-2: torch.prim.If %
  %1 = torch.prim.If %0#1 -> (!torch.vtensor) {
    %2 = torch.prim.If %c -> (!torch.vtensor) {
      %3 = torch.tensor_static_info_cast %0#0 : !torch.vtensor<[4],f32> to !torch.vtensor
      torch.prim.If.yield %3 : !torch.vtensor
    } else {
      torch.prim.If.yield %x : !torch.vtensor
    }
    torch.prim.If.yield %2 : !torch.vtensor
  } else {
    torch.prim.If.yield %x : !torch.vtensor
  }
  return %1 : !torch.vtensor
}

// -----
func.func @checked_value_used_beside_the_branch(%x: !torch.vtensor) -> !torch.vtensor {
  // expected-note@below {{the check is here}}
  %0:2 = "tierup.check"(%x) {expected = [#tierup.profiled<f32[4]>]} : (!torch.vtensor) -> (!torch.vtensor<[4],f32>, !torch.bool)
  // expected-error@below {{uses a checked value where the check may have failed}}
  %1 = torch.tensor_static_info_cast %0#0 : !torch.vtensor<[4],f32> to !torch.vtensor
  return %1 : !torch.vtensor
}

// -----
// The first round's value fits the type of the argument; nothing says so of the next one's.
func.func @body_that_knows_only_the_first_round(%x: !torch.vtensor<[4],f32>, %n: !torch.int) -> !torch.vtensor<[4],f32> {
  %true = torch.constant.bool true
  // expected-error@below {{gives an argument of its body the type !torch.vtensor<[4],f32>; what follows is !torch.vtensor}}
  // expected-error@below {{gives its result the type !torch.vtensor<[4],f32>; what follows is !torch.vtensor}}
  %0 = torch.prim.Loop %n, %true, init(%x) {
  ^bb0(%i: !torch.int, %a: !torch.vtensor<[4],f32>):
    %1 = torch.aten.nonzero %a : !torch.vtensor<[4],f32> -> !torch.vtensor
    // expected-error@below {{gives its result the type !torch.vtensor<[4],f32>}}
    %2 = torch.tensor_static_info_cast %1 : !torch.vtensor to !torch.vtensor<[4],f32>
    torch.prim.Loop.condition %true, iter(%2 : !torch.vtensor<[4],f32>)
  } : (!torch.int, !torch.bool, !torch.vtensor<[4],f32>) -> !torch.vtensor<[4],f32>
  return %0 : !torch.vtensor<[4],f32>
}

// -----
// What never runs claims nothing.
// CHECK-LABEL: func.func @dead_arm
func.func @dead_arm(%x: !torch.vtensor) -> !torch.vtensor {
  %true = torch.constant.bool true
  // CHECK: torch.prim.If
  %0 = torch.prim.If %true -> (!torch.vtensor) {
    torch.prim.If.yield %x : !torch.vtensor
  } else {
    %1 = torch.aten.tanh %x : !torch.vtensor -> !torch.vtensor<[4],f32>
    %2 = torch.tensor_static_info_cast %1 : !torch.vtensor<[4],f32> to !torch.vtensor
    torch.prim.If.yield %2 : !torch.vtensor
  }
  return %0 : !torch.vtensor
}

// -----
// A check says what a tensor is, of which nothing was known: not even that it is one, where a function takes it out of a list.
// CHECK-LABEL: func.func @checked_after_a_list
func.func @checked_after_a_list(%x: !torch.vtensor) -> !torch.bool {
  %0 = func.call @first(%x) : (!torch.vtensor) -> !torch.vtensor
  // CHECK: tierup.check
  %1:2 = "tierup.check"(%0) {expected = [#tierup.profiled<f32[4]>]} : (!torch.vtensor) -> (!torch.vtensor<[4],f32>, !torch.bool)
  torch.prim.If %1#1 -> () {
    %2 = torch.aten.tanh %1#0 : !torch.vtensor<[4],f32> -> !torch.vtensor<[4],f32>
    torch.prim.If.yield
  } else {
    torch.prim.If.yield
  }
  return %1#1 : !torch.bool
}
func.func private @first(%x: !torch.vtensor) -> !torch.vtensor {
  %two = torch.constant.int 2
  %zero = torch.constant.int 0
  %0 = torch.aten.chunk %x, %two, %zero : !torch.vtensor, !torch.int, !torch.int -> !torch.list<vtensor>
  %1 = torch.prim.ListUnpack %0 : !torch.list<vtensor> -> !torch.vtensor
  return %1 : !torch.vtensor
}

// -----
// What no round runs needs nothing: that the part which is written has two rows.
// CHECK-LABEL: func.func @rounds
func.func @rounds(%x: !torch.vtensor<[4],f32>, %y: !torch.vtensor<[2],f32>, %n: !torch.int) -> !torch.vtensor<[4],f32> {
  %none = torch.constant.none
  %zero = torch.constant.int 0
  %two = torch.constant.int 2
  %true = torch.constant.bool true
  %0 = torch.prim.Loop %zero, %true, init(%x) {
  ^bb0(%i: !torch.int, %a: !torch.vtensor<[4],f32>):
    %1 = torch.aten.slice_scatter %a, %y, %zero, %n, %none, %two : !torch.vtensor<[4],f32>, !torch.vtensor<[2],f32>, !torch.int, !torch.int, !torch.none, !torch.int -> !torch.vtensor<[4],f32>
    torch.prim.Loop.condition %true, iter(%1 : !torch.vtensor<[4],f32>)
  } : (!torch.int, !torch.bool, !torch.vtensor<[4],f32>) -> !torch.vtensor<[4],f32>
  return %0 : !torch.vtensor<[4],f32>
}

// -----
// expected-error @+1 {{must be equal, and no guard ensures it}}
func.func @a_round(%x: !torch.vtensor<[4],f32>, %y: !torch.vtensor<[2],f32>, %n: !torch.int) -> !torch.vtensor<[4],f32> {
  %none = torch.constant.none
  %zero = torch.constant.int 0
  %two = torch.constant.int 2
  %true = torch.constant.bool true
  %0 = torch.prim.Loop %two, %true, init(%x) {
  ^bb0(%i: !torch.int, %a: !torch.vtensor<[4],f32>):
    %1 = torch.aten.slice_scatter %a, %y, %zero, %n, %none, %two : !torch.vtensor<[4],f32>, !torch.vtensor<[2],f32>, !torch.int, !torch.int, !torch.none, !torch.int -> !torch.vtensor<[4],f32>
    torch.prim.Loop.condition %true, iter(%1 : !torch.vtensor<[4],f32>)
  } : (!torch.int, !torch.bool, !torch.vtensor<[4],f32>) -> !torch.vtensor<[4],f32>
  return %0 : !torch.vtensor<[4],f32>
}

// -----
// CHECK-LABEL: func.func @what_is_no_value_may_be_of_any_type
func.func @what_is_no_value_may_be_of_any_type(%x: !torch.vtensor<[?],f64>, %c: !torch.bool) -> !torch.vtensor<[?],f64> {
  // CHECK: torch.prim.Uninitialized
  %u = torch.prim.Uninitialized : !torch.vtensor<[?],f64>
  %0 = torch.prim.If %c -> (!torch.vtensor<[?],f64>) {
    torch.prim.If.yield %x : !torch.vtensor<[?],f64>
  } else {
    torch.prim.If.yield %u : !torch.vtensor<[?],f64>
  }
  return %0 : !torch.vtensor<[?],f64>
}
