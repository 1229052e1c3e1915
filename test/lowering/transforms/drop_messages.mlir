// RUN: tierup-opt %s --tierup-drop-messages | FileCheck %s
// RUN: tierup-opt %s --tierup-drop-messages --tierup-drop-messages | FileCheck %s

// What only makes the message goes with it; what is used otherwise stays.
// CHECK-LABEL: func.func @f
// CHECK: torch.prim.If
// CHECK-NOT: aten.format
// CHECK: %[[E:.*]] = torch.constant.str ""
// CHECK-NEXT: torch.prim.RaiseException %[[E]]
func.func @f(%text: !torch.str, %n: !torch.int, %c: !torch.bool) -> !torch.int {
  %none = torch.constant.none
  torch.prim.If %c -> () {
    %0 = torch.operator "aten.format"(%text, %n) : (!torch.str, !torch.int) -> !torch.str
    torch.prim.RaiseException %0, %none : !torch.str, !torch.none
    torch.prim.If.yield
  } else {
    torch.prim.If.yield
  }
  return %n : !torch.int
}

// A text that is made before the branch goes, too, where making it cannot raise: one with a place too many stays.
// CHECK-LABEL: func.func @before
// CHECK-NOT: aten.format
// CHECK: torch.constant.str "{} and {}"
// CHECK-NEXT: torch.operator "aten.format"
// CHECK-NOT: aten.format
// CHECK: return
func.func @before(%n: !torch.int, %c: !torch.bool) -> !torch.int {
  %none = torch.constant.none
  %right = torch.constant.str "{} is wrong"
  %0 = torch.operator "aten.format"(%right, %n) : (!torch.str, !torch.int) -> !torch.str
  torch.prim.If %c -> () {
    torch.prim.RaiseException %0, %none : !torch.str, !torch.none
    torch.prim.If.yield
  } else {
    torch.prim.If.yield
  }
  %gone = torch.operator "aten.format"(%right, %n) : (!torch.str, !torch.int) -> !torch.str
  %wrong = torch.constant.str "{} and {}"
  %1 = torch.operator "aten.format"(%wrong, %n) : (!torch.str, !torch.int) -> !torch.str
  torch.prim.If %c -> () {
    torch.prim.RaiseException %1, %none : !torch.str, !torch.none
    torch.prim.If.yield
  } else {
    torch.prim.If.yield
  }
  return %n : !torch.int
}

// What the message takes twice, and what only its other operands were made of, goes once.
// CHECK-LABEL: func.func @twice
// CHECK: torch.prim.If
// CHECK-NEXT: torch.constant.str ""
// CHECK-NEXT: torch.prim.RaiseException
func.func @twice(%text: !torch.str, %x: !torch.vtensor<[2],f32>, %c: !torch.bool) -> !torch.int {
  %none = torch.constant.none
  %n = torch.constant.int 1
  torch.prim.If %c -> () {
    %0 = torch.aten.size %x : !torch.vtensor<[2],f32> -> !torch.list<int>
    %1 = torch.aten.len.t %0 : !torch.list<int> -> !torch.int
    %2 = torch.aten.size %x : !torch.vtensor<[2],f32> -> !torch.list<int>
    %3 = torch.operator "aten.format"(%text, %1, %0, %2, %2) : (!torch.str, !torch.int, !torch.list<int>, !torch.list<int>, !torch.list<int>) -> !torch.str
    torch.prim.RaiseException %3, %none : !torch.str, !torch.none
    torch.prim.If.yield
  } else {
    torch.prim.If.yield
  }
  return %n : !torch.int
}
