// RUN: tierup-opt %s --split-input-file --tierup-lower-all-tuples --tierup-verify-graph --verify-diagnostics | FileCheck %s
// RUN: tierup-opt %s --split-input-file --tierup-lower-all-tuples --tierup-lower-all-tuples --verify-diagnostics | FileCheck %s

// CHECK-LABEL: func.func @signature
// CHECK-SAME: (%arg0: !torch.vtensor {tierup.name = "t.0"}, %arg1: !torch.int {tierup.name = "t.1"}, %arg2: !torch.vtensor {tierup.name = "x"})
// CHECK-SAME: -> (!torch.vtensor, !torch.vtensor, !torch.int)
// CHECK-NEXT: [[A:%.+]] = torch.aten.add.Tensor %arg0, %arg2, %arg1
// CHECK-NEXT: return [[A]], %arg0, %arg1
func.func @signature(%t: !torch.tuple<vtensor, int> {tierup.name = "t"}, %x: !torch.vtensor {tierup.name = "x"})
    -> (!torch.vtensor, !torch.tuple<vtensor, int>) attributes {tierup.source = "mlir"} {
  %0:2 = torch.prim.TupleUnpack %t : !torch.tuple<vtensor, int> -> !torch.vtensor, !torch.int
  %1 = torch.aten.add.Tensor %0#0, %x, %0#1 : !torch.vtensor, !torch.vtensor, !torch.int -> !torch.vtensor
  return %1, %t : !torch.vtensor, !torch.tuple<vtensor, int>
}

// -----
// Branches and loops hand over elements; tuples in tuples too.
// CHECK-LABEL: func.func @control_flow
// CHECK-SAME: -> (!torch.vtensor, !torch.vtensor, !torch.int)
// CHECK: [[B:%.+]]:3 = torch.prim.If %arg2 -> (!torch.vtensor, !torch.vtensor, !torch.int) {
// CHECK-NEXT: torch.prim.If.yield %arg0, %arg0, %arg1
// CHECK: torch.prim.If.yield %arg0, %arg0, %arg1
// CHECK: [[L:%.+]]:3 = torch.prim.Loop %arg1, {{.*}}, init([[B]]#0, [[B]]#1, [[B]]#2)
// CHECK-NEXT: ^bb0({{%.+}}: !torch.int, [[X:%.+]]: !torch.vtensor, [[Y:%.+]]: !torch.vtensor, [[N:%.+]]: !torch.int)
// CHECK-NEXT: [[T:%.+]] = torch.aten.tanh [[Y]]
// CHECK-NEXT: torch.prim.Loop.condition {{.*}}, iter([[X]], [[T]], [[N]]
// CHECK: return [[L]]#0, [[L]]#1, [[L]]#2
// CHECK-NOT: tuple
func.func @control_flow(%x: !torch.vtensor, %n: !torch.int, %c: !torch.bool) -> !torch.tuple<vtensor, tuple<vtensor, int>> {
  %true = torch.constant.bool true
  %s = torch.prim.TupleConstruct %x, %n : !torch.vtensor, !torch.int -> !torch.tuple<vtensor, int>
  %t = torch.prim.TupleConstruct %x, %s : !torch.vtensor, !torch.tuple<vtensor, int> -> !torch.tuple<vtensor, tuple<vtensor, int>>
  %0 = torch.prim.If %c -> (!torch.tuple<vtensor, tuple<vtensor, int>>) {
    torch.prim.If.yield %t : !torch.tuple<vtensor, tuple<vtensor, int>>
  } else {
    torch.prim.If.yield %t : !torch.tuple<vtensor, tuple<vtensor, int>>
  }
  %1 = torch.prim.Loop %n, %true, init(%0) {
  ^bb0(%i: !torch.int, %a: !torch.tuple<vtensor, tuple<vtensor, int>>):
    %2:2 = torch.prim.TupleUnpack %a : !torch.tuple<vtensor, tuple<vtensor, int>> -> !torch.vtensor, !torch.tuple<vtensor, int>
    %3:2 = torch.prim.TupleUnpack %2#1 : !torch.tuple<vtensor, int> -> !torch.vtensor, !torch.int
    %4 = torch.aten.tanh %3#0 : !torch.vtensor -> !torch.vtensor
    %5 = torch.prim.TupleConstruct %4, %3#1 : !torch.vtensor, !torch.int -> !torch.tuple<vtensor, int>
    %6 = torch.prim.TupleConstruct %2#0, %5 : !torch.vtensor, !torch.tuple<vtensor, int> -> !torch.tuple<vtensor, tuple<vtensor, int>>
    torch.prim.Loop.condition %true, iter(%6 : !torch.tuple<vtensor, tuple<vtensor, int>>)
  } : (!torch.int, !torch.bool, !torch.tuple<vtensor, tuple<vtensor, int>>) -> !torch.tuple<vtensor, tuple<vtensor, int>>
  return %1 : !torch.tuple<vtensor, tuple<vtensor, int>>
}

// -----
// Calls fit their callees, whichever comes first.
// CHECK-LABEL: func.func @caller
// CHECK: [[C:%.+]]:2 = call @callee(%arg0, %arg1) : (!torch.vtensor, !torch.int) -> (!torch.vtensor, !torch.int)
// CHECK-NEXT: [[D:%.+]]:2 = call @callee([[C]]#0, [[C]]#1)
// CHECK-NEXT: return [[D]]#1
// CHECK-LABEL: func.func private @callee
// CHECK-SAME: (%arg0: !torch.vtensor, %arg1: !torch.int) -> (!torch.vtensor, !torch.int)
func.func @caller(%x: !torch.vtensor, %n: !torch.int) -> !torch.int {
  %one = torch.constant.int 1
  %t = torch.prim.TupleConstruct %x, %n : !torch.vtensor, !torch.int -> !torch.tuple<vtensor, int>
  %0 = func.call @callee(%t) : (!torch.tuple<vtensor, int>) -> !torch.tuple<vtensor, int>
  %1 = func.call @callee(%0) : (!torch.tuple<vtensor, int>) -> !torch.tuple<vtensor, int>
  %2 = torch.prim.TupleIndex %1, %one : !torch.tuple<vtensor, int>, !torch.int -> !torch.int
  return %2 : !torch.int
}
func.func private @callee(%t: !torch.tuple<vtensor, int>) -> !torch.tuple<vtensor, int> {
  return %t : !torch.tuple<vtensor, int>
}

// -----
// A tuple that only a region of ours uses; an empty tuple; elements of which the tuple says less.
// CHECK-LABEL: func.func @inside
// CHECK-SAME: (%arg0: !torch.vtensor<[4],f32>) -> !torch.vtensor {
// CHECK-NEXT: [[C:%.+]] = torch.tensor_static_info_cast %arg0 : !torch.vtensor<[4],f32> to !torch.vtensor
// CHECK-NEXT: [[G:%.+]] = "tierup.grad_of"([[C]]) ({
// CHECK-NEXT: [[N:%.+]] = torch.aten.neg [[C]]
// CHECK-NEXT: "tierup.yield"([[N]])
// CHECK: return [[G]]
func.func @inside(%x: !torch.vtensor<[4],f32>, %e: !torch.tuple<>) -> (!torch.vtensor, !torch.tuple<>) {
  %t = torch.prim.TupleConstruct %x : !torch.vtensor<[4],f32> -> !torch.tuple<vtensor>
  %0 = torch.prim.TupleUnpack %t : !torch.tuple<vtensor> -> !torch.vtensor
  %1 = "tierup.grad_of"(%0) ({
    %2 = torch.aten.neg %0 : !torch.vtensor -> !torch.vtensor
    %3 = torch.prim.TupleConstruct %2 : !torch.vtensor -> !torch.tuple<vtensor>
    %4 = torch.prim.TupleUnpack %3 : !torch.tuple<vtensor> -> !torch.vtensor
    "tierup.yield"(%4) : (!torch.vtensor) -> ()
  }, {}) {op = "aten.neg"} : (!torch.vtensor) -> !torch.vtensor
  return %1, %e : !torch.vtensor, !torch.tuple<>
}

// -----
// CHECK-LABEL: func.func @no_tuples
// CHECK-NEXT: return %arg0
func.func @no_tuples(%x: !torch.vtensor) -> !torch.vtensor {
  return %x : !torch.vtensor
}

// -----
func.func @list_of_tuples(%l: !torch.list<tuple<vtensor, int>>) -> !torch.list<tuple<vtensor, int>> {
  // expected-error@below {{has a !torch.list<tuple<vtensor, int>>: tuples in other containers cannot be lowered}}
  return %l : !torch.list<tuple<vtensor, int>>
}

// -----
func.func @tuple_of_lists_of_tuples(%t: !torch.tuple<list<tuple<vtensor, int>>>) {
  // expected-error@below {{has a !torch.tuple<list<tuple<vtensor, int>>>: tuples in other containers cannot be lowered}}
  %0 = torch.prim.TupleUnpack %t : !torch.tuple<list<tuple<vtensor, int>>> -> !torch.list<tuple<vtensor, int>>
  return
}

// -----
func.func @only_stores(%t: !torch.tuple<vtensor, int>) -> !torch.bool {
  %none = torch.constant.none
  // expected-error@below {{takes or gives a tuple, and does not forward tuples}}
  %0 = torch.aten.__is__ %t, %none : !torch.tuple<vtensor, int>, !torch.none -> !torch.bool
  return %0 : !torch.bool
}

// -----
func.func @unknown_position(%t: !torch.tuple<int, int>, %i: !torch.int) -> !torch.int {
  // expected-error@below {{takes from a tuple of 2 at a position that is no constant in range}}
  %0 = torch.prim.TupleIndex %t, %i : !torch.tuple<int, int>, !torch.int -> !torch.int
  return %0 : !torch.int
}

// -----
// expected-error@below {{is a declaration: tuples in its signature cannot be lowered}}
func.func private @declared(%t: !torch.tuple<int, int>)

// -----
// expected-error@below {{has tierup.writebacks, which counts its results: lower tuples before tierup-functionalize}}
func.func @functional(%x: !torch.vtensor, %t: !torch.tuple<int>) -> (!torch.tuple<int>, !torch.vtensor) attributes {tierup.writebacks = array<i64: 0>} {
  return %t, %x : !torch.tuple<int>, !torch.vtensor
}

// -----
// A branch without tuples around some; the constant position goes with the op; a number's cast is no tuple's.
// CHECK-LABEL: func.func @inside_a_branch
// CHECK-NEXT: [[R:%.+]] = torch.prim.If %arg2 -> (!torch.number) {
// CHECK-NEXT: [[N:%.+]] = torch.derefine %arg1 : !torch.int to !torch.number
// CHECK-NEXT: torch.prim.If.yield [[N]]
// CHECK-NOT: tuple
// CHECK-NOT: constant
func.func @inside_a_branch(%x: !torch.vtensor, %n: !torch.int, %c: !torch.bool) -> !torch.number {
  %0 = torch.prim.If %c -> (!torch.number) {
    %one = torch.constant.int 1
    %t = torch.prim.TupleConstruct %x, %n : !torch.vtensor, !torch.int -> !torch.tuple<vtensor, int>
    %1 = torch.prim.TupleIndex %t, %one : !torch.tuple<vtensor, int>, !torch.int -> !torch.int
    %2 = torch.derefine %1 : !torch.int to !torch.number
    torch.prim.If.yield %2 : !torch.number
  } else {
    %2 = torch.derefine %n : !torch.int to !torch.number
    torch.prim.If.yield %2 : !torch.number
  }
  return %0 : !torch.number
}

// -----
// A call that takes a tuple and gives none.
// CHECK-LABEL: func.func @taken
// CHECK-NEXT: [[R:%.+]] = call @takes(%arg0, %arg1) : (!torch.vtensor, !torch.int) -> !torch.int
// CHECK-NEXT: return [[R]]
func.func @taken(%x: !torch.vtensor, %n: !torch.int) -> !torch.int {
  %t = torch.prim.TupleConstruct %x, %n : !torch.vtensor, !torch.int -> !torch.tuple<vtensor, int>
  %0 = func.call @takes(%t) : (!torch.tuple<vtensor, int>) -> !torch.int
  return %0 : !torch.int
}
func.func private @takes(%t: !torch.tuple<vtensor, int>) -> !torch.int {
  %0:2 = torch.prim.TupleUnpack %t : !torch.tuple<vtensor, int> -> !torch.vtensor, !torch.int
  return %0#1 : !torch.int
}
