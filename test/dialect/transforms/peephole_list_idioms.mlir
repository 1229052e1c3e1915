// RUN: tierup-opt %s --tierup-peephole-list-idioms="refine-list-len" --split-input-file | FileCheck %s
// RUN: tierup-opt %s --pass-pipeline="builtin.module(tierup-peephole-list-idioms{refine-list-len=true},tierup-peephole-list-idioms{refine-list-len=true})" --split-input-file | FileCheck %s
// RUN: tierup-opt %s --tierup-peephole-list-idioms --split-input-file | FileCheck %s --check-prefix=PLAIN

// CHECK-LABEL: func.func @written_down
// CHECK-SAME: %[[A:[a-z0-9]+]]: !torch.int, %[[B:[a-z0-9]+]]: !torch.int
func.func @written_down(%a: !torch.int, %b: !torch.int) -> (!torch.int, !torch.int, !torch.int, !torch.int, !torch.list<int>) {
  %last = torch.constant.int -1
  %none = torch.constant.none
  %l = torch.prim.ListConstruct %a, %b : (!torch.int, !torch.int) -> !torch.list<int>
  // CHECK: %[[TWO:.*]] = torch.constant.int 2
  %0 = torch.aten.len.t %l : !torch.list<int> -> !torch.int
  %1 = torch.aten.__getitem__.t %l, %last : !torch.list<int>, !torch.int -> !torch.int
  %2:2 = torch.prim.ListUnpack %l : !torch.list<int> -> !torch.int, !torch.int
  %3 = torch.aten.add.t %l, %l : !torch.list<int>, !torch.list<int> -> !torch.list<int>
  // CHECK-NEXT: %[[R:.*]] = torch.prim.ListConstruct %[[B]], %[[A]], %[[B]], %[[A]] :
  %4 = torch.aten.slice.t %3, %none, %none, %last : !torch.list<int>, !torch.none, !torch.none, !torch.int -> !torch.list<int>
  // CHECK-NEXT: return %[[TWO]], %[[B]], %[[A]], %[[B]], %[[R]]
  return %0, %1, %2#0, %2#1, %4 : !torch.int, !torch.int, !torch.int, !torch.int, !torch.list<int>
}

// -----
// Out of range, another number of items, step 0, bounds that only the run knows: exceptions and values stay.
// CHECK-LABEL: func.func @stay
func.func @stay(%a: !torch.int, %b: !torch.int, %i: !torch.int) -> (!torch.int, !torch.int, !torch.list<int>, !torch.list<int>) {
  %two = torch.constant.int 2
  %zero = torch.constant.int 0
  %one = torch.constant.int 1
  %none = torch.constant.none
  %l = torch.prim.ListConstruct %a, %b : (!torch.int, !torch.int) -> !torch.list<int>
  // CHECK: torch.aten.__getitem__.t
  %0 = torch.aten.__getitem__.t %l, %two : !torch.list<int>, !torch.int -> !torch.int
  // CHECK: torch.prim.ListUnpack
  %1 = torch.prim.ListUnpack %l : !torch.list<int> -> !torch.int
  // CHECK: torch.aten.slice.t
  %2 = torch.aten.slice.t %l, %none, %none, %zero : !torch.list<int>, !torch.none, !torch.none, !torch.int -> !torch.list<int>
  // CHECK: torch.aten.slice.t
  %3 = torch.aten.slice.t %l, %i, %none, %one : !torch.list<int>, !torch.int, !torch.none, !torch.int -> !torch.list<int>
  return %0, %1, %2, %3 : !torch.int, !torch.int, !torch.list<int>, !torch.list<int>
}

// -----
// A list that somebody writes, here through another list.
// CHECK-LABEL: func.func @written_through_another
func.func @written_through_another(%a: !torch.int) -> !torch.int {
  %zero = torch.constant.int 0
  %l = torch.prim.ListConstruct %a : (!torch.int) -> !torch.list<int>
  %m = torch.prim.ListConstruct %l : (!torch.list<int>) -> !torch.list<list<int>>
  %k = torch.aten.__getitem__.t %m, %zero : !torch.list<list<int>>, !torch.int -> !torch.list<int>
  %w = torch.aten.append.t %k, %a : !torch.list<int>, !torch.int -> !torch.list<int>
  // CHECK: torch.aten.len.t
  %n = torch.aten.len.t %l : !torch.list<int> -> !torch.int
  return %n : !torch.int
}

// -----
// CHECK-LABEL: func.func @decided_by_a_comparison
// CHECK-SAME: %[[L:[a-z0-9]+]]: !torch.list<int>
func.func @decided_by_a_comparison(%l: !torch.list<int>, %b: !torch.bool) -> (!torch.int, !torch.int) {
  %two = torch.constant.int 2
  // CHECK: torch.aten.len.t %[[L]]
  %n = torch.aten.len.t %l : !torch.list<int> -> !torch.int
  %c = torch.aten.eq.int %n, %two : !torch.int, !torch.int -> !torch.bool
  // CHECK: torch.prim.If
  %0 = torch.prim.If %c -> (!torch.int) {
    // CHECK: %[[K:.*]] = torch.constant.int 2
    // CHECK-NEXT: torch.prim.If.yield %[[K]]
    %1 = torch.aten.len.t %l : !torch.list<int> -> !torch.int
    torch.prim.If.yield %1 : !torch.int
  } else {
    // CHECK: torch.aten.len.t %[[L]]
    %1 = torch.aten.len.t %l : !torch.list<int> -> !torch.int
    torch.prim.If.yield %1 : !torch.int
  }
  // `or` decides nothing unless both sides do.
  %either = torch.aten.__or__.bool %c, %b : !torch.bool, !torch.bool -> !torch.bool
  // CHECK: torch.prim.If
  %2 = torch.prim.If %either -> (!torch.int) {
    // CHECK: torch.aten.len.t %[[L]]
    %1 = torch.aten.len.t %l : !torch.list<int> -> !torch.int
    torch.prim.If.yield %1 : !torch.int
  } else {
    torch.prim.If.yield %two : !torch.int
  }
  return %0, %2 : !torch.int, !torch.int
}

// -----
// CHECK-LABEL: func.func @asserted
func.func @asserted(%l: !torch.list<int>) -> (!torch.int, !torch.int) {
  %two = torch.constant.int 2
  %n = torch.aten.len.t %l : !torch.list<int> -> !torch.int
  %c = torch.aten.eq.int %n, %two : !torch.int, !torch.int -> !torch.bool
  torch.runtime.assert %c, "two"
  // CHECK: %[[K:.*]] = torch.constant.int 2
  // CHECK: return %{{.*}}, %[[K]]
  %1 = torch.aten.len.t %l : !torch.list<int> -> !torch.int
  return %n, %1 : !torch.int, !torch.int
}

// -----
// CHECK-LABEL: func.func @not_after_append
func.func @not_after_append(%l: !torch.list<int>, %a: !torch.int) -> !torch.int {
  %two = torch.constant.int 2
  %n = torch.aten.len.t %l : !torch.list<int> -> !torch.int
  %c = torch.aten.eq.int %n, %two : !torch.int, !torch.int -> !torch.bool
  torch.runtime.assert %c, "two"
  // CHECK: torch.aten.append.t
  // CHECK: torch.aten.len.t
  %w = torch.aten.append.t %l, %a : !torch.list<int>, !torch.int -> !torch.list<int>
  %1 = torch.aten.len.t %l : !torch.list<int> -> !torch.int
  return %1 : !torch.int
}

// -----
// A copy is a list of its own: what is appended to it is not in the first one, which is in another list, and the other way round.
// CHECK-LABEL: func.func @copied
// CHECK: %[[L:.*]] = torch.prim.ListConstruct %arg0
// CHECK: %[[C:.*]] = torch.prim.ListConstruct %arg0
// CHECK: torch.aten.append.t %[[C]]
// CHECK: %[[N:.*]] = torch.aten.len.t %[[C]]
// CHECK: return %[[N]]
func.func @copied(%a: !torch.int) -> (!torch.int, !torch.list<list<int>>) {
  %l = torch.prim.ListConstruct %a : (!torch.int) -> !torch.list<int>
  %q = torch.prim.ListConstruct %l : (!torch.list<int>) -> !torch.list<list<int>>
  %c = torch.aten.list.t %l : !torch.list<int> -> !torch.list<int>
  %w = torch.aten.append.t %c, %a : !torch.list<int>, !torch.int -> !torch.list<int>
  %n = torch.aten.len.t %c : !torch.list<int> -> !torch.int
  return %n, %q : !torch.int, !torch.list<list<int>>
}

// -----
// A list that the caller has cannot be added up, on either side.
// CHECK-LABEL: func.func @sum_with_the_callers
// CHECK-COUNT-2: torch.aten.add.t
func.func @sum_with_the_callers(%a: !torch.int, %caller: !torch.list<int>) -> (!torch.list<int>, !torch.list<int>) {
  %l = torch.prim.ListConstruct %a : (!torch.int) -> !torch.list<int>
  %0 = torch.aten.add.t %l, %caller : !torch.list<int>, !torch.list<int> -> !torch.list<int>
  %1 = torch.aten.add.t %caller, %l : !torch.list<int>, !torch.list<int> -> !torch.list<int>
  return %0, %1 : !torch.list<int>, !torch.list<int>
}

// -----
// What a branch has compared is asked only where that is wanted.
// CHECK-LABEL: func.func @compared
// CHECK-COUNT-1: torch.aten.len.t
// CHECK-NOT: torch.aten.len.t
// PLAIN-LABEL: func.func @compared
// PLAIN-COUNT-2: torch.aten.len.t
func.func @compared(%l: !torch.list<int>, %m: !torch.int) -> !torch.int {
  %two = torch.constant.int 2
  %n = torch.aten.len.t %l : !torch.list<int> -> !torch.int
  %c = torch.aten.eq.int %n, %two : !torch.int, !torch.int -> !torch.bool
  %r = torch.prim.If %c -> (!torch.int) {
    %k = torch.aten.len.t %l : !torch.list<int> -> !torch.int
    torch.prim.If.yield %k : !torch.int
  } else {
    torch.prim.If.yield %m : !torch.int
  }
  return %r : !torch.int
}
