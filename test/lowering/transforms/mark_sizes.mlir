// RUN: tierup-opt %s --split-input-file --tierup-mark-sizes | FileCheck %s
// RUN: tierup-opt %s --split-input-file --tierup-mark-sizes --tierup-mark-sizes | FileCheck %s

// CHECK-LABEL: func.func @marked
// CHECK: torch.aten.zeros {{.*}} {tierup.tied}
// CHECK: torch.aten.zeros {{.*}} {tierup.known}
// CHECK: torch.aten.zeros {{.*}}: !torch.list<int>
// CHECK-NOT: tierup.tied
// CHECK: torch.aten.index_select {{.*}} {tierup.may_be_empty}
func.func @marked(%x: !torch.vtensor<[?],f32> {tierup.guard = {dtype = "f32", kind = "array", sizes = ["s0"]}},
                  %n: !torch.int {tierup.guard = {kind = "int"}},
                  %i: !torch.vtensor<[2],si64> {tierup.guard = {dtype = "i64", kind = "array", sizes = [2]}}) -> !torch.vtensor<[2],f32> attributes {tierup.entry} {
  %zero = torch.constant.int 0
  %two = torch.constant.int 2
  %none = torch.constant.none
  %s = torch.aten.size.int %x, %zero : !torch.vtensor<[?],f32>, !torch.int -> !torch.int
  %l0 = torch.prim.ListConstruct %s : (!torch.int) -> !torch.list<int>
  %0 = torch.aten.zeros %l0, %none, %none, %none, %none : !torch.list<int>, !torch.none, !torch.none, !torch.none, !torch.none -> !torch.vtensor<[?],f32>
  %less = torch.aten.sub.int %s, %two : !torch.int, !torch.int -> !torch.int
  %lower = torch.aten.sub.int %less, %two : !torch.int, !torch.int -> !torch.int
  %l1 = torch.prim.ListConstruct %lower : (!torch.int) -> !torch.list<int>
  %1 = torch.aten.zeros %l1, %none, %none, %none, %none : !torch.list<int>, !torch.none, !torch.none, !torch.none, !torch.none -> !torch.vtensor<[?],f32>
  %l2 = torch.prim.ListConstruct %n : (!torch.int) -> !torch.list<int>
  %2 = torch.aten.zeros %l2, %none, %none, %none, %none : !torch.list<int>, !torch.none, !torch.none, !torch.none, !torch.none -> !torch.vtensor<[?],f32>
  %3 = torch.aten.index_select %2, %zero, %i : !torch.vtensor<[?],f32>, !torch.int, !torch.vtensor<[2],si64> -> !torch.vtensor<[2],f32>
  return %3 : !torch.vtensor<[2],f32>
}

// -----
// What the loop carries keeps its size.
// CHECK-LABEL: func.func @steady
// CHECK: torch.prim.Loop
// CHECK: {tierup.steady}
func.func @steady(%x: !torch.vtensor<[4],f32> {tierup.guard = {dtype = "f32", kind = "array", sizes = [4]}}, %n: !torch.int {tierup.guard = {kind = "int"}}) -> !torch.vtensor<[4],f32> attributes {tierup.entry} {
  %true = torch.constant.bool true
  %0 = torch.prim.Loop %n, %true, init(%x) {
  ^bb0(%i: !torch.int, %y: !torch.vtensor<[4],f32>):
    %1 = torch.aten.tanh %y : !torch.vtensor<[4],f32> -> !torch.vtensor<[4],f32>
    torch.prim.Loop.condition %true, iter(%1 : !torch.vtensor<[4],f32>)
  } : (!torch.int, !torch.bool, !torch.vtensor<[4],f32>) -> !torch.vtensor<[4],f32>
  return %0 : !torch.vtensor<[4],f32>
}
