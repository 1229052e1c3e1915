// RUN: tierup-opt %s --tierup-refine-integer-values --split-input-file | FileCheck %s
// RUN: tierup-opt %s --pass-pipeline="builtin.module(tierup-refine-integer-values,tierup-refine-integer-values)" --split-input-file | FileCheck %s

// test_integer_refinement.
// CHECK-LABEL: func.func @equal
// CHECK-SAME: %[[N:[a-z0-9]+]]: !torch.int, %[[M:[a-z0-9]+]]: !torch.int
func.func @equal(%n: !torch.int, %m: !torch.int) -> !torch.int {
  %int3 = torch.constant.int 3
  // CHECK: %[[C:.*]] = torch.aten.eq.int %[[N]]
  %c = torch.aten.eq.int %n, %int3 : !torch.int, !torch.int -> !torch.bool
  // CHECK: torch.prim.If %[[C]]
  %0 = torch.prim.If %c -> (!torch.int) {
    // CHECK: %[[K:.*]] = torch.constant.int 3
    // CHECK-NEXT: torch.aten.mul.int %[[K]], %[[M]]
    %1 = torch.aten.mul.int %n, %m : !torch.int, !torch.int -> !torch.int
    torch.prim.If.yield %1 : !torch.int
  } else {
    // CHECK: torch.aten.mul.int %[[N]], %[[M]]
    %1 = torch.aten.mul.int %n, %m : !torch.int, !torch.int -> !torch.int
    torch.prim.If.yield %1 : !torch.int
  }
  return %0 : !torch.int
}

// -----
// 3 where n is 3, and else n: n. The opposite comparison, the other way round.
// CHECK-LABEL: func.func @collapse
// CHECK-SAME: %[[N:[a-z0-9]+]]: !torch.int
func.func @collapse(%n: !torch.int) -> (!torch.int, !torch.int, !torch.int) {
  %int3 = torch.constant.int 3
  %int4 = torch.constant.int 4
  %c = torch.aten.eq.int %n, %int3 : !torch.int, !torch.int -> !torch.bool
  // CHECK: %[[IF:.*]]:2 = torch.prim.If
  %0:2 = torch.prim.If %c -> (!torch.int, !torch.int) {
    torch.prim.If.yield %int3, %int4 : !torch.int, !torch.int
  } else {
    torch.prim.If.yield %n, %n : !torch.int, !torch.int
  }
  %d = torch.aten.ne.int %int3, %n : !torch.int, !torch.int -> !torch.bool
  %1 = torch.prim.If %d -> (!torch.int) {
    torch.prim.If.yield %n : !torch.int
  } else {
    torch.prim.If.yield %int3 : !torch.int
  }
  // CHECK: return %[[N]], %[[IF]]#1, %[[N]]
  return %0#0, %0#1, %1 : !torch.int, !torch.int, !torch.int
}

// -----
// Both sides of `and`; what both sides of `or` say; the branch that short-circuits; what follows a raise, and what is inside a loop.
// CHECK-LABEL: func.func @combined
// CHECK-SAME: %[[N:[a-z0-9]+]]: !torch.int, %[[M:[a-z0-9]+]]: !torch.int
func.func @combined(%n: !torch.int, %m: !torch.int, %k: !torch.int) -> (!torch.int, !torch.int, !torch.int) {
  %int3 = torch.constant.int 3
  %int5 = torch.constant.int 5
  %true = torch.constant.bool true
  %false = torch.constant.bool false
  %p = torch.aten.eq.int %n, %int3 : !torch.int, !torch.int -> !torch.bool
  %q = torch.aten.eq.int %m, %int5 : !torch.int, !torch.int -> !torch.bool
  %both = torch.prim.If %p -> (!torch.bool) {
    torch.prim.If.yield %q : !torch.bool
  } else {
    torch.prim.If.yield %false : !torch.bool
  }
  %0 = torch.prim.If %both -> (!torch.int) {
    // CHECK: torch.aten.mul.int %int3{{.*}}, %int5
    %1 = torch.aten.mul.int %n, %m : !torch.int, !torch.int -> !torch.int
    torch.prim.If.yield %1 : !torch.int
  } else {
    // CHECK: torch.aten.mul.int %[[N]], %[[M]]
    %1 = torch.aten.mul.int %n, %m : !torch.int, !torch.int -> !torch.int
    torch.prim.If.yield %1 : !torch.int
  }
  %r = torch.aten.__and__.bool %q, %p : !torch.bool, !torch.bool -> !torch.bool
  %either = torch.aten.__or__.bool %p, %r : !torch.bool, !torch.bool -> !torch.bool
  %2 = torch.prim.If %either -> (!torch.int) {
    // CHECK: torch.aten.sub.int %int3{{.*}}, %[[M]]
    %1 = torch.aten.sub.int %n, %m : !torch.int, !torch.int -> !torch.int
    torch.prim.If.yield %1 : !torch.int
  } else {
    torch.prim.If.yield %m : !torch.int
  }
  %text = torch.constant.str "no"
  %none = torch.constant.none
  torch.prim.If %p -> () {
    torch.prim.If.yield
  } else {
    torch.prim.RaiseException %text, %none : !torch.str, !torch.none
    torch.prim.If.yield
  }
  // CHECK: torch.prim.Loop %{{.*}}, %true, init(%[[M]])
  %3 = torch.prim.Loop %k, %true, init(%m) {
  ^bb0(%i: !torch.int, %s: !torch.int):
    // CHECK: torch.aten.mul.int %{{.*}}, %int3
    %4 = torch.aten.mul.int %s, %n : !torch.int, !torch.int -> !torch.int
    torch.prim.Loop.condition %true, iter(%4 : !torch.int)
  } : (!torch.int, !torch.bool, !torch.int) -> !torch.int
  return %0, %2, %3 : !torch.int, !torch.int, !torch.int
}

// -----
// Nothing decides it: another value, `or`, after the branch, the arm that is not taken.
// CHECK-LABEL: func.func @undecided
// CHECK-SAME: %[[N:[a-z0-9]+]]: !torch.int
func.func @undecided(%n: !torch.int, %b: !torch.bool) -> (!torch.int, !torch.int) {
  %int3 = torch.constant.int 3
  %p = torch.aten.eq.int %n, %int3 : !torch.int, !torch.int -> !torch.bool
  %either = torch.aten.__or__.bool %p, %b : !torch.bool, !torch.bool -> !torch.bool
  %0 = torch.prim.If %either -> (!torch.int) {
    // CHECK: torch.aten.neg.int %[[N]]
    %1 = torch.aten.neg.int %n : !torch.int -> !torch.int
    torch.prim.If.yield %1 : !torch.int
  } else {
    // CHECK: torch.aten.neg.int %[[N]]
    %1 = torch.aten.neg.int %n : !torch.int -> !torch.int
    torch.prim.If.yield %1 : !torch.int
  }
  // CHECK: torch.aten.neg.int %[[N]]
  %2 = torch.aten.neg.int %n : !torch.int -> !torch.int
  return %0, %2 : !torch.int, !torch.int
}

// -----
// Both arms give n, which the first one knows to be 3.
// CHECK-LABEL: func.func @the_same_in_both_arms
// CHECK-SAME: %[[N:[a-z0-9]+]]: !torch.int
func.func @the_same_in_both_arms(%n: !torch.int) -> !torch.int {
  %int3 = torch.constant.int 3
  %p = torch.aten.eq.int %n, %int3 : !torch.int, !torch.int -> !torch.bool
  %0 = torch.prim.If %p -> (!torch.int) {
    torch.prim.If.yield %n : !torch.int
  } else {
    torch.prim.If.yield %n : !torch.int
  }
  // CHECK: return %[[N]]
  return %0 : !torch.int
}

// -----
// Two values compared, or two numbers: that says nothing of either, and takes nothing of what is known.
// CHECK-LABEL: func.func @no_number
// CHECK-SAME: %[[N:[a-z0-9]+]]: !torch.int, %[[M:[a-z0-9]+]]: !torch.int
func.func @no_number(%n: !torch.int, %m: !torch.int) -> (!torch.int, !torch.int) {
  %int3 = torch.constant.int 3
  %int4 = torch.constant.int 4
  %p = torch.aten.eq.int %n, %int3 : !torch.int, !torch.int -> !torch.bool
  %q = torch.aten.eq.int %n, %m : !torch.int, !torch.int -> !torch.bool
  %both = torch.aten.__and__.bool %p, %q : !torch.bool, !torch.bool -> !torch.bool
  %0 = torch.prim.If %both -> (!torch.int) {
    // CHECK: torch.aten.mul.int %int3{{.*}}, %[[M]]
    %1 = torch.aten.mul.int %n, %m : !torch.int, !torch.int -> !torch.int
    torch.prim.If.yield %1 : !torch.int
  } else {
    torch.prim.If.yield %m : !torch.int
  }
  %never = torch.aten.eq.int %int3, %int4 : !torch.int, !torch.int -> !torch.bool
  %2 = torch.prim.If %never -> (!torch.int) {
    // CHECK: torch.aten.mul.int %int3{{.*}}, %[[M]]
    %1 = torch.aten.mul.int %int3, %m : !torch.int, !torch.int -> !torch.int
    torch.prim.If.yield %1 : !torch.int
  } else {
    torch.prim.If.yield %m : !torch.int
  }
  return %0, %2 : !torch.int, !torch.int
}

// -----
// A branch that gives what a branch in its arm gives collapses with it, in one run.
// CHECK-LABEL: func.func @branch_in_branch
// CHECK-SAME: %[[B:[a-z0-9]+]]: !torch.bool
// CHECK: return %[[B]]
func.func @branch_in_branch(%b: !torch.bool) -> !torch.bool {
  %0 = torch.prim.If %b -> (!torch.bool) {
    %1 = torch.prim.If %b -> (!torch.bool) {
      torch.prim.If.yield %b : !torch.bool
    } else {
      torch.prim.If.yield %b : !torch.bool
    }
    torch.prim.If.yield %1 : !torch.bool
  } else {
    torch.prim.If.yield %b : !torch.bool
  }
  return %0 : !torch.bool
}
