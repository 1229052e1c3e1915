// RUN: tierup-opt --pass-pipeline='builtin.module(func.func(tierup-explicit-promotion))' %s | FileCheck %s

// Python's ints have any size: what may go beyond 64 bits is checked, and goes on as the
// nearest int that they hold; under torch's rules it wraps.

// CHECK-LABEL: func.func @checked(
// CHECK: %[[A:.*]] = torch.operator "tierup.add_fits"(%arg0, %arg1)
// CHECK-NEXT: torch.runtime.assert %[[A]], "an int of more than 64 bits"
// CHECK-NEXT: %[[SUM:.*]] = torch.aten.add.int %arg0, %arg1 {tierup.saturates} : !torch.int, !torch.int -> !torch.int
// CHECK: %[[M:.*]] = torch.operator "tierup.mul_fits"(%[[SUM]], %arg1)
// CHECK-NEXT: torch.runtime.assert %[[M]]
// CHECK-NEXT: torch.aten.mul.int {{.*}} {tierup.saturates}
// CHECK-NEXT: torch.aten.sub.int %{{[0-9]+}}, %arg1 :
// CHECK-NEXT: return
func.func @checked(%a: !torch.int, %b: !torch.int) -> (!torch.int, !torch.int) {
  %0 = torch.aten.add.int %a, %b {tierup.promotion = "numpy"} : !torch.int, !torch.int -> !torch.int
  %1 = torch.aten.mul.int %0, %b {tierup.promotion = "numpy"} : !torch.int, !torch.int -> !torch.int
  %2 = torch.aten.sub.int %1, %b : !torch.int, !torch.int -> !torch.int
  return %1, %2 : !torch.int, !torch.int
}

// The rounds of a loop hand on a remainder; what it starts from is one.

// CHECK-LABEL: func.func @remainders(
// CHECK-NOT: assert
// CHECK-NOT: tierup.promotion
// CHECK: return
func.func @remainders(%n: !torch.int) -> (!torch.int, !torch.int) {
  %true = torch.constant.bool true
  %zero = torch.constant.int 0
  %one = torch.constant.int 1
  %a = torch.constant.int 1103515245
  %m = torch.constant.int 2147483648
  %0:2 = torch.prim.Loop %n, %true, init(%one, %zero) {
  ^bb0(%i: !torch.int, %x: !torch.int, %count: !torch.int):
    %1 = torch.aten.mul.int %x, %a {tierup.promotion = "numpy"} : !torch.int, !torch.int -> !torch.int
    %2 = torch.aten.add.int %1, %one {tierup.promotion = "numpy"} : !torch.int, !torch.int -> !torch.int
    %3 = torch.aten.remainder.int %2, %m {tierup.promotion = "numpy"} : !torch.int, !torch.int -> !torch.int
    %4 = torch.aten.add.int %count, %one {tierup.promotion = "numpy"} : !torch.int, !torch.int -> !torch.int
    torch.prim.Loop.condition %true, iter(%3, %4 : !torch.int, !torch.int)
  } : (!torch.int, !torch.bool, !torch.int, !torch.int) -> (!torch.int, !torch.int)
  return %0#0, %0#1 : !torch.int, !torch.int
}

// A counter: no run takes so many small steps, in a loop that may end when it likes and behind it. By larger ones it may be too large.

// CHECK-LABEL: func.func @counter(
// CHECK-NOT: assert
// CHECK: torch.prim.Loop.condition
// CHECK-NOT: assert
// CHECK: return
// CHECK-LABEL: func.func @larger_steps(
// CHECK: torch.prim.Loop
// CHECK: assert
// CHECK: torch.prim.Loop.condition
// CHECK: return
// CHECK-LABEL: func.func @twice_the_counter(
// CHECK: torch.prim.Loop
// CHECK: assert
// CHECK: torch.prim.Loop.condition
// CHECK: return
func.func @counter(%n: !torch.int) -> !torch.int {
  %true = torch.constant.bool true
  %zero = torch.constant.int 0
  %step = torch.constant.int 1
  %0 = torch.prim.Loop %n, %true, init(%zero) {
  ^bb0(%i: !torch.int, %count: !torch.int):
    %1 = torch.aten.add.int %count, %step {tierup.promotion = "numpy"} : !torch.int, !torch.int -> !torch.int
    torch.prim.Loop.condition %true, iter(%1 : !torch.int)
  } : (!torch.int, !torch.bool, !torch.int) -> !torch.int
  %2 = torch.aten.add.int %0, %step {tierup.promotion = "numpy"} : !torch.int, !torch.int -> !torch.int
  return %2 : !torch.int
}

func.func @larger_steps(%n: !torch.int) -> !torch.int {
  %true = torch.constant.bool true
  %zero = torch.constant.int 0
  %step = torch.constant.int 1000
  %0 = torch.prim.Loop %n, %true, init(%zero) {
  ^bb0(%i: !torch.int, %count: !torch.int):
    %1 = torch.aten.add.int %count, %step {tierup.promotion = "numpy"} : !torch.int, !torch.int -> !torch.int
    torch.prim.Loop.condition %true, iter(%1 : !torch.int)
  } : (!torch.int, !torch.bool, !torch.int) -> !torch.int
  %2 = torch.aten.add.int %0, %step {tierup.promotion = "numpy"} : !torch.int, !torch.int -> !torch.int
  return %2 : !torch.int
}

func.func @twice_the_counter(%n: !torch.int) -> !torch.int {
  %true = torch.constant.bool true
  %step = torch.constant.int 1
  %0 = torch.prim.Loop %n, %true, init(%step) {
  ^bb0(%i: !torch.int, %count: !torch.int):
    %1 = torch.aten.add.int %count, %count {tierup.promotion = "numpy"} : !torch.int, !torch.int -> !torch.int
    torch.prim.Loop.condition %true, iter(%1 : !torch.int)
  } : (!torch.int, !torch.bool, !torch.int) -> !torch.int
  %2 = torch.aten.add.int %0, %step {tierup.promotion = "numpy"} : !torch.int, !torch.int -> !torch.int
  return %2 : !torch.int
}

// Sizes of what lies in memory are far below 64 bits; that they are is asserted.

// CHECK-LABEL: func.func @sizes(
// CHECK: %[[N:.*]] = torch.aten.size.int
// CHECK: %[[F:.*]] = torch.aten.le.int %[[N]], %int281474976710656
// CHECK-NEXT: torch.runtime.assert %[[F]], "a size that no memory has"
// CHECK-NOT: assert
// CHECK: return
func.func @sizes(%x: !torch.vtensor<[?],f32>) -> !torch.int {
  %zero = torch.constant.int 0
  %k = torch.constant.int 1000
  %0 = torch.aten.size.int %x, %zero : !torch.vtensor<[?],f32>, !torch.int -> !torch.int
  %1 = torch.aten.mul.int %0, %k {tierup.promotion = "numpy"} : !torch.int, !torch.int -> !torch.int
  %2 = torch.aten.neg.int %1 {tierup.promotion = "numpy"} : !torch.int -> !torch.int
  return %2 : !torch.int
}
