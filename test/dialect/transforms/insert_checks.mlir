// RUN: tierup-opt %s --split-input-file --tierup-insert-checks --tierup-verify-guarded --verify-diagnostics | FileCheck %s
// RUN: tierup-opt %s --split-input-file --tierup-insert-checks --tierup-insert-checks --verify-diagnostics | FileCheck %s

// CHECK-LABEL: func.func @group_or_fallback
// CHECK-NEXT: [[C:%.+]]:2 = "tierup.check"(%arg0) {expected = [#tierup.profiled<f32[4]>]}
// CHECK-NEXT: [[R:%.+]] = torch.prim.If [[C]]#1 -> (!torch.vtensor) {
// CHECK-NEXT: [[G:%.+]] = "tierup.fusion_group"([[C]]#0, %arg1) ({
// CHECK: torch.aten.add.Scalar {{.*}} !torch.vtensor<[4],f32>
// CHECK: [[P:%.+]] = torch.tensor_static_info_cast [[G]] : !torch.vtensor<[4],f32> to !torch.vtensor
// CHECK-NEXT: torch.prim.If.yield [[P]] : !torch.vtensor
// CHECK: } else {
// CHECK: [[A:%.+]] = torch.tensor_static_info_cast %arg0
// CHECK-NEXT: [[F:%.+]] = "tierup.fallback"([[A]], %arg1) ({
// CHECK: torch.aten.add.Scalar {{.*}} : !torch.vtensor, !torch.int, !torch.int -> !torch.vtensor
// CHECK: torch.prim.If.yield [[F]] : !torch.vtensor
// CHECK: return [[R]]
func.func @group_or_fallback(%x: !torch.vtensor<[4],f32>, %n: !torch.int) -> !torch.vtensor<[4],f32> {
  %0 = "tierup.fusion_group"(%x, %n) ({
  ^bb0(%a: !torch.vtensor<[4],f32>, %b: !torch.int):
    %1 = torch.aten.add.Scalar %a, %b, %b : !torch.vtensor<[4],f32>, !torch.int, !torch.int -> !torch.vtensor<[4],f32>
    "tierup.yield"(%1) : (!torch.vtensor<[4],f32>) -> ()
  }, {}) : (!torch.vtensor<[4],f32>, !torch.int) -> !torch.vtensor<[4],f32>
  return %0 : !torch.vtensor<[4],f32>
}

// -----
// CHECK-LABEL: func.func @nothing_to_check
// CHECK-NOT: tierup.check
// CHECK: return
func.func @nothing_to_check(%n: !torch.int) -> !torch.int {
  %0 = "tierup.fusion_group"(%n) ({
  ^bb0(%b: !torch.int):
    "tierup.yield"(%b) : (!torch.int) -> ()
  }, {}) : (!torch.int) -> !torch.int
  return %0 : !torch.int
}

// -----
// A cast only claims: what it is of is checked, and what followed from it alone is forgotten.
// CHECK-LABEL: func.func @assumption_in_mid_program
// CHECK: [[Y:%.+]] = torch.aten.nonzero %arg0
// CHECK: "tierup.check"([[Y]]) {expected = [#tierup.profiled<i64[s0,1]>]}
// CHECK: "tierup.fallback"([[Y]])
// CHECK: torch.aten.tanh {{%.+}} : !torch.vtensor<*,si64> -> !torch.vtensor<*,f32>
func.func @assumption_in_mid_program(%x: !torch.vtensor) -> (!torch.vtensor<[?,1],si64>, !torch.vtensor<[?,1],f32>) {
  %y = torch.aten.nonzero %x : !torch.vtensor -> !torch.vtensor
  %0 = torch.tensor_static_info_cast %y : !torch.vtensor to !torch.vtensor<[?,1],si64>
  %1 = "tierup.fusion_group"(%0) ({
  ^bb0(%a: !torch.vtensor<[?,1],si64>):
    %s0 = torch.symbolic_int "s0" {min_val = 2, max_val = 9223372036854775807} : !torch.int
    torch.bind_symbolic_shape %a, [%s0], affine_map<()[s0] -> (s0, 1)> : !torch.vtensor<[?,1],si64>
    %2 = torch.aten.neg %a : !torch.vtensor<[?,1],si64> -> !torch.vtensor<[?,1],si64>
    "tierup.yield"(%2) : (!torch.vtensor<[?,1],si64>) -> ()
  }, {}) : (!torch.vtensor<[?,1],si64>) -> !torch.vtensor<[?,1],si64>
  %3 = torch.aten.tanh %0 : !torch.vtensor<[?,1],si64> -> !torch.vtensor<[?,1],f32>
  return %1, %3 : !torch.vtensor<[?,1],si64>, !torch.vtensor<[?,1],f32>
}

// -----
// Sizes that the group needs equal become one symbol, of arguments too.
// CHECK-LABEL: func.func @ties
// CHECK: "tierup.check"(%arg0, %arg1) {expected = [#tierup.profiled<f32[[[S:s[01]]]]>, #tierup.profiled<f32[[[S]]]>]}
func.func @ties(%x: !torch.vtensor<[?],f32>, %y: !torch.vtensor<[?],f32>) -> !torch.vtensor<[?],f32> {
  %s0 = torch.symbolic_int "s0" {min_val = 2, max_val = 9223372036854775807} : !torch.int
  %s1 = torch.symbolic_int "s1" {min_val = 2, max_val = 9223372036854775807} : !torch.int
  torch.bind_symbolic_shape %x, [%s0], affine_map<()[s0] -> (s0)> : !torch.vtensor<[?],f32>
  torch.bind_symbolic_shape %y, [%s1], affine_map<()[s0] -> (s0)> : !torch.vtensor<[?],f32>
  %0 = "tierup.fusion_group"(%x, %y) ({
  ^bb0(%a: !torch.vtensor<[?],f32>, %b: !torch.vtensor<[?],f32>):
    %t0 = torch.symbolic_int "s0" {min_val = 2, max_val = 9223372036854775807} : !torch.int
    %t1 = torch.symbolic_int "s1" {min_val = 2, max_val = 9223372036854775807} : !torch.int
    torch.bind_symbolic_shape %a, [%t0], affine_map<()[s0] -> (s0)> : !torch.vtensor<[?],f32>
    torch.bind_symbolic_shape %b, [%t1], affine_map<()[s0] -> (s0)> : !torch.vtensor<[?],f32>
    %1 = torch.aten.mul.Tensor %a, %b : !torch.vtensor<[?],f32>, !torch.vtensor<[?],f32> -> !torch.vtensor<[?],f32>
    "tierup.yield"(%1) : (!torch.vtensor<[?],f32>) -> ()
  }, {}) : (!torch.vtensor<[?],f32>, !torch.vtensor<[?],f32>) -> !torch.vtensor<[?],f32>
  return %0 : !torch.vtensor<[?],f32>
}

// -----
func.func @group_that_cannot_run(%x: !torch.vtensor<[3],f32>, %y: !torch.vtensor<[4],f32>) -> !torch.vtensor {
  %0 = "tierup.fusion_group"(%x, %y) ({
  ^bb0(%a: !torch.vtensor<[3],f32>, %b: !torch.vtensor<[4],f32>):
    // expected-error@below {{cannot run on operands of these types}}
    %1 = torch.aten.mul.Tensor %a, %b : !torch.vtensor<[3],f32>, !torch.vtensor<[4],f32> -> !torch.vtensor
    "tierup.yield"(%1) : (!torch.vtensor) -> ()
  }, {}) : (!torch.vtensor<[3],f32>, !torch.vtensor<[4],f32>) -> !torch.vtensor
  return %0 : !torch.vtensor
}

// -----
// The fast side knows which arm is taken; the fallback, which takes any sizes, has both.
// CHECK-LABEL: func.func @branch_on_sizes
// CHECK: torch.prim.If
// CHECK-NEXT: "tierup.fusion_group"
// CHECK-NOT: torch.prim.If
// CHECK: torch.aten.tanh
// CHECK-NOT: torch.aten.exp
// CHECK: "tierup.fallback"
// CHECK: torch.prim.If
// CHECK: torch.aten.tanh
// CHECK: torch.aten.exp
func.func @branch_on_sizes(%x: !torch.vtensor<[4],f32>) -> !torch.vtensor<[4],f32> {
  %0 = "tierup.fusion_group"(%x) ({
  ^bb0(%a: !torch.vtensor<[4],f32>):
    %zero = torch.constant.int 0
    %four = torch.constant.int 4
    %n = torch.aten.size.int %a, %zero : !torch.vtensor<[4],f32>, !torch.int -> !torch.int
    %c = torch.aten.eq.int %n, %four : !torch.int, !torch.int -> !torch.bool
    %1 = torch.prim.If %c -> (!torch.vtensor<[4],f32>) {
      %2 = torch.aten.tanh %a : !torch.vtensor<[4],f32> -> !torch.vtensor<[4],f32>
      torch.prim.If.yield %2 : !torch.vtensor<[4],f32>
    } else {
      %2 = torch.aten.exp %a : !torch.vtensor<[4],f32> -> !torch.vtensor<[4],f32>
      torch.prim.If.yield %2 : !torch.vtensor<[4],f32>
    }
    "tierup.yield"(%1) : (!torch.vtensor<[4],f32>) -> ()
  }, {}) : (!torch.vtensor<[4],f32>) -> !torch.vtensor<[4],f32>
  return %0 : !torch.vtensor<[4],f32>
}

// -----
// s0 + s1 is s2: no fact of a tensor says that, so there is no group.
// CHECK-LABEL: func.func @sizes_that_no_fact_states
// CHECK-NOT: tierup
// CHECK: torch.aten.cat
// CHECK-NEXT: torch.aten.mul.Tensor
func.func @sizes_that_no_fact_states(%x: !torch.vtensor, %y: !torch.vtensor, %z: !torch.vtensor) -> !torch.vtensor {
  %p = torch.tensor_static_info_cast %x : !torch.vtensor to !torch.vtensor<[?],f32>
  %q = torch.tensor_static_info_cast %y : !torch.vtensor to !torch.vtensor<[?],f32>
  %r = torch.tensor_static_info_cast %z : !torch.vtensor to !torch.vtensor<[?],f32>
  // expected-remark@below {{needs equal sizes that no check can ask for, and is undone}}
  %0 = "tierup.fusion_group"(%p, %q, %r) ({
  ^bb0(%a: !torch.vtensor<[?],f32>, %b: !torch.vtensor<[?],f32>, %c: !torch.vtensor<[?],f32>):
    %s0 = torch.symbolic_int "s0" {min_val = 2, max_val = 9223372036854775807} : !torch.int
    %s1 = torch.symbolic_int "s1" {min_val = 2, max_val = 9223372036854775807} : !torch.int
    %s2 = torch.symbolic_int "s2" {min_val = 2, max_val = 9223372036854775807} : !torch.int
    torch.bind_symbolic_shape %a, [%s0], affine_map<()[s0] -> (s0)> : !torch.vtensor<[?],f32>
    torch.bind_symbolic_shape %b, [%s1], affine_map<()[s0] -> (s0)> : !torch.vtensor<[?],f32>
    torch.bind_symbolic_shape %c, [%s2], affine_map<()[s0] -> (s0)> : !torch.vtensor<[?],f32>
    %zero = torch.constant.int 0
    %l = torch.prim.ListConstruct %a, %b : (!torch.vtensor<[?],f32>, !torch.vtensor<[?],f32>) -> !torch.list<vtensor>
    %1 = torch.aten.cat %l, %zero : !torch.list<vtensor>, !torch.int -> !torch.vtensor<[?],f32>
    %2 = torch.aten.mul.Tensor %1, %c : !torch.vtensor<[?],f32>, !torch.vtensor<[?],f32> -> !torch.vtensor<[?],f32>
    "tierup.yield"(%2) : (!torch.vtensor<[?],f32>) -> ()
  }, {}) : (!torch.vtensor<[?],f32>, !torch.vtensor<[?],f32>, !torch.vtensor<[?],f32>) -> !torch.vtensor<[?],f32>
  %3 = torch.tensor_static_info_cast %0 : !torch.vtensor<[?],f32> to !torch.vtensor
  return %3 : !torch.vtensor
}

// -----
// A size that a number from outside gives is not known in the group, which takes any number.
// CHECK-LABEL: func.func @number_from_outside
// CHECK: "tierup.check"(%arg0) {expected = [#tierup.profiled<f32[2]>]}
// CHECK: "tierup.fusion_group"
// CHECK: torch.aten.reshape {{.*}} -> !torch.vtensor<[?,1],f32>
// CHECK: torch.aten.tanh {{.*}} -> !torch.vtensor<[?,1],f32>
// CHECK: }) : (!torch.vtensor<[2],f32>, !torch.int) -> !torch.vtensor<[?,1],f32>
func.func @number_from_outside(%x: !torch.vtensor<[2],f32>) -> !torch.vtensor<[2,1],f32> {
  %n = torch.aten.numel %x : !torch.vtensor<[2],f32> -> !torch.int
  %0 = "tierup.fusion_group"(%x, %n) ({
  ^bb0(%a: !torch.vtensor<[2],f32>, %m: !torch.int):
    %one = torch.constant.int 1
    %sizes = torch.prim.ListConstruct %m, %one : (!torch.int, !torch.int) -> !torch.list<int>
    %1 = torch.aten.reshape %a, %sizes : !torch.vtensor<[2],f32>, !torch.list<int> -> !torch.vtensor<[2,1],f32>
    %2 = torch.aten.tanh %1 : !torch.vtensor<[2,1],f32> -> !torch.vtensor<[2,1],f32>
    "tierup.yield"(%2) : (!torch.vtensor<[2,1],f32>) -> ()
  }, {}) : (!torch.vtensor<[2],f32>, !torch.int) -> !torch.vtensor<[2,1],f32>
  return %0 : !torch.vtensor<[2,1],f32>
}

// -----
// A loop that types outside let run but once carries less than is known of its first round: they go, and the group takes what is checked.
// CHECK-LABEL: func.func @one_round
// CHECK: "tierup.check"(%{{.+}}) {expected = [#tierup.profiled<f64[1,?]>]}
// CHECK: ^bb0([[A:%.+]]: !torch.vtensor<[1,?],f64>):
// CHECK-NEXT: [[T:%.+]] = torch.aten.tanh [[A]] : !torch.vtensor<[1,?],f64> -> !torch.vtensor<[1,?],f64>
// CHECK-NEXT: torch.aten.mul.Tensor [[T]], [[A]] : !torch.vtensor<[1,?],f64>, !torch.vtensor<[1,?],f64> -> !torch.vtensor<[1,?],f64>
func.func @one_round(%u: !torch.vtensor) -> !torch.vtensor {
  %zero = torch.constant.int 0
  %one = torch.constant.int 1
  %true = torch.constant.bool true
  %x = torch.tensor_static_info_cast %u : !torch.vtensor to !torch.vtensor<[1,3],f64>
  %n = torch.aten.size.int %x, %zero : !torch.vtensor<[1,3],f64>, !torch.int -> !torch.int
  %w = torch.tensor_static_info_cast %x : !torch.vtensor<[1,3],f64> to !torch.vtensor<[1,?],f64>
  %r = torch.prim.Loop %n, %true, init(%w) {
  ^bb0(%i: !torch.int, %a: !torch.vtensor<[1,?],f64>):
    %t = "tierup.fusion_group"(%a) ({
    ^bb0(%b: !torch.vtensor<[1,?],f64>):
      %0 = torch.aten.tanh %b : !torch.vtensor<[1,?],f64> -> !torch.vtensor<[1,3],f64>
      %d = torch.tensor_static_info_cast %b : !torch.vtensor<[1,?],f64> to !torch.vtensor<[1,3],f64>
      %1 = torch.aten.mul.Tensor %0, %d : !torch.vtensor<[1,3],f64>, !torch.vtensor<[1,3],f64> -> !torch.vtensor<[1,3],f64>
      "tierup.yield"(%1) : (!torch.vtensor<[1,3],f64>) -> ()
    }, {}) : (!torch.vtensor<[1,?],f64>) -> !torch.vtensor<[1,3],f64>
    %s = torch.aten.slice.Tensor %t, %one, %zero, %one, %one : !torch.vtensor<[1,3],f64>, !torch.int, !torch.int, !torch.int, !torch.int -> !torch.vtensor<[1,1],f64>
    %v = torch.tensor_static_info_cast %s : !torch.vtensor<[1,1],f64> to !torch.vtensor<[1,?],f64>
    torch.prim.Loop.condition %true, iter(%v : !torch.vtensor<[1,?],f64>)
  } : (!torch.int, !torch.bool, !torch.vtensor<[1,?],f64>) -> !torch.vtensor<[1,?],f64>
  %p = torch.tensor_static_info_cast %r : !torch.vtensor<[1,?],f64> to !torch.vtensor
  return %p : !torch.vtensor
}
