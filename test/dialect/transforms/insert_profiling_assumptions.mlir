// RUN: tierup-opt %s --split-input-file --tierup-insert-profiling=assumptions=true | FileCheck %s
// RUN: tierup-opt %s --split-input-file --tierup-insert-profiling=assumptions=true --tierup-insert-profiling=assumptions=true | FileCheck %s

// An int that a size hangs on, through arithmetic; and what is made of it, whose size only the run knows.
// CHECK-LABEL: func.func @size_from_data
// CHECK: [[N:%.+]] = torch.aten.Int.Tensor
// CHECK-NEXT: [[P:%.+]] = "tierup.profile"([[N]]) {slot = 1 : i64} : (!torch.int) -> !torch.int
// CHECK-NEXT: torch.aten.add.int [[P]]
// CHECK-NOT: tierup.profile
// CHECK: [[Z:%.+]] = torch.aten.zeros
// CHECK-NEXT: "tierup.profile"([[Z]]) {slot = 2 : i64}
func.func @size_from_data(%x: !torch.vtensor) -> !torch.vtensor {
  %none = torch.constant.none
  %one = torch.constant.int 1
  %n = torch.aten.Int.Tensor %x : !torch.vtensor -> !torch.int
  %m = torch.aten.add.int %n, %one : !torch.int, !torch.int -> !torch.int
  %s = torch.prim.ListConstruct %m : (!torch.int) -> !torch.list<int>
  %0 = torch.aten.zeros %s, %none, %none, %none, %none : !torch.list<int>, !torch.none, !torch.none, !torch.none, !torch.none -> !torch.vtensor
  return %0 : !torch.vtensor
}

// -----
// An int that says which element, or that is computed with, decides nothing. Without `assumptions` the first would be no different.
// CHECK-LABEL: func.func @which_element
// CHECK: torch.aten.Int.Tensor
// CHECK-NEXT: torch.aten.select.int
// CHECK-NEXT: "tierup.profile"({{.*}}) {slot = 1 : i64} : (!torch.vtensor)
// CHECK-NEXT: torch.aten.add.Scalar
// CHECK-NOT: tierup.profile
func.func @which_element(%x: !torch.vtensor) -> !torch.vtensor {
  %zero = torch.constant.int 0
  %n = torch.aten.Int.Tensor %x : !torch.vtensor -> !torch.int
  %0 = torch.aten.select.int %x, %zero, %n : !torch.vtensor, !torch.int, !torch.int -> !torch.vtensor
  %1 = torch.aten.add.Scalar %0, %n, %n : !torch.vtensor, !torch.int, !torch.int -> !torch.vtensor
  return %1 : !torch.vtensor
}

// -----
// The condition of a branch that gives a value, where it is decided; not of one that only raises, nor a constant.
// CHECK-LABEL: func.func @branches
// CHECK: [[C:%.+]] = torch.aten.Bool.Tensor
// CHECK: torch.prim.If [[C]] -> () {
// CHECK: [[P:%.+]] = "tierup.profile"([[C]]) {slot = 1 : i64} : (!torch.bool) -> !torch.bool
// CHECK-NEXT: torch.prim.If [[P]] ->
// CHECK: torch.prim.If %true ->
// CHECK-NOT: tierup.profile
func.func @branches(%x: !torch.vtensor) -> !torch.vtensor {
  %true = torch.constant.bool true
  %str = torch.constant.str "no"
  %error = torch.constant.str "ValueError"
  %c = torch.aten.Bool.Tensor %x : !torch.vtensor -> !torch.bool
  torch.prim.If %c -> () {
    torch.prim.RaiseException %str, %error : !torch.str, !torch.str
    torch.prim.If.yield
  } else {
    torch.prim.If.yield
  }
  %0 = torch.prim.If %c -> (!torch.vtensor) {
    %2 = torch.aten.neg %x : !torch.vtensor -> !torch.vtensor
    torch.prim.If.yield %2 : !torch.vtensor
  } else {
    torch.prim.If.yield %x : !torch.vtensor
  }
  %1 = torch.prim.If %true -> (!torch.vtensor) {
    torch.prim.If.yield %0 : !torch.vtensor
  } else {
    torch.prim.If.yield %x : !torch.vtensor
  }
  return %1 : !torch.vtensor
}
