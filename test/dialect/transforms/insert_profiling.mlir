// RUN: tierup-opt %s --split-input-file --tierup-insert-profiling --tierup-verify-profiled | FileCheck %s
// RUN: tierup-opt %s --split-input-file --tierup-insert-profiling --tierup-insert-profiling | FileCheck %s
// RUN: tierup-opt %s --split-input-file --tierup-insert-profiling="all" --tierup-verify-profiled | FileCheck %s --check-prefix=ALL

// CHECK-LABEL: func.func @arguments
// CHECK-NEXT: [[X:%.+]] = "tierup.profile"(%arg0) {slot = 0 : i64}
// CHECK-NEXT: [[N:%.+]] = "tierup.profile"(%arg1) {slot = 1 : i64} : (!torch.int) -> !torch.int
// CHECK-NOT: tierup.profile
// CHECK: [[Y:%.+]] = torch.aten.add.Scalar [[X]], [[N]], [[N]]
// CHECK-NEXT: "tierup.count_run"() : () -> ()
// CHECK-NEXT: return [[Y]]
// ALL-LABEL: func.func @arguments
// ALL: torch.aten.add.Scalar
// ALL-NEXT: [[Y:%.+]] = "tierup.profile"({{.*}}) {slot = 2 : i64}
// ALL-NEXT: "tierup.count_run"
// ALL-NEXT: return [[Y]]
func.func @arguments(%x: !torch.vtensor, %n: !torch.int, %l: !torch.list<int>) -> !torch.vtensor {
  %0 = torch.aten.add.Scalar %x, %n, %n : !torch.vtensor, !torch.int, !torch.int -> !torch.vtensor
  return %0 : !torch.vtensor
}

// -----
// CHECK-LABEL: func.func @results_of_unknown_type
// CHECK: [[N:%.+]] = torch.aten.argsort
// CHECK-NEXT: [[P:%.+]] = "tierup.profile"([[N]]) {slot = 1 : i64}
// CHECK-NEXT: torch.aten.neg [[P]]
// CHECK-NEXT: "tierup.count_run"
func.func @results_of_unknown_type(%x: !torch.vtensor) -> !torch.vtensor {
  %zero = torch.constant.int 0
  %false = torch.constant.bool false
  %0 = torch.aten.argsort %x, %zero, %false : !torch.vtensor, !torch.int, !torch.bool -> !torch.vtensor
  %1 = torch.aten.neg %0 : !torch.vtensor -> !torch.vtensor
  return %1 : !torch.vtensor
}

// -----
// A size that was read from a tensor; the size that was asked of a tensor follows from its type.
// CHECK-LABEL: func.func @sizes_from_data
// CHECK: torch.aten.zeros
// CHECK-NEXT: "tierup.profile"({{.*}}) {slot = 1 : i64}
// CHECK: torch.aten.zeros
// CHECK-NOT: tierup.profile
// CHECK: return
func.func @sizes_from_data(%x: !torch.vtensor) -> (!torch.vtensor, !torch.vtensor) {
  %none = torch.constant.none
  %zero = torch.constant.int 0
  %n = torch.aten.item %x : !torch.vtensor -> !torch.int
  %s0 = torch.prim.ListConstruct %n : (!torch.int) -> !torch.list<int>
  %0 = torch.aten.zeros %s0, %none, %none, %none, %none : !torch.list<int>, !torch.none, !torch.none, !torch.none, !torch.none -> !torch.vtensor
  %m = torch.aten.size.int %x, %zero : !torch.vtensor, !torch.int -> !torch.int
  %s1 = torch.prim.ListConstruct %m : (!torch.int) -> !torch.list<int>
  %1 = torch.aten.zeros %s1, %none, %none, %none, %none : !torch.list<int>, !torch.none, !torch.none, !torch.none, !torch.none -> !torch.vtensor
  return %0, %1 : !torch.vtensor, !torch.vtensor
}

// -----
// CHECK-LABEL: func.func @inside_loops
// CHECK: torch.prim.Loop
// CHECK: torch.aten.argsort
// CHECK-NEXT: "tierup.profile"({{.*}}) {slot = 2 : i64}
// CHECK: torch.prim.Loop.condition
// CHECK: "tierup.count_run"
// CHECK-NEXT: return
func.func @inside_loops(%x: !torch.vtensor, %n: !torch.int) -> !torch.vtensor {
  %true = torch.constant.bool true
  %zero = torch.constant.int 0
  %false = torch.constant.bool false
  %0 = torch.prim.Loop %n, %true, init(%x) {
  ^bb0(%i: !torch.int, %a: !torch.vtensor):
    %1 = torch.aten.argsort %a, %zero, %false : !torch.vtensor, !torch.int, !torch.bool -> !torch.vtensor
    torch.prim.Loop.condition %true, iter(%1 : !torch.vtensor)
  } : (!torch.int, !torch.bool, !torch.vtensor) -> !torch.vtensor
  return %0 : !torch.vtensor
}

// -----
// CHECK-LABEL: func.func @no_arguments
// CHECK-NOT: tierup.profile
// CHECK: "tierup.count_run"
func.func @no_arguments() -> !torch.int {
  %0 = torch.constant.int 3
  return %0 : !torch.int
}
