// RUN: tierup-opt %s --tierup-unpack-list-arguments="entry=f lengths=2" | FileCheck %s
// RUN: tierup-opt %s --tierup-unpack-list-arguments="entry=g lengths=0,1" | FileCheck %s --check-prefix=TWO
// RUN: tierup-opt %s --tierup-unpack-list-arguments="entry=loop" | FileCheck %s --check-prefix=LOOP
// RUN: not tierup-opt %s --tierup-unpack-list-arguments="entry=f lengths=2,2" 2>&1 | FileCheck %s --check-prefix=ERROR
// RUN: not tierup-opt %s --tierup-unpack-list-arguments="entry=h" 2>&1 | FileCheck %s --check-prefix=NONE
!l = !torch.list<vtensor>
!t = !torch.vtensor

// CHECK-LABEL: func.func @f(
// CHECK-SAME: %[[N:.*]]: !torch.int {tierup.name = "n"}, %[[L0:.*]]: !torch.vtensor {tierup.name = "l[0]"}, %[[L1:.*]]: !torch.vtensor {tierup.name = "l[1]"}, %[[Y:.*]]: !torch.vtensor)
// CHECK-SAME: -> (!torch.vtensor, !torch.vtensor, !torch.int, !torch.int) attributes {tierup.list_results = array<i64: 2, -1, -1>}
// CHECK-NOT: ListConstruct
// CHECK: %[[LENGTH:.*]] = torch.constant.int 2
// CHECK: return %[[Y]], %[[L1]], %[[N]], %[[LENGTH]]
func.func @f(%n: !torch.int {tierup.name = "n"}, %l: !l {tierup.name = "l"}, %y: !t) -> (!l, !torch.int, !torch.int) {
  %int1 = torch.constant.int 1
  %0 = torch.aten.__getitem__.t %l, %int1 : !l, !torch.int -> !t
  %1 = torch.prim.ListConstruct %y, %0 : (!t, !t) -> !l
  %2 = torch.aten.len.t %l : !l -> !torch.int
  return %1, %n, %2 : !l, !torch.int, !torch.int
}

// TWO-LABEL: func.func @g(%arg0: !torch.vtensor {tierup.name = "arg1[0]"}) -> !torch.vtensor attributes {tierup.list_results = array<i64: 0, -1>}
// TWO: return %arg0
func.func @g(%l: !l, %m: !l) -> (!l, !t) {
  %0 = torch.prim.ListUnpack %m : !l -> !t
  return %l, %0 : !l, !t
}

// How long a list is that a loop makes is not written down: it stays.
// LOOP-LABEL: func.func @loop(
// LOOP-SAME: -> !torch.list<vtensor> attributes {tierup.list_results = array<i64: -1>}
func.func @loop(%x: !t, %n: !torch.int) -> !l {
  %true = torch.constant.bool true
  %0 = torch.prim.ListConstruct : () -> !l
  %1 = torch.prim.Loop %n, %true, init(%0) {
  ^bb0(%i: !torch.int, %a: !l):
    %2 = torch.prim.ListConstruct %x : (!t) -> !l
    %3 = torch.aten.add.t %a, %2 : !l, !l -> !l
    torch.prim.Loop.condition %true, iter(%3 : !l)
  } : (!torch.int, !torch.bool, !l) -> !l
  return %1 : !l
}

// ERROR: takes 1 lists of tensors, and 2 lengths are given
// NONE: has no function @h
