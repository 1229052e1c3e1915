// RUN: tierup-opt %s --tierup-peephole-non-tensor --split-input-file | FileCheck %s
// RUN: tierup-opt %s --pass-pipeline="builtin.module(tierup-peephole-non-tensor,tierup-peephole-non-tensor)" --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @numbers
// CHECK-SAME: %[[N:[a-z0-9]+]]: !torch.int
func.func @numbers(%n: !torch.int) -> (!torch.int, !torch.int, !torch.float, !torch.int) {
  %int0 = torch.constant.int 0
  %int1 = torch.constant.int 1
  %int2 = torch.constant.int 2
  %int3 = torch.constant.int 3
  %0 = torch.aten.sub.int %n, %int2 : !torch.int, !torch.int -> !torch.int
  // CHECK: %[[SUM:.*]] = torch.aten.add.int %[[N]], %int1
  %1 = torch.aten.add.int %int3, %0 : !torch.int, !torch.int -> !torch.int
  %2 = torch.aten.mul.int %n, %int1 : !torch.int, !torch.int -> !torch.int
  %3 = torch.aten.floordiv.int %2, %int1 : !torch.int, !torch.int -> !torch.int
  %4 = torch.aten.add.int %int0, %3 : !torch.int, !torch.int -> !torch.int
  // A quotient is a float.
  // CHECK: %[[Q:.*]] = torch.aten.div.int %[[N]]
  %5 = torch.aten.div.int %n, %int1 : !torch.int, !torch.int -> !torch.float
  // CHECK: %[[D:.*]] = torch.aten.sub.int %int0{{.*}}, %[[N]]
  %6 = torch.aten.sub.int %int0, %n : !torch.int, !torch.int -> !torch.int
  // CHECK: return %[[SUM]], %[[N]], %[[Q]], %[[D]]
  return %1, %4, %5, %6 : !torch.int, !torch.int, !torch.float, !torch.int
}

// -----
// Under torch's rules ints wrap, and so does the sum of the constants; under NumPy's it would be no int64.
// CHECK-LABEL: func.func @overflow
// CHECK-SAME: %[[N:[a-z0-9]+]]: !torch.int
func.func @overflow(%n: !torch.int) -> (!torch.int, !torch.int) {
  %large = torch.constant.int 9223372036854775807
  %int2 = torch.constant.int 2
  %0 = torch.aten.add.int %n, %large : !torch.int, !torch.int -> !torch.int
  // CHECK: torch.constant.int -9223372036854775807
  // CHECK: torch.aten.add.int %[[N]], %int-
  %1 = torch.aten.add.int %0, %int2 : !torch.int, !torch.int -> !torch.int
  // CHECK: %[[A:.*]] = torch.aten.add.int %[[N]]
  %2 = torch.aten.add.int %n, %large {tierup.promotion = "numpy"} : !torch.int, !torch.int -> !torch.int
  // CHECK: torch.aten.add.int %[[A]]
  %3 = torch.aten.add.int %2, %int2 {tierup.promotion = "numpy"} : !torch.int, !torch.int -> !torch.int
  return %1, %3 : !torch.int, !torch.int
}

// -----
// NaN is not itself.
// CHECK-LABEL: func.func @itself
func.func @itself(%n: !torch.int, %f: !torch.float, %s: !torch.str) -> (!torch.bool, !torch.bool, !torch.bool, !torch.bool) {
  // CHECK: %[[TRUE:.*]] = torch.constant.bool true
  %0 = torch.aten.eq.int %n, %n : !torch.int, !torch.int -> !torch.bool
  // CHECK: %[[FALSE:.*]] = torch.constant.bool false
  %1 = torch.aten.ne.str %s, %s : !torch.str, !torch.str -> !torch.bool
  // CHECK: %[[F:.*]] = torch.aten.eq.float
  %2 = torch.aten.eq.float %f, %f : !torch.float, !torch.float -> !torch.bool
  // CHECK: %[[LE:.*]] = torch.constant.bool true
  %3 = torch.aten.le.int %n, %n : !torch.int, !torch.int -> !torch.bool
  // CHECK: return %[[TRUE]], %[[FALSE]], %[[F]], %[[LE]]
  return %0, %1, %2, %3 : !torch.bool, !torch.bool, !torch.bool, !torch.bool
}

// -----
// CHECK-LABEL: func.func @conversions
// CHECK-SAME: %[[N:[a-z0-9]+]]: !torch.int, %[[F:[a-z0-9]+]]: !torch.float
func.func @conversions(%n: !torch.int, %f: !torch.float) -> (!torch.int, !torch.float, !torch.int, !torch.int) {
  %a = torch.derefine %n : !torch.int to !torch.number
  %b = torch.derefine %f : !torch.float to !torch.number
  %0 = torch.aten.Int.Scalar %a : !torch.number -> !torch.int
  %1 = torch.aten.Float.Scalar %b : !torch.number -> !torch.float
  // CHECK: %[[I:.*]] = torch.aten.Int.Scalar
  %2 = torch.aten.Int.Scalar %b : !torch.number -> !torch.int
  // Through a float, which loses digits.
  // CHECK: %[[C:.*]] = torch.aten.ceil.Scalar
  %3 = torch.aten.ceil.Scalar %a : !torch.number -> !torch.int
  // CHECK: return %[[N]], %[[F]], %[[I]], %[[C]]
  return %0, %1, %2, %3 : !torch.int, !torch.float, !torch.int, !torch.int
}

// -----
// test_short_circuit_optimization: a branch between two answers.
// CHECK-LABEL: func.func @answers
// CHECK-SAME: %[[C:[a-z0-9]+]]: !torch.bool, %[[D:[a-z0-9]+]]: !torch.bool
func.func @answers(%c: !torch.bool, %d: !torch.bool) -> (!torch.bool, !torch.bool, !torch.bool) {
  %true = torch.constant.bool true
  %false = torch.constant.bool false
  // CHECK-NOT: torch.prim.If
  // CHECK: %[[NOT:.*]] = torch.aten.__not__ %[[C]]
  %0:2 = torch.prim.If %c -> (!torch.bool, !torch.bool) {
    torch.prim.If.yield %true, %false : !torch.bool, !torch.bool
  } else {
    torch.prim.If.yield %false, %true : !torch.bool, !torch.bool
  }
  // CHECK: %[[AND:.*]] = torch.prim.If %[[C]]
  %1 = torch.prim.If %c -> (!torch.bool) {
    torch.prim.If.yield %d : !torch.bool
  } else {
    torch.prim.If.yield %false : !torch.bool
  }
  // CHECK: return %[[C]], %[[NOT]], %[[AND]]
  return %0#0, %0#1, %1 : !torch.bool, !torch.bool, !torch.bool
}

// -----
// CHECK-LABEL: func.func @not_not
// CHECK-SAME: %[[C:[a-z0-9]+]]: !torch.bool
func.func @not_not(%c: !torch.bool) -> !torch.bool {
  %0 = torch.aten.__not__ %c : !torch.bool -> !torch.bool
  %1 = torch.aten.__not__ %0 : !torch.bool -> !torch.bool
  // CHECK: return %[[C]]
  return %1 : !torch.bool
}

// -----
// CHECK-LABEL: func.func @nothing
func.func @nothing(%n: !torch.int, %o: !torch.optional<int>) -> (!torch.bool, !torch.bool, !torch.bool, !torch.bool) {
  %none = torch.constant.none
  %a = torch.derefine %n : !torch.int to !torch.optional<int>
  %b = torch.derefine %none : !torch.none to !torch.optional<int>
  // CHECK: %[[A:.*]] = torch.constant.bool false
  %0 = torch.aten.__is__ %a, %none : !torch.optional<int>, !torch.none -> !torch.bool
  // CHECK: %[[B:.*]] = torch.constant.bool true
  %1 = torch.aten.__is__ %b, %none : !torch.optional<int>, !torch.none -> !torch.bool
  // CHECK: %[[C:.*]] = torch.constant.bool true
  %2 = torch.aten.__isnot__ %n, %none : !torch.int, !torch.none -> !torch.bool
  // CHECK: %[[D:.*]] = torch.aten.__isnot__
  %3 = torch.aten.__isnot__ %o, %none : !torch.optional<int>, !torch.none -> !torch.bool
  // CHECK: return %[[A]], %[[B]], %[[C]], %[[D]]
  return %0, %1, %2, %3 : !torch.bool, !torch.bool, !torch.bool, !torch.bool
}

// -----
// CHECK-LABEL: func.func @of_type_none
// CHECK-SAME: %[[X:[a-z0-9]+]]: !torch.none
func.func @of_type_none(%x: !torch.none) -> !torch.optional<int> {
  // CHECK: %[[NONE:.*]] = torch.constant.none
  // CHECK: torch.derefine %[[NONE]]
  %0 = torch.derefine %x : !torch.none to !torch.optional<int>
  return %0 : !torch.optional<int>
}

// -----
// Both arms give an int as an optional one. The refinement of an isinstance stays (test_peephole_type_refinements).
// CHECK-LABEL: func.func @optionals
// CHECK-SAME: %[[C:[a-z0-9]+]]: !torch.bool, %[[N:[a-z0-9]+]]: !torch.int, %[[O:[a-z0-9]+]]: !torch.optional<int>
func.func @optionals(%c: !torch.bool, %n: !torch.int, %o: !torch.optional<int>) -> (!torch.int, !torch.int, !torch.optional<int>) {
  %int3 = torch.constant.int 3
  // CHECK: %[[R:.*]] = torch.prim.If %[[C]] -> (!torch.int)
  %0 = torch.prim.If %c -> (!torch.optional<int>) {
    %1 = torch.derefine %n : !torch.int to !torch.optional<int>
    torch.prim.If.yield %1 : !torch.optional<int>
  } else {
    %1 = torch.derefine %int3 : !torch.int to !torch.optional<int>
    torch.prim.If.yield %1 : !torch.optional<int>
  }
  %2 = torch.prim.unchecked_cast %0 : !torch.optional<int> -> !torch.int
  // CHECK: %[[U:.*]] = torch.prim.unchecked_cast %[[O]]
  %3 = torch.prim.unchecked_cast %o : !torch.optional<int> -> !torch.int
  // CHECK: %[[S:.*]] = torch.prim.If %[[C]] -> (!torch.optional<int>)
  %4 = torch.prim.If %c -> (!torch.optional<int>) {
    %1 = torch.derefine %n : !torch.int to !torch.optional<int>
    torch.prim.If.yield %1 : !torch.optional<int>
  } else {
    torch.prim.If.yield %o : !torch.optional<int>
  }
  // CHECK: return %[[R]], %[[U]], %[[S]]
  return %2, %3, %4 : !torch.int, !torch.int, !torch.optional<int>
}

// -----
// One is neutral on either side of a product, and on the right of a quotient; no other number is. Sums that cancel out.
// CHECK-LABEL: func.func @neutral
// CHECK-SAME: %[[N:[a-z0-9]+]]: !torch.int, %[[F:[a-z0-9]+]]: !torch.float
func.func @neutral(%n: !torch.int, %f: !torch.float) -> (!torch.int, !torch.int, !torch.float, !torch.float, !torch.float, !torch.int) {
  %int1 = torch.constant.int 1
  %int2 = torch.constant.int 2
  %f1 = torch.constant.float 1.000000e+00
  %0 = torch.aten.mul.int %int1, %n : !torch.int, !torch.int -> !torch.int
  %1 = torch.aten.mul.float %f, %f1 : !torch.float, !torch.float -> !torch.float
  %2 = torch.aten.mul.float %f1, %f : !torch.float, !torch.float -> !torch.float
  %3 = torch.aten.div.float %f, %f1 : !torch.float, !torch.float -> !torch.float
  %4 = torch.aten.add.int %n, %int2 : !torch.int, !torch.int -> !torch.int
  %5 = torch.aten.sub.int %4, %int2 : !torch.int, !torch.int -> !torch.int
  %6 = torch.aten.floordiv.int %n, %int1 : !torch.int, !torch.int -> !torch.int
  // CHECK: return %[[N]], %[[N]], %[[F]], %[[F]], %[[F]], %[[N]]
  return %0, %5, %1, %2, %3, %6 : !torch.int, !torch.int, !torch.float, !torch.float, !torch.float, !torch.int
}

// -----
// CHECK-LABEL: func.func @not_neutral
func.func @not_neutral(%n: !torch.int, %m: !torch.int, %f: !torch.float) -> (!torch.int, !torch.int, !torch.float, !torch.float, !torch.float, !torch.bool, !torch.bool) {
  %int2 = torch.constant.int 2
  %f1 = torch.constant.float 1.000000e+00
  %f2 = torch.constant.float 2.000000e+00
  // CHECK: torch.aten.mul.int
  %0 = torch.aten.mul.int %n, %int2 : !torch.int, !torch.int -> !torch.int
  // CHECK: torch.aten.mul.int
  %1 = torch.aten.mul.int %n, %m : !torch.int, !torch.int -> !torch.int
  // CHECK: torch.aten.mul.float
  %2 = torch.aten.mul.float %f, %f2 : !torch.float, !torch.float -> !torch.float
  // CHECK: torch.aten.div.float
  %3 = torch.aten.div.float %f, %f2 : !torch.float, !torch.float -> !torch.float
  // CHECK: torch.aten.div.float
  %4 = torch.aten.div.float %f1, %f : !torch.float, !torch.float -> !torch.float
  // CHECK: torch.aten.eq.int
  %5 = torch.aten.eq.int %n, %m : !torch.int, !torch.int -> !torch.bool
  // CHECK: torch.aten.lt.int
  %6 = torch.aten.lt.int %n, %m : !torch.int, !torch.int -> !torch.bool
  return %0, %1, %2, %3, %4, %5, %6 : !torch.int, !torch.int, !torch.float, !torch.float, !torch.float, !torch.bool, !torch.bool
}

// -----
// What comparing says is known in the next round; one branch in another.
// CHECK-LABEL: func.func @round_after_round
// CHECK-SAME: %[[C:[a-z0-9]+]]: !torch.bool, %[[D:[a-z0-9]+]]: !torch.bool
// CHECK-NEXT: %[[R:.*]] = torch.prim.If %[[D]]
// CHECK-NEXT: torch.prim.If.yield %[[C]]
// CHECK-NEXT: } else {
// CHECK-NEXT: torch.prim.If.yield %[[D]]
func.func @round_after_round(%c: !torch.bool, %d: !torch.bool, %n: !torch.int) -> !torch.bool {
  %0 = torch.prim.If %d -> (!torch.bool) {
    %1 = torch.prim.If %c -> (!torch.bool) {
      %2 = torch.aten.eq.int %n, %n : !torch.int, !torch.int -> !torch.bool
      torch.prim.If.yield %2 : !torch.bool
    } else {
      %2 = torch.aten.ne.int %n, %n : !torch.int, !torch.int -> !torch.bool
      torch.prim.If.yield %2 : !torch.bool
    }
    torch.prim.If.yield %1 : !torch.bool
  } else {
    torch.prim.If.yield %d : !torch.bool
  }
  return %0 : !torch.bool
}

// -----
// A branch that nobody takes a result from goes with its condition, unless it does something; a result that nobody takes is no matter.
// CHECK-LABEL: func.func @unused_results
// CHECK-SAME: %[[C:[a-z0-9]+]]: !torch.bool, %[[D:[a-z0-9]+]]: !torch.bool
// CHECK-NEXT: torch.constant.bool true
// CHECK-NEXT: torch.constant.bool false
// CHECK-NEXT: torch.prim.If %[[C]]
// CHECK-NEXT: torch.runtime.assert
// CHECK: %[[R:.*]]:2 = torch.prim.If %[[C]] -> (!torch.bool, !torch.bool)
// CHECK: return %[[R]]#1
func.func @unused_results(%c: !torch.bool, %d: !torch.bool, %n: !torch.int) -> !torch.bool {
  %true = torch.constant.bool true
  %false = torch.constant.bool false
  %go = torch.constant.bool true
  torch.prim.If %go -> () {
    %none = torch.constant.none
    torch.prim.If.yield
  } else {
    torch.prim.If.yield
  }
  torch.prim.If %c -> () {
    torch.runtime.assert %d, "no"
    torch.prim.If.yield
  } else {
    torch.prim.If.yield
  }
  %0:2 = torch.prim.If %c -> (!torch.bool, !torch.bool) {
    torch.prim.If.yield %true, %d : !torch.bool, !torch.bool
  } else {
    torch.prim.If.yield %false, %c : !torch.bool, !torch.bool
  }
  return %0#1 : !torch.bool
}

// -----
// Called functions that give None, here and in a branch.
// CHECK-LABEL: func.func @calls_of_type_none
// CHECK: torch.prim.If
// CHECK: %[[I:.*]] = torch.constant.none
// CHECK: torch.derefine %[[I]]
// CHECK: %[[O:.*]] = torch.constant.none
// CHECK: torch.derefine %[[O]]
func.func @calls_of_type_none(%c: !torch.bool, %o: !torch.optional<int>) -> (!torch.optional<int>, !torch.optional<int>) {
  %0 = torch.prim.If %c -> (!torch.optional<int>) {
    %1 = func.call @gives_none() : () -> !torch.none
    %2 = torch.derefine %1 : !torch.none to !torch.optional<int>
    torch.prim.If.yield %2 : !torch.optional<int>
  } else {
    torch.prim.If.yield %o : !torch.optional<int>
  }
  %3 = func.call @gives_none() : () -> !torch.none
  %4 = torch.derefine %3 : !torch.none to !torch.optional<int>
  return %0, %4 : !torch.optional<int>, !torch.optional<int>
}
func.func private @gives_none() -> !torch.none

// -----
// An int or None stays optional, whichever arm gives which; an int of both that is returned as optional becomes so after the branch.
// CHECK-LABEL: func.func @int_or_none
// CHECK-SAME: %[[C:[a-z0-9]+]]: !torch.bool, %[[N:[a-z0-9]+]]: !torch.int, %[[O:[a-z0-9]+]]: !torch.optional<int>
// CHECK: %[[A:.*]] = torch.prim.If %[[C]] -> (!torch.optional<int>)
// CHECK: %[[B:.*]] = torch.prim.If %[[C]] -> (!torch.optional<int>)
// CHECK: %[[D:.*]] = torch.prim.If %[[C]] -> (!torch.int) {
// CHECK-NEXT: torch.prim.If.yield %[[N]]
// CHECK-NEXT: } else {
// CHECK-NEXT: torch.prim.If.yield %[[N]]
// CHECK: %[[W:.*]] = torch.derefine %[[D]] : !torch.int to !torch.optional<int>
// CHECK-NEXT: return %[[A]], %[[B]], %[[W]]
func.func @int_or_none(%c: !torch.bool, %n: !torch.int, %o: !torch.optional<int>) -> (!torch.optional<int>, !torch.optional<int>, !torch.optional<int>) {
  %none = torch.constant.none
  %0 = torch.prim.If %c -> (!torch.optional<int>) {
    %1 = torch.derefine %none : !torch.none to !torch.optional<int>
    torch.prim.If.yield %1 : !torch.optional<int>
  } else {
    %1 = torch.derefine %n : !torch.int to !torch.optional<int>
    torch.prim.If.yield %1 : !torch.optional<int>
  }
  %2 = torch.prim.If %c -> (!torch.optional<int>) {
    torch.prim.If.yield %o : !torch.optional<int>
  } else {
    %1 = torch.derefine %n : !torch.int to !torch.optional<int>
    torch.prim.If.yield %1 : !torch.optional<int>
  }
  %3 = torch.prim.If %c -> (!torch.optional<int>) {
    %1 = torch.derefine %n : !torch.int to !torch.optional<int>
    torch.prim.If.yield %1 : !torch.optional<int>
  } else {
    %1 = torch.derefine %n : !torch.int to !torch.optional<int>
    torch.prim.If.yield %1 : !torch.optional<int>
  }
  return %0, %2, %3 : !torch.optional<int>, !torch.optional<int>, !torch.optional<int>
}
