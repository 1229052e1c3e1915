// RUN: tierup-opt %s --split-input-file --tierup-inline --verify-diagnostics | FileCheck %s
// RUN: tierup-opt %s --split-input-file --tierup-inline --tierup-inline --verify-diagnostics | FileCheck %s
// RUN: tierup-opt %s --split-input-file --tierup-inline --verify-diagnostics --mlir-print-debuginfo | FileCheck %s --check-prefix=LOC

// Calls of calls, in branches and loops too; a private function that nobody calls any more goes. Nothing is simplified: the unused exp stays.
// CHECK-NOT: @leaf
// CHECK-LABEL: func.func @chain
// CHECK: torch.aten.exp %arg0
// CHECK: torch.prim.If %arg1
// CHECK-NEXT: [[T:%.+]] = torch.aten.tanh %arg0
// CHECK-NEXT: [[N:%.+]] = torch.aten.neg [[T]]
// CHECK-NEXT: torch.prim.If.yield [[N]]
// CHECK: torch.prim.Loop
// CHECK: torch.aten.neg
// CHECK: torch.prim.Loop.condition
// CHECK-NOT: call
func.func @chain(%x: !torch.vtensor, %c: !torch.bool, %n: !torch.int) -> !torch.vtensor {
  %true = torch.constant.bool true
  %unused = torch.aten.exp %x : !torch.vtensor -> !torch.vtensor
  %0 = torch.prim.If %c -> (!torch.vtensor) {
    %1 = func.call @middle(%x) : (!torch.vtensor) -> !torch.vtensor
    torch.prim.If.yield %1 : !torch.vtensor
  } else {
    torch.prim.If.yield %x : !torch.vtensor
  }
  %2 = torch.prim.Loop %n, %true, init(%0) {
  ^bb0(%i: !torch.int, %a: !torch.vtensor):
    %3 = func.call @middle(%a) : (!torch.vtensor) -> !torch.vtensor
    torch.prim.Loop.condition %true, iter(%3 : !torch.vtensor)
  } : (!torch.int, !torch.bool, !torch.vtensor) -> !torch.vtensor
  return %2 : !torch.vtensor
}
func.func private @middle(%x: !torch.vtensor) -> !torch.vtensor {
  %0 = func.call @leaf(%x) : (!torch.vtensor) -> !torch.vtensor
  %1 = torch.aten.neg %0 : !torch.vtensor -> !torch.vtensor
  return %1 : !torch.vtensor
}
func.func private @leaf(%x: !torch.vtensor) -> !torch.vtensor {
  %0 = torch.aten.tanh %x : !torch.vtensor -> !torch.vtensor
  return %0 : !torch.vtensor
}

// -----
// A fallback has an executor of its own, and so stays; a mark that the program had stays too.
// CHECK-LABEL: func.func @with_fallback
// CHECK: call @slow
// CHECK: call @by_wish
// CHECK-LABEL: func.func private @slow
// CHECK-SAME: attributes {tierup.fallback}
// CHECK-LABEL: func.func private @by_wish
// CHECK-SAME: attributes {no_inline}
func.func @with_fallback(%x: !torch.vtensor) -> !torch.vtensor {
  %0 = func.call @slow(%x) : (!torch.vtensor) -> !torch.vtensor
  %1 = func.call @by_wish(%0) : (!torch.vtensor) -> !torch.vtensor
  return %1 : !torch.vtensor
}
func.func private @slow(%x: !torch.vtensor) -> !torch.vtensor attributes {tierup.fallback} {
  %0 = torch.aten.tanh %x : !torch.vtensor -> !torch.vtensor
  return %0 : !torch.vtensor
}
func.func private @by_wish(%x: !torch.vtensor) -> !torch.vtensor attributes {no_inline} {
  %0 = torch.aten.tanh %x : !torch.vtensor -> !torch.vtensor
  return %0 : !torch.vtensor
}

// -----
// LOC-LABEL: func.func @located
// LOC: torch.aten.tanh {{.*}} loc([[WHERE:#loc[0-9]*]])
// LOC-DAG: [[TANH:#loc[0-9]*]] = loc("user.py":7:11)
// LOC-DAG: [[CALL:#loc[0-9]*]] = loc("user.py":3:8)
// LOC-DAG: [[WHERE]] = loc(callsite([[TANH]] at [[CALL]]))
func.func @located(%x: !torch.vtensor) -> !torch.vtensor {
  %0 = func.call @helper(%x) : (!torch.vtensor) -> !torch.vtensor loc("user.py":3:8)
  return %0 : !torch.vtensor
}
func.func private @helper(%x: !torch.vtensor) -> !torch.vtensor {
  %0 = torch.aten.tanh %x : !torch.vtensor -> !torch.vtensor loc("user.py":7:11)
  return %0 : !torch.vtensor
}

// -----
// The mark of NumPy's rules comes along; a public function stays.
// CHECK-LABEL: func.func @promotion
// CHECK: torch.aten.tanh {{.*}}tierup.promotion = "numpy"
// CHECK-LABEL: func.func @public
func.func @promotion(%x: !torch.vtensor) -> !torch.vtensor {
  %0 = func.call @public(%x) : (!torch.vtensor) -> !torch.vtensor
  return %0 : !torch.vtensor
}
func.func @public(%x: !torch.vtensor) -> !torch.vtensor {
  %0 = torch.aten.tanh %x {tierup.promotion = "numpy"} : !torch.vtensor -> !torch.vtensor
  return %0 : !torch.vtensor
}

// -----
// CHECK-LABEL: func.func @in_a_group
// CHECK: call @leaf
func.func @in_a_group(%x: !torch.vtensor) -> !torch.vtensor {
  %0 = "tierup.fusion_group"(%x) ({
  ^bb0(%a: !torch.vtensor):
    // expected-remark@below {{stays a call: nothing is inlined into tierup.fusion_group}}
    %1 = func.call @leaf(%a) : (!torch.vtensor) -> !torch.vtensor
    "tierup.yield"(%1) : (!torch.vtensor) -> ()
  }, {}) : (!torch.vtensor) -> !torch.vtensor
  return %0 : !torch.vtensor
}
func.func private @leaf(%x: !torch.vtensor) -> !torch.vtensor {
  %0 = torch.aten.tanh %x : !torch.vtensor -> !torch.vtensor
  return %0 : !torch.vtensor
}

// -----
func.func @itself(%x: !torch.vtensor) -> !torch.vtensor {
  // expected-error@below {{is recursive (@itself -> @itself): such a program cannot be inlined}}
  %0 = func.call @itself(%x) : (!torch.vtensor) -> !torch.vtensor
  return %0 : !torch.vtensor
}

// -----
func.func @f(%x: !torch.vtensor) -> !torch.vtensor {
  %0 = func.call @g(%x) : (!torch.vtensor) -> !torch.vtensor
  return %0 : !torch.vtensor
}
func.func @g(%x: !torch.vtensor) -> !torch.vtensor {
  %0 = func.call @h(%x) : (!torch.vtensor) -> !torch.vtensor
  return %0 : !torch.vtensor
}
func.func @h(%x: !torch.vtensor) -> !torch.vtensor {
  // expected-error@below {{is recursive (@g -> @h -> @g)}}
  %0 = func.call @g(%x) : (!torch.vtensor) -> !torch.vtensor
  return %0 : !torch.vtensor
}

// -----
// Two calls of one function are no cycle.
// CHECK-LABEL: func.func @diamond
// CHECK-COUNT-2: torch.aten.tanh
// CHECK-NOT: call
func.func @diamond(%x: !torch.vtensor) -> !torch.vtensor {
  %0 = func.call @one(%x) : (!torch.vtensor) -> !torch.vtensor
  %1 = func.call @one(%0) : (!torch.vtensor) -> !torch.vtensor
  return %1 : !torch.vtensor
}
func.func private @one(%x: !torch.vtensor) -> !torch.vtensor {
  %0 = torch.aten.tanh %x : !torch.vtensor -> !torch.vtensor
  return %0 : !torch.vtensor
}

// -----
// It is the second call that comes back.
func.func @twice(%x: !torch.vtensor) -> !torch.vtensor {
  %0 = func.call @leaf(%x) : (!torch.vtensor) -> !torch.vtensor
  // expected-error@below {{is recursive (@twice -> @twice)}}
  %1 = func.call @twice(%0) : (!torch.vtensor) -> !torch.vtensor
  return %1 : !torch.vtensor
}
func.func private @leaf(%x: !torch.vtensor) -> !torch.vtensor {
  return %x : !torch.vtensor
}
