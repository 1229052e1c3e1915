// A list is sliced by a step that is not positive, or is empty: MLIR's own canonicalization walks out of the list, or without end.
// RUN: tierup-opt %s --canonicalize | FileCheck %s
// RUN: tierup-opt %s --canonicalize --canonicalize --tierup-peephole-list-idioms | FileCheck %s --check-prefix=SPELLED

// CHECK-LABEL: @backwards
// CHECK: torch.aten.slice.t
// SPELLED-LABEL: @backwards
// SPELLED: %[[LIST:.*]] = torch.prim.ListConstruct %int3, %int2
// SPELLED: return %[[LIST]]
func.func @backwards() -> !torch.list<int> {
  %none = torch.constant.none
  %step = torch.constant.int -1
  %a = torch.constant.int 2
  %b = torch.constant.int 3
  %l = torch.prim.ListConstruct %a, %b : (!torch.int, !torch.int) -> !torch.list<int>
  %r = torch.aten.slice.t %l, %none, %none, %step : !torch.list<int>, !torch.none, !torch.none, !torch.int -> !torch.list<int>
  return %r : !torch.list<int>
}

// CHECK-LABEL: @nowhere
// CHECK: torch.aten.slice.t
// SPELLED-LABEL: @nowhere
// SPELLED: torch.aten.slice.t
func.func @nowhere() -> !torch.list<int> {
  %none = torch.constant.none
  %step = torch.constant.int 0
  %a = torch.constant.int 2
  %l = torch.prim.ListConstruct %a : (!torch.int) -> !torch.list<int>
  %r = torch.aten.slice.t %l, %none, %none, %step : !torch.list<int>, !torch.none, !torch.none, !torch.int -> !torch.list<int>
  return %r : !torch.list<int>
}

// What cannot crash is left to MLIR.
// CHECK-LABEL: @forwards
// CHECK: %[[LIST:.*]] = torch.prim.ListConstruct %int2 :
// CHECK: return %[[LIST]]
func.func @forwards() -> !torch.list<int> {
  %none = torch.constant.none
  %step = torch.constant.int 2
  %a = torch.constant.int 2
  %b = torch.constant.int 3
  %l = torch.prim.ListConstruct %a, %b : (!torch.int, !torch.int) -> !torch.list<int>
  %r = torch.aten.slice.t %l, %none, %none, %step : !torch.list<int>, !torch.none, !torch.none, !torch.int -> !torch.list<int>
  return %r : !torch.list<int>
}

// CHECK-LABEL: @of_nothing
// CHECK: torch.aten.slice.t
// SPELLED-LABEL: @of_nothing
// SPELLED: %[[LIST:.*]] = torch.prim.ListConstruct :
// SPELLED: return %[[LIST]]
func.func @of_nothing() -> !torch.list<int> {
  %none = torch.constant.none
  %one = torch.constant.int 1
  %l = torch.prim.ListConstruct : () -> !torch.list<int>
  %r = torch.aten.slice.t %l, %one, %none, %one : !torch.list<int>, !torch.int, !torch.none, !torch.int -> !torch.list<int>
  return %r : !torch.list<int>
}

// The sizes of rank 0 are found to be none while canonicalization runs.
// CHECK-LABEL: @of_sizes
// CHECK: torch.aten.slice.t
func.func @of_sizes(%x: !torch.vtensor<[],f32>) -> !torch.list<int> {
  %none = torch.constant.none
  %one = torch.constant.int 1
  %l = torch.aten.size %x : !torch.vtensor<[],f32> -> !torch.list<int>
  %r = torch.aten.slice.t %l, %one, %none, %one : !torch.list<int>, !torch.int, !torch.none, !torch.int -> !torch.list<int>
  return %r : !torch.list<int>
}
